//! Opening a library, and registering the plugins that it has.
#![expect(unsafe_code, reason = "a library is opened and its function called")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::{env, fmt, fs, process};

use incast_cc::any::ParamInfo;
use incast_cc::params::Value;
use incast_lab::plugin::{Parameters, Plugin, register};
use incast_sim::describe::algorithm::Algorithm;
use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW, Symbol};

use crate::abi::incast_plugin;
use crate::crash::{self, Site};
use crate::description::Description;
use crate::{floats, flow};

/// Largest number of plugins in a library; a longer list is taken for one without an end.
const MOST_PLUGINS: usize = 64;

/// Reason for which a library cannot be used. As text it names the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadError(String);

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl core::error::Error for LoadError {}

type At = unsafe extern "C" fn(usize) -> *const incast_plugin;

/// Opens a shared library and registers its plugins: `cc.algorithm` can then name them, in scenarios that are
/// read afterwards. The library stays open.
///
/// `code` identifies this version of its code, like a hash of the file ([`Plugin::code`]).
///
/// Returns the names, in the order of the library's list.
///
/// # Errors
/// When it cannot be opened, has no plugin, or what a plugin says of itself is wrong. Nothing is registered then.
pub fn load(path: &Path, code: Option<String>) -> Result<Vec<String>, LoadError> {
    let file = path.display().to_string();
    let fail = |what: String| LoadError(format!("{file}: {what}"));
    let place = path.canonicalize().map_err(|error| fail(format!("cannot be opened: {error}")))?;
    let library = open(&place).map_err(fail)?;
    crash::watch();
    // SAFETY: it is a function of this type in a library that was made for the header.
    let at: Symbol<At> = unsafe { library.get(b"incast_plugin_at\0") }.map_err(|_| {
        fail("has no function incast_plugin_at, by which its plugins are found (see incast_cc.h)".to_owned())
    })?;
    let mut found = Vec::new();
    let listing = Arc::new(Site { name: "list".to_owned(), file: file.clone() });
    for place in 0.. {
        // SAFETY: the function only returns a pointer.
        let plugin =
            crash::within(&listing, "incast_plugin_at", incast_units::Time::ZERO, || unsafe { at(place) });
        // SAFETY: it is null or leads to a plugin that stays, as the header says.
        let Some(plugin) = (unsafe { plugin.as_ref() }) else { break };
        if place == MOST_PLUGINS {
            return Err(fail(format!(
                "incast_plugin_at has more than {MOST_PLUGINS} plugins; beyond the end it must return null"
            )));
        }
        // SAFETY: as above.
        let description = unsafe { Description::read(plugin) }.map_err(fail)?;
        found.push(Entry {
            site: Arc::new(Site { name: description.name.to_owned(), file: file.clone() }),
            description: Arc::new(description),
            code: code.clone(),
        });
    }
    if found.is_empty() {
        return Err(fail("incast_plugin_at(0) is null: it has no plugin".to_owned()));
    }
    // Code of the library may be called from now on for as long as the process lives.
    core::mem::forget(library);
    let mut names = Vec::new();
    for entry in found {
        let name = entry.description.name;
        register(name, Arc::new(entry)).map_err(fail)?;
        names.push(name.to_owned());
    }
    Ok(names)
}

/// Opens it, or a copy if a file of that name has been opened before: the system would return the old code.
fn open(place: &Path) -> Result<Library, String> {
    static OPENED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
    let mut opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
    let dlopen = |path: &Path| {
        // SAFETY: code that runs when the library is opened is as trusted as the rest of it.
        floats::kept(|| unsafe { Library::open(Some(path), RTLD_NOW | RTLD_LOCAL) }).map_err(reason)
    };
    if opened.insert(place.to_owned()) {
        return dlopen(place);
    }
    static COPIES: Mutex<u64> = Mutex::new(0);
    let mut copies = COPIES.lock().unwrap_or_else(PoisonError::into_inner);
    *copies += 1;
    let copy = env::temp_dir().join(format!("incast-plugin-{}-{copies}.so", process::id()));
    fs::copy(place, &copy).map_err(|error| format!("cannot be copied to {}: {error}", copy.display()))?;
    let library = dlopen(&copy);
    // The system keeps the open file. One that stays takes room and does no harm.
    let _ = fs::remove_file(&copy);
    library
}

/// Returns the system's own words in an error, without the words that this program adds.
fn reason(error: libloading::Error) -> String {
    match &error {
        // The text of the system is there for debugging only, in quotation marks.
        libloading::Error::DlOpen { source } => {
            format!("cannot be opened as a shared library: {}", format!("{source:?}").trim_matches('"'))
        }
        other => format!("cannot be opened as a shared library: {other}"),
    }
}

/// A plugin in the list of algorithms.
#[derive(Debug)]
struct Entry {
    site: Arc<Site>,
    description: Arc<Description>,
    code: Option<String>,
}

impl Plugin for Entry {
    fn summary(&self) -> String {
        self.description.summary.to_owned()
    }

    fn code(&self) -> Option<String> {
        self.code.clone()
    }

    fn parameters(&self) -> Option<&[ParamInfo]> {
        Some(&self.description.parameters)
    }

    fn initial(&self) -> &[Value] {
        &self.description.initial
    }

    fn make(&self, parameters: &Parameters) -> Result<Algorithm, String> {
        flow::make(&self.site, &self.description, parameters)
    }
}
