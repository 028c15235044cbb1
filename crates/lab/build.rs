//! Lists the tables of a result: every file of `src/results/tables` that declares one (`table!`) is one.
//!
//! The list has the modules, and the macro `each_table!` with a line for each, in the order of `TableName`: first the
//! tables that every result has, then the optional ones (`if`), by the alphabet and with a name before longer ones.

use std::error::Error;
use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

/// The declaration of a table, as its file has it.
struct Declared {
    is_optional: bool,
    /// The name of its file.
    module: String,
    /// The name of its type.
    name: String,
    /// The records that it is made of while the run takes place.
    records: Option<String>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("src/results/tables");
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut tables = Vec::new();
    for entry in fs::read_dir(&folder)? {
        let path = entry?.path();
        let module = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        tables.extend(declared(module, &fs::read_to_string(&path)?)?);
    }
    // A letter comes before the underscore of a longer name, as the end of a name does.
    tables.sort_by_key(|table| (table.is_optional, table.module.replace('_', "~")));

    let (mut modules, mut lines) = (String::new(), String::new());
    for Declared { module, name, records, .. } in &tables {
        let path = folder.join(format!("{module}.rs"));
        writeln!(modules, "#[path = {path:?}]\npub(crate) mod {module};")?;
        let records = records.as_ref().map_or(String::new(), |records| format!(" from {records}"));
        writeln!(lines, "            {module}::{name}{records},")?;
    }
    let list = format!(
        "{modules}\nmacro_rules! each_table {{\n    ($then:ident) => {{\n        $then! {{\n{lines}        }}\n    }};\n}}\n"
    );
    fs::write(Path::new(&env::var("OUT_DIR")?).join("tables.rs"), list)?;
    Ok(())
}

/// Reads the declaration of a table, if the file has one: `struct NAME`, then `from RECORDS` or not, then `, if` or not.
fn declared(module: &str, text: &str) -> Result<Option<Declared>, String> {
    let Some((_, table)) = text.split_once("\ntable! {\n") else { return Ok(None) };
    let line = table.lines().find_map(|line| line.strip_prefix("    struct "));
    let line = line.ok_or_else(|| format!("{module}.rs: `table!` needs a line `struct NAME`"))?;
    let (head, condition) = line.trim_end_matches(';').split_once(',').unwrap_or((line, ""));
    let mut words = head.trim_end_matches(';').split(' ').map(str::to_owned);
    Ok(Some(Declared {
        is_optional: !condition.is_empty(),
        module: module.to_owned(),
        name: words.next().unwrap_or_default(),
        records: words.nth(1),
    }))
}
