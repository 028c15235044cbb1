//! Reuse of what repeats itself in a run.

use super::named::named;

named! {
    /// What is done with parts of a run that repeat an earlier part exactly. The results are the same.
    pub enum Reuse {
        "off" => Off: "they are simulated like all others",
        "exact" => Exact: "they are taken from the part that they repeat, where the whole state of network, hosts and jobs comes again",
    }
}
