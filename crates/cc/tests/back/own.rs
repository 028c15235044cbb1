//! Base RTTs that the own rule of an algorithm takes from its least allowance to nine tenths of the line, where these may
//! be more than 100: computed here in real numbers from the parameters, not measured.

use incast_cc::params::Value;
use incast_cc::{AnyParams, Path};

use crate::ideal::value;

/// The share of the line at which a flow is back.
const BACK: f64 = 0.9;

/// A rule: the base RTTs that it takes, and how they follow from the parameters.
pub(crate) struct Rule {
    rtts: f64,
    pub(crate) why: String,
}

impl Rule {
    /// The most base RTTs that a flow may take. A flow needs up to five for its first samples, and the packets that
    /// [`crate::ideal::calm`] sends together make it two in a hundred later or sooner.
    pub(crate) fn most(&self) -> u64 {
        (self.rtts * 1.02).ceil() as u64 + 5
    }
}

/// Parameters as real numbers: times in seconds, sizes in bytes, rates in bits per second.
struct Numbers<'a>(&'a AnyParams);

impl Numbers<'_> {
    fn get(&self, name: &str) -> f64 {
        match value(self.0, name) {
            Some(Value::Time(v)) => v.ps() as f64 * 1e-12,
            Some(Value::Bytes(v)) => v.get() as f64,
            Some(Value::Rate(v)) => v.bps() as f64,
            Some(Value::Ratio(v)) => v.bits() as f64 / 4_294_967_296.0,
            Some(Value::Count(v)) => v as f64,
            Some(Value::Flag(v)) => f64::from(u8::from(v)),
            other => panic!("{}: {name} is {other:?}, not a number", self.0.info().name),
        }
    }

    fn is(&self, name: &str, word: &str) -> bool {
        let mut found = false;
        self.0.params(|info, value| {
            if let (incast_cc::params::Kind::Choice(words), Value::Choice(place)) = (info.kind, value) {
                found |= info.name == name && words[place] == word;
            }
        });
        found
    }
}

/// The rule of a preset, if it may take more than 100 base RTTs on some path.
pub(crate) fn rule(params: &AnyParams, path: &Path) -> Option<Rule> {
    let of = Numbers(params);
    let line = path.line_rate.bps() as f64;
    let base = path.base_rtt.ps() as f64 * 1e-12;
    let bdp = path.bdp().get() as f64;
    let packets = bdp / path.packet.get() as f64;
    let (rtts, why) = match params.info().name {
        "dctcp" | "newreno" | "retcp" => {
            (BACK * packets, "a packet per RTT from one packet: 0.9 BDP, in packets".to_owned())
        }
        "swift" | "lswift" | "mswift" => {
            let ai = of.get("ai");
            if of.is("unit", "bdp") {
                (BACK / ai, format!("{ai:.3} of the BDP per RTT: 0.9/{ai:.3}"))
            } else {
                let most = packets.min(of.get("max_cwnd"));
                (BACK * most / ai, "a packet per RTT from one packet: 0.9 BDP, in packets".to_owned())
            }
        }
        // A BDP counts as max_cwnd of them. Before the packets in flight have come back, at one packet per RTT, none
        // counts. As many must then have RTTs near the base RTT, while t RTTs add step·t²/2 packets; after that four
        // packets per acknowledgement take two RTTs.
        "smartt" => {
            let most = of.get("max_cwnd") * packets;
            let target = match of.get("target") {
                0.0 => of.get("target_share"),
                target => target / base,
            };
            let step = of.get("fi") + of.get("mi") * target;
            (
                most + (2.0 * most / step).sqrt() + 2.0,
                "a largest window of 1.25 BDP is ignored at one packet per RTT after NACKs".to_owned(),
            )
        }
        "dcqcn" => (
            dcqcn(&of, line) / base,
            "steps of the rate timer and the byte counter from the least rate".to_owned(),
        ),
        "timely" => timely(&of, path),
        "patched-timely" | "sqcc" => {
            let segment = match of.get("segment") {
                0.0 => of.get("segment_share") * bdp,
                segment => segment,
            };
            let delta = match of.get("delta") {
                0.0 => of.get("delta_share") * line,
                delta => delta,
            };
            let least = of.get("floor_rate") + of.get("floor") * line;
            segments(segment, delta, least, path)
        }
        // A share of the line per batch of a period or four packets, from the time that these take at the least window,
        // a thousandth of the BDP.
        "oscar" if of.get("batched") == 1.0 => {
            let period = of.get("tau") + of.get("tau_time") / base;
            let step = of.get("u_hai");
            let batch = |share: f64| (4.0 / (share * packets)).max(period);
            let steps = (BACK / step).ceil() as u64;
            let rtts = batch(0.001) + (1..=steps).map(|k| batch(step * k as f64)).sum::<f64>();
            (
                rtts,
                format!(
                    "{step:.2} of the line per batch of four packets or more: slow at few packets per BDP"
                ),
            )
        }
        // The presets that track their base RTT are after the authors' artifact and divide the power by 1.05: their window
        // also grows in proportion. The others: γβ of the BDP per RTT at a power of 1. The average of the power may be 2³¹
        // and shrinks by a factor of e per RTT or, where a packet leaves less often than that, to nothing with a packet:
        // two updates from the least window. With update_beyond every other packet of a flow with one in flight ends
        // a round trip.
        "theta-powertcp" if of.get("track_base_rtt") == 0.0 => {
            let beta = of.get("gamma") / of.get("flows");
            (
                BACK / beta + 31.0 * 2_f64.ln() + 2.0 * (1.0 + of.get("update_beyond")) / (0.001 * packets),
                format!("{beta:.4} of the BDP per RTT: 0.9/{beta:.4}"),
            )
        }
        "poseidon" if of.is("alpha", "flow") => (
            poseidon(&of) + 1.0 / (of.get("r_min") * packets),
            "its factor is small near the line: α is the flow's own".to_owned(),
        ),
        _ => return None,
    };
    Some(Rule { rtts, why })
}

