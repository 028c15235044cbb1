//! Tests of the lists and descriptions, and of every status: each is provoked once.

use std::collections::BTreeSet;
use std::ffi::{CStr, c_char};
use std::ptr::{null, null_mut};

use incast_capi::flow::*;
use incast_capi::list::*;
use incast_capi::params::*;
use incast_capi::status::incast_status::{self, *};
use incast_capi::status::incast_status_text;
use incast_capi::types::*;
use incast_cc::any::CATALOGUE;
use incast_cc::{Ack, AnyParams, IntStack, Path};
use incast_units::{Bytes, Rate, Time};

use crate::flow::{Flow, Params, ack, c, memory, path, printed, telemetry, text, written};

const PATH: Path = Path {
    base_rtt: Time::from_us(12),
    base_owd: Time::from_us(6),
    line_rate: Rate::from_gbps(100),
    packet: Bytes::new(1064),
    payload: Bytes::new(1000),
    hops: 4,
};

const ACK: Ack = Ack {
    now: Time::from_us(20),
    sent: Time::from_us(5),
    received: Time::from_us(12),
    acked: Bytes::new(1064),
    sequence: 1000,
    next_sequence: 100_000,
    inflight: Bytes::new(100_000),
    inflight_now: Bytes::new(98_936),
    ..Ack::BLANK
};

fn empty() -> incast_str {
    incast_str { text: null(), length: 0 }
}

fn named() -> incast_named {
    incast_named { name: empty(), meaning: empty() }
}

fn describe(algorithm: usize) -> Result<incast_info, incast_status> {
    let info = incast_info {
        name: empty(),
        title: empty(),
        summary: empty(),
        family: empty(),
        needs: empty(),
        flow_bytes: 0,
        setup_bytes: 0,
        presets: 0,
        parameters: 0,
        internals: 0,
    };
    // SAFETY: here and below: places for the answers.
    written(info, |out| unsafe { incast_cc_describe(algorithm, out) })
}

#[test]
fn the_list_is_the_catalogue() {
    assert_eq!(incast_cc_count(), CATALOGUE.len());
    for (place, known) in CATALOGUE.iter().enumerate() {
        let name = c(known.name);
        // SAFETY: a text with a zero byte.
        assert_eq!(written(999, |out| unsafe { incast_cc_find(name.as_ptr(), out) }), Ok(place));
        let info = describe(place).unwrap();
        let texts = [info.name, info.title, info.summary, info.family, info.needs].map(text);
        assert_eq!(texts, [known.name, known.title, known.summary, known.family.name(), known.needs]);
        assert_eq!(info.flow_bytes, known.state_bytes.max(1), "{}", known.name);
        let flow = Flow::start(&Params::named(known.name, None).unwrap(), &PATH, Time::ZERO);
        assert_eq!(flow.setup.len(), info.setup_bytes.div_ceil(8), "{}", known.name);
        assert_eq!(flow.flow.len(), info.flow_bytes.div_ceil(8), "{}", known.name);

        let params = AnyParams::named(known.name, None).unwrap();
        let mut presets = Vec::new();
        params.presets(|name, meaning| presets.push((name, meaning)));
        assert_eq!(info.presets, presets.len());
        for (at, preset) in presets.into_iter().enumerate() {
            let found = written(named(), |out| unsafe { incast_cc_preset(place, at, out) }).unwrap();
            assert_eq!((text(found.name), text(found.meaning)), preset);
        }
        let mut parameters = Vec::new();
        params.params(|info, value| parameters.push((info, value)));
        assert_eq!(info.parameters, parameters.len());
        for (at, (parameter, value)) in parameters.into_iter().enumerate() {
            let none = incast_parameter { name: empty(), meaning: empty(), source: empty(), kind: 99 };
            let found = written(none, |out| unsafe { incast_cc_parameter(place, at, out) }).unwrap();
            let texts = [found.name, found.meaning, found.source].map(text);
            assert_eq!(texts, [parameter.name, parameter.meaning, parameter.source]);
            assert_eq!(found.kind, incast_value::from(value).kind, "{}", parameter.name);
            let class = written(named(), |out| unsafe { incast_cc_evidence(place, at, out) }).unwrap();
            let evidence = parameter.evidence;
            assert_eq!([class.name, class.meaning].map(text), [evidence.name(), evidence.meaning()]);
        }
        assert_eq!(info.internals, known.internals.len());
        for (at, internal) in known.internals.iter().enumerate() {
            let found = written(named(), |out| unsafe { incast_cc_internal(place, at, out) }).unwrap();
            assert_eq!((text(found.name), text(found.meaning)), (internal.name, internal.meaning));
        }
    }
}

