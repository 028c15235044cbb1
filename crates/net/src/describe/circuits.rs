//! Circuits between racks, through an optical switch that rotates.

use incast_units::{Bytes, Time};

/// Schedule by which the optical switch of a network connects racks, and the behaviour of the switches of the
/// racks (ToRs) under it.
///
/// The ports of the optical switch lead to the ToRs; the rack at port `i` is rack `i` of `n`. In matching `m`, from
/// 1 to `n - 1`, rack `i` sends to rack `(i + m) mod n`. Each matching holds for a day, after which the optical switch
/// takes a night to turn to the next one, during which nothing passes. The first day begins at time zero; `n - 1`
/// days and nights are a week, and the next week is the same. These are the times at which ToRs may send: the optical
/// switch is later by the delay of the links to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Circuits {
    /// Duration of a matching.
    pub day: Time,
    /// Time that the optical switch takes to turn.
    pub night: Time,
    /// So long before a day the ToR announces it to the flows of the pair, and admits more packets for it.
    pub prebuffer: Time,
    /// Limits of the queue that a ToR has for each other rack; `None`: the buffer alone limits them.
    pub voq: Option<VoqLimits>,
}

/// Limits of the queue of a ToR for one other rack (virtual output queue, VOQ).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VoqLimits {
    /// Usually.
    pub small: Bytes,
    /// During the pair's day, and for [`Circuits::prebuffer`] before it.
    pub large: Bytes,
}
