//! A promise of every algorithm in all its presets: no finite disturbance condemns a flow. When signals have been wrong
//! in any way, and are right again, the flow comes back to what it had without the disturbance: within 100 base RTTs, or
//! in the time that its own rule takes ([`back::own`]). Presets whose letter breaks the promise have tests of that.
//!
//! `docs/guide/recovery.md` has the numbers; `UPDATE_DOCS=1` rewrites them. `STORMS=5000` sends more storms.

mod back;
mod ideal;
mod storm;

use std::fmt::Write as _;
use std::path::Path as FilePath;

use back::own::{Rule, rule};
use back::{Back, congestion, path, storms, undisturbed, wrong_sample};
use incast_cc::any::Visitor;
use incast_cc::params::Value;
use incast_cc::{Allowance, AnyParams, CongestionControl, Path, Setup};
use incast_units::Time;
use proptest::prelude::*;
use storm::{Event, Flow, event, everyone};

/// Line rates in Gbps and base RTTs in us, as in the tables of presets.
const NETWORKS: [(u64, u64); 4] = [(25, 20), (100, 12), (400, 8), (800, 6)];

/// Base RTTs within which every flow is back whose own rule permits it.
const MOST: u64 = 100;

/// Base RTTs after which a flow without a disturbance has settled: an additive increase of a thousandth of
/// the BDP has then reached the line twice.
const SETTLED: u64 = 2_000;

/// Random storms, beside one of congestion.
const STORMS: usize = 300;

/// The letter of a preset, if it never forgets what one sample says: a smallest RTT that counts for ever.
fn never_forgets(params: &AnyParams) -> bool {
    ideal::value(params, "forget_base_rtt") == Some(Value::Flag(false))
        && ideal::value(params, "track_base_rtt") == Some(Value::Flag(true))
}

/// The letter of a preset, if the average of its power diverges where a packet leaves less often than every other base RTT:
/// nothing limits the time between two records.
fn diverges(params: &AnyParams) -> bool {
    ideal::value(params, "bounded_dt") == Some(Value::Flag(false))
}

fn most(rule: Option<&Rule>) -> u64 {
    rule.map_or(0, Rule::most).max(MOST)
}

/// The base RTTs until a flow is back after these events.
fn back(name: &str, params: &AnyParams, path: Path, events: &[Event], most: u64) -> Option<u64> {
    params.visit(Back { name, path, events, undisturbed: undisturbed(params, path, SETTLED), most })
}

/// One sample of a hundredth of the base RTT, as a clock that steps back makes it, among right ones.
#[test]
fn a_sample_below_the_base_rtt_condemns_no_flow() {
    for (name, params) in everyone().into_iter().filter(|(_, params)| !never_forgets(params)) {
        for (gbps, rtt_us) in NETWORKS {
            let path = path(gbps, rtt_us);
            let took = back(&name, &params, path, &wrong_sample(&path), MOST);
            assert!(took.is_some(), "{name}, {gbps} Gbps, {rtt_us} us: not back in {MOST} base RTTs");
        }
    }
}

/// The worst of many storms on each network, for every preset; the page has the same numbers.
#[test]
fn storms_pass_in_the_time_of_the_rule() {
    let number = std::env::var("STORMS").map_or(STORMS, |number| number.parse().expect("STORMS is a number"));
    let storms = storms(number);
    let mut table = String::from(
        "| Preset | One wrong sample | 25 Gbps, 20 us | 100 Gbps, 12 us | 400 Gbps, 8 us | 800 Gbps, 6 us | Its own rule, where \
         it takes more than 100 |\n| --- | --- | --- | --- | --- | --- | --- |\n",
    );
    let mut late = Vec::new();
    for (name, params) in everyone() {
        let (mut one, mut cells, mut why) = (Some(0), String::new(), String::new());
        for (gbps, rtt_us) in NETWORKS {
            let path = path(gbps, rtt_us);
            let rule = rule(&params, &path);
            let most = most(rule.as_ref());
            let sample = back(&name, &params, path, &wrong_sample(&path), 1000);
            one = one.zip(sample).map(|(one, sample)| one.max(sample));
            if never_forgets(&params) {
                cells.push_str(" never |");
                why = "a smallest RTT counts for ever, by the letter".to_owned();
                continue;
            }
            if diverges(&params) && back(&name, &params, path, &congestion(&path), most).is_none() {
                cells.push_str(" never |");
                why = "the average of the power diverges at less than a packet per two RTTs, by the letter"
                    .to_owned();
                continue;
            }
            // Fewer where each takes long.
            let fewer = (number * 500 / most as usize).clamp(number / 40, number);
            let congested = congestion(&path);
            let before = undisturbed(&params, path, SETTLED);
            let worst = std::iter::once(&congested)
                .chain(&storms[..fewer])
                .map(|events| {
                    let back = Back { name: &name, path, events, undisturbed: before, most: 2 * most };
                    params.visit(back).unwrap_or(u64::MAX)
                })
                .max()
                .unwrap();
            if worst > most {
                let took =
                    if worst == u64::MAX { "never back".into() } else { format!("back after {worst}") };
                late.push(format!(
                    "{name}, {gbps} Gbps, {rtt_us} us: {took}, not within {most} base RTTs; if its own rule needs \
                     longer, tests/back/own.rs is the place to say so"
                ));
            }
            if most > MOST {
                write!(cells, " {worst} ({most}) |").unwrap();
                why = rule.unwrap().why;
            } else {
                write!(cells, " {worst} |").unwrap();
            }
        }
        let one = one.map_or("never".to_owned(), |one| one.to_string());
        writeln!(table, "| {name} | {one} |{cells} {why} |").unwrap();
    }
    assert!(late.is_empty(), "{}", late.join("\n"));
    if number == STORMS {
        the_page_has(&table);
    }
}

