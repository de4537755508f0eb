//! Declares the facts that a turn reports, while it runs and at its end.

/// An event that just happened. Texts and names are cut to the length that a line of a live view can show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HeardEvent {
    Conversation(String),
    ToolCall {
        name: String,
    },
    Text(String),
    /// The program is alive, and there is nothing to show.
    Progress,
}

/// The complete report of a turn.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnSaid {
    /// The conversation that a later turn can resume.
    pub conversation: Option<String>,
    /// The answer: all text after the last tool call.
    pub text: String,
    pub tool_calls: u32,
    pub tokens: Option<SpentAmount<u64>>,
    pub usd: Option<SpentAmount<f64>>,
    pub end: AgentEnd,
    pub warnings: Vec<String>,
}

/// An amount, and the turns that it covers. Some programs keep counting over resumed turns; the caller then subtracts
/// the amount that it knows already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpentAmount<T> {
    ThisTurn(T),
    WholeConversation(T),
}

/// The end of the program by its own signs, which count more than its exit code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentEnd {
    /// The program gave its answer. The quality of the answer is not judged here.
    Finished,
    Failed {
        /// None when the program failed in a conversation and still runs.
        code: Option<i32>,
        reason: String,
    },
    /// The API of the model refused the request or failed.
    ApiError {
        reason: String,
    },
    Signalled {
        signal: i32,
    },
    /// The program stopped at its limit in dollars.
    OverBudget,
    /// We asked a program in a conversation to stop.
    Cancelled,
    /// The conversation to resume does not exist. A new one can be started.
    NoConversation,
}

/// The end of the process as the system reports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    Code(i32),
    Signal(i32),
}
