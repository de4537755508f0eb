//! Declares the events that a turn (one run of an agent's program) reports while it runs, and the report at its end.

use super::tool::{ToolCallDetail, ToolCallResult};

/// An event of a running program. Texts and names are cut to a fixed length.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HeardEvent {
    Conversation(String),
    /// The program called a tool. Each call is reported once.
    ToolCall {
        /// The tool's name in the client's own words.
        name: String,
        call: ToolCallDetail,
    },
    /// A tool call ended. Some streams have no results, and a killed tool has none.
    ToolResult(ToolCallResult),
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
    pub tokens: Option<SpentAmount<TokenUse>>,
    pub usd: Option<SpentAmount<f64>>,
    /// The name of the model that answered, in the program's own words. None when the program named no model.
    pub model: Option<String>,
    pub end: AgentEnd,
    pub warnings: Vec<String>,
}

/// The tokens that a program reported. `input` is the part that the model read, with the part that came from a cache;
/// `output` is the part that it wrote, with its thinking. Both are None when the program reported only the total.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenUse {
    pub total: u64,
    pub input: Option<u64>,
    pub output: Option<u64>,
}

impl TokenUse {
    /// Returns the tokens of a program that reported input and output.
    pub fn apart(input: u64, output: u64) -> Self {
        Self { total: input.saturating_add(output), input: Some(input), output: Some(output) }
    }

    /// Returns the sum of two reports. Input and output are known only if both reports have them.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let sum = |left: Option<u64>, right: Option<u64>| Some(left?.saturating_add(right?));
        Self {
            total: self.total.saturating_add(other.total),
            input: sum(self.input, other.input),
            output: sum(self.output, other.output),
        }
    }
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
