//! Rules of a switch, without packets and events: the simulator's switch and the switch for real packets both follow
//! these.
//!
//! * [`buffer`]: admission to the packet buffer, and the thresholds of PFC.
//! * [`corruption`]: bit errors, the packets that a link corrupts.
//! * [`marking`]: ECN, the packets that a port marks.

pub mod buffer;
pub mod corruption;
pub mod marking;

pub use buffer::{Admission, Buffer, Pausing};
pub use corruption::Corruption;
pub use marking::Marking;