#[test]
fn the_library_says_its_numbers() {
    assert_eq!(incast_cc_abi(), INCAST_CC_ABI);
    // SAFETY: constant texts that end with a zero byte.
    let version = unsafe { CStr::from_ptr(incast_cc_version()) };
    assert_eq!(version.to_str(), Ok(env!("CARGO_PKG_VERSION")));
    let sentence = |status: u32| unsafe { CStr::from_ptr(incast_status_text(status)) }.to_str().unwrap();
    let all: BTreeSet<&str> = (0..=INCAST_NO_VALUE as u32).map(sentence).collect();
    assert_eq!(all.len(), INCAST_NO_VALUE as usize + 1, "every status has a sentence of its own");
    for (status, expected) in [
        (INCAST_OK, "done"),
        (INCAST_UNKNOWN_PRESET, "the algorithm has no preset of this name"),
        (INCAST_OUT_OF_RANGE, "the value is out of range"),
        (INCAST_NOT_STARTED, "the memory holds no parameters, or no setup"),
        (INCAST_NO_VALUE, "the quantity has no value yet"),
    ] {
        assert_eq!(sentence(status as u32), expected);
    }
    assert_eq!([sentence(INCAST_NO_VALUE as u32 + 1), sentence(u32::MAX)], ["unknown status"; 2]);
}

#[test]
fn what_is_beyond_the_end_of_a_list_is_refused() {
    let count = incast_cc_count();
    assert_eq!(describe(count).unwrap_err(), INCAST_NO_SUCH_PLACE);
    assert_eq!(describe(usize::MAX).unwrap_err(), INCAST_NO_SUCH_PLACE);
    let info = describe(0).unwrap();
    let mut out = named();
    let mut none = incast_parameter { name: empty(), meaning: empty(), source: empty(), kind: 99 };
    for (algorithm, past) in [(0, [info.presets, info.parameters, info.internals]), (count, [0, 0, 0])] {
        // SAFETY: places for the answers.
        unsafe {
            assert_eq!(incast_cc_preset(algorithm, past[0], &mut out), INCAST_NO_SUCH_PLACE);
            assert_eq!(incast_cc_parameter(algorithm, past[1], &mut none), INCAST_NO_SUCH_PLACE);
            assert_eq!(incast_cc_internal(algorithm, past[2], &mut out), INCAST_NO_SUCH_PLACE);
        }
    }
}

#[test]
fn names_that_there_are_not_are_refused() {
    let long = "x".repeat(300);
    for name in ["", "OSCAR", "oscar ", "oscarr", long.as_str()] {
        assert_eq!(Params::named(name, None).err(), Some(INCAST_UNKNOWN_ALGORITHM), "{name}");
        // SAFETY: a text with a zero byte, and a place for the answer.
        let found = written(0, |out| unsafe { incast_cc_find(c(name).as_ptr(), out) });
        assert_eq!(found, Err(INCAST_UNKNOWN_ALGORITHM), "{name}");
        assert_eq!(Params::named("oscar", Some(name)).err(), Some(INCAST_UNKNOWN_PRESET), "{name}");
        let mut params = Params::named("oscar", Some("paper")).unwrap();
        assert_eq!(params.set(name, "1"), INCAST_UNKNOWN_PARAMETER, "{name}");
    }
    // No UTF-8.
    let name: [c_char; 2] = [-1, 0];
    let mut params = Params::named("oscar", None).unwrap().0;
    // SAFETY: parameters, and a text with a zero byte.
    let named = unsafe { incast_params_named(&mut params, name.as_ptr(), null()) };
    assert_eq!(named, INCAST_UNKNOWN_ALGORITHM);
}

