//! The state of a flow relative to an instant: what can influence its future, and nothing else.
//!
//! Two states that are alike in this sense lead to the same future, shifted in time and in position: a simulator compares
//! them to find out whether a workload repeats itself. An algorithm says of each field of its state how it is compared, by
//! `relate!`, which takes all of them apart: a field that is forgotten does not compile.
//!
//! States are compared while nothing is in flight. Everything that a flow learns after that instant is of packets that
//! leave after it: they are sent later than every instant and lie at or behind the position that it has reached.

use incast_units::{Bytes, Rate, Time};

use crate::fixed::Fixed;

/// An instant at which nothing of a flow is in flight, and what it had reached by then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The instant.
    pub now: Time,
    /// The position in bytes behind the last byte that was sent, which is acknowledged.
    pub position: u64,
}

/// A receiver of states, word by word.
pub trait See {
    /// A word of a field.
    fn see(&mut self, field: &'static str, word: u64);

    /// A part of the state that cannot be compared.
    fn miss(&mut self, part: &'static str);

    /// Returns the bytes that the port at `place` of `places` switches on the path of the flow has transmitted by now, if
    /// that is known.
    fn transmitted(&self, _place: usize, _places: usize) -> Option<u64> {
        None
    }
}

/// A part of the state of a flow that says itself how it is compared.
pub trait Relate {
    /// Passes it to `see`.
    fn relate(&self, origin: &Origin, see: &mut dyn See);
}

impl Relate for () {
    fn relate(&self, _: &Origin, _: &mut dyn See) {}
}

/// Something that is a few words.
pub trait Words {
    /// Passes them on.
    fn words(&self, word: &mut dyn FnMut(u64));
}

macro_rules! words {
    ($($type:ty: |$value:ident| $word:expr;)+) => {
        $(impl Words for $type {
            fn words(&self, word: &mut dyn FnMut(u64)) {
                let $value = *self;
                word($word);
            }
        })+
    };
}

words! {
    u8: |value| u64::from(value);
    u16: |value| u64::from(value);
    u32: |value| u64::from(value);
    u64: |value| value;
    i64: |value| value as u64;
    bool: |value| u64::from(value);
    Time: |value| value.ps();
    Bytes: |value| value.get();
    Rate: |value| value.bps();
    Fixed: |value| value.bits() as u64;
}

impl<T: Words> Words for Option<T> {
    fn words(&self, word: &mut dyn FnMut(u64)) {
        word(u64::from(self.is_some()));
        self.iter().for_each(|value| value.words(word));
    }
}

impl<T: Words, const N: usize> Words for [T; N] {
    fn words(&self, word: &mut dyn FnMut(u64)) {
        self.iter().for_each(|value| value.words(word));
    }
}

/// Of a time or position that is not set.
const UNSET: [u64; 2] = [0, 0];

/// Of one that lies so far back that it does not count any more.
const OVER: [u64; 2] = [1, 0];

/// The ways in which fields are compared. Each is named by `relate!`.
impl Origin {
    /// A field that is the same at any time and position.
    #[must_use]
    pub const fn value(&self) -> Value {
        Value
    }

    /// A part that says itself how it is compared.
    #[must_use]
    pub const fn part(&self) -> Part<'_> {
        Part(self)
    }

    /// Several such parts.
    #[must_use]
    pub const fn each(&self) -> Each<'_> {
        Each(self)
    }

    /// A field that no decision reads.
    #[must_use]
    pub const fn unread(&self) -> Unread {
        Unread
    }

    /// An instant, before or after now; [`Time::NEVER`] for none.
    #[must_use]
    pub const fn instant(&self) -> Since {
        Since { now: self.now, most: Time::NEVER }
    }

    /// An instant after which only so much time counts: whoever reads it asks whether `most` or less has passed since then.
    #[must_use]
    pub const fn since(&self, most: Time) -> Since {
        Since { now: self.now, most }
    }

    /// An instant with which only later ones are compared, by their order: how long ago it was does not count.
    #[must_use]
    pub const fn past(&self) -> Since {
        Since { now: self.now, most: Time::ZERO }
    }

