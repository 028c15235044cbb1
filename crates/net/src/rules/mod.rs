//! Rules of a switch, without packets and events: the simulator's switch and the switch for real packets both follow
//! these.
//!
//! * [`buffer`]: admission to the packet buffer, and the thresholds of PFC.
//! * [`marking`]: ECN, the packets that a port marks.

pub mod buffer;
pub mod marking;

pub use buffer::{Admission, Buffer, Pausing};
pub use marking::Marking;
