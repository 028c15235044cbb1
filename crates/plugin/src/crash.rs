//! A crash in the code of a plugin ends the process, as in any program. Before it does, the plugin is named.
#![expect(unsafe_code, reason = "handlers of signals are set by the C library")]

use core::cell::{Cell, RefCell};
use core::ffi::c_int;
use core::fmt::{self, Write};
use core::ptr;
use std::sync::{Arc, OnceLock};

use incast_units::Time;

/// Place to name in the report of a crash: the plugin and its file.
#[derive(Clone, Debug)]
pub(crate) struct Site {
    /// The name of the plugin.
    pub(crate) name: String,
    /// Its library, as the user named it.
    pub(crate) file: String,
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the plugin {} ({})", self.name, self.file)
    }
}

/// The call of a plugin that this thread is in.
#[derive(Clone, Copy)]
struct Call {
    site: *const Site,
    function: &'static str,
    now: Time,
}

thread_local! {
    static CURRENT: Cell<Option<Call>> = const { Cell::new(None) };
    static STACK: RefCell<Option<Stack>> = const { RefCell::new(None) };
}

/// The signals of a crash, with their names.
const SIGNALS: [(c_int, &str); 5] = [
    (libc::SIGSEGV, "it accessed invalid memory (SIGSEGV)"),
    (libc::SIGBUS, "it accessed invalid memory (SIGBUS)"),
    (libc::SIGFPE, "it divided by zero (SIGFPE)"),
    (libc::SIGILL, "it executed an illegal instruction (SIGILL)"),
    (libc::SIGABRT, "it called abort() (SIGABRT)"),
];

/// Handlers of these signals before this program installed its own.
static BEFORE: OnceLock<[Option<libc::sigaction>; SIGNALS.len()]> = OnceLock::new();

/// Runs `call`, a call of a plugin's function at the simulated time `now`.
pub(crate) fn within<T>(site: &Arc<Site>, function: &'static str, now: Time, call: impl FnOnce() -> T) -> T {
    let outer = CURRENT.replace(Some(Call { site: Arc::as_ptr(site), function, now }));
    let result = call();
    CURRENT.set(outer);
    result
}

/// Makes crashes on this thread report the plugin they happen in. Costs little when it has been called before.
pub(crate) fn watch() {
    BEFORE.get_or_init(|| SIGNALS.map(|(signal, _)| install(signal)));
    STACK.with_borrow_mut(|stack| {
        if stack.is_none() {
            *stack = Stack::new();
        }
    });
}

/// Sets the handler of a signal and returns the one before.
fn install(signal: c_int) -> Option<libc::sigaction> {
    // SAFETY: the structures are plain data, for which zero is a value, and the handler does only what handlers
    // may do.
    unsafe {
        let mut before: libc::sigaction = core::mem::zeroed();
        let mut action: libc::sigaction = core::mem::zeroed();
        action.sa_sigaction = report as extern "C" fn(c_int) as usize;
        action.sa_flags = libc::SA_ONSTACK;
        (libc::sigaction(signal, &raw const action, &raw mut before) == 0).then_some(before)
    }
}

/// Says which plugin crashed, if one did, and leaves the rest to what handled the signal before: the instruction
/// is run again when this returns.
extern "C" fn report(signal: c_int) {
    let place = SIGNALS.iter().position(|(known, _)| *known == signal);
    if let (Some(call), Some(place)) = (CURRENT.get(), place) {
        let mut message = Message { bytes: [0; 512], length: 0 };
        // SAFETY: the site lives as long as the call that this thread is in.
        let site = unsafe { &*call.site };
        // What does not fit is left out.
        let _ = writeln!(
            message,
            "incast: {site} crashed in {} at {} of simulated time: {}",
            call.function, call.now, SIGNALS[place].1
        );
        // SAFETY: the bytes are there; nothing can be done if they cannot be written.
        unsafe { libc::write(libc::STDERR_FILENO, message.bytes.as_ptr().cast(), message.length) };
    }
    let before = BEFORE.get().zip(place).and_then(|(before, place)| before[place]);
    // SAFETY: an action as it was before, or the default.
    unsafe {
        let action = before.unwrap_or_else(|| core::mem::zeroed());
        libc::sigaction(signal, &raw const action, ptr::null_mut());
    }
}

/// A text without allocation.
struct Message {
    bytes: [u8; 512],
    length: usize,
}

impl Write for Message {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = &mut self.bytes[self.length..];
        let fits = text.len().min(room.len());
        room[..fits].copy_from_slice(&text.as_bytes()[..fits]);
        self.length += fits;
        if fits == text.len() { Ok(()) } else { Err(fmt::Error) }
    }
}

/// A stack for handlers, since a plugin may have used up the one of its thread.
struct Stack(#[expect(dead_code, reason = "it holds the memory")] Box<[u8]>);

impl Stack {
    const BYTES: usize = 64 * 1024;

    /// One for this thread, unless it has one.
    fn new() -> Option<Self> {
        let mut memory = vec![0; Self::BYTES].into_boxed_slice();
        let stack = libc::stack_t { ss_sp: memory.as_mut_ptr().cast(), ss_flags: 0, ss_size: Self::BYTES };
        // SAFETY: the memory stays until the stack is given up below.
        unsafe {
            let mut before: libc::stack_t = core::mem::zeroed();
            let asked = libc::sigaltstack(ptr::null(), &raw mut before) == 0;
            let free = asked && before.ss_flags & libc::SS_DISABLE != 0;
            (free && libc::sigaltstack(&raw const stack, ptr::null_mut()) == 0).then_some(Self(memory))
        }
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        let stack = libc::stack_t { ss_sp: ptr::null_mut(), ss_flags: libc::SS_DISABLE, ss_size: 0 };
        // SAFETY: from here on this thread has no stack for handlers.
        unsafe { libc::sigaltstack(&raw const stack, ptr::null_mut()) };
    }
}