/// Compares the table of `docs/guide/recovery.md`, or rewrites it.
fn the_page_has(table: &str) {
    let file = FilePath::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/recovery.md");
    let page = std::fs::read_to_string(&file).unwrap();
    let (begin, end) = ("<!-- storms: from the code -->\n", "<!-- storms: end -->");
    let (before, rest) = page.split_once(begin).expect("the page has the table");
    let (_, after) = rest.split_once(end).expect("the table ends");
    let right = format!("{before}{begin}\n{table}\n{end}{after}");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&file, right).unwrap();
        return;
    }
    let wrong = page.lines().find(|line| line.starts_with('|') && !right.lines().any(|other| other == *line));
    let wrong = wrong.unwrap_or("a row that it lacks");
    assert!(
        page == right,
        "docs/guide/recovery.md differs from the code in {wrong}; UPDATE_DOCS=1 cargo test -p incast-cc --test calm writes it"
    );
}

/// The allowance after events and then this many base RTTs of calm.
struct After<'a>(&'a str, Path, &'a [Event], u64);

impl Visitor for After<'_> {
    type Output = Allowance;

    fn visit<C: CongestionControl>(self, params: &C::Params) -> Allowance {
        let Self(name, path, events, rtts) = self;
        let mut flow = Flow::<C>::new(name, Setup::new(params.clone(), path));
        for event in events {
            flow.happen(event, Time::ZERO);
        }
        let enough = |_, _, time| time > path.base_rtt.times(rtts);
        ideal::calm(&mut flow.controller, &flow.setup, flow.now, flow.next, enough);
        flow.controller.allowance(&flow.setup)
    }
}

/// The letter of θ-PowerTCP's public artifact. By hand: one sample of R/100 counts as R/8 for ever, so that RTTs of R are a
/// power of 8/1.05 = 7.62. The window that each round trip reproduces, w = γ(w/7.62 + β) + (1 − γ)w, is w = β/(1 − 1/7.62).
/// With β = 0.006 that is 0.0069 of the BDP of R/8, 129 bytes of 150 KB; the least rate of 100 Mbps is a thousandth of the
/// line, so that it does not count.
#[test]
fn the_artifact_of_theta_powertcp_never_forgets_a_wrong_sample() {
    let params = AnyParams::named("theta-powertcp", Some("artifact")).unwrap();
    let path = path(100, 12);
    for rtts in [100, 1000, 10_000] {
        let after = params.visit(After("artifact", path, &wrong_sample(&path), rtts));
        assert_eq!(after.window.get(), 129, "after {rtts} base RTTs");
    }
    assert_eq!(back("artifact", &params, path, &wrong_sample(&path), 10_000), None);
}

