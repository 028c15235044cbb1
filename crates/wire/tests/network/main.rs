//! Whole messages over a network in memory that loses, copies, delays, damages and invents packets: what arrives is
//! what was sent, each byte once and in order, and both sides come to an end.

mod cases;
mod network;
mod timing;
