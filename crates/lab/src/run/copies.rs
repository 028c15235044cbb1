//! Copies of what repeats itself that are counted and have no rows.

use std::collections::BTreeMap;

use arrow_array::RecordBatch;
use arrow_array::types::{Int64Type, UInt32Type};
use incast_sim::record::{FlowRecord, OperationRecord};

use crate::results::extract::{Repeated, numbers};
use crate::results::info::Unwritten;

/// The copies that were counted so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Copies {
    /// Whether the records that follow are copies.
    pub(super) follow: bool,
    /// Flows, with the smallest and the largest number.
    pub(super) flows: u64,
    numbers: Option<(u32, u32)>,
    /// Operations.
    operations: u64,
}

impl Copies {
    /// Flows are done.
    pub(super) fn flows(&mut self, records: &[FlowRecord]) {
        for FlowRecord { flow, .. } in records.iter().filter(|_| self.follow) {
            let (first, last) = self.numbers.unwrap_or((*flow, *flow));
            self.numbers = Some((first.min(*flow), last.max(*flow)));
            self.flows += 1;
        }
    }

    /// Operations have ended.
    pub(super) fn operations(&mut self, records: &[OperationRecord]) {
        self.operations += if self.follow { records.len() as u64 } else { 0 };
    }

    /// Returns what the result says of them, if there are any.
    pub(super) fn told(&self) -> Option<Unwritten> {
        let Self { flows, operations, .. } = *self;
        let (first, last) = self.numbers?;
        let said = format!(
            "{flows} of the flows {first} to {last} and {operations} operations are copies of earlier ones and were \
             not written: the tables flows, limits and operations lack them; totals, jobs and the summary count them"
        );
        Some(Unwritten { said, flows, operations })
    }
}

/// The flows of which copies have no rows: by repetition and job, and by the number in the period.
#[derive(Debug, Default)]
pub(super) struct Originals(BTreeMap<(usize, usize, u32), u32>);

impl Originals {
    /// Adds those in rows of the table `flows`.
    ///
    /// # Errors
    /// With the name of a column that is missing or of another type.
    pub(super) fn add(&mut self, batch: &RecordBatch, repeated: Repeated<'_>) -> Result<(), String> {
        let finish = numbers::<Int64Type>(batch, "finish_ps")?;
        for (flow, finish) in numbers::<UInt32Type>(batch, "flow")?.zip(finish) {
            let (Some(flow), Some(finish)) = (flow, finish) else { continue };
            let Some((number, of)) = repeated.of(finish) else { continue };
            for (job, shifted) in of.shifted.iter().enumerate().filter(|(_, job)| job.flows.contains(&flow)) {
                if let Some(place) = (flow - shifted.flows.start).checked_rem(shifted.by) {
                    self.0.insert((number, job, place), flow);
                }
            }
        }
        Ok(())
    }

    /// Returns the flow whose copy a flow is; itself, if it is none.
    pub(super) fn of(&self, flow: u32, repeated: Repeated<'_>) -> u32 {
        for (number, of) in repeated.unwritten() {
            for (job, shifted) in of.shifted.iter().enumerate().filter(|(_, job)| job.flows.contains(&flow)) {
                let place = (flow - shifted.flows.start).checked_rem(shifted.by);
                let original = place.and_then(|place| self.0.get(&(number, job, place)));
                if let Some(original) = original.filter(|original| {
                    let periods = flow.checked_sub(**original).map_or(0, |by| by / shifted.by);
                    (1..=of.copies).contains(&periods)
                }) {
                    return *original;
                }
            }
        }
        flow
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{Int64Array, UInt32Array};
    use arrow_schema::{DataType, Field, Schema};
    use incast_sim::record::{Repetition, Shifted};
    use incast_units::Time;

    use super::*;

    #[test]
    fn a_copy_is_traced_to_its_original() {
        // Two jobs of four and two flows a period, and twice a repetition.
        let repetition = |from, copies| Repetition {
            from: Time::from_ps(from),
            period: Time::from_ps(100),
            copies,
            flows: 6,
            hops: 60,
            are_written: false,
            shifted: vec![Shifted { flows: 0..400, by: 4 }, Shifted { flows: 400..600, by: 2 }],
        };
        let repetitions = [repetition(1000, 10), repetition(5000, 5)];
        let repeated = Repeated(&repetitions);
        let flows = [9, 10, 11, 12, 405, 404, 80, 8, 440];
        let finishes = [1000, 1001, 1050, 1099, 1003, 1002, 5040, 999, 5050];
        let columns: [(&str, arrow_array::ArrayRef, DataType); 2] = [
            ("flow", Arc::new(UInt32Array::from(flows.to_vec())), DataType::UInt32),
            ("finish_ps", Arc::new(Int64Array::from(finishes.to_vec())), DataType::Int64),
        ];
        let fields: Vec<_> =
            columns.iter().map(|(name, _, of)| Field::new(*name, of.clone(), true)).collect();
        let arrays = columns.into_iter().map(|(_, array, _)| array).collect();
        let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).unwrap();
        let mut originals = Originals::default();
        originals.add(&batch, repeated).unwrap();
        let of = |flow| originals.of(flow, repeated);
        // Copies, the last copy, and what follows it.
        assert_eq!([13, 14, 49, 52, 53].map(of), [9, 10, 9, 12, 53]);
        assert_eq!([406, 424, 425, 426].map(of), [404, 404, 405, 426]);
        // Of the second repetition.
        assert_eq!([84, 100, 104, 442].map(of), [80, 80, 104, 440]);
        // Originals, and others.
        assert_eq!([9, 8, 405, 399].map(of), [9, 8, 405, 399]);
    }
}
