//! Simulated callers who exceed their rights: they name agents of other connections, register under the names of
//! others, and loosen protections that a person set.

use engine::checkpoint::Kind;
use engine::command::{Note, Target};
use engine::id::AgentId;
use engine::tables::Tables;
use engine::task::{Status, Task};
use engine::workflow::WorkflowStatus;
use engine::{Caller, Command, Rights};

use crate::acts::json;
use crate::crew::{Crew, Order};

impl Crew {
    pub(crate) fn intrude(&mut self, tables: &Tables) -> Order {
        match self.rng.below(100) {
            0..45 => self.take_over(tables),
            45..55 => self.register_as_another(),
            55..85 => self.loosen_task(tables),
            _ => self.loosen_workflow(tables),
        }
    }

    /// Returns a command that a worker (a simulated client) gives over its own connection, but that names an agent of
    /// another connection.
    fn take_over(&mut self, tables: &Tables) -> Order {
        let place = self.awake();
        let Some(victim) = self.some_agent(tables) else { return self.register(place) };
        let held = tables.tasks.values().find(|task| task.holder() == Some(victim));
        let task = match held.or_else(|| tables.tasks.values().next()) {
            Some(task) => task.id,
            None => return self.register(place),
        };
        let attempt = self.rng.percent(50).then(|| tables.tasks.get(&task).map_or(0, |task| task.attempt));
        let command = match self.rng.below(14) {
            0 | 1 => Command::Heartbeat { current_task: self.rng.percent(30).then_some(task) },
            2 | 3 => Command::Renew,
            4 => Command::Claim { task },
            5 => Command::ClaimNext { workflow: self.workflow(), include_failed: false },
            6 => Command::Move { task, attempt, to: Target::InProgress { answer: None } },
            7 => Command::Move {
                task,
                attempt,
                to: Target::Completed { outcome: Some("taken".to_owned()), detail: None, delivery: None },
            },
            8 => Command::AddCheckpoint { task, attempt, note: Note::plain(Kind::Progress, "not mine") },
            9 => Command::Release { task, attempt, reason: None },
            10 => Command::Unregister,
            11 => Command::UpdateAgent { workspace_path: None, metadata: Some(json("{\"taken\":1}")) },
            12 => self.read_mail(tables, victim),
            _ => Command::Send { to: self.recipients(tables), draft: self.draft(tables) },
        };
        if self.rng.percent(6) {
            // The worker (a simulated client) acts as its own agent, but locks a workflow in the name of another agent.
            let command = Command::LockWorkflow { workflow: self.workflow(), owner: victim.to_string() };
            let caller = self.caller(place);
            return self.order(caller, command, Some(place));
        }
        let rights = match self.rng.below(20) {
            0 => Rights::Coordinator,
            1 => Rights::Person,
            2 => Rights::Script,
            _ => Rights::Agent,
        };
        let connection = self.workers[place].connection;
        let caller = Caller { rights, ..self.connections[connection].caller(Some(victim)) };
        self.order(caller, command, Some(place))
    }

    fn some_agent(&mut self, tables: &Tables) -> Option<AgentId> {
        let mut here: Vec<AgentId> =
            tables.agents.values().filter(|row| row.left.is_none()).map(|row| row.id).collect();
        // Mostly attack an agent that holds a task, because such an agent has a claim to lose.
        let holders: Vec<AgentId> = tables.tasks.values().filter_map(Task::holder).collect();
        if self.rng.percent(60) && !holders.is_empty() {
            here = holders;
        }
        self.rng.pick(&here).copied()
    }

    fn read_mail(&mut self, tables: &Tables, owner: AgentId) -> Command {
        let own = |message: &&engine::inbox::Message| message.to == engine::inbox::MailboxOwner::Agent(owner);
        let messages = tables.messages.values().filter(own).take(3).map(|message| message.id).collect();
        if self.rng.percent(50) { Command::MarkRead { messages } } else { Command::Archive { messages } }
    }

    /// Returns a command by which a worker (a simulated client) registers under the name of another worker's agent. The
    /// engine may resume that agent only when the connection that registered it last is dead, and the worker has the
    /// same user or token as that connection.
    fn register_as_another(&mut self) -> Order {
        let place = self.awake();
        let other = self.rng.below(self.workers.len());
        let name = self.workers[other].name.clone();
        self.register_named(place, name)
    }

