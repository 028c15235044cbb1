//! The order of service of a port that trims: headers first, but data is not starved.

use incast_net::describe::switch::Switch as Description;
use incast_net::queue_set::QueueSet;

use super::schedule::Schedule;
use crate::switch::queues::Queues;
use crate::switch::trimming::{DATA, HEADERS};

#[derive(Debug)]
pub(crate) struct HeadersFirst {
    /// Headers that may be sent after a data packet while another one waits.
    ratio: u32,
    /// Headers that have been sent since the last data packet while another one waited.
    sent: u32,
}

impl Schedule for HeadersFirst {
    fn new(description: &Description) -> Self {
        Self { ratio: description.trimming.unwrap_or_default().ratio, sent: 0 }
    }

    #[inline]
    fn choose(&mut self, ready: QueueSet, _: &Queues) -> u8 {
        let data = ready.contains(DATA);
        if data && (!ready.contains(HEADERS) || self.sent == self.ratio) {
            self.sent = 0;
            return DATA;
        }
        self.sent += u32::from(data);
        HEADERS
    }

    #[inline]
    fn passed(&mut self, queue: u8, _: &Queues) {
        if queue == DATA {
            self.sent = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use incast_net::describe::switch::Trimming;

    fn set(data: u32, headers: u32) -> QueueSet {
        let mut ready = QueueSet::default();
        for (queue, count) in [(DATA, data), (HEADERS, headers)] {
            if count > 0 {
                ready.insert(queue);
            }
        }
        ready
    }

    /// The order in which waiting packets are sent.
    fn order(ratio: u32, (mut data, mut headers): (u32, u32)) -> String {
        let trimming = Some(Trimming { ratio, ..Trimming::default() });
        let mut scheduler = HeadersFirst::new(&Description { trimming, ..Description::default() });
        let queues = Queues::new(2);
        let mut order = String::new();
        while data + headers > 0 {
            let chosen = scheduler.choose(set(data, headers), &queues);
            let (left, name) = if chosen == DATA { (&mut data, 'D') } else { (&mut headers, 'h') };
            *left -= 1;
            order.push(name);
        }
        order
    }

    #[test]
    fn ten_headers_then_a_data_packet() {
        assert_eq!(order(10, (3, 25)), "hhhhhhhhhhDhhhhhhhhhhDhhhhhD");
        assert_eq!(order(1, (2, 3)), "hDhDh");
        assert_eq!(order(100_000, (2, 25)), "hhhhhhhhhhhhhhhhhhhhhhhhhDD");
    }

    #[test]
    fn headers_count_only_while_data_waits() {
        let trimming = Some(Trimming { ratio: 2, ..Trimming::default() });
        let mut scheduler = HeadersFirst::new(&Description { trimming, ..Description::default() });
        let queues = Queues::new(2);
        let mut choose = |data, headers| scheduler.choose(set(data, headers), &queues);
        assert_eq!([(); 5].map(|()| choose(0, 9)), [HEADERS; 5]);
        assert_eq!([(); 3].map(|()| choose(1, 9)), [HEADERS, HEADERS, DATA]);
        // One of two, then data alone: the next two headers may go again.
        assert_eq!((choose(1, 9), choose(1, 0)), (HEADERS, DATA));
        assert_eq!(choose(1, 9), HEADERS);
        // Data that did not have to wait counts as data that was served.
        scheduler.passed(DATA, &queues);
        let mut choose = |data, headers| scheduler.choose(set(data, headers), &queues);
        assert_eq!([(); 3].map(|()| choose(1, 9)), [HEADERS, HEADERS, DATA]);
    }
}
