//! Facts: the store's answers to needs that are about many rows.

use crate::agent::Agent;
use crate::approval::Approval;
use crate::checkpoint::Checkpoint;
use crate::id::{AgentId, TaskId, WorkflowId};
use crate::inbox::Message;
use crate::reminder::Reminder;
use crate::review::{Finding, Review, ReviewRound};
use crate::runner::Runner;
use crate::section::{Section, SectionChange};
use crate::task::Task;
use crate::template::Template;
use crate::time::Timestamp;
use crate::token::Token;
use crate::turn::{Spent, Turn};
use crate::verification::Verification;
use crate::workflow::Workflow;
use crate::workspace::{Repository, Workspace};

/// The store's answer to a need that asks about many rows.
#[derive(Debug, Clone, PartialEq)]
pub enum Fact {
    Tasks(Vec<TaskId>),
    Agents(Vec<AgentId>),
    Workflows(Vec<WorkflowId>),
    Named(Vec<(TaskId, String)>),
    Full(Vec<Task>),
    Edges(Vec<(TaskId, TaskId)>),
    Number(u32),
    /// The time at which a repository was attached.
    Time(Option<Timestamp>),
    Yes(bool),
    Checkpoints(Vec<Checkpoint>),
    Messages(Vec<Message>),
    WorkflowRows(Vec<Workflow>),
    /// Agents, each with the task that it claimed last.
    AgentRows(Vec<(Agent, Option<TaskId>)>),
    WorkspaceRows(Vec<Workspace>),
    /// Repositories, each with the time at which it was attached or registered.
    RepositoryRows(Vec<(Repository, Timestamp)>),
    TemplateRows(Vec<Template>),
    TokenRows(Vec<Token>),
    TurnRows(Vec<Turn>),
    Spent(Spent),
    VerificationRows(Vec<Verification>),
    ReminderRows(Vec<Reminder>),
    RunnerRows(Vec<Runner>),
    SectionRows(Vec<Section>),
    SectionChanges(Vec<SectionChange>),
    ApprovalRows(Vec<Approval>),
    ReviewRows(Vec<Review>),
    RoundRows(Vec<ReviewRound>),
    FindingRows(Vec<Finding>),
    /// Words, each with one or two numbers, for example a status and the number of tasks in it.
    Counts(Vec<(String, u32, u32)>),
}
