//! Parameter servers: workers push the gradients of each layer.

use std::collections::BTreeSet;

use incast_cc::Fixed;
use incast_units::{Bytes, Time};

use super::hosts::{End, Hosts};
use super::work::Made;
use super::{Faults, Reach, Setting, too_many};
use crate::grammar::section::{choice, section};
use crate::grammar::setting::Bound;
use crate::problem::fault;

/// A neural network whose gradients are pushed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Model {
    /// AlexNet.
    AlexNet,
}

choice! {
    Model {
        "alexnet" => AlexNet: "8 layers, 243,860,896 B, at a scale of 1/20",
    }
}

/// Bytes of AlexNet's layers (Krizhevsky et al. 2012, with its groups, 4 B for each parameter), in the order of
/// back-propagation.
const ALEXNET: [u64; 8] =
    [16_388_000, 67_125_248, 151_011_328, 1_770_496, 2_655_744, 3_540_480, 1_229_824, 139_776];

section! {
    /// Parameter servers: every worker sends the gradient of each layer, divided evenly, to all servers.
    ///
    /// The layers come in the order of back-propagation, one after the other as they are computed. A job is
    /// complete when everything has arrived.
    pub(crate) struct ParameterServer {
        /// The servers, hosts or network cards.
        servers: Hosts,
        /// The workers, hosts or network cards; by default all other hosts.
        workers: Option<Hosts> = None,
        /// A neural network, which gives layers and scale.
        model: Option<Model> = None,
        /// Bytes of the gradient of each layer, in the order of back-propagation.
        layers: Option<Vec<Bytes>> = None,
        /// Share of these bytes that is sent; by default as the model, or 1.
        scale: Option<Fixed> = None; Bound::Positive,
        /// Time that a worker computes before the gradient of each layer.
        compute: Time = Time::ZERO,
        /// Start of the workers.
        start: Time = Time::ZERO,
    }
}

/// The pattern with its hosts and its model resolved.
struct Plan {
    servers: Vec<End>,
    workers: Vec<End>,
    /// Bytes of each layer from a worker to a server.
    parts: Vec<Bytes>,
}

impl ParameterServer {
    fn plan(&self, setting: &Setting<'_>) -> Result<Plan, Faults> {
        let world = setting.world;
        let of = |key: &'static str, hosts: &Hosts| {
            hosts.members(world).map_err(|message| vec![fault(key, message)])
        };
        let servers = of("servers", &self.servers)?;
        let workers = match &self.workers {
            Some(workers) => of("workers", workers)?,
            None => {
                let serve: BTreeSet<u32> = servers.iter().map(|server| server.host).collect();
                (0..world.fabric.network.hosts).filter(|host| !serve.contains(host)).map(End::from).collect()
            }
        };
        let mut faults = Vec::new();
        let serve: BTreeSet<u32> = servers.iter().map(|server| server.host).collect();
        if let Some(both) = workers.iter().find(|worker| serve.contains(&worker.host)) {
            faults.push(fault("workers", format!("{} is a server already", world.name(both.host.into()))));
        } else if let Some(problem) = world.any_apart(&workers, &servers) {
            faults.push(fault("servers", problem));
        }
        if workers.is_empty() {
            faults.push(fault("servers", "leaves no worker".to_owned()));
        }
        let (layers, scale) = match (&self.layers, self.model) {
            (Some(_), Some(_)) => {
                faults.push(fault("model", "has no effect: layers are given".to_owned()));
                (Vec::new(), None)
            }
            (Some(layers), None) => (layers.clone(), None),
            (None, Some(Model::AlexNet)) => (ALEXNET.map(Bytes::new).to_vec(), Some(Fixed::ratio(1, 20))),
            (None, None) => {
                faults.push(fault("layers", "is missing; write it, or a model that has them".to_owned()));
                (Vec::new(), None)
            }
        };
        if self.layers.as_ref().is_some_and(|own| own.is_empty() || own.contains(&Bytes::ZERO)) {
            faults.push(fault("layers", "must be one or more layers, each of one byte or more".to_owned()));
        }
        let scale = self.scale.or(scale).unwrap_or(Fixed::ONE);
        let part = |layer: &Bytes| {
            let bytes = (u128::from(layer.get()) * u128::from(scale.bits().unsigned_abs()))
                .div_ceil(u128::from(Fixed::ONE.bits().unsigned_abs()) * servers.len() as u128);
            Bytes::new(u64::try_from(bytes.max(1)).unwrap_or(u64::MAX >> 1))
        };
        let flows = (servers.len() * layers.len()) as u64 * workers.len() as u64;
        faults.extend(too_many("layers", flows));
        let parts = layers.iter().map(part).collect();
        if faults.is_empty() { Ok(Plan { servers, workers, parts }) } else { Err(faults) }
    }

    pub(super) fn check(&self, setting: &Setting<'_>) -> Result<Reach, Faults> {
        self.plan(setting).map(|plan| Reach::Any(plan.workers, plan.servers))
    }

    pub(super) fn make(&self, setting: &Setting<'_>) -> Result<Made, Faults> {
        let plan = self.plan(setting)?;
        let mut made = Made::default();
        let job = made.job("");
        for worker in &plan.workers {
            let mut computed = None;
            for part in &plan.parts {
                if self.compute > Time::ZERO {
                    let after = computed.into_iter().collect();
                    // GPUs of a host compute beside each other.
                    let processor = worker.card.unwrap_or(0);
                    computed = Some(made.compute(job, worker.host, self.compute, processor, after));
                }
                for server in &plan.servers {
                    let transfer = made.transfer(job, [*worker, *server], *part, self.start);
                    made.wait(transfer.send, computed.as_slice());
                }
            }
        }
        Ok(made)
    }
}
