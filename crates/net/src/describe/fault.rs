//! Errors of an algorithm during a run.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use incast_units::Time;

/// First error, in simulated time, of an algorithm whose code comes from outside. Copies share it.
#[derive(Clone, Debug, Default)]
pub struct Fault(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    /// Whether there is a report: read with every call, which a lock would slow down.
    raised: AtomicBool,
    first: Mutex<Option<(Time, String)>>,
}

impl Fault {
    /// Reports that the algorithm did something impossible at this time.
    pub fn raise(&self, at: Time, message: String) {
        let mut first = self.0.first.lock().unwrap_or_else(PoisonError::into_inner);
        let report = (at, message);
        if first.as_ref().is_none_or(|known| report < *known) {
            *first = Some(report);
        }
        self.0.raised.store(true, Ordering::Release);
    }

    /// Whether there is a report.
    #[must_use]
    pub fn is_raised(&self) -> bool {
        self.0.raised.load(Ordering::Acquire)
    }

    /// The report.
    #[must_use]
    pub fn message(&self) -> Option<String> {
        let first = self.0.first.lock().unwrap_or_else(PoisonError::into_inner);
        first.as_ref().map(|(_, message)| message.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earliest_report_counts() {
        let fault = Fault::default();
        let copy = fault.clone();
        assert_eq!((fault.is_raised(), fault.message()), (false, None));
        fault.raise(Time::from_us(3), "third".to_owned());
        copy.raise(Time::from_us(2), "second".to_owned());
        copy.raise(Time::from_us(2), "other".to_owned());
        fault.raise(Time::from_us(4), "first".to_owned());
        assert_eq!((copy.is_raised(), copy.message()), (true, Some("other".to_owned())));
        assert!(fault.is_raised());
    }
}