    /// An instant of which only the phase counts: whoever reads it divides the time since then by `period`, and asks for the
    /// rest.
    #[must_use]
    pub const fn phase(&self, period: Time) -> Phase {
        Phase { now: self.now, period }
    }

    /// A counter that is compared with a limit up to which it matters: all numbers from there on are alike.
    #[must_use]
    pub const fn up_to(&self, limit: u64) -> UpTo {
        UpTo(limit)
    }

    /// A field that counts only if something holds.
    #[must_use]
    pub const fn only(&self, holds: bool) -> Only {
        Only(holds)
    }

    /// A position with which only positions in later acknowledgements are compared, by their order; [`u64::MAX`] for none.
    #[must_use]
    pub const fn ahead(&self) -> Ahead {
        Ahead(self.position)
    }
}

/// See [`Origin::value`].
#[derive(Clone, Copy, Debug)]
pub struct Value;

impl Value {
    /// Passes the field to `to`.
    pub fn note(self, to: &mut dyn See, name: &'static str, field: &impl Words) {
        field.words(&mut |word| to.see(name, word));
    }
}

/// See [`Origin::part`].
#[derive(Clone, Copy, Debug)]
pub struct Part<'a>(&'a Origin);

impl Part<'_> {
    /// Passes the part to `to`.
    pub fn note(self, to: &mut dyn See, _: &'static str, part: &impl Relate) {
        part.relate(self.0, to);
    }
}

/// See [`Origin::each`].
#[derive(Clone, Copy, Debug)]
pub struct Each<'a>(&'a Origin);

impl Each<'_> {
    /// Passes the parts to `to`.
    pub fn note(self, to: &mut dyn See, _: &'static str, parts: &[impl Relate]) {
        parts.iter().for_each(|part| part.relate(self.0, to));
    }
}

/// See [`Origin::unread`].
#[derive(Clone, Copy, Debug)]
pub struct Unread;

impl Unread {
    /// Passes nothing on.
    pub fn note<T>(self, _: &mut dyn See, _: &'static str, _: &T) {}
}

/// See [`Origin::instant`], [`Origin::since`] and [`Origin::past`].
#[derive(Clone, Copy, Debug)]
pub struct Since {
    now: Time,
    most: Time,
}

impl Since {
    /// Passes the field to `to`.
    pub fn note(self, to: &mut dyn See, name: &'static str, time: &Time) {
        let (now, time) = (self.now.ps(), time.ps());
        let words = if time == Time::NEVER.ps() {
            UNSET
        } else if time <= now && now - time >= self.most.ps() {
            OVER
        } else {
            [2, now.wrapping_sub(time)]
        };
        words.into_iter().for_each(|word| to.see(name, word));
    }
}

/// See [`Origin::phase`].
#[derive(Clone, Copy, Debug)]
pub struct Phase {
    now: Time,
    period: Time,
}

impl Phase {
    /// Passes the field to `to`.
    pub fn note(self, to: &mut dyn See, name: &'static str, time: &Time) {
        let words = match (*time, self.now - *time) {
            (Time::NEVER, _) => UNSET,
            (time, _) if time > self.now => [3, (time - self.now).ps()],
            (_, since) => [2, since.ps().checked_rem(self.period.ps()).unwrap_or(0)],
        };
        words.into_iter().for_each(|word| to.see(name, word));
    }
}

/// See [`Origin::up_to`].
#[derive(Clone, Copy, Debug)]
pub struct UpTo(u64);

impl UpTo {
    /// Passes the counter to `to`.
    pub fn note(self, to: &mut dyn See, name: &'static str, counter: &impl Words) {
        counter.words(&mut |word| to.see(name, word.min(self.0)));
    }
}

/// See [`Origin::only`].
#[derive(Clone, Copy, Debug)]
pub struct Only(bool);

impl Only {
    /// Passes the field to `to`.
    pub fn note(self, to: &mut dyn See, name: &'static str, field: &impl Words) {
        field.words(&mut |word| to.see(name, if self.0 { word } else { 0 }));
    }
}

/// See [`Origin::ahead`].
#[derive(Clone, Copy, Debug)]
pub struct Ahead(u64);

impl Ahead {
    /// Passes the field to `to`.
    pub fn note(self, to: &mut dyn See, name: &'static str, position: &u64) {
        let words = match *position {
            u64::MAX => UNSET,
            position if position < self.0 => OVER,
            position => [2, position - self.0],
        };
        words.into_iter().for_each(|word| to.see(name, word));
    }
}

/// Defines `relate` of an algorithm, or of a part of its state, from lists of its fields by the way in which they are
/// compared: the methods of [`Origin`]. All fields must be listed.
macro_rules! relate {
    (as a part) => {
        fn relate(
            &self,
            _: &Setup<Self::Params>,
            origin: &$crate::relative::Origin,
            see: &mut dyn $crate::relative::See,
        ) {
            $crate::relative::Relate::relate(self, origin, see);
        }
    };
    (|$setup:ident| $($kind:ident $args:tt: [$($field:ident),+ $(,)?]),* $(,)?) => {
        fn relate(
            &self,
            $setup: &Setup<Self::Params>,
            origin: &$crate::relative::Origin,
            see: &mut dyn $crate::relative::See,
        ) {
            let Self { $($($field,)+)* } = self;
            let _ = ($setup, origin, &see);
            $($(origin.$kind $args.note(see, stringify!($field), $field);)+)*
        }
    };
    ($($kind:ident $args:tt: [$($field:ident),+ $(,)?]),+ $(,)?) => {
        fn relate(&self, origin: &$crate::relative::Origin, see: &mut dyn $crate::relative::See) {
            let Self { $($($field,)+)+ } = self;
            $($(origin.$kind $args.note(see, stringify!($field), $field);)+)+
        }
    };
}
pub(crate) use relate;

#[cfg(test)]
mod tests {
    use super::*;

