//! The complete state of a store, read from an export. The test can check the store's counters by counting the rows
//! again.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

use engine::Event;
use engine::id::{AgentId, CheckpointId, MessageId, TaskId, WorkflowId};
use engine::inbox::MailboxOwner;
use engine::task::Status;
use engine::workflow::WorkflowStatus;
use serde_json::Value;
use store::{Fault, Store};

#[derive(Debug, Default)]
pub(crate) struct State {
    pub(crate) workflows: BTreeMap<WorkflowId, Workflow>,
    pub(crate) tasks: BTreeMap<TaskId, Task>,
    pub(crate) edges: Vec<(TaskId, TaskId)>,
    pub(crate) checkpoints: BTreeMap<(TaskId, u64), CheckpointId>,
    pub(crate) agents: BTreeMap<AgentId, String>,
    pub(crate) mailboxes: BTreeMap<MailboxOwner, (u64, u64)>,
    pub(crate) messages: BTreeMap<MessageId, Message>,
    /// Every entry of the log, in the order in which a reader of the whole log gets them.
    pub(crate) log: Vec<(String, i64, Event)>,
}

#[derive(Debug)]
pub(crate) struct Workflow {
    pub(crate) name: String,
    pub(crate) status: WorkflowStatus,
    pub(crate) tasks: u64,
    pub(crate) open: u64,
}

#[derive(Debug)]
pub(crate) struct Task {
    pub(crate) workflow: WorkflowId,
    pub(crate) attempt: u64,
    pub(crate) unmet: u64,
    pub(crate) checkpoints: u64,
    pub(crate) status: Status,
    pub(crate) holder: Option<AgentId>,
    pub(crate) actor: Option<String>,
    pub(crate) note: Option<String>,
}

#[derive(Debug)]
pub(crate) struct Message {
    pub(crate) owner: MailboxOwner,
    pub(crate) sequence: u64,
    pub(crate) is_unread: bool,
}

/// A buffer that an export writes and the test reads afterwards.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl State {
    pub(crate) async fn read(store: &dyn Store) -> Result<Self, Fault> {
        let out = Shared::default();
        store::export(store, out.clone()).await?;
        let bytes = out.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut state = Self::default();
        for line in String::from_utf8_lossy(&bytes).lines() {
            let line: Value = serde_json::from_str(line).unwrap();
            if let Some(table) = line["t"].as_str() {
                state.take(table, &line["v"]);
            }
        }
        Ok(state)
    }

    /// Reads one row of the export. The positions of the row's columns are those of an export of schema 1.
    fn take(&mut self, table: &str, row: &Value) {
        let text = |place: usize| row[place].as_str().map(str::to_owned);
        let number = |place: usize| row[place].as_u64().unwrap();
        match table {
            "workflow" => {
                let status = WorkflowStatus::parse(row[2].as_str().unwrap()).unwrap();
                let found = Workflow { name: text(1).unwrap(), status, tasks: number(10), open: number(11) };
                self.workflows.insert(parsed(&row[0]), found);
            }
            "task" => {
                let found = Task {
                    workflow: parsed(&row[1]),
                    attempt: number(12),
                    unmet: number(14),
                    checkpoints: number(15),
                    status: Status::parse(row[18].as_str().unwrap()).unwrap(),
                    holder: row[19].as_str().map(|id| id.parse().unwrap()),
                    actor: text(22),
                    note: text(23),
                };
                self.tasks.insert(parsed(&row[0]), found);
            }
            "dependency" => self.edges.push((parsed(&row[0]), parsed(&row[1]))),
            "checkpoint" => drop(self.checkpoints.insert((parsed(&row[0]), number(1)), parsed(&row[2]))),
            "agent" => drop(self.agents.insert(parsed(&row[0]), text(1).unwrap())),
            "mailbox" => drop(self.mailboxes.insert(parsed(&row[0]), (number(1), number(2)))),
            "message" => {
                let is_unread = row[5].as_str() == Some("unread");
                let found = Message { owner: parsed(&row[1]), sequence: number(2), is_unread };
                self.messages.insert(parsed(&row[0]), found);
            }
            "event" => {
                let event = serde_json::from_str(row[5].as_str().unwrap()).unwrap();
                self.log.push((text(0).unwrap(), row[1].as_i64().unwrap(), event));
            }
            _ => {}
        }
    }

    /// Tells whether the workflow's plan is complete, so that its tasks are visible.
    pub(crate) fn is_planned(&self, workflow: WorkflowId) -> bool {
        self.workflows.get(&workflow).is_some_and(|found| found.status != WorkflowStatus::Planning)
    }

    /// Counts the rows again for every counter that the store keeps. Returns the counters that are wrong.
    pub(crate) fn recount(&self) -> Vec<String> {
        let mut problems = self.recount_tasks();
        let mut mail: BTreeMap<MailboxOwner, (BTreeSet<u64>, u64)> = BTreeMap::new();
        for message in self.messages.values() {
            let (sequences, unread) = mail.entry(message.owner).or_default();
            sequences.insert(message.sequence);
            *unread += u64::from(message.is_unread);
        }
        for (owner, (sequence, unread)) in &self.mailboxes {
            let (sequences, counted) = mail.remove(owner).unwrap_or_default();
            if !sequences.iter().copied().eq(1..=*sequence) {
                problems
                    .push(format!("mailbox {owner} has numbers up to {sequence}, but {} messages", sequences.len()));
            }
            if *unread != counted {
                problems.push(format!("mailbox {owner} says {unread} unread, but {counted} are"));
            }
        }
        problems.extend(mail.keys().map(|owner| format!("messages of {owner} without a mailbox")));
        problems
    }

    fn recount_tasks(&self) -> Vec<String> {
        let mut problems = Vec::new();
        let is_met = |task: &TaskId| self.tasks.get(task).is_some_and(|task| task.status.is_met());
        let mut unmet: BTreeMap<TaskId, u64> = BTreeMap::new();
        for (task, on) in &self.edges {
            *unmet.entry(*task).or_default() += u64::from(!is_met(on));
        }
        let mut notes: BTreeMap<TaskId, Vec<u64>> = BTreeMap::new();
        for (task, sequence) in self.checkpoints.keys() {
            notes.entry(*task).or_default().push(*sequence);
        }
        let mut counted: BTreeMap<WorkflowId, (u64, u64)> = BTreeMap::new();
        for (id, task) in self.tasks.iter().filter(|(_, task)| self.is_planned(task.workflow)) {
            let (tasks, open) = counted.entry(task.workflow).or_default();
            *tasks += 1;
            *open += u64::from(!task.status.is_met());
            let waits = unmet.get(id).copied().unwrap_or(0);
            if waits != task.unmet {
                problems.push(format!("{id} says it waits for {}, but {waits} are unmet", task.unmet));
            }
            let noted = notes.remove(id).unwrap_or_default();
            if !noted.iter().copied().eq(1..=task.checkpoints) {
                problems.push(format!("{id} says {} checkpoints, but has {noted:?}", task.checkpoints));
            }
        }
        problems.extend(notes.keys().map(|task| format!("checkpoints of {task}, which cannot be seen")));
        for (id, workflow) in &self.workflows {
            let rows = counted.get(id).copied().unwrap_or_default();
            if rows != (workflow.tasks, workflow.open) {
                let says = (workflow.tasks, workflow.open);
                problems.push(format!("{id} says {says:?} tasks and open ones, but has {rows:?}"));
            }
        }
        problems
    }
}

fn parsed<T: std::str::FromStr<Err: std::fmt::Debug>>(cell: &Value) -> T {
    cell.as_str().unwrap().parse().unwrap()
}
