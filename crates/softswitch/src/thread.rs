//! The model between real devices.

use std::io;
use std::os::fd::{OwnedFd, RawFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use incast_units::Time;

use crate::model::{Model, Sample, Sampling, Totals};
use crate::system::{self, BATCH, Frames};

/// The thread looks this often at whether it is to begin or to stop.
const LOOK: Time = Time::from_ms(2);

/// A switch that forwards.
#[derive(Debug)]
pub struct Switch {
    orders: Arc<Orders>,
    thread: Option<JoinHandle<io::Result<Done>>>,
}

#[derive(Debug, Default)]
struct Orders {
    stop: AtomicBool,
    begin: Mutex<Option<(Time, Sampling)>>,
}

/// Totals of a switch at its end.
#[derive(Clone, Debug, Default)]
pub struct Done {
    /// Samples, by time; times are from the beginning.
    pub samples: Vec<Sample>,
    /// Of each port, from the beginning.
    pub totals: Vec<Totals>,
    /// Frames that it has let out to hosts.
    pub delivered: u64,
    /// Of these, the ones that were more than 100 microseconds late, and more than a millisecond.
    pub late: (u64, u64),
    /// The most that one was late.
    pub latest: Time,
    /// Frames that a device did not take.
    pub refused: u64,
}

impl Switch {
    /// Begins to forward between these sockets, one for each host: packet sockets, each bound to the device towards
    /// its host. They are duplicated, and may be closed.
    ///
    /// # Errors
    /// When a socket is not open, or no thread can be made.
    pub fn start(model: Model, sockets: &[RawFd]) -> io::Result<Self> {
        let sockets: Vec<OwnedFd> =
            sockets.iter().map(|&socket| system::duplicate(socket)).collect::<io::Result<_>>()?;
        let orders = Arc::new(Orders::default());
        let theirs = Arc::clone(&orders);
        let work = move || Forwarding { model, sockets, orders: theirs, done: Done::default() }.run();
        let thread = std::thread::Builder::new().name("incast-softswitch".to_owned()).spawn(work)?;
        Ok(Self { orders, thread: Some(thread) })
    }

    /// Counts and samples from `start` on, a time of the monotonic clock that is still to come.
    pub fn begin(&self, start: Time, sampling: Sampling) {
        *self.orders.begin.lock().unwrap_or_else(PoisonError::into_inner) = Some((start, sampling));
    }

    /// Stops forwarding.
    ///
    /// # Errors When forwarding failed before the stop.
    pub fn stop(mut self) -> io::Result<Done> {
        self.orders.stop.store(true, Ordering::Relaxed);
        let thread = self.thread.take();
        thread.map_or_else(|| Ok(Done::default()), |thread| thread.join().unwrap_or_else(|_| Err(ended())))
    }
}

impl Drop for Switch {
    fn drop(&mut self) {
        self.orders.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn ended() -> io::Error {
    io::Error::other("the thread of the switch has ended")
}

struct Forwarding {
    model: Model,
    sockets: Vec<OwnedFd>,
    orders: Arc<Orders>,
    done: Done,
}

impl Forwarding {
    fn run(mut self) -> io::Result<Done> {
        system::prefer();
        let mut frames = Frames::new();
        let mut ready = Vec::new();
        let mut start = Time::ZERO;
        let mut out: Vec<Vec<Vec<u8>>> = vec![Vec::new(); self.sockets.len()];
        while !self.orders.stop.load(Ordering::Relaxed) {
            if let Some((at, sampling)) =
                self.orders.begin.lock().unwrap_or_else(PoisonError::into_inner).take()
            {
                start = at;
                self.model.begin(at, sampling);
            }
            let now = system::now();
            let rest =
                self.model.next().map_or(LOOK, |next| if next > now { next - now } else { Time::ZERO });
            match system::wait(&self.sockets, rest.min(LOOK), &mut ready) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => other?,
            }
            for (place, host) in (0..self.sockets.len()).zip(0_u32..).filter(|(place, _)| ready[*place]) {
                // What has come since is on its way since then: no later event is let happen before.
                let now = system::now();
                self.advance_to(now, &mut out);
                let Self { model, sockets, .. } = &mut self;
                while frames.read(&sockets[place], &mut |frame| model.send(now, host, frame.to_vec()))?
                    == BATCH
                {}
            }
            self.advance_to(system::now(), &mut out);
            self.flush(&mut out);
        }
        self.done.samples = self.model.samples().to_vec();
        for sample in &mut self.done.samples {
            sample.time -= start;
        }
        self.done.totals = self.model.totals(system::now());
        Ok(self.done)
    }

    /// Lets happen what is due.
    fn advance_to(&mut self, now: Time, out: &mut [Vec<Vec<u8>>]) {
        let done = &mut self.done;
        self.model.advance(now, &mut |time, host, frame| {
            let late = now - time;
            done.delivered += 1;
            done.late.0 += u64::from(late > Time::from_us(100));
            done.late.1 += u64::from(late > Time::from_ms(1));
            done.latest = done.latest.max(late);
            if let Some(frames) = out.get_mut(host as usize) {
                frames.push(frame);
            }
        });
    }

    /// Gives frames to the devices.
    fn flush(&mut self, out: &mut [Vec<Vec<u8>>]) {
        for (socket, frames) in self.sockets.iter().zip(out) {
            let mut rest = frames.as_mut_slice();
            while !rest.is_empty() {
                let count = rest.len().min(BATCH);
                // A device that is full or gone loses frames, as a cable does.
                let taken = system::write(socket, &mut rest[..count]).unwrap_or(0);
                if taken == 0 {
                    self.done.refused += 1;
                }
                rest = &mut rest[taken.max(1)..];
            }
            frames.clear();
        }
    }
}
