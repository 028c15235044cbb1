//! REPS: recycled entropies, packet by packet.
//!
//! A ring keeps the entropies of the last eight acknowledged packets that had no mark. A packet takes the
//! oldest of them that has not been used since, or a random one. With freezing, a sender whose
//! retransmission timer expires cycles through what it has stored for a while; then it forgets all and sends
//! sixteen packets with random entropies. As in the public UEC simulator.

use incast_net::describe::balancing::Settings;
use incast_net::random::draw;

use super::policy::{Entropies, Feedback};
use crate::relative::State;

/// Entropies that are kept.
const RING: usize = 8;
/// Packets with random entropies after a freeze.
const EXPLORED: u8 = 16;

#[derive(Debug)]
pub(super) struct Reps {
    stream: u64,
    draws: u64,
    paths: u64,
    /// Duration of a freeze; 0: no freezes. (ps)
    freeze: u64,
    ring: [u16; RING],
    /// Entropies ever stored.
    stored: usize,
    /// Number of the entropies stored last that have not been used since.
    fresh: usize,
    /// Packets that are still sent with random entropies.
    exploring: u8,
    /// End of the freeze, and the packets sent during it. (ps)
    frozen: Option<(u64, usize)>,
}

impl Reps {
    pub(super) fn new(settings: &Settings, stream: u64) -> Self {
        Self {
            stream,
            draws: 0,
            paths: u64::from(settings.paths),
            freeze: settings.freeze.unwrap_or_default().ps(),
            ring: [0; RING],
            stored: 0,
            fresh: 0,
            exploring: 0,
            frozen: None,
        }
    }

    /// A random entropy.
    fn random(&mut self) -> u16 {
        self.draws += 1;
        (((draw(self.stream, self.draws) >> 32) * self.paths) >> 32) as u16
    }

    /// Ends a freeze whose time has come.
    fn thaw(&mut self, now: u64) {
        if self.frozen.is_some_and(|(end, _)| now > end) {
            (self.stored, self.fresh, self.exploring, self.frozen) = (0, 0, EXPLORED, None);
        }
    }
}

impl Entropies for Reps {
    fn choose(&mut self, now: u64) -> u16 {
        self.thaw(now);
        if self.exploring > 0 {
            self.exploring -= 1;
            return self.random();
        }
        let kept = self.stored.min(RING);
        if let Some((_, sent)) = self.frozen.as_mut().filter(|_| kept > 0) {
            let place = self.stored - kept + *sent % kept;
            *sent += 1;
            return self.ring[place % RING];
        }
        if self.fresh == 0 {
            return self.random();
        }
        let place = self.stored - self.fresh;
        self.fresh -= 1;
        self.ring[place % RING]
    }

    fn feedback(&mut self, now: u64, entropy: u16, feedback: Feedback) {
        self.thaw(now);
        if feedback == Feedback::Good && self.frozen.is_none() {
            self.ring[self.stored % RING] = entropy;
            self.stored += 1;
            self.fresh = (self.fresh + 1).min(RING);
        }
    }

    fn timeout(&mut self, now: u64) {
        self.thaw(now);
        if self.freeze > 0 && self.exploring == 0 && self.frozen.is_none() {
            self.frozen = Some((now.saturating_add(self.freeze), 0));
        }
    }

    fn draw_again(&mut self) {
        self.draws = 0;
    }

    fn relate(&self, state: &mut State, again: bool) {
        let Self { stream: _, draws, paths: _, freeze: _, ring, stored, fresh, exploring, frozen } = self;
        state.word("number of entropies drawn", if again { 0 } else { *draws });
        // Places in the ring count from the oldest on.
        let kept = (*stored).min(RING);
        state.word("entropies", kept as u64);
        for place in stored - kept..*stored {
            state.word("entropies", ring[place % RING]);
        }
        state.word("fresh entropies", *fresh as u64);
        state.word("explored paths", *exploring);
        state.instant("end of the freeze", frozen.map_or(u64::MAX, |(end, _)| end));
        state.word("frozen packets", frozen.map_or(0, |(_, sent)| sent as u64));
    }
}

