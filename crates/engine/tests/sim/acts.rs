//! The acts of the simulated callers. Each act is a command with random arguments, most of which follow the rules.

use std::sync::Arc;

use engine::checkpoint::Kind;
use engine::command::{Course, Note, Target};
use engine::id::MessageId;
use engine::inbox::{MailboxOwner, MessageDraft, MessageKind, RecipientMatch, Recipients};
use engine::plan::PlanPiece;
use engine::tables::Tables;
use engine::task::{BlockKind, Priority, Status};
use engine::workflow::WorkflowStatus;
use engine::{Caller, Command, Json, Rights, Timestamp};

use crate::crew::{Crew, Order};
use crate::plans::{self, ROLES};

impl Crew {
    /// Returns the next command of a simulated agent.
    pub(crate) fn work(&mut self, tables: &Tables, place: usize) -> Order {
        if self.workers[place].id.is_none() || self.rng.percent(2) {
            return self.register(place);
        }
        let command = match self.rng.below(100) {
            0..16 => self.claim(tables),
            16..26 => {
                let include_failed = self.rng.percent(30);
                Some(Command::ClaimNext { workflow: self.workflow(), include_failed })
            }
            26..74 => self.write(tables, place),
            74..83 => Some(match self.rng.below(3) {
                0 => Command::Renew,
                1 => Command::Heartbeat { current_task: None },
                _ => Command::UpdateAgent { workspace_path: None, metadata: Some(json("{\"mood\":1}")) },
            }),
            83..96 => Some(self.message(tables, place)),
            96..97 => Some(Command::Unregister),
            _ => {
                let workflow = self.workflow();
                let owner = self.workers[place].id.map_or("me".to_owned(), |agent| agent.to_string());
                let lock = self.rng.percent(20);
                Some(if lock {
                    Command::LockWorkflow { workflow, owner }
                } else {
                    Command::UnlockWorkflow { workflow, owner }
                })
            }
        };
        let caller = self.caller(place);
        self.order(caller, command.unwrap_or(Command::Renew), Some(place))
    }

    fn claim(&mut self, tables: &Tables) -> Option<Command> {
        // Mostly pick a task that looks free, so that most runs of the simulator complete some tasks.
        let free = |task: &&engine::task::Task| task.status() == Status::Pending && task.unmet == 0;
        let free: Vec<_> = tables.tasks.values().filter(free).map(|task| task.id).collect();
        let task = if self.rng.percent(60) { self.rng.pick(&free).copied() } else { None };
        let task = match task {
            Some(task) => task,
            None => self.some_task(tables)?.id,
        };
        Some(Command::Claim { task })
    }

    /// Returns a command by which an agent writes to a task as its holder. The command names the attempt number that
    /// the agent believes it holds.
    fn write(&mut self, tables: &Tables, place: usize) -> Option<Command> {
        let (task, attempt) = self.aim(tables, place)?;
        Some(match self.rng.below(100) {
            0..22 => {
                let note = Note::plain(Kind::Progress, if self.rng.percent(95) { "went on" } else { " " });
                Command::AddCheckpoint { task, attempt, note }
            }
            22..82 => {
                let status = tables.tasks.get(&task).map(|task| task.status());
                Command::Move { task, attempt, to: self.target(status) }
            }
            82..88 => Command::SetTaskPlan { task, attempt, plan: json("[1,2]"), context: Some(json("{\"a\":1}")) },
            88..90 => Command::Crash { task, attempt: attempt.unwrap_or(1), reason: "no answer".to_owned() },
            90..92 => Command::ReplanTask { task, attempt, reason: "better".to_owned(), plan: json("[3]") },
            _ => Command::Release { task, attempt, reason: self.text() },
        })
    }

