//! Declares the events that a turn (one run of an agent's program) reports while it runs, and the report at its end.

/// An event of a running program. Texts and names are cut to the length that one line of a live view shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HeardEvent {
    Conversation(String),
    ToolCall {
        name: String,
    },
    Text(String),
    /// The program printed something that shows that it is alive, but that a live view does not show.
    Progress,
}

/// The complete report about one turn, that is, about one run of an agent's program.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnSaid {
    /// The id of the program's conversation, with which a later run of the program can resume it. None when the program
    /// named no conversation.
    pub conversation: Option<String>,
    /// The program's answer: all text after its last tool call.
    pub text: String,
    pub tool_calls: u32,
    pub tokens: Option<SpentAmount<u64>>,
    pub usd: Option<SpentAmount<f64>>,
    pub end: AgentEnd,
    pub warnings: Vec<String>,
}

/// An amount of tokens or dollars, and the turns (runs of an agent's program) that it covers. Some programs state the
/// sum of all turns of a conversation. The caller then subtracts the amount of the earlier turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpentAmount<T> {
    ThisTurn(T),
    WholeConversation(T),
}

/// The way in which a turn (one run of an agent's program) ended. It is concluded from the events in the program's
/// output and from its exit code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentEnd {
    /// The program gave its answer. The quality of the answer is not judged here.
    Finished,
    Failed {
        /// The exit code. `None` when the program reported its failure in the conversation and its process still runs.
        code: Option<i32>,
        reason: String,
    },
    /// The API of the model refused the program's request, or failed.
    ApiError {
        reason: String,
    },
    Signalled {
        signal: i32,
    },
    /// The program stopped because it reached its cost limit in dollars.
    OverBudget,
    /// The turn (the run of the program) was cancelled, because Handover asked the program to stop.
    Cancelled,
    /// The conversation that this run of the program should resume does not exist. The caller can start a new
    /// conversation.
    NoConversation,
}

/// The end of a process, as the operating system reports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    Code(i32),
    Signal(i32),
}
