//! Reuse of what repeats itself in a run, and random draws that can repeat themselves.

use super::named::named;

named! {
    /// Treatment of parts of a run that repeat an earlier part exactly. The results are the same.
    pub enum Reuse {
        "off" => Off: "they are simulated like all others",
        "exact" => Exact: "they are taken from the part that they repeat, where the whole state of network, hosts and jobs comes again",
        "summary" => Summary: "the same, but their flows and operations are counted in totals and in the summary, and not written one by one",
    }
}

named! {
    /// Random draws about the packets of connections: which are marked, and which paths they take.
    pub enum Draws {
        "per-packet" => PerPacket: "each packet has its own",
        "per-pass" => PerPass: "they are the same ones again whenever a connection sends after it had nothing to send, as at the begin of a pass: the n-th packet since then has those of the n-th packet in the pass before",
    }
}
