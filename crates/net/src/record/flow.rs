//! Flows that are done.

use incast_units::{Bytes, Time};

use crate::describe::network::PortId;

use super::channel::{Digest, Record, kept_as_received};

/// A flow that is done (or was unfinished at the end of the run).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowRecord {
    /// Index into the simulation's flows.
    pub flow: u32,
    /// Time of its start; for a flow that had not started, the earliest time at which it would have.
    pub start: Time,
    /// The network cards by which its data leaves the source and reaches the destination when it starts; `None`: it has not
    /// started, or packets may take several. They follow from the description, and are no part of a fingerprint.
    pub cards: [Option<PortId>; 2],
    /// Time at which its last byte was acknowledged at the sender; [`Time::NEVER`] if it never was.
    pub finish: Time,
    /// Time at which its last byte arrived at the receiver; [`Time::NEVER`] if it never did.
    pub delivered: Time,
    /// Payload acknowledged.
    pub bytes: Bytes,
    /// Data packets sent, including retransmissions.
    pub packets: u64,
    /// Data packets retransmitted.
    pub resent: u64,
    /// Acknowledged packets that carried an ECN mark.
    pub marked: u64,
    /// Retransmission timeouts.
    pub timeouts: u32,
    /// Round-trip time of its path without queues.
    pub base_rtt: Time,
    /// Completion time on the idle path, to the picosecond (`finish - start` of a flow that is alone and not limited by
    /// its window). It counts the whole size of an unfinished flow, and only the acknowledged payload of a flow that was
    /// stopped or has no size.
    pub ideal: Time,
    /// The ideal without the header bytes that the flow's algorithm adds (in-band telemetry): within reach of
    /// any algorithm.
    pub ideal_plain: Time,
}

impl FlowRecord {
    /// The record of a flow of which nothing is known: nothing sent, never finished.
    pub const BLANK: Self = Self {
        flow: 0,
        start: Time::ZERO,
        cards: [None; 2],
        finish: Time::NEVER,
        delivered: Time::NEVER,
        bytes: Bytes::ZERO,
        packets: 0,
        resent: 0,
        marked: 0,
        timeouts: 0,
        base_rtt: Time::ZERO,
        ideal: Time::NEVER,
        ideal_plain: Time::NEVER,
    };

    /// Returns the contents as words, for a hash.
    #[must_use]
    pub fn words(&self) -> [u64; 12] {
        let Self {
            flow,
            start,
            cards: _,
            finish,
            delivered,
            bytes,
            packets,
            resent,
            marked,
            timeouts,
            base_rtt,
            ideal,
            ideal_plain,
        } = *self;
        [
            u64::from(flow),
            start.ps(),
            finish.ps(),
            delivered.ps(),
            bytes.get(),
            packets,
            resent,
            marked,
            u64::from(timeouts),
            base_rtt.ps(),
            ideal.ps(),
            ideal_plain.ps(),
        ]
    }
}

impl Record for FlowRecord {
    const HASHED_WITHOUT_RECORDS: bool = true;

    kept_as_received!((Time, u32), |record| (record.finish, record.flow));

    fn digest(&self, digest: &mut Digest) {
        digest.add(&self.words());
    }
}
