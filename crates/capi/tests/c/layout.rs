//! C and Rust mean the same by each type and each constant of the header, and the library has every function
//! of it.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::mem::offset_of;
use std::process::Command;

use ::incast_plugin::abi::{incast_plugin, incast_plugin_parameter};
use incast_capi::params::incast_params;
use incast_capi::status::incast_status;
use incast_capi::types::*;
use incast_cc::{Signals, for_each_ack_field};

use crate::tools::{C, CPP, compile, compilers, file, folder, libraries, run, tools};

/// For each type its size, its alignment and the places of its fields: as a program in C that prints them, and
/// as Rust has them.
macro_rules! layouts {
    ($program:ident, $expected:ident; $($name:ident: $($field:ident)+;)+) => {$(
        let name = stringify!($name);
        writeln!($program, "    print(\"{name}\", sizeof({name}), _Alignof({name}));").unwrap();
        writeln!($expected, "{name} {} {}", size_of::<$name>(), align_of::<$name>()).unwrap();
        $(
            let field = stringify!($field);
            writeln!(
                $program,
                "    print(\"{name}.{field}\", offsetof({name}, {field}), sizeof((({name} *)0)->{field}));"
            ).unwrap();
            let size = size_of_field(|all: &$name| &raw const all.$field);
            writeln!($expected, "{name}.{field} {} {size}", offset_of!($name, $field)).unwrap();
        )+
    )+};
}

/// The size of the field whose address this gives.
fn size_of_field<T, F>(_: impl Fn(&T) -> *const F) -> usize {
    size_of::<F>()
}

/// Adds constants, as 64-bit numbers, to the program and to what it must print.
macro_rules! constants {
    ($program:ident, $expected:ident; $($name:ident = $value:expr;)+) => {$(
        let name = stringify!($name);
        writeln!($program, "    number(\"{name}\", (unsigned long long)({name}));").unwrap();
        writeln!($expected, "{name} {}", $value as u64).unwrap();
    )+};
}

/// The program, and what it must print.
fn layouts() -> (String, String) {
    let (mut program, mut expected) = (String::new(), String::new());
    program.push_str(
        "#include <incast_cc.h>\n#include <stdio.h>\n#ifdef __cplusplus\n#define _Alignof alignof\n#endif\n\
         static void print(const char *name, size_t first, size_t second) {\n    \
         printf(\"%s %zu %zu\\n\", name, first, second);\n}\n\
         static void number(const char *name, unsigned long long value) {\n    \
         printf(\"%s %llu\\n\", name, value);\n}\n\
         int main(void) {\n",
    );
    layouts! { program, expected;
        incast_str: text length;
        incast_info: name title summary family needs flow_bytes setup_bytes presets parameters internals;
        incast_named: name meaning;
        incast_parameter: name meaning source kind;
        incast_value: kind number;
        incast_overhead: data ack;
        incast_path: base_rtt base_owd line_rate packet payload hops;
        incast_int_hop: at queue transmitted rate;
        incast_int_stack: count hops;
        incast_loss: now kind bytes sent sequence next_sequence;
        incast_sent: now bytes inflight;
        incast_allowance: window rate;
        incast_params: opaque;
        incast_plugin_parameter: name meaning kind initial least most;
        incast_plugin: abi signals name summary parameters parameter_count overhead shared_bytes flow_bytes check
            share start on_ack on_cnp on_loss on_sent on_timer deadline allowance tag;
    }
    macro_rules! ack {
        ($($field:ident)+) => { layouts! { program, expected; incast_ack: $($field)+; } };
    }
    for_each_ack_field!(ack);
    for (signal, name, _) in Signals::ALL {
        let name = format!("INCAST_SIGNAL_{}", name.to_uppercase());
        writeln!(program, "    number(\"{name}\", (unsigned long long)({name}));").unwrap();
        writeln!(expected, "{name} {}", signal.bits()).unwrap();
    }
    constants! { program, expected;
        INCAST_CC_ABI = INCAST_CC_ABI;
        INCAST_NEVER = INCAST_NEVER;
        INCAST_UNLIMITED = INCAST_UNLIMITED;
        INCAST_INT_HOPS = INCAST_INT_HOPS;
        INCAST_PARAMS_WORDS = INCAST_PARAMS_WORDS;
        INCAST_KIND_TIME = incast_kind::INCAST_KIND_TIME;
        INCAST_KIND_BYTES = incast_kind::INCAST_KIND_BYTES;
        INCAST_KIND_RATE = incast_kind::INCAST_KIND_RATE;
        INCAST_KIND_RATIO = incast_kind::INCAST_KIND_RATIO;
        INCAST_KIND_COUNT = incast_kind::INCAST_KIND_COUNT;
        INCAST_KIND_FLAG = incast_kind::INCAST_KIND_FLAG;
        INCAST_KIND_CHOICE = incast_kind::INCAST_KIND_CHOICE;
        INCAST_LOSS_HOLE = incast_loss_kind::INCAST_LOSS_HOLE;
        INCAST_LOSS_TIMEOUT = incast_loss_kind::INCAST_LOSS_TIMEOUT;
        INCAST_LOSS_TRIM = incast_loss_kind::INCAST_LOSS_TRIM;
        INCAST_OK = incast_status::INCAST_OK;
        INCAST_NULL_POINTER = incast_status::INCAST_NULL_POINTER;
        INCAST_UNKNOWN_ALGORITHM = incast_status::INCAST_UNKNOWN_ALGORITHM;
        INCAST_UNKNOWN_PRESET = incast_status::INCAST_UNKNOWN_PRESET;
        INCAST_UNKNOWN_PARAMETER = incast_status::INCAST_UNKNOWN_PARAMETER;
        INCAST_BAD_VALUE = incast_status::INCAST_BAD_VALUE;
        INCAST_OUT_OF_RANGE = incast_status::INCAST_OUT_OF_RANGE;
        INCAST_TOO_SMALL = incast_status::INCAST_TOO_SMALL;
        INCAST_MISALIGNED = incast_status::INCAST_MISALIGNED;
        INCAST_BAD_PATH = incast_status::INCAST_BAD_PATH;
        INCAST_NOT_STARTED = incast_status::INCAST_NOT_STARTED;
        INCAST_NO_SUCH_PLACE = incast_status::INCAST_NO_SUCH_PLACE;
        INCAST_NO_VALUE = incast_status::INCAST_NO_VALUE;
    }
    writeln!(program, "    number(\"incast_status\", sizeof(incast_status));\n    return 0;\n}}").unwrap();
    writeln!(expected, "incast_status {}", size_of::<incast_status>()).unwrap();
    (program, expected)
}