    /// The words of a state.
    #[derive(Default, Debug, PartialEq)]
    struct Seen([(&'static str, u64); 6], usize);

    impl See for Seen {
        fn see(&mut self, field: &'static str, word: u64) {
            self.0[self.1] = (field, word);
            self.1 += 1;
        }

        fn miss(&mut self, _: &'static str) {}
    }

    const ORIGIN: Origin = Origin { now: Time::from_us(100), position: 5000 };

    fn seen(note: impl FnOnce(&mut Seen)) -> [u64; 2] {
        let mut seen = Seen::default();
        note(&mut seen);
        assert_eq!(seen.1, 2);
        [seen.0[0].1, seen.0[1].1]
    }

    #[test]
    fn instants_are_relative_and_old_ones_alike() {
        let us = Time::from_us;
        let instant = |time| seen(|see| ORIGIN.instant().note(see, "due", &time));
        assert_eq!(instant(us(97)), [2, us(3).ps()]);
        assert_eq!(instant(us(102)), [2, 0_u64.wrapping_sub(us(2).ps())]);
        assert_eq!(instant(Time::NEVER), UNSET);
        let since = |time| seen(|see| ORIGIN.since(us(10)).note(see, "since", &time));
        assert_eq!([us(89), us(90), us(91)].map(since), [OVER, OVER, [2, us(9).ps()]]);
        // What lies ahead is not over.
        assert_eq!(since(us(115)), [2, 0_u64.wrapping_sub(us(15).ps())]);
        let past = |time| seen(|see| ORIGIN.past().note(see, "past", &time));
        assert_eq!([us(3), us(100), us(101)].map(past)[..2], [OVER, OVER]);
        assert_eq!(past(us(101)), instant(us(101)));
    }

    #[test]
    fn positions_that_were_passed_are_alike() {
        let ahead = |position| seen(|see| ORIGIN.ahead().note(see, "end", &position));
        assert_eq!([17, 4999].map(ahead), [OVER, OVER]);
        assert_eq!([5000, 5007].map(ahead), [[2, 0], [2, 7]]);
        assert_eq!(ahead(u64::MAX), UNSET);
    }
}
