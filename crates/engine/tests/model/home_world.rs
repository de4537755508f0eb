//! A small state for the model checker: two agents, two connections and one gated task (a person must approve each
//! claim). The model checks the homes of the agents. An agent's home is the connection that registered it last.

/// The number of agents, which is also the number of connections.
pub(crate) const ACTORS: usize = 2;

/// The state of an agent's home, which is the connection that registered the agent last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum HomePlace {
    /// The agent's home is an open connection.
    At(usize),
    /// The agent's home is a connection whose process died, and no process noticed that.
    Stale,
    /// The agent has no home, because its connection was closed.
    Nowhere,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct AgentPlace {
    pub(crate) home: HomePlace,
    /// The number of ticks (steps of time) since the agent's last sign of life.
    pub(crate) age: u8,
}

/// The state of the gated task, which an agent may claim only with a person's approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum TaskPlace {
    Free,
    Held { agent: usize, left: u8 },
    Done { by: usize },
    Skipped { by_person: bool },
}

/// The property of the model that a step broke. The model checker then reports the steps that led to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum HomeBreach {
    MovedWithoutRegistering,
    LiveHomeTakenOver,
    ForeignNameActed,
    RenewedFromElsewhere,
    GateLoosened,
    ClaimedWithoutApproval,
    LiveClaimTaken,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct HomeWorld {
    pub(crate) agents: [AgentPlace; ACTORS],
    /// One entry for each connection: true while a process serves the connection.
    pub(crate) open: [bool; ACTORS],
    pub(crate) task: TaskPlace,
    /// True when the agent that holds the task registered again on another connection while it held the task.
    pub(crate) came_back: bool,
    pub(crate) breach: Option<HomeBreach>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HomeAct {
    Heartbeat,
    Claim { approved: bool },
    Complete,
    Skip,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HomeAction {
    /// A call over a connection. The call names an agent or no agent.
    Call {
        via: usize,
        named: Option<usize>,
        act: HomeAct,
    },
    /// A client registers over the connection `via` under the name of an agent. The registration may resume that agent.
    Register {
        via: usize,
        name: usize,
    },
    /// The process of a connection dies, and no other process notices that.
    Die {
        connection: usize,
    },
    /// The process of a connection is killed. Its machine notices that and closes the connection.
    Close {
        connection: usize,
    },
    Connect {
        connection: usize,
    },
    PersonSkips,
    Sweep,
    Tick,
}

/// A fault that the test plants in the engine on purpose. The model checker must find it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HomeFault {
    None,
    /// Planted fault: a heartbeat moves the agent that it names to the caller's connection.
    MoveOnRead,
    /// Planted fault: a heartbeat renews the leases of the agent that it names, over any connection.
    ForeignRenewal,
    /// Planted fault: registering resumes an agent although the connection that registered it last is alive.
    EarlyResumption,
    /// Planted fault: an agent skips the gated task, which only a person may do.
    SkippedGate,
}