#[cfg(test)]
mod tests {
    use incast_units::Time;

    use super::*;

    fn reps(freeze: Option<Time>) -> Reps {
        Reps::new(&Settings { freeze, ..Settings::default() }, 11)
    }

    fn good(reps: &mut Reps, entropies: &[u16]) {
        entropies.iter().for_each(|entropy| reps.feedback(0, *entropy, Feedback::Good));
    }

    fn sends(reps: &mut Reps, now: u64, count: usize) -> Vec<u16> {
        (0..count).map(|_| reps.choose(now)).collect()
    }

    #[test]
    fn good_entropies_are_used_once_more() {
        let mut reps = reps(None);
        let random = Reps::new(&Settings::default(), 11).random();
        good(&mut reps, &[5, 9, 9, 12]);
        reps.feedback(0, 7, Feedback::Bad);
        assert_eq!(sends(&mut reps, 0, 5), [5, 9, 9, 12, random]);
    }

    #[test]
    fn the_ring_keeps_eight() {
        let mut reps = reps(None);
        good(&mut reps, &[1, 2, 3, 4, 5, 6, 7, 8, 9]);
        assert_eq!(sends(&mut reps, 0, 8), [2, 3, 4, 5, 6, 7, 8, 9]);
        // What comes in later is used in its order.
        good(&mut reps, &[20, 21]);
        assert_eq!(reps.choose(0), 20);
        good(&mut reps, &[22]);
        assert_eq!(sends(&mut reps, 0, 2), [21, 22]);
    }

    #[test]
    fn a_frozen_sender_cycles_then_explores() {
        let mut reps = reps(Some(Time::from_ms(10)));
        good(&mut reps, &[5, 9, 9, 12]);
        assert_eq!(reps.choose(0), 5);
        reps.timeout(1_000);
        assert_eq!(sends(&mut reps, 2_000, 6), [5, 9, 9, 12, 5, 9]);
        // Neither another timeout nor a good acknowledgement changes that.
        reps.timeout(3_000);
        reps.feedback(3_000, 30, Feedback::Good);
        let end = 1_000 + Time::from_ms(10).ps();
        assert_eq!(sends(&mut reps, end, 2), [9, 12]);
        // Afterwards sixteen random ones, during which good entropies are stored and a timeout freezes nothing.
        let mut expected = Reps::new(&Settings::default(), 11);
        let random: Vec<u16> = (0..16).map(|_| expected.random()).collect();
        let explored = sends(&mut reps, end + 1, 8);
        reps.timeout(end + 1);
        reps.feedback(end + 1, 40, Feedback::Good);
        assert_eq!([explored, sends(&mut reps, end + 1, 8)].concat(), random);
        assert_eq!(reps.choose(end + 1), 40);
    }

    #[test]
    fn without_freezing_a_timeout_changes_nothing() {
        let mut reps = reps(None);
        good(&mut reps, &[5]);
        reps.timeout(1);
        assert_eq!(reps.choose(2), 5);
    }

    #[test]
    fn random_entropies_are_uniform_below_the_number_of_paths() {
        // 48 paths, 48,000 draws: chi-square with 47 degrees of freedom is below 100 except with
        // probability 1e-5.
        let mut reps = Reps::new(&Settings { paths: 48, ..Settings::default() }, 5);
        let mut cells = [0_u32; 48];
        for _ in 0..48_000 {
            cells[usize::from(reps.choose(0))] += 1;
        }
        let chi: f64 = cells.iter().map(|n| (f64::from(*n) - 1000.0).powi(2) / 1000.0).sum();
        assert!((15.0..100.0).contains(&chi), "{chi}");
    }
}