/// Every other preset that never forgets keeps less than half of its allowance for ever, too: NSCC's and MNSCC's largest window
/// is 1.5 BDPs of an eighth of the base RTT, 0.19 BDP.
#[test]
fn what_never_forgets_stays_below_half() {
    let presets: Vec<_> = everyone().into_iter().filter(|(_, params)| never_forgets(params)).collect();
    let names: Vec<_> = presets.iter().map(|(name, _)| name.as_str()).collect();
    // No default is among them.
    assert_eq!(
        names,
        ["theta-powertcp artifact", "nscc uec", "nscc trimming", "nscc median", "mnscc median", "mnscc uec"]
    );
    for (name, params) in presets {
        for (gbps, rtt_us) in NETWORKS {
            let path = path(gbps, rtt_us);
            let after = params.visit(After(&name, path, &wrong_sample(&path), 1000));
            let window = after.window.min(after.rate.bytes_in(path.base_rtt)).get();
            assert!(window < path.bdp().get() / 2, "{name}, {gbps} Gbps: {window} bytes are back");
        }
    }
}

/// OSCAR's artifact of PowerTCP. The average moves by dt/τ of the difference, and nothing limits dt: at a packet per k base
/// RTTs each sample multiplies its error by 1 − k, which grows for k > 2. At 25 Gbps and 20 us the least window, a thousandth
/// of the BDP of 59 packets, is a packet per 17 base RTTs; at 100 Gbps and 12 us still one per 7.
#[test]
fn the_power_of_oscars_artifact_diverges_where_packets_are_rare() {
    let params = AnyParams::named("powertcp", Some("oscar")).unwrap();
    let slow = path(25, 20);
    assert_eq!(back("oscar", &params, slow, &congestion(&slow), 10_000), None);
    // With a bound on dt, as in the paper, the same flow is back.
    let bounded = AnyParams::named("powertcp", Some("paper")).unwrap();
    assert!(back("paper", &bounded, slow, &congestion(&slow), MOST).is_some());
}

/// Bounds of the rules by hand, so that they can be wrong.
#[test]
fn rules_by_hand() {
    let most = |algorithm, preset, (gbps, rtt_us)| {
        rule(&AnyParams::named(algorithm, Some(preset)).unwrap(), &path(gbps, rtt_us)).unwrap().most()
    };
    // 150 KB are 141.5 packets of 1060 bytes: 127.4 steps, 1.02 times and 5.
    assert_eq!(most("dctcp", "paper", (100, 12)), 135);
    // 0.9/0.001, and a little as 2^-32 rounds 0.001 down: 918.00 rounded up, and 5.
    assert_eq!(most("swift", "oscar", (800, 6)), 924);
    // 256 packets are the largest window of 566: 230.4.
    assert_eq!(most("swift", "bolt", (800, 6)), 241);
    // (0.9 − 0.001)/0.005 = 179.8 steps, of which four are single and the others five at once: 4 + 35.16.
    assert_eq!(most("timely", "scaled", (400, 8)), 45);
    // 64 KB take 51.2 ms at 10 Mbps. From 25 Mbps in steps of 10 the sum of 1/(k + 2.5), k < 2248, is
    // ψ(2250.5) − ψ(2.5) = 7.7187 − 0.7032: 359.2 ms, 17,960 base RTTs. Whole packets make 64,660 bytes: 18,514 with 1.02
    // and 5; the few that are sent together make it a little more.
    let paper = most("timely", "paper", (25, 20));
    assert!((18_510..=18_600).contains(&paper), "{paper}");
    // A sixteenth of the BDP takes 62.5 at a thousandth of the line, and then 12.5 times the sum of 1/(k + 0.2), k < 180:
    // ψ(180.2) − ψ(1.2) = 5.191 + 0.289. Whole packets make 9,540 bytes of 9,375: 133.3, so 141.
    let scaled = most("patched-timely", "scaled", (100, 12));
    assert!((141..=147).contains(&scaled), "{scaled}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    /// Other paths: round-trip times from none to years, marks, telemetry of any value, notifications, losses and timeouts.
    /// The bound counts packets, as the rules of the algorithms do: on a path with room for three packets their steps are
    /// long.
    #[test]
    fn any_storm_passes(
        gbps in prop_oneof![Just(10_u64), Just(25), Just(100), Just(400)],
        rtt_us in 3..20_u64,
        events in prop::collection::vec(event(), 1..60),
    ) {
        let path = path(gbps, rtt_us);
        for (name, params) in everyone() {
            if diverges(&params) || never_forgets(&params) {
                continue;
            }
            let most = 2 * ideal::bound(&params, &path);
            let before = undisturbed(&params, path, 200);
            let packets = params.visit(back::Packets { name: &name, path, events: &events, undisturbed: before, most });
            prop_assert!(packets <= most, "{name}: not back at nine tenths of {before:?} after {packets} packets");
        }
    }
}