    /// Picks the status to move a task to: mostly one that the rules allow, otherwise any status.
    fn target(&mut self, from: Option<Status>) -> Target {
        let legal = from.map_or(&[][..], Status::targets);
        let legal = if self.rng.percent(80) { self.rng.pick(legal) } else { None };
        let status = legal.or_else(|| self.rng.pick(Status::ALL)).copied().unwrap_or(Status::Pending);
        // Every agent may skip a task, which ends the task. If too many tasks were skipped, the run of the simulator
        // would test little, so most skips become completions here.
        let status = if status == Status::Skipped && self.rng.percent(70) { Status::Completed } else { status };
        match status {
            Status::Planning => Target::Planning,
            Status::InProgress => Target::InProgress { answer: self.text() },
            Status::Completed => {
                let delivery = self.rng.percent(25).then(|| Box::new(crate::deliveries::report(&mut self.rng)));
                Target::Completed {
                    outcome: self.text(),
                    detail: self.rng.percent(20).then(|| json("{\"ok\":true}")),
                    delivery,
                }
            }
            Status::Failed => Target::Failed { error: self.text(), detail: None },
            Status::Paused => Target::Paused { reason: self.text() },
            Status::Blocked => {
                let kind = self.rng.pick(BlockKind::ALL).copied().unwrap_or(BlockKind::SpecGap);
                let role = self.rng.percent(60).then(|| ROLES[self.rng.below(ROLES.len())].to_owned());
                Target::Blocked { kind, reason: "cannot".to_owned(), role }
            }
            Status::Skipped => Target::Skipped { reason: self.text() },
            Status::Pending => Target::Pending { reason: self.text() },
        }
    }

    /// Returns a random text for an argument of a command. Sometimes returns a blank text or `None`.
    fn text(&mut self) -> Option<String> {
        match self.rng.below(100) {
            0..6 => None,
            6..10 => Some("  ".to_owned()),
            10..70 => Some("done".to_owned()),
            _ => Some(format!("text {}", self.rng.below(3))),
        }
    }

    fn message(&mut self, tables: &Tables, place: usize) -> Command {
        let own = self.workers[place].id.map(MailboxOwner::Agent);
        let mine = |message: &&engine::inbox::Message| Some(message.to) == own;
        let mut messages: Vec<MessageId> = tables.messages.values().filter(mine).map(|message| message.id).collect();
        messages.truncate(4);
        if self.rng.percent(10) {
            messages.extend(tables.messages.keys().next());
        }
        if self.rng.percent(30) {
            messages.extend(messages.first().copied());
        }
        match self.rng.below(100) {
            0..25 => Command::MarkRead { messages },
            25..40 => Command::Archive { messages },
            _ => Command::Send { to: self.recipients(tables), draft: self.draft(tables) },
        }
    }

    pub(crate) fn recipients(&mut self, tables: &Tables) -> Recipients {
        let agent = tables.agents.values().nth(self.rng.below(tables.agents.len()));
        match (self.rng.below(10), agent) {
            (0..5, Some(agent)) => Recipients::One(MailboxOwner::Agent(agent.id)),
            (5, Some(agent)) => Recipients::Slug(agent.slug.clone()),
            (6, _) => Recipients::Slug("nobody".to_owned()),
            (7, _) => {
                Recipients::All(RecipientMatch { include_silent: self.rng.percent(50), ..RecipientMatch::default() })
            }
            _ => Recipients::One(MailboxOwner::Human),
        }
    }

    pub(crate) fn draft(&mut self, tables: &Tables) -> MessageDraft {
        let kind = if self.rng.percent(40) { MessageKind::Question } else { MessageKind::Info };
        let mut draft = MessageDraft::text(kind, Priority::DEFAULT, "hello");
        if self.rng.percent(30) {
            draft.reply_to = tables.messages.keys().nth(self.rng.below(tables.messages.len())).copied();
        }
        if self.rng.percent(20) {
            draft.task = self.some_task(tables).map(|task| task.id);
        }
        draft
    }

    /// Returns the command by which a person answers a message, sometimes a second time.
    fn answer(&mut self, tables: &Tables) -> Option<Order> {
        let asked = |message: &&engine::inbox::Message| message.to == MailboxOwner::Human;
        let asked: Vec<_> = tables.messages.values().filter(asked).map(|message| message.id).collect();
        let message = self.rng.pick(&asked).copied()?;
        let text = format!("answer {}", self.rng.below(2));
        Some(self.order(Caller::with_rights(Rights::Person), Command::Answer { message, text }, None))
    }