    /// Returns a command that skips, removes or replaces a task. Mostly the task is protected or waits for other tasks,
    /// so that the engine must refuse most callers. The caller is an agent, a coordinator, a person or a script.
    fn loosen_task(&mut self, tables: &Tables) -> Order {
        let open = |task: &&Task| !task.status().is_met() && task.holder().is_none();
        let open: Vec<&Task> = tables.tasks.values().filter(open).collect();
        let aimed = |task: &&&Task| !task.protections().is_empty() || task.unmet > 0;
        let aimed: Vec<&Task> = open.iter().filter(aimed).copied().collect();
        let from = if self.rng.percent(75) { &aimed } else { &open };
        let Some(task) = self.rng.pick(from).copied().cloned() else { return self.take_over(tables) };
        let (id, workflow) = (task.id, task.workflow);
        let command = match (self.rng.below(10), task.status()) {
            (0..5, _) => {
                Command::Move { task: id, attempt: None, to: Target::Skipped { reason: Some("no".to_owned()) } }
            }
            (5..8, _) => Command::RemoveTask { workflow, task: id },
            (8, _) => {
                let mut tasks = self.plan();
                // The new plan has a task of the same name without the dependencies. This tries to bypass the protected
                // tasks (for example tasks with a required review) that the old task waits for, and must fail.
                if let Some(first) = tasks.first_mut() {
                    (first.name, first.depends_on) = (task.name, Vec::new());
                }
                Command::Replan { workflow, summary: "round it".to_owned(), reason: "why not".to_owned(), tasks }
            }
            (_, Status::Blocked) => Command::Move { task: id, attempt: None, to: Target::Pending { reason: None } },
            _ => Command::ReplanTask { task: id, attempt: None, reason: "anew".to_owned(), plan: json("[]") },
        };
        let (caller, place) = self.manager();
        self.order(caller, command, place)
    }

    /// Returns a command by which an agent, a coordinator, a person or a script changes a workflow's status, settings
    /// or limits.
    fn loosen_workflow(&mut self, tables: &Tables) -> Order {
        let workflow = self.workflow();
        let limit = tables.workflows.get(&workflow).and_then(|workflow| workflow.parallel_max);
        let command = match self.rng.below(10) {
            0..3 => {
                let config = json(&format!("{{\"usd\":{}}}", self.rng.below(3)));
                Command::SetConfig { workflow, config }
            }
            3..6 => Command::SetParallelism {
                workflow,
                parallel_max: limit.map(|limit| limit.saturating_add(1)).filter(|_| self.rng.percent(70)),
                auto_workspaces: None,
            },
            6 => Command::SetWorkflowStatus { workflow, status: WorkflowStatus::Failed, reason: None },
            7 => Command::SetWorkflowStatus { workflow, status: WorkflowStatus::InProgress, reason: None },
            8 if self.rng.percent(20) => {
                Command::SetWorkflowStatus { workflow, status: WorkflowStatus::Abandoned, reason: None }
            }
            8 => Command::SetWorkflowStatus { workflow, status: WorkflowStatus::Completed, reason: None },
            _ => Command::SetWorkflowStatus { workflow, status: WorkflowStatus::Paused, reason: None },
        };
        let (caller, place) = self.manager();
        self.order(caller, command, place)
    }

    /// Returns the caller that changes a plan: mostly an agent, otherwise a coordinator, a person or a person's
    /// script. A person or a script may name an agent.
    pub(crate) fn manager(&mut self) -> (Caller, Option<usize>) {
        let place = self.awake();
        match self.rng.below(100) {
            0..50 => (self.caller(place), Some(place)),
            50..60 => (Caller::with_rights(Rights::Coordinator), None),
            60..66 => {
                let (connection, named) = (self.workers[place].connection, self.workers[place].id);
                let caller = self.connections[connection].caller(named);
                (Caller { rights: Rights::Coordinator, ..caller }, Some(place))
            }
            66..80 => {
                // Choose a person or a person's script at the command line. The call may name an agent.
                let rights = if self.rng.percent(50) { Rights::Person } else { Rights::Script };
                let named = self.workers[place].id.filter(|_| self.rng.percent(60));
                let cli =
                    self.connections.iter().find(|link| link.kind == crate::connections::ConnectionKind::CommandLine);
                let caller = cli.map_or_else(|| Caller::with_rights(rights), |cli| cli.caller(named));
                (Caller { rights, ..caller }, None)
            }
            80..94 => (Caller::with_rights(Rights::Script), None),
            _ => (Caller::with_rights(Rights::Person), None),
        }
    }
}
