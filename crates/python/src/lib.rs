//! The Python bindings of Incast: conversions between Python and the lab, and nothing else.

mod algorithms;
mod catalogue;
mod error;
mod formats;
mod kernel;
mod plugin;
mod quantity;
mod result;
mod scenario;
mod sheet;
mod signals;
mod table;
mod testbed;
#[cfg(target_os = "linux")]
mod wire;

use pyo3::prelude::*;

/// The compiled core of the Python package `incast`.
#[pymodule]
mod _core {
    use super::{Bound, PyModule, PyModuleMethods, PyResult};

    #[pymodule_export]
    use crate::algorithms::{
        Algorithm, Evidence, Family, KernelEntry, OwnControl, Parameter, algorithm, algorithms,
        declared_parameters, evidence, families, own_controls,
    };

    #[pymodule_export]
    use crate::catalogue::{
        Contestant, Distribution, Key, Kind, NamedTopology, contestants, distributions, named_topologies,
        nearest, sections, topologies, traffic,
    };

    #[pymodule_export]
    use crate::error::{PluginError, PyProblem, ResultError, ScenarioError, WireError, scenario_error};

    #[pymodule_export]
    use crate::formats::{ExportFormat, describe_file, export, export_formats, read_text, scenario_of_files};

    #[pymodule_export]
    use crate::plugin::{load_library, register, registered};

    #[pymodule_export]
    use crate::quantity::{read_quantity, write_quantity};

    #[pymodule_export]
    use crate::result::{PartTimes, Response, Result};

    #[pymodule_export]
    use crate::scenario::{Scenario, Size, schema};

    #[pymodule_export]
    use crate::sheet::write_parquet;

    #[pymodule_export]
    use crate::signals::{Ack, IntHop, Loss, Path, Sent};

    #[pymodule_export]
    use crate::table::{ColumnInfo, Table, TableInfo, tables};

    #[pymodule_export]
    use crate::testbed::{
        CapturedPacket, FlowSample, InternalSample, MeasuredFlow, MeasuredOperation, MeasuredPort, Plan,
        PlannedAlgorithm, PlannedFlow, PlannedLink, PlannedMarks, PlannedOperation, PlannedPath,
        PlannedPausing, PlannedSwitches, PortKey, PortSample, Waiting, plan, record,
    };

    #[cfg(target_os = "linux")]
    #[pymodule_export]
    use crate::testbed::{Forwarded, Switch};

    #[cfg(target_os = "linux")]
    #[pymodule_export]
    use crate::wire::{Receiving, Sending, receive_file, send_file};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        crate::error::init(module.py())?;
        let profile = match (cfg!(debug_assertions), env!("INCAST_OPT_LEVEL")) {
            (false, _) => "release",
            (true, "0") => "debug",
            (true, _) => "development",
        };
        module.add("profile", profile)?;
        module.add("canaries", incast_sim::canary::names())?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