/// The lines of the header outside of comments.
fn code() -> Vec<String> {
    let header = fs::read_to_string(file("include/incast_cc.h")).unwrap();
    let code = header.lines().filter(|line| !line.trim_start().starts_with(['/', '*']));
    code.map(str::to_owned).collect()
}

/// Returns the names in these lines that begin as the project's names do, with the character after each.
fn names(lines: &[String], begin: &str) -> Vec<(String, char)> {
    let mut found = Vec::new();
    for line in lines {
        for (at, _) in line.match_indices(begin) {
            let rest = &line[at..];
            let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
            found.push((rest[..end].to_owned(), rest[end..].chars().next().unwrap_or('\n')));
        }
    }
    found
}

#[test]
fn c_and_rust_lay_out_every_type_alike() {
    let folder = folder("layout");
    let (program, expected) = layouts();
    // Nothing of the header is missing here: the types that are no functions and not opaque, the constants.
    let lines = code();
    for line in &lines {
        if let Some(name) = line.strip_prefix("} ").and_then(|line| line.strip_suffix(';')) {
            let is_enum = ["incast_kind", "incast_loss_kind", "incast_status"].contains(&name);
            assert!(is_enum || expected.contains(&format!("{name} ")), "{name}");
        }
    }
    for (name, _) in names(&lines, "INCAST_") {
        let macros = ["INCAST_CC_H", "INCAST_STR"].contains(&name.as_str());
        assert!(macros || expected.contains(&format!("{name} ")), "{name}");
    }
    let source = folder.join("layout.c");
    fs::write(&source, program).unwrap();
    for compiler in compilers() {
        let built = folder.join(compiler);
        run(&mut compile(compiler, &C, &source, &built));
        assert_eq!(run(&mut Command::new(built)), expected, "{compiler}");
    }
    for compiler in tools(&["g++", "clang++"]) {
        let built = folder.join(compiler);
        run(&mut compile(compiler, &CPP, &source, &built));
        assert_eq!(run(&mut Command::new(built)), expected, "{compiler}");
    }
}

#[test]
fn the_library_has_every_function_of_the_header() {
    let folder = folder("functions");
    libraries(&folder);
    let functions: BTreeSet<String> = names(&code(), "incast_")
        .into_iter()
        .filter(|(_, next)| *next == '(')
        .map(|(name, _)| name)
        // Libraries with plugins have it, and not this one.
        .filter(|name| name != "incast_plugin_at")
        .collect();
    let sources = fs::read_dir(file("src")).unwrap();
    let source: String = sources.map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap()).collect();
    assert_eq!(functions.len(), source.matches("#[unsafe(no_mangle)]").count());
    let addresses: Vec<_> = functions.iter().map(|name| format!("    (function)({name}),\n")).collect();
    let program = format!(
        "#include <incast_cc.h>\ntypedef void (*function)(void);\nstatic const function all[] = {{\n{}}};\n\
         int main(void) {{\n    size_t i = 0;\n    while (i < sizeof all / sizeof *all && all[i] != 0) i++;\n    \
         return i == {} ? 0 : 1;\n}}\n",
        addresses.concat(),
        functions.len()
    );
    let source = folder.join("functions.c");
    fs::write(&source, program).unwrap();
    let compiler = compilers()[0];
    let built = folder.join("functions");
    let mut command = compile(compiler, &C, &source, &built);
    run(command.arg("-L").arg(&folder).arg("-lincast_cc"));
    run(Command::new(built).env("LD_LIBRARY_PATH", &folder));
}