    /// Returns the command by which a person, a person's script or a coordinator decides about a task that is stuck.
    pub(crate) fn person(&mut self, tables: &Tables) -> Order {
        if self.rng.percent(20)
            && let Some(order) = self.answer(tables)
        {
            return order;
        }
        let stuck =
            |task: &&engine::task::Task| matches!(task.status(), Status::Paused | Status::Blocked | Status::Failed);
        let stuck: Vec<_> = tables.tasks.values().filter(stuck).map(|task| (task.id, task.status())).collect();
        let aimed = if self.rng.percent(80) { self.rng.pick(&stuck).copied() } else { None };
        let aimed = aimed.or_else(|| self.some_task(tables).map(|task| (task.id, task.status())));
        let caller = Caller::with_rights(match self.rng.below(10) {
            0..4 => Rights::Person,
            4..7 => Rights::Script,
            _ => Rights::Coordinator,
        });
        let Some((task, status)) = aimed else {
            return self.sweep_all();
        };
        let command = match self.rng.below(10) {
            0 => Command::Release { task, attempt: None, reason: self.text() },
            1 => Command::ReplanTask { task, attempt: None, reason: "anew".to_owned(), plan: json("[]") },
            2 => {
                let note = Note::plain(Kind::Decision, "do it so");
                Command::AddCheckpoint { task, attempt: None, note }
            }
            3 => Command::Send { to: self.recipients(tables), draft: self.draft(tables) },
            4 => crate::deliveries::verdict(&mut self.rng, tables, task),
            5 => crate::deliveries::decision(&mut self.rng, tables),
            _ => Command::Move { task, attempt: None, to: self.target(Some(status)) },
        };
        self.order(caller, command, None)
    }

    fn sweep_all(&mut self) -> Order {
        let workflow = self.workflow();
        self.order(Caller::with_rights(Rights::Engine), Command::Sweep { workflow }, None)
    }

    /// Returns a command that sets or changes a plan, or that suspends or resumes a workflow.
    #[expect(clippy::too_many_lines, reason = "one row for each act")]
    pub(crate) fn manage(&mut self, tables: &Tables) -> Order {
        let planning = |id: &engine::id::WorkflowId| {
            tables.workflows.get(id).is_some_and(|workflow| workflow.status == WorkflowStatus::Planning)
        };
        if let Some(workflow) = self.workflows.iter().copied().find(planning) {
            return self.set_plan(tables, workflow);
        }
        if self.workflows.len() < 4 && self.rng.percent(25) {
            return self.create_workflow();
        }
        let workflow = self.workflow();
        let of = |task: &&engine::task::Task| task.workflow == workflow;
        let names: Vec<String> = tables.tasks.values().filter(of).map(|task| task.name.clone()).collect();
        let command = match self.rng.below(100) {
            0..30 => {
                let name = self.new_name();
                let mut task = plans::task(&mut self.rng, name, &names);
                // Sometimes a task names the same dependency twice, by name and by id. The engine must count such a
                // dependency once.
                if self.rng.percent(30)
                    && let Some(other) = tables.tasks.values().rfind(of)
                {
                    task.depends_on.extend([other.name.clone(), other.id.to_string()]);
                }
                let after = if self.rng.percent(30) { self.rng.pick(&names).cloned() } else { None };
                Command::AddTask { workflow, task: Box::new(task), after }
            }
            30..50 => {
                let Some(task) = self.some_task(tables) else { return self.sweep_all() };
                let workflow = if self.rng.percent(90) { task.workflow } else { workflow };
                Command::RemoveTask { workflow, task: task.id }
            }
            50..62 => {
                let mut tasks = self.plan();
                if let (Some(first), Some(kept)) = (tasks.first_mut(), self.rng.pick(&names)) {
                    first.depends_on.push(kept.clone());
                }
                Command::Replan { workflow, summary: "other".to_owned(), reason: "why not".to_owned(), tasks }
            }
            62..82 => {
                let here = tables.workflows.get(&workflow).map(|workflow| workflow.status);
                let stopped = matches!(here, Some(WorkflowStatus::Paused | WorkflowStatus::Failed));
                let status =
                    if stopped { Some(&WorkflowStatus::InProgress) } else { self.rng.pick(WorkflowStatus::ALL) };
                let status = status.copied().unwrap_or(WorkflowStatus::Paused);
                // Turn most abandonments into suspensions, because an abandoned workflow never runs again. If too many
                // workflows were abandoned, the run of the simulator would test little.
                let status = if status == WorkflowStatus::Abandoned && self.rng.percent(80) {
                    WorkflowStatus::Paused
                } else {
                    status
                };
                match self.rng.below(8) {
                    0 => Command::Steer { workflow, course: Course::Start },
                    1 => Command::Steer { workflow, course: Course::Resume },
                    _ => Command::SetWorkflowStatus { workflow, status, reason: None },
                }
            }
            82..90 => {
                let limit = u32::try_from(self.rng.between(0, 3)).unwrap_or(1);
                Command::SetParallelism {
                    workflow,
                    parallel_max: Some(limit).filter(|_| limit < 3),
                    auto_workspaces: None,
                }
            }
            90..92 => Command::SetConfig { workflow, config: json("{\"x\":2}") },
            92..94 => Command::OpenList,
            95 => {
                let (kind, subject) = (engine::condition::ConditionKind::TipFailed, "main".to_owned());
                if self.rng.percent(50) {
                    Command::ClearCondition { kind, subject }
                } else {
                    Command::SetCondition { kind, subject, title: "it fails".to_owned(), detail: json("{}") }
                }
            }
            96 => {
                let command = Command::TakeBranch { workflow, branch: format!("handover/{}", self.rng.below(3)) };
                return self.order(Caller::with_rights(Rights::Runner), command, None);
            }
            94 => Command::ArchiveWorkflow { workflow, archived: self.rng.percent(60) },
            _ => Command::UnlockWorkflow { workflow, owner: "a person".to_owned() },
        };
        let by_person = (Caller::with_rights(Rights::Person), None);
        let (caller, place) = if self.rng.percent(60) { by_person } else { self.manager() };
        self.order(caller, command, place)
    }