#[test]
fn values_that_cannot_be_are_refused_and_change_nothing() {
    let mut params = Params::named("oscar", None).unwrap();
    let cases = [
        ("tau_time", "2", INCAST_BAD_VALUE, "tau_time of oscar: \"2\": a time needs its unit, like \"12us\""),
        (
            "tau_time",
            "1s",
            INCAST_OUT_OF_RANGE,
            "tau_time of oscar: \"1s\": out of range: allowed is 0ps to 10ms",
        ),
        (
            "target_queue",
            "2us",
            INCAST_BAD_VALUE,
            "target_queue of oscar: \"2us\": that is a time; expected a number of bytes, like \"32MB\"",
        ),
        ("target", "x", INCAST_BAD_VALUE, "target of oscar: \"x\": a number is expected, like \"1.5\""),
        ("target", "0.5", INCAST_OUT_OF_RANGE, "target of oscar: \"0.5\": out of range: allowed is 1 to 100"),
        ("batched", "no", INCAST_BAD_VALUE, "batched of oscar: \"no\": expected is one of: false, true"),
    ];
    for (name, value, status, why) in cases {
        let before = params.get(name);
        assert_eq!(params.set(name, value), status, "{name} = {value}");
        assert_eq!(params.explain(name, value), why);
        assert_eq!(params.get(name), before, "{name}");
    }
    let long = format!("1.{}", "0".repeat(300));
    assert_eq!(params.set("target", &long), INCAST_BAD_VALUE);
    assert_eq!(
        params.explain("target", &long),
        "target of oscar: no value is as long as this, or it is not UTF-8"
    );
    assert_eq!(params.explain("target", "2.50"), "target of oscar can be 2.5");
    assert_ne!(params.get("target"), "2.5");
    assert_eq!(params.set("target", "2.50"), INCAST_OK);
    assert_eq!(params.get("target"), "2.5");
    let unknown = Params::named("constant", None).unwrap().explain("windw", "1MB");
    assert_eq!(unknown, "constant has no parameter \"windw\"; it has window, rate");
    assert_eq!(params.set("window", "1MB"), INCAST_UNKNOWN_PARAMETER);
}

#[test]
fn a_text_that_does_not_fit_is_cut() {
    let params = Params::named("oscar", None).unwrap();
    let name = c("target_queue");
    let whole = params.range("target_queue");
    assert_eq!(whole, "0B to 1GB");
    for size in 0..=whole.len() + 2 {
        let (mut buffer, mut length) = ([b'#'; 16], 0);
        // SAFETY: parameters, a text with a zero byte, and a buffer that is larger than its size.
        let status = unsafe {
            incast_params_range(&params.0, name.as_ptr(), buffer.as_mut_ptr().cast(), size, &mut length)
        };
        assert_eq!(status, if size > whole.len() { INCAST_OK } else { INCAST_TOO_SMALL }, "{size}");
        assert_eq!(length, whole.len());
        let fits = whole.len().min(size.saturating_sub(1));
        assert_eq!(&buffer[..fits], &whole.as_bytes()[..fits], "{size}");
        // A zero byte where there is room, and nothing beyond.
        assert_eq!(buffer[fits], if size > 0 { 0 } else { b'#' }, "{size}");
        assert!(buffer[fits + 1..].iter().all(|byte| *byte == b'#'), "{size}");
    }
    // In front of a character of several bytes, too, and with nothing after the cut: `target of oscar: "é`.
    let (name, value) = (c("target"), c("é5"));
    let mut buffer = [b'#'; 32];
    // SAFETY: as above.
    let status = unsafe {
        incast_params_explain(
            &params.0,
            name.as_ptr(),
            value.as_ptr(),
            buffer.as_mut_ptr().cast(),
            20,
            null_mut(),
        )
    };
    assert_eq!(status, INCAST_TOO_SMALL);
    assert_eq!(CStr::from_bytes_until_nul(&buffer).unwrap().to_str(), Ok("target of oscar: \""));
}

