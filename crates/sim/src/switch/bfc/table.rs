//! The table of flows of a port with backpressure flow control: which queue each has.

/// The entries of one port. A flow has the entry of its hash, and so flows can share one.
#[derive(Debug)]
pub(super) struct FlowTable {
    /// Of each entry the packets in the port, and the queue: `packets << 8 | queue`; 0 before the first packet.
    states: Vec<u64>,
    /// Time at which a packet of it last came or left. (ps)
    touched: Vec<u64>,
}

impl FlowTable {
    pub(super) fn new(entries: usize) -> Self {
        // All zeros, so that the system provides the memory of an entry only when it is used.
        Self { states: vec![0; entries], touched: vec![0; entries] }
    }

    pub(super) fn len(&self) -> usize {
        self.states.len()
    }

    /// The queue that an entry has at `now`: while it has packets in the port and for `sticky` longer.
    pub(super) fn queue(&self, entry: u32, now: u64, sticky: u64) -> Option<u8> {
        let state = self.states[entry as usize];
        let holds = state != 0 && (state >> 8 != 0 || now - self.touched[entry as usize] <= sticky);
        holds.then_some(state as u8)
    }

    /// A packet has come into `queue`, which is not 0. Returns how many the entry has now.
    pub(super) fn add(&mut self, entry: u32, now: u64, queue: u8) -> u64 {
        self.touched[entry as usize] = now;
        let state = &mut self.states[entry as usize];
        *state = ((*state >> 8) + 1) << 8 | u64::from(queue);
        *state >> 8
    }

    /// A packet leaves.
    pub(super) fn remove(&mut self, entry: u32, now: u64) {
        self.touched[entry as usize] = now;
        self.states[entry as usize] -= 1 << 8;
    }

    /// Packets of all entries.
    pub(super) fn packets(&self) -> u64 {
        self.states.iter().map(|state| state >> 8).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_is_kept_with_packets_and_as_long_as_agreed_after_them() {
        let mut table = FlowTable::new(2);
        assert_eq!(table.queue(1, 0, 6), None);
        assert_eq!(table.add(1, 10, 5), 1);
        assert_eq!(table.add(1, 20, 5), 2);
        table.remove(1, 30);
        // One packet is there, however long.
        assert_eq!(table.queue(1, 1_000, 6), Some(5));
        table.remove(1, 1_000);
        assert_eq!(table.packets(), 0);
        assert_eq!([1_000, 1_006, 1_007].map(|now| table.queue(1, now, 6)), [Some(5), Some(5), None]);
        // It takes another one.
        assert_eq!(table.add(1, 1_007, 32), 1);
        assert_eq!((table.queue(1, 9_999, 6), table.queue(0, 9_999, 6)), (Some(32), None));
        assert_eq!((table.packets(), table.len()), (1, 2));
    }
}
