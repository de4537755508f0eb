//! The locks that a transaction takes before it reads. Each lock has a name, for example the name of a workflow. While
//! a transaction holds the lock, no other transaction changes the rows that the name stands for.
//!
//! The locks are advisory locks of PostgreSQL. A transaction takes them in sorted order, so two transactions cannot
//! deadlock. A transaction takes its locks before the server gives it a transaction number. So within a topic (a log)
//! the order of transaction numbers is the order of entries (docs/decisions/0001).

use std::collections::BTreeSet;

use engine::inbox::MailboxOwner;
use engine::list::ListQuery;
use engine::world::{
    AgentIdNeed, ApprovalNeed, BoolNeed, Candidates, CheckpointNeed, FreedNeed, InboxNeed, NumberNeed, OpenEdgeNeed,
    TaskIdNeed, TaskRowNeed, UnmetNeed, WorkflowIdNeed,
};
use engine::{Need, Topic};

use crate::value::{SqlValue, Statement};

/// The names that a transaction must lock. This value also has ids of rows, such as tasks, whose workflow or owner must
/// be locked. For these ids, the statement that takes the locks looks up the names on the server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Guards {
    names: BTreeSet<String>,
    tasks: BTreeSet<String>,
    workspaces: BTreeSet<String>,
    messages: BTreeSet<String>,
}

/// The statement that takes the locks. It turns the lists of ids into arrays, because PostgreSQL then always uses the
/// index.
const LOCK: &str = "SELECT name, pg_advisory_xact_lock(key)::text FROM (\
     SELECT name, hashtextextended(name, 0) AS key FROM (\
     SELECT json_array_elements_text($1::text::json) AS name \
     UNION SELECT 'workflows/' || workflow FROM task WHERE id = ANY (ARRAY(SELECT json_array_elements_text($2::text::json))) \
     UNION SELECT 'workflows/' || workflow FROM workspace \
     WHERE id = ANY (ARRAY(SELECT json_array_elements_text($3::text::json))) \
     UNION SELECT CASE owner WHEN 'human' THEN 'human' ELSE 'agents/' || owner END FROM message \
     WHERE id = ANY (ARRAY(SELECT json_array_elements_text($4::text::json)))\
     ) AS names ORDER BY key) AS keys";

fn owner_name(owner: MailboxOwner) -> String {
    match owner {
        MailboxOwner::Agent(id) => format!("agents/{id}"),
        MailboxOwner::Human => "human".to_owned(),
    }
}

fn topic_name(topic: &Topic) -> String {
    match topic {
        Topic::Workflow(id) => format!("workflows/{id}"),
        Topic::Agent { id, .. } => owner_name(*id),
        Topic::Registry => "registry".to_owned(),
        Topic::Project => "project".to_owned(),
    }
}

