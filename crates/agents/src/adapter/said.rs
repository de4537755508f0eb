//! What a turn said, while it ran and in the end.

/// Something that happened just now. Texts and names are cut to what a line of a live view can show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Heard {
    Conversation(String),
    ToolCall {
        name: String,
    },
    Text(String),
    /// It lives, and there is nothing to show.
    Progress,
}

/// Everything a turn left behind.
#[derive(Debug, Clone, PartialEq)]
pub struct Said {
    /// What a later turn resumes.
    pub conversation: Option<String>,
    /// The answer: all text after the last tool call.
    pub text: String,
    pub tool_calls: u32,
    pub tokens: Option<Spent<u64>>,
    pub usd: Option<Spent<f64>>,
    pub end: End,
    pub warnings: Vec<String>,
}

/// What a number covers. Some programs count on over resumed turns; the caller then subtracts what it knows already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spent<T> {
    ThisTurn(T),
    WholeConversation(T),
}

/// How the program ended, whatever its exit code pretends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// It gave its answer. Whether the answer is any good is not judged here.
    Finished,
    Failed {
        /// There is none when a program that was talked with failed and still runs.
        code: Option<i32>,
        reason: String,
    },
    /// The model's side refused or broke.
    ApiError {
        reason: String,
    },
    Signalled {
        signal: i32,
    },
    /// The program stopped at the dollars it was given.
    OverBudget,
    /// We asked a program that is talked with to stop.
    Cancelled,
    /// The conversation to resume is not there; a new one can be begun.
    NoConversation,
}

/// What the system says about the end of the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    Code(i32),
    Signal(i32),
}
