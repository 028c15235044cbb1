//! The output of a run: records while it runs, an outcome at its end.

pub mod channel;
mod flow;
mod flow_sample;
mod internals;
mod limit_sample;
mod limits;
mod load;
mod operation;
mod outcome;
mod packet;
mod pause;
mod place;
mod port_sample;
mod progress;
mod reuse;
pub mod sample;
pub mod tally;
mod totals;
pub mod view;

use core::ops::ControlFlow;

use incast_units::Time;

use channel::{Digest, Record, records, take_before};
use view::View;

pub use flow::FlowRecord;
pub use flow_sample::FlowSample;
pub use internals::InternalSample;
pub use limit_sample::LimitSample;
pub use limits::{Division, Limit, LimitRecord};
pub use load::LoadSample;
pub use operation::OperationRecord;
pub use outcome::{End, Outcome, Stall};
pub use packet::{OwnPacket, PacketKind, PacketRecord};
pub use pause::PauseRecord;
pub use port_sample::PortSample;
pub use progress::Progress;
pub use reuse::{Repetition, Reused, Shifted};
pub use totals::PortTotals;

records! {
    /// Flows finished, sorted by (finish, flow).
    flows: FlowRecord,
    /// Port samples, sorted by (time, node, port).
    port_samples: PortSample,
    /// Flow samples, sorted by (time, flow).
    flow_samples: FlowSample,
    /// Captured packets, sorted by (time, node, port).
    packets: PacketRecord,
    /// Pauses, sorted by (time, node, port, queue).
    pauses: PauseRecord,
    /// Samples of internal quantities of congestion control, sorted by (time, flow, quantity).
    internals: InternalSample,
    /// Operations that have ended, sorted by (end, operation).
    operations: OperationRecord,
    /// Sums of acknowledged payload, sorted by (time, node, group).
    loads: LoadSample,
    /// Divided times of flows finished, sorted by (end, flow).
    limits: LimitRecord,
    /// Numbers of open flows by limit, sorted by (time, node, group, limit).
    limit_samples: LimitSample,
}
