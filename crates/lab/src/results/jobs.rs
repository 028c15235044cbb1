//! Times of jobs, computed from their operations while these end.

use std::collections::BTreeMap;

use incast_sim::Simulation;
use incast_sim::describe::work::{Operation, What};
use incast_sim::record::OperationRecord;
use incast_units::{Bytes, Rate, Time};

/// Bytes of a collective in all its passes, from which its bandwidths follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Volume {
    /// The bytes that the algorithm bandwidth counts: the size of the operation, for each pass.
    pub size: Bytes,
    /// The bytes that the bus bandwidth counts: those that each rank sends at least.
    pub moved: Bytes,
    /// Time that each rank computes between the passes, which is no part of the operation.
    pub computed: Time,
}

impl Volume {
    /// Makes it of these bytes, and of the time between the passes.
    pub(crate) fn new(size: u128, moved: u128, computed: Time) -> Self {
        let bytes = |bytes: u128| Bytes::new(u64::try_from(bytes).unwrap_or(u64::MAX));
        Self { size: bytes(size), moved: bytes(moved), computed }
    }
}

/// A job after the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobRecord {
    /// Its number.
    pub job: u16,
    /// Its operations.
    pub operations: u64,
    /// Number of them that have ended.
    pub ended: u64,
    /// The flows that it sends.
    pub flows: u64,
    /// The payload of these.
    pub payload: Bytes,
    /// Time at which the first of its sends and computations started; [`Time::NEVER`] if none did.
    pub start: Time,
    /// Time at which the last of its operations ended; [`Time::NEVER`] unless all have.
    pub end: Time,
    /// Its straggler: the operation that ended last, and its host.
    pub last: Option<(u32, u32)>,
    /// Time at which half of its hosts had ended all their operations; [`Time::NEVER`] unless all have.
    pub median_end: Time,
    /// Least time that it takes with empty queues; `None` if it neither sends nor computes.
    pub bound: Option<Time>,
    /// The bytes that it exchanges, if it is a collective.
    pub volume: Option<Volume>,
}

impl JobRecord {
    /// Returns the time that it took.
    pub(super) fn time(&self) -> Option<Time> {
        (self.end != Time::NEVER).then(|| self.end - self.start)
    }

    /// Returns the rate of some of a collective's bytes in the time that it took, without the computations between its
    /// passes.
    fn rate(&self, of: impl Fn(&Volume) -> Bytes) -> Option<Rate> {
        let volume = self.volume.as_ref()?;
        let time = self.time()?.checked_sub(volume.computed).filter(|time| *time > Time::ZERO)?;
        Some(Rate::of(of(volume), time))
    }

    /// Returns its algorithm bandwidth.
    pub(super) fn algorithm_bandwidth(&self) -> Option<Rate> {
        self.rate(|volume| volume.size)
    }

    /// Returns its bus bandwidth.
    pub(super) fn bus_bandwidth(&self) -> Option<Rate> {
        self.rate(|volume| volume.moved)
    }
}

/// State of the jobs of a run so far.
#[derive(Clone, Debug)]
pub(crate) struct Jobs {
    jobs: Vec<JobRecord>,
    /// Time at which the last operation of each job at each host ended.
    ends: Vec<BTreeMap<u32, Time>>,
    /// Whether operations of each job were left out.
    shorter: Vec<bool>,
}

impl Jobs {
    /// The jobs of a simulation before the run.
    pub(crate) fn new(simulation: &Simulation) -> Self {
        let jobs = simulation.operations.iter().map(|operation| operation.job);
        let number = jobs.max().map_or(0, |last| usize::from(last) + 1);
        let blank = |job| JobRecord {
            job,
            operations: 0,
            ended: 0,
            flows: 0,
            payload: Bytes::ZERO,
            start: Time::NEVER,
            end: Time::ZERO,
            last: None,
            median_end: Time::NEVER,
            bound: None,
            volume: None,
        };
        let mut jobs: Vec<JobRecord> = (0..=u16::MAX).take(number).map(blank).collect();
        for operation in &simulation.operations {
            let job = &mut jobs[usize::from(operation.job)];
            job.operations += 1;
            if let What::Send { flow } = operation.what {
                job.flows += 1;
                job.payload += simulation.flows.get(flow as usize).map_or(Bytes::ZERO, |flow| flow.size);
            }
        }
        Self { jobs, ends: vec![BTreeMap::new(); number], shorter: vec![false; number] }
    }

    /// Operations have ended, or are as they are at the end of the run.
    pub(crate) fn add(&mut self, records: &[OperationRecord], simulation: &Simulation) {
        for record in records {
            let operation = &simulation.operations[record.operation as usize];
            let place = usize::from(operation.job);
            let job = &mut self.jobs[place];
            if !matches!(operation.what, What::Receive { .. }) {
                job.start = job.start.min(record.start);
            }
            if record.end == Time::NEVER {
                continue;
            }
            job.ended += 1;
            if record.end >= job.end {
                (job.end, job.last) = (record.end, Some((record.operation, operation.host)));
            }
            let end = self.ends[place].entry(operation.host).or_insert(Time::ZERO);
            *end = record.end.max(*end);
        }
    }

    /// An operation was not started, and is no part of its job.
    pub(crate) fn leave_out(&mut self, operation: &Operation, simulation: &Simulation) {
        let place = usize::from(operation.job);
        let job = &mut self.jobs[place];
        job.operations -= 1;
        self.shorter[place] = true;
        if let What::Send { flow } = operation.what {
            job.flows -= 1;
            job.payload -= simulation.flows.get(flow as usize).map_or(Bytes::ZERO, |flow| flow.size);
        }
    }

    /// The jobs at the end of the run, given their bounds, and the bytes of those that are collectives.
    pub(crate) fn finish(
        mut self,
        bounds: &[Option<Time>],
        volumes: &BTreeMap<u16, Volume>,
    ) -> Vec<JobRecord> {
        let bounds = bounds.iter().copied().chain(std::iter::repeat(None));
        for (((job, ends), bound), shorter) in
            self.jobs.iter_mut().zip(self.ends).zip(bounds).zip(self.shorter)
        {
            // The bound is one of all that could have been sent.
            job.bound = bound.filter(|_| !shorter);
            job.volume = volumes.get(&job.job).copied();
            if job.ended < job.operations {
                (job.end, job.last) = (Time::NEVER, None);
                continue;
            }
            if job.start == Time::NEVER {
                // It only receives.
                job.start = Time::ZERO;
            }
            let mut ends: Vec<Time> = ends.into_values().collect();
            ends.sort_unstable();
            job.median_end = ends.get(ends.len().saturating_sub(1) / 2).copied().unwrap_or(Time::NEVER);
        }
        self.jobs
    }
}