    /// Returns a command that sets a whole plan, or queues several commands that each store some tasks of it. Between
    /// these commands, other callers may try to use tasks of the unfinished plan, which must stay hidden.
    fn set_plan(&mut self, tables: &Tables, workflow: engine::id::WorkflowId) -> Order {
        let (tasks, seed) = (self.plan(), self.rng.seed());
        let Some(piece) = plans::rows(tasks, workflow, Timestamp(self.now), seed) else {
            return self.sweep_all();
        };
        // Sometimes an agent sets the plan, and not a person. Agents may later replace tasks of their own plans,
        // because they wrote the output contracts of these tasks themselves.
        let place = self.rng.percent(35).then(|| self.awake());
        let planner = place.map_or_else(|| Caller::with_rights(Rights::Person), |place| self.caller(place));
        let summary = "a plan".to_owned();
        let drafting = tables.workflows.get(&workflow).is_some_and(|workflow| workflow.draft.is_some());
        if !drafting && self.rng.percent(70) {
            let command = Command::SetPlan { workflow, summary, piece: Arc::new(piece), groups: Vec::new() };
            return self.order(planner, command, place);
        }
        let token = format!("planner {}", self.serial);
        let count = u32::try_from(piece.tasks.len()).unwrap_or(u32::MAX);
        let hidden = piece.tasks.first().map(|(task, _)| task.id);
        let (tasks, edges) = (piece.tasks, piece.edges);
        let mut commands = vec![
            Command::BeginPlan { workflow, token: token.clone() },
            Command::ClearDraft { workflow, token: token.clone() },
        ];
        for piece in [PlanPiece { tasks, edges: Vec::new() }, PlanPiece { tasks: Vec::new(), edges }] {
            commands.push(Command::StagePlan { workflow, token: token.clone(), piece: Arc::new(piece) });
        }
        if let Some(task) = hidden.filter(|_| self.rng.percent(30)) {
            commands.push(Command::Move { task, attempt: None, to: Target::Skipped { reason: self.text() } });
        }
        // In one of five cases, leave out the command that completes the plan, as if the planner had died. Its
        // unfinished plan then stays in the store.
        if self.rng.percent(80) {
            commands.push(Command::CommitPlan {
                workflow,
                token,
                summary,
                tasks: count,
                groups: Vec::new(),
                task_ids: Vec::new(),
            });
        }
        let mut orders: Vec<Order> =
            commands.into_iter().map(|command| self.order(planner.clone(), command, place)).collect();
        let first = orders.remove(0);
        self.then(orders);
        first
    }
}

pub(crate) fn json(text: &str) -> Json {
    Json::from_stored(text.to_owned())
}
