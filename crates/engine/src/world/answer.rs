//! The questions that a decision asks about the state: the type of the answer to each question, and the loaded answers.

use std::collections::BTreeMap;

use super::need::{
    AgentIdNeed, ApprovalNeed, BoolNeed, CheckpointNeed, FreedNeed, InboxNeed, Need, NumberNeed, OpenEdgeNeed,
    PutOffNeed, TaskIdNeed, TaskRowNeed, UnmetNeed, WorkflowIdNeed,
};
use crate::agent::Agent;
use crate::approval::Approval;
use crate::checkpoint::Checkpoint;
use crate::condition::Condition;
use crate::delivery::{Delivery, WorkflowDelivery};
use crate::id::{AgentId, TaskId, WorkflowId};
use crate::inbox::Message;
use crate::list::{
    AgentQuery, ApprovalQuery, ConditionQuery, CountQuery, DeliveryQuery, FindingQuery, GroupQuery, ListQuery,
    MessageQuery, RepositoryQuery, ReviewQuery, RoundQuery, RunnerQuery, SectionChangeQuery, SectionQuery, SpentQuery,
    TaskQuery, TemplateQuery, TokenQuery, TotalQuery, TurnQuery, VerificationQuery, WorkflowDeliveryQuery,
    WorkflowQuery, WorkspaceQuery,
};
use crate::put_off::PutOffItem;
use crate::review::{Finding, Review, ReviewRound};
use crate::runner::Runner;
use crate::section::{Section, SectionChange};
use crate::task::{Status, Task};
use crate::template::Template;
use crate::time::Timestamp;
use crate::token::Token;
use crate::turn::{Spent, Turn};
use crate::verification::Verification;
use crate::workflow::Workflow;
use crate::workspace::{Repository, Workspace};

/// A question about the state that knows the type of its answer. [`World::ask`](super::World::ask) returns this type,
/// so code that expects another type does not compile.
pub trait TypedQuestion: Clone + Ord + Into<Need> + 'static {
    type Answer;

    /// Returns this question as a `Need`, which is the form in which the store gets the question.
    fn need(&self) -> Need {
        self.clone().into()
    }

    /// Returns the loaded answers to questions of this type, as a map from question to answer.
    fn answers(maps: &AnswerMaps) -> &BTreeMap<Self, Self::Answer>;

    /// Returns the same map as `answers`, but mutable, so that an answer can be added.
    fn answers_mut(maps: &mut AnswerMaps) -> &mut BTreeMap<Self, Self::Answer>;
}

/// The answers that a decision has loaded. Many commands need no answers, so the maps are created only when the first
/// answer is stored.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LoadedAnswers(Option<Box<AnswerMaps>>);

impl LoadedAnswers {
    pub(super) fn get<Q: TypedQuestion>(&self, question: &Q) -> Option<&Q::Answer> {
        self.0.as_ref().and_then(|maps| Q::answers(maps).get(question))
    }

    pub(super) fn insert<Q: TypedQuestion>(&mut self, question: Q, answer: Q::Answer) {
        Q::answers_mut(self.0.get_or_insert_default()).insert(question, answer);
    }
}

/// Declares the questions. Each line of the macro's input has the variant that holds a question, the type of the
/// question, the type of its answer, and the map that keeps the answers.
macro_rules! questions {
    ($($holder:ident::$variant:ident($question:ty) => $answer:ty, in $map:ident;)*) => {
        /// The loaded answers to questions about the state: one map for each type of question.
        #[derive(Debug, Clone, Default, PartialEq)]
        pub struct AnswerMaps {
            $($map: BTreeMap<$question, $answer>,)*
        }

        $(
            impl From<$question> for Need {
                fn from(question: $question) -> Self {
                    Self::from($holder::$variant(question))
                }
            }

            impl TypedQuestion for $question {
                type Answer = $answer;

                fn answers(maps: &AnswerMaps) -> &BTreeMap<Self, Self::Answer> {
                    &maps.$map
                }

                fn answers_mut(maps: &mut AnswerMaps) -> &mut BTreeMap<Self, Self::Answer> {
                    &mut maps.$map
                }
            }
        )*
    };
}

questions! {
    Need::TaskIds(TaskIdNeed) => Vec<TaskId>, in task_ids;
    Need::TaskRows(TaskRowNeed) => Vec<Task>, in task_rows;
    Need::Unmet(UnmetNeed) => Vec<(TaskId, String)>, in unmet;
    Need::Freed(FreedNeed) => Vec<(TaskId, Status)>, in freed;
    Need::OpenEdges(OpenEdgeNeed) => Vec<(TaskId, TaskId)>, in open_edges;
    Need::AgentIds(AgentIdNeed) => Vec<AgentId>, in agent_ids;
    Need::WorkflowIds(WorkflowIdNeed) => Vec<WorkflowId>, in workflow_ids;
    Need::Checkpoints(CheckpointNeed) => Vec<Checkpoint>, in checkpoints;
    Need::Inbox(InboxNeed) => Vec<Message>, in inboxes;
    Need::Approvals(ApprovalNeed) => Vec<Approval>, in approvals;
    Need::PutOffs(PutOffNeed) => Vec<PutOffItem>, in put_offs;
    Need::Number(NumberNeed) => u32, in numbers;
    Need::Bool(BoolNeed) => bool, in bools;

    ListQuery::Workflows(WorkflowQuery) => Vec<Workflow>, in listed_workflows;
    ListQuery::Tasks(TaskQuery) => Vec<Task>, in listed_tasks;
    ListQuery::Agents(AgentQuery) => Vec<(Agent, Option<TaskId>)>, in listed_agents;
    ListQuery::Workspaces(WorkspaceQuery) => Vec<Workspace>, in listed_workspaces;
    ListQuery::Repositories(RepositoryQuery) => Vec<(Repository, Timestamp)>, in listed_repositories;
    ListQuery::Templates(TemplateQuery) => Vec<Template>, in listed_templates;
    ListQuery::Messages(MessageQuery) => Vec<Message>, in listed_messages;
    ListQuery::Turns(TurnQuery) => Vec<Turn>, in listed_turns;
    ListQuery::Verifications(VerificationQuery) => Vec<Verification>, in listed_verifications;
    ListQuery::Runners(RunnerQuery) => Vec<Runner>, in listed_runners;
    ListQuery::Sections(SectionQuery) => Vec<Section>, in listed_sections;
    ListQuery::SectionChanges(SectionChangeQuery) => Vec<SectionChange>, in listed_section_changes;
    ListQuery::Approvals(ApprovalQuery) => Vec<Approval>, in listed_approvals;
    ListQuery::Reviews(ReviewQuery) => Vec<Review>, in listed_reviews;
    ListQuery::Rounds(RoundQuery) => Vec<ReviewRound>, in listed_rounds;
    ListQuery::Findings(FindingQuery) => Vec<Finding>, in listed_findings;
    ListQuery::Conditions(ConditionQuery) => Vec<Condition>, in listed_conditions;
    ListQuery::Deliveries(DeliveryQuery) => Vec<Delivery>, in listed_deliveries;
    ListQuery::WorkflowDeliveries(WorkflowDeliveryQuery) => Vec<WorkflowDelivery>, in listed_workflow_deliveries;
    ListQuery::Tokens(TokenQuery) => Vec<Token>, in listed_tokens;
    ListQuery::Totals(TotalQuery) => u32, in totals;
    ListQuery::Counts(CountQuery) => Vec<(String, u32)>, in counts;
    ListQuery::Groups(GroupQuery) => Vec<(String, u32, u32)>, in groups;
    ListQuery::Spent(SpentQuery) => Spent, in spent;
}
