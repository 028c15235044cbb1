//! A host whose network trims: reported losses become NACKs of one packet each, in turn with holes.

use incast_cc::params::{Described, Value};
use incast_cc::{Ack, Allowance, CongestionControl, IntStack, Loss, LossKind, Sent};
use incast_units::{Bytes, Time};

use crate::bottleneck::{Alone, Host, Script, check_options, longer, path, run};

/// Returns the age of a trimmed packet since it was sent; now and then it was faster than any that arrived.
fn age(packet: u64) -> Time {
    if packet % 16 == 1 { Time::from_ns(12_100 - packet / 16) } else { Time::from_us(20) }
}

/// The host behind it, and how many losses were reported.
pub(crate) struct Nacks<H>(pub(crate) H, pub(crate) u64);

impl<H: Host> Host for Nacks<H> {
    fn loss(&mut self, flow: usize, loss: &Loss) {
        let mut loss = *loss;
        if loss.kind == LossKind::Hole {
            self.1 += 1;
            loss.kind = if self.1.is_multiple_of(4) { LossKind::Hole } else { LossKind::Trim };
            loss.bytes = Bytes::new(1054);
            loss.sent = loss.now - age(self.1);
        }
        self.0.loss(flow, &loss);
    }
    fn ack(&mut self, flow: usize, ack: &Ack, int: &IntStack) {
        self.0.ack(flow, ack, int);
    }
    fn cnp(&mut self, flow: usize, now: Time) {
        self.0.cnp(flow, now);
    }
    fn sent(&mut self, flow: usize, sent: &Sent) {
        self.0.sent(flow, sent);
    }
    fn tag(&self, flow: usize) -> u32 {
        self.0.tag(flow)
    }
    fn timer(&mut self, flow: usize, now: Time) {
        self.0.timer(flow, now);
    }
    fn deadline(&self, flow: usize) -> Time {
        self.0.deadline(flow)
    }
    fn allowance(&self, flow: usize) -> Allowance {
        self.0.allowance(flow)
    }
}

/// Asserts that every parameter of the algorithm changes what happens: `changes` must name each of them, with the
/// parameters it starts from and another value.
pub(crate) fn every_option_matters<C>(script: &Script, changes: &[(C::Params, &str, Value)])
where
    C: CongestionControl,
    C::Params: Described + Clone,
{
    check_options::<C>(changes, |params| {
        let path = longer(path(0));
        let mut host = Nacks(Alone::<C>::new(params.clone(), path, script.active.len()), 0);
        run(&mut host, path, script).fingerprint
    });
}