#[test]
fn values_are_printed_with_their_units() {
    let values = [
        (incast_kind::INCAST_KIND_TIME, 12_500_000, "12.5us"),
        (incast_kind::INCAST_KIND_TIME, INCAST_NEVER, "never"),
        (incast_kind::INCAST_KIND_BYTES, 75_000, "75KB"),
        (incast_kind::INCAST_KIND_BYTES, INCAST_UNLIMITED, "unlimited"),
        (incast_kind::INCAST_KIND_RATE, 2_500_000_000, "2.5Gbps"),
        (incast_kind::INCAST_KIND_RATIO, 3 << 31, "1.5"),
        (incast_kind::INCAST_KIND_RATIO, (-1_i64 << 31) as u64, "-0.5"),
        (incast_kind::INCAST_KIND_COUNT, 5, "5"),
        (incast_kind::INCAST_KIND_FLAG, 1, "true"),
        (incast_kind::INCAST_KIND_CHOICE, 2, "2"),
    ];
    for (kind, number, expected) in values {
        let value = incast_value { kind: kind as u32, number };
        // SAFETY: a value, and a buffer with its size.
        let text = printed(|buffer, size, length| unsafe { incast_value_text(&value, buffer, size, length) });
        assert_eq!(text, expected);
    }
    for (kind, number) in [(7, 0), (u32::MAX, 0), (incast_kind::INCAST_KIND_FLAG as u32, 2)] {
        let value = incast_value { kind, number };
        let mut buffer = [0; 8];
        // SAFETY: as above.
        let status = unsafe { incast_value_text(&value, buffer.as_mut_ptr(), 8, null_mut()) };
        assert_eq!(status, INCAST_BAD_VALUE);
    }
}

#[test]
fn paths_that_cannot_be_are_refused() {
    let params = Params::named("swift", None).unwrap();
    // SAFETY: parameters.
    let size = unsafe { incast_setup_size(&params.0) };
    let mut setup = memory(size);
    let mut start = |path: incast_path| {
        // SAFETY: parameters, a path, and memory with its size.
        unsafe { incast_setup_start(setup.as_mut_ptr().cast(), size, &params.0, &path) }
    };
    let good = path(&PATH);
    assert_eq!(start(good), INCAST_OK);
    for bad in [
        incast_path { base_rtt: 0, base_owd: 0, ..good },
        incast_path { base_rtt: INCAST_NEVER, ..good },
        incast_path { base_owd: good.base_rtt + 1, ..good },
        incast_path { line_rate: 0, ..good },
        incast_path { packet: 0, ..good },
        incast_path { payload: 0, ..good },
        incast_path { payload: good.packet + 1, ..good },
        incast_path { hops: 0, ..good },
    ] {
        assert_eq!(start(bad), INCAST_BAD_PATH, "{bad:?}");
    }
    let ends = incast_path { base_owd: good.base_rtt, payload: good.packet, hops: 1, ..good };
    assert_eq!(start(ends), INCAST_OK);
}

#[test]
fn memory_that_is_too_small_misaligned_or_not_started_is_noticed() {
    let params = Params::named("mswift", None).unwrap();
    let path = path(&PATH);
    // SAFETY: of memory that is refused nothing is used; the rest is as it must be.
    unsafe {
        let size = incast_setup_size(&params.0);
        assert_eq!((incast_setup_align(&params.0), incast_flow_align(null())), (8, 0));
        let mut memory = memory(size + 8);
        let setup: *mut incast_setup = memory.as_mut_ptr().cast();
        let odd = setup.byte_add(1);
        assert_eq!(incast_setup_start(setup, size - 1, &params.0, &path), INCAST_TOO_SMALL);
        assert_eq!(incast_setup_start(odd, size, &params.0, &path), INCAST_MISALIGNED);
        let empty = incast_params { opaque: [0; INCAST_PARAMS_WORDS] };
        assert_eq!(incast_setup_start(setup, size, &empty, &path), INCAST_NOT_STARTED);
        assert_eq!((incast_setup_size(&empty), incast_setup_align(&empty)), (0, 0));
        assert_eq!((incast_setup_size(null()), incast_setup_align(null())), (0, 0));
        let mut signals = 0;
        assert_eq!(incast_params_signals(&empty, &mut signals), INCAST_NOT_STARTED);
        let odd_params = (&raw const params.0).byte_add(1);
        assert_eq!(incast_params_signals(odd_params, &mut signals), INCAST_MISALIGNED);

        let mut state = crate::flow::memory(10_000);
        let flow: *mut incast_flow = state.as_mut_ptr().cast();
        assert_eq!(incast_flow_start(flow, 10_000, setup, 0), INCAST_NOT_STARTED);
        assert_eq!((incast_flow_size(setup), incast_flow_align(setup)), (0, 0));
        assert_eq!(incast_flow_on_cnp(flow, setup, 0), INCAST_NOT_STARTED);
        assert_eq!(incast_setup_start(setup, size, &params.0, &path), INCAST_OK);
        let needed = incast_flow_size(setup);
        assert_eq!(incast_flow_align(setup), 8);
        assert_eq!(incast_flow_start(flow, needed - 1, setup, 0), INCAST_TOO_SMALL);
        assert_eq!(incast_flow_start(flow.byte_add(4), needed, setup, 0), INCAST_MISALIGNED);
        assert_eq!(incast_flow_start(flow, needed, odd, 0), INCAST_MISALIGNED);
        assert_eq!(incast_flow_start(flow, needed, setup, 0), INCAST_OK);
        assert_eq!(incast_flow_on_cnp(flow.byte_add(1), setup, 0), INCAST_MISALIGNED);
        let ack = ack(&ACK);
        let odd_ack = (&raw const ack).byte_add(1);
        assert_eq!(incast_flow_on_ack(flow, setup, odd_ack, null()), INCAST_MISALIGNED);
    }
}

