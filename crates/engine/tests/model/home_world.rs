//! The small world of the model of homes: two agents, two connections, one gated task.

/// As many agents as connections.
pub(crate) const ACTORS: usize = 2;

/// Where an agent is at home.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum HomePlace {
    /// On a connection that is open.
    At(usize),
    /// On a connection whose process died and was not noticed.
    Stale,
    /// Its connection was closed.
    Nowhere,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct AgentPlace {
    pub(crate) home: HomePlace,
    /// Ticks since its last sign of life.
    pub(crate) age: u8,
}

/// Where the gated task stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum TaskPlace {
    Free,
    Held { agent: usize, left: u8 },
    Done { by: usize },
    Skipped { by_person: bool },
}

/// A promise that a step broke.
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
    /// Whether a process serves the connection.
    pub(crate) open: [bool; ACTORS],
    pub(crate) task: TaskPlace,
    /// The holder was resumed while it held the task.
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
    /// A call over a connection that names an agent, or none.
    Call {
        via: usize,
        named: Option<usize>,
        act: HomeAct,
    },
    /// A client registers under the name of an agent.
    Register {
        via: usize,
        name: usize,
    },
    /// The process of a connection dies; no process notices.
    Die {
        connection: usize,
    },
    /// The process of a connection is killed, which its machine notices.
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

/// What is broken on purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HomeFault {
    None,
    /// A heartbeat moves the agent that it names.
    MoveOnRead,
    /// A heartbeat renews for the agent that it names, over any connection.
    ForeignRenewal,
    /// Registering resumes an agent whose home lives.
    EarlyResumption,
    /// An agent skips the gated task.
    SkippedGate,
}
