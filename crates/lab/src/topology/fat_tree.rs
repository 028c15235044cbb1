//! Three tiers in pods.

use incast_sim::Network;
use incast_units::{Rate, Time};

use super::fabric::too_many;
use crate::grammar::section::{choice, section};
use crate::grammar::setting::Bound;
use crate::limits::{MAX_HOSTS, MAX_SWITCHES};
use crate::problem::{Problem, fault};

/// Core switches to which an aggregation switch is connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CoreLinks {
    /// The cores are divided among the aggregation switches of a pod.
    Divided,
    /// Every aggregation switch is connected to every core.
    All,
}

choice! {
    CoreLinks {
        "divided" => Divided: "the cores are divided among the aggregation switches of a pod",
        "all" => All: "every aggregation switch is connected to every core",
    }
}

section! {
    /// A fat-tree (Al-Fares et al., SIGCOMM 2008): pods of edge and aggregation switches under a layer
    /// of cores.
    ///
    /// Either `k` alone, for a full fat-tree of switches with `k` ports, or all five numbers for any other;
    /// oversubscription follows from them.
    pub(crate) struct FatTree {
        /// Ports of every switch, an even number: k pods of k/2 edge and k/2 aggregation switches, k/2
        /// hosts on each edge, k²/4 cores.
        k: Option<u32> = None; Bound::Count(2, 64),
        /// Number of pods.
        pods: Option<u32> = None; Bound::Count(1, 1024),
        /// Edge switches in each pod.
        edge: Option<u32> = None; Bound::Count(1, 1024),
        /// Aggregation switches in each pod.
        agg: Option<u32> = None; Bound::Count(1, 1024),
        /// Core switches.
        core: Option<u32> = None; Bound::Count(1, 16_384),
        /// Hosts on each edge switch.
        hosts: Option<u32> = None; Bound::Count(1, 4096),
        /// Cores to which an aggregation switch is connected.
        core_links: CoreLinks = CoreLinks::Divided,
        /// Rate of the hosts' links.
        rate: Rate; Bound::Positive,
        /// One-way delay of the hosts' links.
        delay: Time; Bound::Positive,
        /// Rate of the links between switches.
        fabric_rate: Rate = rate?; Bound::Positive,
        /// One-way delay of the links between edge and aggregation.
        fabric_delay: Time = delay?; Bound::Positive,
        /// Rate of the links to the cores.
        core_rate: Rate = fabric_rate?; Bound::Positive,
        /// One-way delay of the links to the cores.
        core_delay: Time = fabric_delay?; Bound::Positive,
    }
}

/// Numbers of all parts, with `k` spelled out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Numbers {
    pods: u32,
    edge: u32,
    agg: u32,
    core: u32,
    hosts: u32,
}

impl FatTree {
    fn numbers(&self) -> Result<Numbers, Vec<Problem>> {
        let five = [
            ("pods", self.pods),
            ("edge", self.edge),
            ("agg", self.agg),
            ("core", self.core),
            ("hosts", self.hosts),
        ];
        match (self.k, five) {
            (Some(k), _) => {
                let mut problems: Vec<_> = five
                    .iter()
                    .filter(|(_, value)| value.is_some())
                    .map(|(key, _)| {
                        let message = format!("is already determined by k = {k}; leave out one of the two");
                        fault(key, message)
                    })
                    .collect();
                if !k.is_multiple_of(2) {
                    problems.push(fault("k", format!("{k} is odd; k must be even")));
                }
                let half = k / 2;
                let full = Numbers { pods: k, edge: half, agg: half, core: half * half, hosts: half };
                if problems.is_empty() { Ok(full) } else { Err(problems) }
            }
            (None, [(_, Some(pods)), (_, Some(edge)), (_, Some(agg)), (_, Some(core)), (_, Some(hosts))]) => {
                Ok(Numbers { pods, edge, agg, core, hosts })
            }
            (None, five) => {
                let absent: Vec<&str> =
                    five.iter().filter(|(_, value)| value.is_none()).map(|(key, _)| *key).collect();
                let message = format!(
                    "is missing; write k, or all of pods, edge, agg, core and hosts (absent: {})",
                    absent.join(", ")
                );
                Err(vec![fault("k", message)])
            }
        }
    }

    pub(super) fn build(&self) -> Result<Network, Vec<Problem>> {
        let Numbers { pods, edge, agg, core, hosts } = self.numbers()?;
        let edges = u64::from(pods) * u64::from(edge);
        let aggs = u64::from(pods) * u64::from(agg);
        let each_cores = match self.core_links {
            CoreLinks::All => core,
            CoreLinks::Divided => core / agg,
        };
        let mut problems: Vec<Problem> = [
            too_many("hosts", "hosts", edges * u64::from(hosts), MAX_HOSTS),
            too_many("pods", "switches", edges + aggs + u64::from(core), MAX_SWITCHES),
            too_many(
                "agg",
                "links in the fabric",
                edges * u64::from(agg) + aggs * u64::from(each_cores),
                1 << 20,
            ),
            (edges * u64::from(hosts) < 2)
                .then(|| fault("hosts", "there must be at least two hosts".to_owned())),
        ]
        .into_iter()
        .flatten()
        .collect();
        if self.core_links == CoreLinks::Divided && !core.is_multiple_of(agg) {
            let message = format!(
                "{core} cores cannot be divided evenly among {agg} aggregation switches; take a multiple of \
                 {agg}, or core_links = \"all\""
            );
            problems.push(fault("core", message));
        }
        if !problems.is_empty() {
            return Err(problems);
        }

        let mut network = Network::with_hosts(pods * edge * hosts);
        let mut switches = |name: &str, number: u32| -> Vec<u32> {
            (0..number).map(|i| network.add_switch(format!("{name}{i}"))).collect()
        };
        let edge_switches = switches("edge", pods * edge);
        let agg_switches = switches("agg", pods * agg);
        let core_switches = switches("core", core);
        for host in 0..pods * edge * hosts {
            network.add_link(host, edge_switches[(host / hosts) as usize], self.rate, self.delay);
        }
        for pod in 0..pods {
            for e in 0..edge {
                for a in 0..agg {
                    let (low, high) = (pod * edge + e, pod * agg + a);
                    network.add_link(
                        edge_switches[low as usize],
                        agg_switches[high as usize],
                        self.fabric_rate,
                        self.fabric_delay,
                    );
                }
            }
        }
        for (i, &switch) in (0_u32..).zip(&agg_switches) {
            let first = match self.core_links {
                CoreLinks::All => 0,
                CoreLinks::Divided => i % agg * each_cores,
            };
            for c in first..first + each_cores {
                network.add_link(switch, core_switches[c as usize], self.core_rate, self.core_delay);
            }
        }
        Ok(network)
    }
}
