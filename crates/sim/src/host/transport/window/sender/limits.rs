//! The limits of a sender: they keep its next packet back, and its time is divided by them.

use incast_net::record::{Division, Limit};

use super::{Prospect, Sender, State};
use crate::host::nic::Nic;
use crate::host::transport::window::connection::Message;

impl Sender {
    /// Returns what keeps its next packet back when it may not send.
    #[inline(always)]
    fn held_back(&self, has_next: bool) -> Limit {
        if has_next { Limit::Window } else { self.account.nothing_to_send() }
    }

    /// Names what keeps its next packet back from now on; `answered` if an acknowledgement has just arrived.
    #[inline]
    pub(in super::super) fn turn(&mut self, now: u64, answered: bool, place: u32, nic: &Nic) {
        self.turn_of(self.prospect(), now, answered, place, nic);
    }

    /// Like [`Self::turn`], of a sender with this prospect. Inline: it is done for each packet, and a call took
    /// up to two fifths of what the division of times costs.
    #[inline(always)]
    pub(in super::super) fn turn_of(
        &mut self,
        prospect: Prospect,
        now: u64,
        answered: bool,
        place: u32,
        nic: &Nic,
    ) {
        let limit = match prospect.may_send() {
            false => self.held_back(prospect.has_next),
            true if self.next_at > now => Limit::Pacing,
            true => Limit::Card,
        };
        let late = || if answered { self.late } else { 0 };
        // Here and not in a closure, which would be a call.
        let asks = limit == Limit::Card || self.account.waits_for_card();
        let paused = if asks { nic.paused_for(self.queue, place, now) } else { 0 };
        self.account.turn(now, limit, late, || paused);
    }

    /// Transmission of a packet has begun; it ends at `done`. Returns whether it may send another one then, or has to wait
    /// for its pace before; `None` if it may not send.
    #[inline(always)]
    pub(in super::super) fn sent(&mut self, done: u64) -> Option<bool> {
        self.state = State::Leaving;
        self.account.sent(done);
        if let Some(connection) = &mut self.connection {
            connection.sent(self.account.divided());
        }
        let prospect = self.prospect();
        if !prospect.may_send() {
            self.account.afterwards(self.held_back(prospect.has_next));
            return None;
        }
        let is_paced = self.next_at > done;
        if is_paced {
            self.account.afterwards(Limit::Pacing);
        }
        Some(!is_paced)
    }

    /// Returns the division of the time of its first message, which an acknowledgement may have ended.
    pub(in super::super) fn division(&self, now: u64, answered: bool, place: u32, nic: &Nic) -> Division {
        self.division_of(&self.message, now, answered, place, nic)
    }

    /// Returns the division of the time of a message that has started.
    pub(in super::super) fn division_of(
        &self,
        message: &Message,
        now: u64,
        answered: bool,
        place: u32,
        nic: &Nic,
    ) -> Division {
        let paused = || nic.paused_for(self.queue, place, now);
        let late = if answered { self.late } else { 0 };
        let Some(connection) = &self.connection else { return self.account.division(now, late, paused) };
        connection.division(message, now, late, || self.account.until(now, late, paused))
    }

    /// Its packets leave by another card from now on; the one that is leaving does not count to its end.
    pub(in super::super) fn change_card(&mut self, now: u64, place: u32, before: &Nic) {
        self.account.change_card(now, || before.paused_for(self.queue, place, now));
        if let Some(connection) = &mut self.connection {
            connection.cut(now, self.account.divided().1);
        }
    }
}
