//! The replay in Rust, without an interface between: what every other target is compared with.
#![expect(unsafe_code, reason = "states are looked at as bytes")]

use std::fmt::Debug;
use std::hint::black_box;

use incast_cc::any::Visitor;
use incast_cc::{AnyParams, CongestionControl, Path, Setup};
use incast_units::Time;

use crate::trace::{Call, Parameters, Reader, Record, plain};

/// Visible values of a flow after a step of the trace, beside its state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The window, in bytes.
    pub window: u64,
    /// The rate, in bit/s.
    pub rate: u64,
    /// Time at which the timer is due, in picoseconds.
    pub deadline: u64,
    /// The word for the next packet.
    pub tag: u32,
}

/// Views of a flow that take longer to compute.
pub trait Inner {
    /// The internal quantities, each with its name; `None` for one without a value.
    fn internals(&self) -> Vec<(&'static str, Option<u64>)>;
    /// The state in words, a field on a line.
    fn words(&self) -> String;
    /// Returns a state of these bytes in words, a field on a line.
    ///
    /// # Safety
    /// Every field of the state has a value in them that it can have.
    unsafe fn words_of(&self, state: &[u32]) -> String;
}

/// Told of every step of a trace: a flow that starts, or a call.
pub trait Watch {
    /// The step has this number, from 0.
    fn after(&mut self, step: u64, seen: Seen, state: &[u32], inner: &dyn Inner);
}

impl<F: FnMut(u64, Seen, &[u32], &dyn Inner)> Watch for F {
    fn after(&mut self, step: u64, seen: Seen, state: &[u32], inner: &dyn Inner) {
        self(step, seen, state, inner);
    }
}

/// Replays records. Flows start in memory of which every byte is `fill`.
///
/// # Errors
/// When there is no such algorithm, preset or parameter.
pub fn replay(records: &[u8], fill: u8, watch: &mut impl Watch) -> Result<(), String> {
    let (mut reader, mut step, mut memory) = (Reader::new(records), 0, Vec::new());
    let mut next = reader.next();
    while let Some(Record::Parameters(parameters)) = next {
        let params = params(&parameters)?;
        let (reader, step, memory) = (&mut reader, &mut step, &mut memory);
        next = params.visit(Section { reader, step, memory, fill, watch });
    }
    Ok(())
}

/// The parameters that a record describes.
fn params(parameters: &Parameters) -> Result<AnyParams, String> {
    let Parameters { algorithm, preset, set } = parameters;
    let mut params =
        AnyParams::named(algorithm, Some(preset)).ok_or_else(|| format!("no {algorithm} {preset}"))?;
    for (name, value, text) in set {
        if !params.set(name, *value) {
            return Err(format!("{algorithm} {preset} does not take {name} = {text}"));
        }
    }
    Ok(params)
}

/// The flows with one set of parameters. The result is the record after them.
struct Section<'a, 'b, W> {
    reader: &'a mut Reader<'b>,
    step: &'a mut u64,
    memory: &'a mut Vec<u64>,
    fill: u8,
    watch: &'a mut W,
}

impl<W: Watch> Visitor for Section<'_, '_, W> {
    type Output = Option<Record>;

    fn visit<C: CongestionControl + Copy + Debug>(self, params: &C::Params) -> Option<Record> {
        const { assert!(align_of::<C>() <= 8 && size_of::<C>().is_multiple_of(4)) }
        let mut setup: Option<Setup<C::Params>> = None;
        loop {
            let record = self.reader.next();
            // Not empty, for the state without bytes.
            if let Some(Record::Start(..)) = record {
                self.memory.clear();
                self.memory.resize(size_of::<C>() / 8 + 1, u64::from_ne_bytes([self.fill; 8]));
            }
            // What is padding in a state is memory here: nothing is known of where this leads.
            let flow = black_box(self.memory.as_mut_ptr()).cast::<C>();
            match record {
                Some(Record::Start(path, now)) => {
                    let setup = setup.insert(Setup::new(params.clone(), path));
                    fill_stack(self.fill);
                    // SAFETY: there is room for a state, and it is aligned.
                    unsafe { start(flow, setup, now) };
                }
                Some(Record::Call(call)) => {
                    let setup = setup.as_ref().expect("a flow that has started");
                    // SAFETY: a flow has started there.
                    let flow = unsafe { &mut *flow };
                    match call {
                        Call::Ack(ack, int) => flow.on_ack(setup, &ack, &int),
                        Call::Cnp(now) => flow.on_cnp(setup, now),
                        Call::Loss(loss) => flow.on_loss(setup, &loss),
                        Call::Sent(sent) => flow.on_sent(setup, &sent),
                        Call::Timer(now) => flow.on_timer(setup, now),
                    }
                }
                other => return other,
            }
            let setup = setup.as_ref().expect("a flow that has started");
            // SAFETY: a flow has started there. All of its memory was written before it was.
            let (flow, state) = unsafe {
                let words = black_box(flow.cast_const()).cast::<u32>();
                (&*flow, std::slice::from_raw_parts(words, size_of::<C>() / 4))
            };
            let allowance = flow.allowance(setup);
            let seen = Seen {
                window: allowance.window.get(),
                rate: allowance.rate.bps(),
                deadline: flow.deadline().ps(),
                tag: flow.tag(setup),
            };
            self.watch.after(*self.step, seen, state, &Typed { flow, setup });
            *self.step += 1;
        }
    }
}

/// Starts a flow there.
///
/// # Safety
/// There is room for a state, and it is aligned.
#[inline(never)]
unsafe fn start<C: CongestionControl>(flow: *mut C, setup: &Setup<C::Params>, now: Time) {
    // SAFETY: as above.
    unsafe { flow.write(C::new(setup, now)) };
}

/// Fills the stack that the next function called from here will have. A state can be put together there and copied
/// as a whole, with what lay in its padding.
#[inline(never)]
fn fill_stack(fill: u8) {
    black_box([fill; 16_384]);
}

struct Typed<'a, C: CongestionControl> {
    flow: &'a C,
    setup: &'a Setup<C::Params>,
}