impl Guards {
    /// Adds the locks that a transaction must hold while it reads the rows of a need (a question to the store). Returns
    /// true when at least one of these locks is new.
    pub(super) fn add(&mut self, need: &Need) -> bool {
        match need {
            Need::Task(id)
            | Need::Detail(id)
            | Need::TurnRunning(id)
            | Need::Delivery(id)
            | Need::Unmet(UnmetNeed(id))
            | Need::Freed(FreedNeed(id))
            | Need::TaskIds(TaskIdNeed::Dependencies(id) | TaskIdNeed::Dependents(id))
            | Need::TaskRows(TaskRowNeed::OpenAncestors(id))
            | Need::Checkpoints(CheckpointNeed { task: id, .. })
            | Need::Number(NumberNeed::Turns(id) | NumberNeed::Verifications(id)) => self.tasks.insert(id.to_string()),
            Need::Workflow(id)
            | Need::WorkflowDetail(id)
            | Need::WorkflowDelivery(id)
            | Need::Attached(id, _)
            | Need::TaskIds(TaskIdNeed::HeldIn(id, _) | TaskIdNeed::Named(id, _) | TaskIdNeed::Expired(id, _))
            | Need::TaskRows(
                TaskRowNeed::BusyFiles(id, _)
                | TaskRowNeed::Removable(id)
                | TaskRowNeed::Open(id)
                | TaskRowNeed::Candidates(Candidates { workflow: id, .. }),
            )
            | Need::OpenEdges(OpenEdgeNeed(id))
            | Need::Number(NumberNeed::Running(id, _))
            | Need::Bool(
                BoolNeed::UnmergedRequest(id) | BoolNeed::OtherUnmergedRequest(id, _) | BoolNeed::RepositoryUsed(id, _),
            ) => self.names.insert(format!("workflows/{id}")),
            Need::Agent(id) | Need::TaskIds(TaskIdNeed::HeldBy(id)) | Need::Bool(BoolNeed::HoldsMost(id)) => {
                self.names.insert(format!("agents/{id}"))
            }
            Need::Mailbox(owner) | Need::Inbox(InboxNeed { owner, .. }) => self.names.insert(owner_name(*owner)),
            Need::Message(id) => self.messages.insert(id.to_string()),
            Need::Workspace(id) => self.workspaces.insert(id.to_string()),
            Need::Turn(id) => self.names.insert(format!("turns/{id}")),
            Need::Section(name) => self.names.insert(format!("sections/{name}")),
            Need::Approval(id) | Need::Notice(id, _) => self.names.insert(format!("approvals/{id}")),
            Need::Approvals(ApprovalNeed::Sealed(fingerprint) | ApprovalNeed::Refused(fingerprint)) => {
                self.names.insert(format!("sealed/{fingerprint}"))
            }
            Need::Review(id) | Need::Round(id, _) | Need::Finding(id, _) => self.names.insert(format!("reviews/{id}")),
            // Take a lock for the last task number, so that two planners of different workflows do not give the same
            // number to two tasks. All locks of a transaction are taken in one order, so this lock cannot cause a
            // deadlock.
            Need::Number(NumberNeed::LastTaskNumber) => self.names.insert("task_numbers".to_owned()),
            // Take a lock for the standing list (the one workflow for single tasks). So when two callers open the list
            // at the same time, only one of them creates it.
            Need::WorkflowIds(WorkflowIdNeed::Standing) => self.names.insert("standing_list".to_owned()),
            Need::ToldItems(way) => self.names.insert(format!("told_items/{way}")),
            Need::PutOffs(_) => self.names.insert("put_off".to_owned()),
            // Take a lock for the branch name. So when two workflows ask for the same branch at the same time, only one
            // of them gets it.
            Need::WorkflowIds(WorkflowIdNeed::WithBranch(branch)) => self.names.insert(format!("branches/{branch}")),
            Need::Condition(..) | Need::Number(NumberNeed::Conditions) => self.names.insert("conditions".to_owned()),
            Need::Runner(name) => self.names.insert(format!("runners/{name}")),
            Need::Key(id) => self.names.insert(format!("keys/{}/{}/{}", id.owner, id.act, id.key)),
            Need::Reminder(name, _) | Need::AgentIds(AgentIdNeed::OfConversation(name)) => {
                self.names.insert(format!("conversations/{name}"))
            }
            Need::AgentIds(AgentIdNeed::OfSession(id)) => self.names.insert(format!("sessions/{id}")),
            Need::Repository(_)
            | Need::RepositoryAt(_)
            | Need::Template(_)
            | Need::Bool(BoolNeed::TemplateNamed(_))
            | Need::Token(_)
            | Need::List(ListQuery::Tokens(_)) => self.names.insert("registry".to_owned()),
            // These needs (requests for rows) take no lock. A slug never changes and is unique in its table, and a race
            // for a new slug ends in a retry. The other needs in this list only find rows. Before a command changes a
            // row that it found, it reads the row again under the row's own lock.
            Need::AgentIds(
                AgentIdNeed::WithSlug(_)
                | AgentIdNeed::OfCall(_)
                | AgentIdNeed::Same { .. }
                | AgentIdNeed::WithRole(_)
                | AgentIdNeed::Matching(_),
            )
            | Need::Number(NumberNeed::SlugNumber(_))
            | Need::WorkflowIds(WorkflowIdNeed::LockedBy(_) | WorkflowIdNeed::WithExpired(_))
            | Need::TokenHashed(_)
            | Need::List(_) => false,
        }
    }

    pub(super) fn add_topic(&mut self, topic: &Topic) {
        self.names.insert(topic_name(topic));
    }

    /// Returns the statement that takes all locks in sorted order and returns their names.
    pub(super) fn lock(&self) -> Statement {
        let list =
            |names: &BTreeSet<String>| SqlValue::Text(serde_json::to_string(names).unwrap_or_else(|_| "[]".to_owned()));
        Statement::new(LOCK, [list(&self.names), list(&self.tasks), list(&self.workspaces), list(&self.messages)])
    }

    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The names of the locks that the current transaction holds.
#[derive(Debug, Default)]
pub(super) struct HeldLocks(BTreeSet<String>);

impl HeldLocks {
    pub(super) fn read(rows: Vec<Vec<SqlValue>>) -> Self {
        let name = |row: Vec<SqlValue>| match row.into_iter().next() {
            Some(SqlValue::Text(name)) => Some(name),
            Some(SqlValue::Int(_) | SqlValue::Null) | None => None,
        };
        Self(rows.into_iter().filter_map(name).collect())
    }

    /// Returns true when the transaction already holds the locks of a need (a request for rows), because it took the
    /// same locks for another need.
    pub(super) fn covers(&self, need: &Need, world: &engine::World) -> bool {
        let mut guards = Guards::default();
        guards.add(need);
        for task in std::mem::take(&mut guards.tasks) {
            let known = task.parse().ok().and_then(|id| world.tasks.get(&id)?.as_ref());
            match known {
                Some(task) => guards.names.insert(format!("workflows/{}", task.workflow)),
                None => return false,
            };
        }
        guards.workspaces.is_empty()
            && guards.messages.is_empty()
            && guards.names.iter().all(|name| self.0.contains(name))
    }

    pub(super) fn has(&self, topic: &Topic) -> bool {
        self.0.contains(&topic_name(topic))
    }
}
