//! The kernel's results for real connections are compared with native Rust, call by call. Here the kernel's
//! part is done natively; `tests/test_kernel_replay.py` in the root folder has real ones.

use std::path::Path;

use incast_cc::{Ack, Loss};
use incast_replay::agree::agree_with_kernel;
use incast_replay::native::{Inner, Seen, replay};
use incast_replay::record::acknowledged;
use incast_replay::recording::Recording;

/// Bytes of a call behind the state: `Ack`, `Loss`, `Allowance` and `struct call` of bpf/glue.bpf.c.
const ACK: usize = size_of::<Ack>();
const LOSS: usize = size_of::<Loss>();
const REST: usize = ACK + LOSS + 16 + 40 + 168;

/// Header of a trace; the path is the one of the acknowledgements in benches/src/acks/trace.rs.
const TEXT: &str = "algorithm hpcc\npreset paper\npath 12000000 6000000 100000000000 1000 900 6";

/// Returns a recording of two connections in turn with the same inputs, and the bytes of a call in it.
fn recording() -> (Vec<u8>, usize) {
    let records = acknowledged("hpcc", "paper", 1500).unwrap();
    let mut bodies: Vec<(u32, &[u8])> = Vec::new();
    let mut bytes = records.bytes();
    while let Some((head, _)) = bytes.split_first_chunk::<8>() {
        let [kind, length] = [0, 4].map(|at| u32::from_le_bytes(*head[at..].first_chunk().unwrap()));
        let (record, rest) = bytes.split_at(length as usize);
        bodies.push((kind, &record[8..]));
        bytes = rest;
    }
    // Behind the parameters a flow starts: the time is last.
    let now = *bodies[1].1.last_chunk::<8>().unwrap();
    let mut calls: Vec<(Seen, Vec<u8>)> = Vec::new();
    let mut keep = |_: u64, seen: Seen, state: &[u32], _: &dyn Inner| {
        calls.push((seen, state.iter().flat_map(|word| word.to_le_bytes()).collect()));
    };
    replay(records.bytes(), 0, &mut keep).unwrap();
    let length = calls[0].1.len() + REST;
    let mut out = head(length);
    for (step, ((seen, state), (kind, body))) in calls.iter().zip(&bodies[1..]).enumerate() {
        for connection in [7_u64, 9] {
            let start = out.len();
            out.extend_from_slice(state);
            let (ack, telemetry) = if *kind == 2 { (&[][..], &[][..]) } else { body.split_at(ACK) };
            out.extend_from_slice(ack);
            out.resize(start + state.len() + ACK + LOSS, 0);
            for number in [seen.window, seen.rate, connection] {
                out.extend_from_slice(&number.to_le_bytes());
            }
            out.extend_from_slice(&(step as u32).to_le_bytes());
            out.extend_from_slice(&kind.to_le_bytes());
            out.extend_from_slice(&now);
            out.extend_from_slice(&seen.deadline.to_le_bytes());
            out.extend_from_slice(&u64::from(seen.tag).to_le_bytes());
            out.extend_from_slice(telemetry);
            out.resize(start + length, 0);
        }
    }
    (out, length)
}

fn head(length: usize) -> Vec<u8> {
    let mut out = b"incastR1".to_vec();
    out.extend_from_slice(&(TEXT.len() as u32).to_le_bytes());
    out.extend_from_slice(&(length as u32).to_le_bytes());
    out.extend_from_slice(TEXT.as_bytes());
    out
}

fn agrees(bytes: &[u8]) -> Result<(), String> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    agree_with_kernel(&Recording::read(bytes)?, &[], folder).map(|_| ())
}

#[test]
fn a_recording_is_compared_call_by_call() {
    let (bytes, length) = recording();
    let read = Recording::read(&bytes).unwrap();
    assert_eq!((read.connections, read.steps()), (2, 2 * 1501));
    agrees(&bytes).unwrap();

    // A bit of the window of the second connection after its call 1200 is step 1501 + 1200 of the trace.
    let first = 16 + TEXT.len();
    let call = first + (2 * 1200 + 1) * length;
    let window = call + length - REST + ACK + LOSS;
    let mut wrong = bytes.clone();
    wrong[window] ^= 4;
    let told = agrees(&wrong).unwrap_err();
    assert!(told.starts_with("hpcc: native and kernel differ after step 2701\n  window: "), "{told}");
    assert!(told.contains("\n  told: Ack("), "{told}");

    // A bit of its state: of the reference window, behind 168 bytes of telemetry and the utilisation.
    let mut wrong = bytes.clone();
    wrong[call + 168 + 8] ^= 1;
    let told = agrees(&wrong).unwrap_err();
    assert!(
        told.contains("differ after step 2701\n  nothing but the state\n  state, byte 176 (reference): "),
        "{told}"
    );

    // A bit of what it was told: the queue of the first port, 2^40 bytes more.
    let mut wrong = bytes.clone();
    wrong[call + length - 168 + 8 + 8 + 5] ^= 1;
    assert!(agrees(&wrong).unwrap_err().contains("differ after step 2701\n"));
}

#[test]
fn what_is_no_whole_recording_is_refused() {
    let (bytes, length) = recording();
    let reason = |bytes: &[u8]| Recording::read(bytes).unwrap_err();
    assert_eq!(reason(b"incastT1 and more bytes"), "it is no recording");
    assert_eq!(reason(&bytes[..bytes.len() - 1]), "it is cut off");
    let first = 16 + TEXT.len();
    let mut gap = bytes.clone();
    gap.drain(first + 8 * length..first + 9 * length);
    assert_eq!(reason(&gap), "calls of connection 7 after the first 4 are missing");
    let other = String::from_utf8_lossy(&bytes[..first]).replace("hpcc", "hpca");
    assert_eq!(reason(other.as_bytes()), "no hpca paper");
}
