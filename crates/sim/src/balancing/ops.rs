//! Oblivious packet spraying (OPS): entropies that do not depend on what happens in the network.
//!
//! The median paper's OPS gives each packet "a random flow label"; the public UEC simulator walks through all
//! entropies in an order that it draws again for each round.

use incast_net::describe::balancing::Settings;
use incast_net::random::draw;

use super::policy::Entropies;
use crate::relative::State;

/// A uniform 16-bit entropy for each packet.
#[derive(Debug)]
pub(super) struct Uniform {
    stream: u64,
    sent: u64,
}

impl Uniform {
    pub(super) fn new(stream: u64) -> Self {
        Self { stream, sent: 0 }
    }
}

impl Entropies for Uniform {
    fn choose(&mut self, _: u64) -> u16 {
        self.sent += 1;
        (draw(self.stream, self.sent) >> 48) as u16
    }

    fn draw_again(&mut self) {
        self.sent = 0;
    }

    fn relate(&self, state: &mut State, again: bool) {
        let Self { stream: _, sent } = self;
        state.word("number of entropies drawn", if again { 0 } else { *sent });
    }
}

/// Every one of a power of two of entropies once, in the order 0, 1, 2, … with bits inverted that are drawn
/// for each round.
#[derive(Debug)]
pub(super) struct Rounds {
    stream: u64,
    sent: u64,
    paths: u64,
}

impl Rounds {
    pub(super) fn new(settings: &Settings, stream: u64) -> Self {
        Self { stream, sent: 0, paths: u64::from(settings.paths) }
    }
}

impl Entropies for Rounds {
    fn choose(&mut self, _: u64) -> u16 {
        let (round, index) = (self.sent / self.paths, self.sent % self.paths);
        self.sent += 1;
        ((index ^ draw(self.stream, round)) & (self.paths - 1)) as u16
    }

    fn draw_again(&mut self) {
        self.sent = 0;
    }

    fn relate(&self, state: &mut State, again: bool) {
        let Self { stream: _, sent, paths: _ } = self;
        state.word("number of entropies drawn", if again { 0 } else { *sent });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entropies_are_uniform() {
        // 256 cells of 256 entropies, 256,000 draws: chi-square with 255 degrees of freedom.
        let mut spray = Uniform::new(7);
        let mut cells = [0_u32; 256];
        for _ in 0..256_000 {
            cells[usize::from(spray.choose(0) >> 8)] += 1;
        }
        let chi: f64 = cells.iter().map(|n| (f64::from(*n) - 1000.0).powi(2) / 1000.0).sum();
        assert!((170.0..360.0).contains(&chi), "{chi}");
    }

    #[test]
    fn a_round_takes_every_entropy_once_and_rounds_differ() {
        let mut spray = Rounds::new(&Settings { paths: 32, ..Settings::default() }, 3);
        let rounds: Vec<Vec<u16>> = (0..20).map(|_| (0..32).map(|_| spray.choose(0)).collect()).collect();
        for round in &rounds {
            let mut sorted = round.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, (0..32).collect::<Vec<u16>>());
        }
        assert!(rounds.windows(2).filter(|pair| pair[0] != pair[1]).count() > 15);
    }
}
