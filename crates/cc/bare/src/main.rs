//! A program without std, allocator and start-up code that calls every algorithm of the catalogue with
//! inputs the optimiser cannot see through. Its panic handler calls a function that does not exist: if
//! any way to a panic is left after optimisation, it does not link. It is never run.
#![no_std]
#![no_main]

use core::hint::black_box;
use core::panic::PanicInfo;

use incast_cc::params::Value;
use incast_cc::any::Visitor;
use incast_cc::{Ack, AnyParams, CongestionControl, IntStack, Loss, LossKind, Path, Sent, Setup};
use incast_units::{Bytes, Rate, Time};

unsafe extern "C" {
    fn a_panic_is_reachable() -> !;
}

#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    // SAFETY: never linked, so never called.
    unsafe { a_panic_is_reachable() }
}

/// The unwinding tables of the prebuilt core name it; nothing unwinds here.
#[unsafe(no_mangle)]
extern "C" fn rust_eh_personality() {}

/// The entry point.
#[unsafe(no_mangle)]
extern "C" fn _start() -> ! {
    loop {
        if let Some(params) = AnyParams::named(black_box("constant"), black_box(None)) {
            exercise(black_box(params));
        }
        sabotage();
    }
}

/// Every call of the contract. As `params` is opaque it may be any algorithm's, and so may the state.
fn exercise(mut params: AnyParams) {
    params.set(black_box("name"), black_box(Value::Count(1)));
    params.params(|info, value| {
        black_box((info, value));
    });
    black_box((params.info(), params.signals(), params.overhead()));

    let path = black_box(Path {
        base_rtt: Time::from_us(12),
        base_owd: Time::from_us(7),
        line_rate: Rate::from_gbps(100),
        packet: Bytes::new(1060),
        payload: Bytes::new(1000),
        hops: 4,
    });
    let ack = black_box(Ack {
        now: Time::from_us(20),
        sent: Time::from_us(8),
        received: Time::from_us(15),
        acked: Bytes::new(1060),
        sequence: 1000,
        next_sequence: 2000,
        inflight: Bytes::new(1060),
        receiver_flows: 1,
        ..Ack::BLANK
    });
    let int = black_box(IntStack::EMPTY);
    let loss = black_box(Loss { kind: LossKind::Hole, ..Loss::BLANK });
    let sent = black_box(Sent { now: Time::ZERO, bytes: Bytes::ZERO, inflight: Bytes::ZERO });
    let now = black_box(Time::ZERO);
    let params = black_box(params);

    params.visit(Calls { path: &path, ack: &ack, int: &int, loss: &loss, sent: &sent, now });
}

/// Every call of the contract on one algorithm.
struct Calls<'a> {
    path: &'a Path,
    ack: &'a Ack,
    int: &'a IntStack,
    loss: &'a Loss,
    sent: &'a Sent,
    now: Time,
}

impl Visitor for Calls<'_> {
    type Output = ();

    fn visit<C: CongestionControl>(self, params: &C::Params) {
        let setup = black_box(Setup::new(params.clone(), *self.path));
        let mut flow = black_box(C::new(&setup, self.now));
        flow.on_ack(&setup, self.ack, self.int);
        flow = black_box(flow);
        flow.on_cnp(&setup, self.now);
        flow = black_box(flow);
        flow.on_loss(&setup, self.loss);
        flow = black_box(flow);
        flow.on_sent(&setup, self.sent);
        flow = black_box(flow);
        flow.on_timer(&setup, self.now);
        flow = black_box(flow);
        black_box((flow.deadline(), flow.allowance(&setup), flow.tag(&setup), flow.probe(&setup, black_box(0))));
    }
}

#[cfg(feature = "allocation")]
extern crate alloc;

/// One broken rule for each feature, to see the check fail.
fn sabotage() {
    #[cfg(feature = "panic")]
    black_box([1, 2, 3][black_box(1)]);
    #[cfg(feature = "allocation")]
    black_box(alloc::boxed::Box::new(black_box(1)));
    #[cfg(feature = "float")]
    black_box(black_box(1.5_f64) * black_box(2.5));
    #[cfg(feature = "wide")]
    black_box(black_box(7_u128) / (black_box(3) | 1));
    #[cfg(feature = "signed-division")]
    black_box(black_box(-7_i64).wrapping_div(black_box(3_i64).max(1)));
}