#[test]
fn numbers_that_stand_for_nothing_are_refused() {
    let mut flow = Flow::start(&Params::named("hpcc", None).unwrap(), &PATH, Time::ZERO);
    let setup = flow.setup.clone();
    let setup: *const incast_setup = setup.as_ptr().cast();
    let before = flow.flow.clone();
    let state = flow.state();
    let stack = incast_int_stack { count: INCAST_INT_HOPS as u32 + 1, ..telemetry(&IntStack::EMPTY) };
    let (mut hole, mut circuit) = ([ack(&ACK)], [ack(&ACK)]);
    let loss = incast_loss { now: 0, kind: 3, bytes: 0, sent: 0, sequence: 0, next_sequence: 0 };
    // SAFETY: a flow with its setup. The bytes that are no truth values are read as bytes only.
    unsafe {
        assert_eq!(incast_flow_on_ack(state, setup, &ack(&ACK), &stack), INCAST_BAD_VALUE);
        let (hole, circuit) = (hole.as_mut_ptr(), circuit.as_mut_ptr());
        (&raw mut (*hole).hole).cast::<u8>().write(2);
        (&raw mut (*circuit).circuit).cast::<u8>().write(255);
        assert_eq!(incast_flow_on_ack(state, setup, hole, null()), INCAST_BAD_VALUE);
        assert_eq!(incast_flow_on_ack(state, setup, circuit, null()), INCAST_BAD_VALUE);
        assert_eq!(incast_flow_on_loss(state, setup, &loss), INCAST_BAD_VALUE);
    }
    assert_eq!(flow.flow, before, "a call that is refused changes nothing");
}

/// Some algorithm shows a quantity that has no value when a flow starts.
#[test]
fn a_quantity_without_a_value_is_said_to_have_none() {
    let without = CATALOGUE.iter().any(|info| {
        let flow = Flow::start(&Params::named(info.name, None).unwrap(), &PATH, Time::ZERO);
        (0..info.internals.len()).any(|place| flow.probe(place) == Err(INCAST_NO_VALUE))
    });
    assert!(without);
}