impl<C: CongestionControl + Copy + Debug> Inner for Typed<'_, C> {
    fn internals(&self) -> Vec<(&'static str, Option<u64>)> {
        let number = |place| self.flow.probe(self.setup, place).map(|value| plain(value).1);
        C::INTERNALS.iter().enumerate().map(|(place, internal)| (internal.name, number(place))).collect()
    }

    fn words(&self) -> String {
        format!("{:#?}", self.flow)
    }

    unsafe fn words_of(&self, state: &[u32]) -> String {
        assert_eq!(size_of_val(state), size_of::<C>());
        // SAFETY: there are as many bytes, and the caller says that they are a state.
        let flow: C = unsafe { state.as_ptr().cast::<C>().read_unaligned() };
        format!("{flow:#?}")
    }
}

/// The setup of every flow of these records, in their order: the bytes of one (4 bytes), 0 (4 bytes), then all.
///
/// # Errors
/// As [`replay`].
pub fn setups(records: &[u8]) -> Result<Vec<u8>, String> {
    struct Bytes(Path);
    impl Visitor for Bytes {
        type Output = Vec<u8>;
        fn visit<C: CongestionControl>(self, params: &C::Params) -> Vec<u8> {
            let setup = Box::new(Setup::new(params.clone(), self.0));
            let pointer = black_box(&raw const *setup).cast::<u8>();
            // SAFETY: a setup, whose address nothing is known of here.
            unsafe { std::slice::from_raw_parts(pointer, size_of_val(&*setup)) }.to_vec()
        }
    }
    let (mut all, mut now) = (Vec::new(), None);
    for record in Reader::new(records) {
        match record {
            Record::Parameters(parameters) => now = Some(params(&parameters)?),
            Record::Start(path, _) => {
                let setup = now.ok_or("a flow without parameters")?.visit(Bytes(path));
                if all.is_empty() {
                    all.extend_from_slice(&(setup.len() as u64).to_le_bytes());
                }
                all.extend_from_slice(&setup);
            }
            Record::Call(_) => {}
        }
    }
    Ok(all)
}

/// For each byte of a state 255, or 0 for padding.
///
/// The trace is replayed twice, in memory and on a stack filled with zeros and with ones. A byte that is different once was not
/// written by the algorithm, and what it reads cannot depend on it, as all else would then be different, too. So no
/// field is ever left out. (Padding that is written with something else would be compared, and found to differ.)
///
/// # Errors
/// As [`replay`].
pub fn mask(records: &[u8]) -> Result<Vec<u8>, String> {
    let states = |fill| {
        let mut states: Vec<Vec<u32>> = Vec::new();
        let mut keep = |step: u64, _, state: &[u32], _: &dyn Inner| {
            if step < 1000 || step.is_multiple_of(509) {
                states.push(state.to_vec());
            }
        };
        replay(records, fill, &mut keep).map(|()| states)
    };
    let (zeros, ones) = (states(0)?, states(255)?);
    let mut mask = vec![255; zeros.first().map_or(0, |state| 4 * state.len())];
    for (zeros, ones) in zeros.iter().zip(&ones) {
        let bytes = |state: &[u32]| state.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<_>>();
        for (mask, (zero, one)) in mask.iter_mut().zip(bytes(zeros).into_iter().zip(bytes(ones))) {
            if zero != one {
                *mask = 0;
            }
        }
    }
    Ok(mask)
}
