//! The packets of a flow that have arrived, and what acknowledgements say of them.

use crate::facts::flows::FlowFacts;
use crate::recovery::{AnyOrder, InOrder, Verdict, keeps};

/// Record of the packets of a flow that have arrived.
#[derive(Debug)]
pub(super) enum Order {
    InOrder(InOrder),
    Any(AnyOrder),
}

impl Order {
    pub(super) fn new(facts: &FlowFacts) -> Self {
        if keeps(facts.transport.recovery) { Self::Any(AnyOrder::NEW) } else { Self::InOrder(InOrder::NEW) }
    }

    /// A packet has arrived.
    #[inline(always)]
    pub(super) fn take(&mut self, now: u64, number: u32, facts: &FlowFacts) -> Verdict {
        match self {
            Self::InOrder(order) => order.take(now, number, facts.transport.nack_interval.ps()),
            Self::Any(order) => order.take(number),
        }
    }

    /// A packet has arrived. Returns what its acknowledgement says if it is the expected one and nothing behind it is kept, or
    /// if it is kept; if not, nothing has changed, and it is to be [taken](Self::take).
    #[inline(always)]
    pub(super) fn take_plainly(&mut self, number: u32) -> Option<Progress> {
        let next = Progress { expected: number.wrapping_add(1), offset: -1, bitmap: 0 };
        match self {
            Self::InOrder(order) => order.take_next(number).then_some(next),
            Self::Any(order) => {
                if order.take_next(number) {
                    return Some(next);
                }
                let bitmap = order.keep(number)?;
                let expected = order.expected as u32;
                Some(Progress { expected, offset: distance(number, expected), bitmap })
            }
        }
    }

    /// The packet expected next, and with a receiver that keeps packets the bitmap of the others for the
    /// acknowledgement of packet `number`.
    #[inline(always)]
    pub(super) fn progress(&self, number: u32) -> (u64, Option<u64>) {
        match self {
            Self::InOrder(order) => (order.expected, None),
            Self::Any(order) => (order.expected, Some(order.bitmap(number))),
        }
    }
}

/// The part of an acknowledgement about the packets that have arrived: see [`Ack`](incast_net::packet::Ack).
#[derive(Clone, Copy, Debug)]
pub(super) struct Progress {
    pub(super) expected: u32,
    pub(super) offset: i16,
    pub(super) bitmap: u64,
}

/// The distance of packet `number` from the expected one, as acknowledgements tell it.
#[inline(always)]
pub(super) fn distance(number: u32, expected: u32) -> i16 {
    let offset = number.wrapping_sub(expected) as i32;
    offset.clamp(i32::from(i16::MIN), i32::from(i16::MAX)) as i16
}