/// Seconds until nine tenths of the line under DCQCN, from its least rate and target.
fn dcqcn(of: &Numbers, line: f64) -> f64 {
    let paper = of.is("flavour", "paper");
    let (timer, counter) = (of.get("rate_timer"), if paper { of.get("byte_counter") } else { f64::INFINITY });
    let (recovery, small, large) = (of.get("recovery"), of.get("r_ai"), of.get("r_hai"));
    let mut rate = of.get("floor") + of.get("floor_rate") / line;
    let (mut target, mut time, mut due, mut bytes) = (rate, 0.0, timer, 0.0);
    let (mut by_time, mut by_bytes) = (0.0_f64, 0.0_f64);
    while rate < BACK {
        let full = time + (counter - bytes) * 8.0 / (rate * line);
        if full < due {
            (time, bytes) = (full, 0.0);
            by_bytes += 1.0;
        } else {
            bytes += rate * line / 8.0 * (due - time);
            (time, due) = (due, due + timer);
            by_time += 1.0;
        }
        let both = by_time.min(by_bytes) - recovery;
        target += match paper {
            true if by_time.max(by_bytes) <= recovery => 0.0,
            true if both > 0.0 => large * if of.get("hyper_growing") == 1.0 { both } else { 1.0 },
            true => small,
            false if by_time <= recovery => 0.0,
            false if by_time <= recovery + 1.0 => small,
            false => large,
        };
        target = target.min(1.0);
        rate = (rate + target) / 2.0;
    }
    // The timer may have begun before.
    time + timer
}

/// TIMELY with a step of δ, once per RTT or with each segment.
fn timely(of: &Numbers, path: &Path) -> (f64, String) {
    let line = path.line_rate.bps() as f64;
    let delta = of.get("delta") + of.get("delta_share") * line;
    let least = of.get("floor_rate") + of.get("floor") * line;
    if !of.is("update", "rtt") {
        return segments(of.get("segment"), delta, least, path);
    }
    let steps = (BACK * line - least) / delta;
    let (share, hyper) = (delta / line, of.get("hai_steps"));
    if of.get("hai_below_low") == 1.0 {
        let before = of.get("hai_from") - 1.0;
        (
            before + (steps - before) / hyper,
            format!("{share:.3} of the line per RTT, {hyper} times that in a row"),
        )
    } else {
        (steps, format!("{share:.3} of the line per RTT: 0.9/{share:.3}"))
    }
}

/// A step of δ with each segment, from the least rate: about segment/least + segment/δ · ln(0.9 C/least). A segment ends with a
/// whole packet, or with the last of those that [`crate::ideal::calm`] sends together, and what is beyond it counts for no
/// other.
fn segments(segment: f64, delta: f64, least: f64, path: &Path) -> (f64, String) {
    let (line, packet) = (path.line_rate.bps() as f64, path.packet.get() as f64);
    let base = path.base_rtt.ps() as f64 * 1e-12;
    let (mut rate, mut seconds) = (least, 0.0);
    while rate < BACK * line {
        let together = packet * (rate / 8.0 * base / packet / 16.0).floor().clamp(1.0, 32.0);
        seconds += (segment / together).ceil() * together * 8.0 / rate;
        rate += delta;
    }
    (
        seconds / base,
        "one step per segment: segment/r + segment/δ · ln(0.9 C/r) from the least rate r".to_owned(),
    )
}

/// Round trips until nine tenths of the line under Poseidon whose α is the flow's own log₂(1/r), without any delay: in a
/// sixteenth of one, (2^(m·x·(k + p·x/range)/p) − 1) of what was in flight a round trip ago is added, with x = log₂(1/r).
fn poseidon(of: &Numbers) -> f64 {
    let (p, k, m, least) = (of.get("p"), of.get("k"), of.get("m"), of.get("r_min"));
    let range = -least.log2();
    let mut shares = vec![least; 17];
    while *shares.last().unwrap() < BACK {
        let now = *shares.last().unwrap();
        let slowness = -now.log2();
        let factor = (m * slowness * (k / p + slowness / range)).exp2();
        let before = shares[shares.len() - 17];
        shares.push(now + (factor - 1.0) * before / 16.0);
    }
    (shares.len() - 17) as f64 / 16.0
}