#[test]
fn null_is_refused_wherever_it_is_no_answer() {
    let name = c("oscar");
    let value = c("1.5");
    let target = c("target");
    let mut params = Params::named("oscar", None).unwrap().0;
    let mut flow = Flow::start(&Params(params), &PATH, Time::ZERO);
    let copy = flow.setup.clone();
    let (state, setup): (_, *const incast_setup) = (flow.state(), copy.as_ptr().cast());
    let (name, value, target) = (name.as_ptr(), value.as_ptr(), target.as_ptr());
    let (size, mut length) = (64, 0);
    let mut buffer = [0; 64];
    let text = buffer.as_mut_ptr();
    let path = path(&PATH);
    let ack = ack(&ACK);
    let (mut time, mut word) = (0, 0);
    let mut allowance = incast_allowance { window: 0, rate: 0 };
    let mut shown = incast_value { kind: 0, number: 0 };
    let loss = incast_loss { now: 0, kind: 0, bytes: 0, sent: 0, sequence: 0, next_sequence: 0 };
    let sent = incast_sent { now: 0, bytes: 0, inflight: 0 };
    let params = &raw mut params;
    // SAFETY: every pointer but null leads to what it must.
    let refused = unsafe {
        [
            incast_cc_find(null(), &mut length),
            incast_cc_find(name, null_mut()),
            incast_cc_describe(0, null_mut()),
            incast_cc_preset(0, 0, null_mut()),
            incast_cc_parameter(0, 0, null_mut()),
            incast_cc_internal(1, 0, null_mut()),
            incast_params_named(null_mut(), name, null()),
            incast_params_named(params, null(), null()),
            incast_params_set(null_mut(), target, value),
            incast_params_set(params, null(), value),
            incast_params_set(params, target, null()),
            incast_params_explain(null(), target, value, text, size, null_mut()),
            incast_params_explain(params, null(), value, text, size, null_mut()),
            incast_params_explain(params, target, null(), text, size, null_mut()),
            incast_params_explain(params, target, value, null_mut(), size, null_mut()),
            incast_params_get(null(), target, text, size, null_mut()),
            incast_params_get(params, null(), text, size, null_mut()),
            incast_params_get(params, target, null_mut(), size, null_mut()),
            incast_params_range(null(), target, text, size, null_mut()),
            incast_params_range(params, null(), text, size, null_mut()),
            incast_params_range(params, target, null_mut(), size, null_mut()),
            incast_params_signals(null(), &mut word),
            incast_params_signals(params, null_mut()),
            incast_params_overhead(null(), &mut incast_overhead { data: 0, ack: 0 }),
            incast_params_overhead(params, null_mut()),
            incast_value_text(null(), text, size, null_mut()),
            incast_value_text(&shown, null_mut(), size, null_mut()),
            incast_setup_start(null_mut(), 10_000, params, &path),
            incast_setup_start(copy.as_ptr().cast_mut().cast(), copy.len() * 8, null(), &path),
            incast_setup_start(copy.as_ptr().cast_mut().cast(), copy.len() * 8, params, null()),
            incast_flow_start(null_mut(), 10_000, setup, 0),
            incast_flow_start(state, 10_000, null(), 0),
            incast_flow_on_ack(null_mut(), setup, &ack, null()),
            incast_flow_on_ack(state, null(), &ack, null()),
            incast_flow_on_ack(state, setup, null(), null()),
            incast_flow_on_cnp(null_mut(), setup, 0),
            incast_flow_on_cnp(state, null(), 0),
            incast_flow_on_loss(null_mut(), setup, &loss),
            incast_flow_on_loss(state, null(), &loss),
            incast_flow_on_loss(state, setup, null()),
            incast_flow_on_sent(null_mut(), setup, &sent),
            incast_flow_on_sent(state, null(), &sent),
            incast_flow_on_sent(state, setup, null()),
            incast_flow_on_timer(null_mut(), setup, 0),
            incast_flow_on_timer(state, null(), 0),
            incast_flow_deadline(null(), setup, &mut time),
            incast_flow_deadline(state, null(), &mut time),
            incast_flow_deadline(state, setup, null_mut()),
            incast_flow_allowance(null(), setup, &mut allowance),
            incast_flow_allowance(state, null(), &mut allowance),
            incast_flow_allowance(state, setup, null_mut()),
            incast_flow_tag(null(), setup, &mut word),
            incast_flow_tag(state, null(), &mut word),
            incast_flow_tag(state, setup, null_mut()),
            incast_flow_probe(null(), setup, 0, &mut shown),
            incast_flow_probe(state, null(), 0, &mut shown),
            incast_flow_probe(state, setup, 0, null_mut()),
        ]
    };
    for (place, status) in refused.into_iter().enumerate() {
        assert_eq!(status, INCAST_NULL_POINTER, "call {place}");
    }
    // Where null is an answer: the default preset, no telemetry, no buffer and no length.
    // SAFETY: as above.
    unsafe {
        assert_eq!(incast_flow_on_ack(state, setup, &ack, null()), INCAST_OK);
        assert_eq!(incast_params_get(params, target, null_mut(), 0, &mut length), INCAST_TOO_SMALL);
        // Without the null byte: OSCAR's default target is "1" base RTT, beside its queue.
        assert_eq!(length, 1);
        assert_eq!(incast_params_get(params, target, text, size, null_mut()), INCAST_OK);
        assert_eq!(incast_params_named(params, name, null()), INCAST_OK);
    }
}
