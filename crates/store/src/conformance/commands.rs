//! Random test commands on agents, workflows, plans, repositories, workspaces and templates, with mostly sensible
//! arguments.

use std::collections::BTreeMap;
use std::sync::Arc;

use engine::agent::Origin;
use engine::command::{Course, CreateWorkflow, CreateWorkspace, Register, SessionEnd, UpdateWorkspace};
use engine::id::{RepositoryId, TemplateId, WorkflowId, WorkspaceId};
use engine::plan::PlanPiece;
use engine::tables::Tables;
use engine::template::TemplateBody;
use engine::token::Scope;
use engine::workflow::WorkflowStatus;
use engine::workspace::WorkspaceStatus;
use engine::{Caller, Command, Json, Millis, Rights};

use super::conversations::origin;
use super::plans::{self, ROLES, SKILLS, json, maybe_json, maybe_text, text};
use super::script::ConformanceScript;

const NAMES: [&str; 6] = ["bob", "bob-2", "Bob Smith", "Ünal", "worker", "human"];
const PATHS: [&str; 4] = ["/srv/a", "/srv/b", "/srv/Ä b", "c:\\d"];

impl ConformanceScript {
    pub(super) fn command(&mut self, tables: &Tables) -> (Caller, Command) {
        if tables.agents.values().filter(|agent| agent.left.is_none()).count() < 5 {
            return self.register(tables);
        }
        if self.in_planning(tables).is_none() && tables.workflows.values().filter(|w| w.status.is_running()).count() < 4
        {
            return (Self::person(), self.create_workflow());
        }
        if let Some(consume) = self.use_of_what_was_given(tables).filter(|_| self.chance.percent(40)) {
            return consume;
        }
        match self.chance.below(100) {
            0..4 => self.register(tables),
            4..9 => {
                let command = self.sign_of_life(tables);
                (self.caller(tables), command)
            }
            9..11 => self.end(tables),
            11..19 => self.manage(tables),
            19..28 => self.plan(tables),
            28..55 => self.work(tables),
            55..60 => self.delivery(tables),
            60..67 => self.turn(tables),
            67..72 => self.conversation(tables),
            72..77 => self.review(tables),
            77..82 => {
                let command = self.place(tables);
                (self.caller(tables), command)
            }
            82..85 => {
                let command = self.template(tables);
                (self.caller(tables), command)
            }
            85..96 => self.message(tables),
            96..99 => (Caller::with_rights(Rights::Engine), Command::Sweep { workflow: self.workflow(tables) }),
            _ => (Caller::with_rights(Rights::Engine), Command::ForgetKeys),
        }
    }

    fn register(&mut self, tables: &Tables) -> (Caller, Command) {
        let chance = &mut self.chance;
        let register = Register {
            name: if chance.percent(90) { chance.word_of(&NAMES) } else { text(chance) },
            runtime: chance.word_of(&["exec", "claude"]),
            role: chance.percent(80).then(|| chance.word_of(&ROLES)),
            slug: chance.percent(20).then(|| chance.word_of(&["bob-7", "card", "x_y", "Not a slug"])),
            capabilities: SKILLS.iter().take(chance.below(4)).map(|skill| (*skill).to_owned()).collect(),
            workflow: if chance.percent(30) { chance.key(&tables.workflows) } else { None },
            workspace_path: chance.percent(20).then(|| text(chance)),
            metadata: maybe_json(chance),
        };
        let session = if self.chance.percent(60) { Some(self.session()) } else { None };
        let origin = if self.chance.percent(50) { origin(&mut self.chance) } else { Origin::default() };
        (Caller { session, origin, ..Caller::with_rights(Rights::Agent) }, Command::Register(register))
    }

    fn sign_of_life(&mut self, tables: &Tables) -> Command {
        match self.chance.below(4) {
            0 => Command::Renew,
            1 => Command::UpdateAgent {
                workspace_path: maybe_text(&mut self.chance),
                metadata: maybe_json(&mut self.chance),
            },
            _ => {
                Command::Heartbeat { current_task: self.chance.key(&tables.tasks).filter(|_| self.chance.percent(30)) }
            }
        }
    }

    fn end(&mut self, tables: &Tables) -> (Caller, Command) {
        if self.chance.percent(40) {
            return (self.caller(tables), Command::Unregister);
        }
        let end = if self.chance.percent(50) { SessionEnd::Killed } else { SessionEnd::Closed };
        let session = self.end_session();
        (Caller::with_rights(Rights::Engine), Command::CloseSession { session, end })
    }

    fn create_workflow(&mut self) -> Command {
        let name = self.new_name("workflow");
        let repositories = (0..self.chance.below(3)).map(|_| self.path()).collect();
        let chance = &mut self.chance;
        Command::CreateWorkflow(CreateWorkflow {
            name,
            source_type: if chance.percent(90) { "prompt".to_owned() } else { text(chance) },
            source_ref: maybe_text(chance),
            source_content: text(chance),
            parallel_max: chance.percent(30).then(|| chance.between(1, 4)),
            lease_ms: chance.percent(80).then(|| Millis(chance.between(1_000, 30_000))),
            auto_workspaces: chance.percent(50),
            config: maybe_json(chance),
            repositories,
        })
    }

    fn token(&mut self, tables: &Tables) -> Command {
        let chance = &mut self.chance;
        let known: Vec<_> = tables.tokens.keys().copied().collect();
        if let Some(token) = chance.pick(&known).filter(|_| chance.percent(40)) {
            return Command::RevokeToken { token };
        }
        let hash = format!("{:08x}", chance.between(0, u32::MAX));
        let agents: Vec<_> = tables.agents.keys().copied().collect();
        let agent = chance.pick(&agents).filter(|_| chance.percent(50));
        let scope = chance.pick(Scope::ALL).unwrap_or(Scope::Agent);
        Command::CreateToken { name: text(chance), hash, scope, agent }
    }

    fn manage(&mut self, tables: &Tables) -> (Caller, Command) {
        let workflow = self.workflow(tables);
        let command = match self.chance.below(15) {
            0 => self.create_workflow(),
            12 => Command::OpenList,
            13 | 14 => {
                let over = |row: &&engine::workflow::Workflow| row.status.is_over();
                let over: Vec<WorkflowId> = tables.workflows.values().filter(over).map(|row| row.id).collect();
                let workflow = self.chance.pick(&over).filter(|_| self.chance.percent(90)).unwrap_or(workflow);
                Command::ArchiveWorkflow { workflow, archived: self.chance.percent(60) }
            }
            1 | 2 => Command::SetParallelism {
                workflow,
                parallel_max: self.chance.percent(60).then(|| self.chance.between(0, 5)),
                auto_workspaces: self.chance.percent(50).then(|| self.chance.percent(50)),
            },
            3 => self.token(tables),
            4 => Command::SetConfig { workflow, config: json(&mut self.chance) },
            5 | 6 => Command::LockWorkflow { workflow, owner: self.owner(tables) },
            7..10 => Command::UnlockWorkflow { workflow, owner: self.owner(tables) },
            _ => {
                let legal = tables.workflows.get(&workflow).map_or(&[][..], |found| found.status.targets());
                let any = self.chance.pick(WorkflowStatus::ALL);
                let status = self.chance.pick(legal).filter(|_| self.chance.percent(90)).or(any);
                let status = status.unwrap_or(WorkflowStatus::Paused);
                // Only one of the four courses suspends the workflow, because a workflow that is not running accepts
                // few other commands.
                let courses = [Course::Start, Course::Resume, Course::Resume, Course::Suspend];
                match self.chance.pick(&courses).filter(|_| self.chance.percent(25)) {
                    Some(course) => Command::Steer { workflow, course },
                    None => Command::SetWorkflowStatus { workflow, status, reason: maybe_text(&mut self.chance) },
                }
            }
        };
        let caller = if self.chance.percent(50) { Self::person() } else { self.caller(tables) };
        (caller, command)
    }

    fn owner(&mut self, tables: &Tables) -> String {
        let agent = self.agent(tables).map(|agent| agent.to_string());
        let agent = agent.filter(|_| self.chance.percent(60));
        agent.unwrap_or_else(|| if self.chance.percent(20) { text(&mut self.chance) } else { "somebody".to_owned() })
    }

    fn plan(&mut self, tables: &Tables) -> (Caller, Command) {
        let caller = if self.chance.percent(80) { Self::person() } else { self.caller(tables) };
        let command = match self.in_planning(tables) {
            Some(workflow) => self.set_plan(tables, workflow),
            None => self.replan(tables),
        };
        (caller, command)
    }

    /// Returns a command that sets a whole plan, or one of the commands that together set a large plan in several
    /// transactions. The random script sends these commands in any order.
    fn set_plan(&mut self, tables: &Tables, workflow: WorkflowId) -> Command {
        let prefix = self.new_name("plan");
        let planned = plans::tasks(&mut self.chance, &format!("{prefix}."), tables);
        let (now, seed) = (self.at(), self.chance.seed());
        let piece = Arc::new(plans::rows(planned, workflow, now, seed).unwrap_or_default());
        let draft = tables.workflows.get(&workflow).and_then(|found| found.draft.as_ref());
        let token = match draft {
            Some(draft) if self.chance.percent(80) => draft.token.clone(),
            Some(_) | None if self.chance.percent(10) => text(&mut self.chance),
            Some(_) | None => format!("planner {}", self.chance.below(3)),
        };
        let staged = tables.tasks.values().filter(|task| task.workflow == workflow).count();
        match self.chance.below(10) {
            0 | 1 => Command::SetPlan { workflow, summary: text(&mut self.chance), piece, groups: Vec::new() },
            2 | 3 => Command::BeginPlan { workflow, token },
            4 | 5 => Command::ClearDraft { workflow, token },
            6 => {
                // Send only the tasks of the plan and no dependencies. The service does this with a large plan: it
                // sends the tasks first and their dependencies later.
                let tasks_only = PlanPiece { tasks: piece.tasks.clone(), edges: Vec::new() };
                Command::StagePlan { workflow, token, piece: Arc::new(tasks_only) }
            }
            7 | 8 => Command::StagePlan { workflow, token, piece },
            _ => Command::CommitPlan {
                workflow,
                token,
                summary: text(&mut self.chance),
                tasks: u32::try_from(staged).unwrap_or(0),
                groups: vec!["group".to_owned()],
                task_ids: Vec::new(),
            },
        }
    }

    fn replan(&mut self, tables: &Tables) -> Command {
        let workflow = self.workflow(tables);
        let own = |task: &&engine::task::Task| task.workflow == workflow;
        let names: Vec<String> = tables.tasks.values().filter(own).map(|task| task.name.clone()).collect();
        match self.chance.below(10) {
            0..4 => {
                let name = self.new_name("task");
                let mut task = plans::task(&mut self.chance, name, &names, tables);
                if let Some(other) = tables.tasks.values().rfind(own).filter(|_| self.chance.percent(30)) {
                    // Name the same dependency twice, by its name and by its id. The engine counts it once.
                    task.depends_on.extend([other.name.clone(), other.id.to_string()]);
                }
                let mut after = if self.chance.percent(40) { self.chance.pick(&names) } else { None };
                if self.chance.percent(10) {
                    after = maybe_text(&mut self.chance);
                    task.depends_on.extend(maybe_text(&mut self.chance));
                }
                Command::AddTask { workflow, task: Box::new(task), after }
            }
            4..8 => {
                let removable: Vec<_> = tables
                    .tasks
                    .values()
                    .filter(|task| task.is_removable())
                    .map(|task| (task.workflow, task.id))
                    .collect();
                let any = self.task(tables).map(|task| (workflow, task.id));
                let picked = self.chance.pick(&removable).filter(|_| self.chance.percent(80)).or(any);
                let (workflow, task) = picked.unwrap_or((workflow, engine::id::TaskId::FIRST));
                Command::RemoveTask { workflow, task }
            }
            _ => {
                let prefix = self.new_name("replan");
                let mut tasks = plans::tasks(&mut self.chance, &format!("{prefix}."), tables);
                if let (Some(first), Some(kept)) = (tasks.first_mut(), self.chance.pick(&names)) {
                    first.depends_on.push(kept);
                }
                let (summary, reason) = (text(&mut self.chance), text(&mut self.chance));
                Command::Replan { workflow, summary, reason, tasks }
            }
        }
    }

    fn place(&mut self, tables: &Tables) -> Command {
        let workflow = self.workflow(tables);
        let repository = self.chance.key(&tables.repositories).unwrap_or(RepositoryId::FIRST);
        let workspace = self.chance.key(&tables.workspaces).unwrap_or(WorkspaceId::FIRST);
        let task = self.task(tables);
        match self.chance.below(12) {
            0 => Command::RegisterRepository { path: self.path(), name: maybe_text(&mut self.chance) },
            1 | 2 => Command::AttachRepository { workflow, path: self.path() },
            3 | 4 => {
                let attached = self.chance.key(&tables.attachments).unwrap_or((workflow, repository));
                Command::DetachRepository { workflow: attached.0, repository: attached.1 }
            }
            5..7 => Command::CreateWorkspace(CreateWorkspace {
                workflow: task.map_or(workflow, |task| task.workflow),
                path: self.path(),
                branch: format!("branch {}", self.chance.below(9)),
                base_branch: maybe_text(&mut self.chance),
                repository_path: self.chance.percent(50).then(|| self.path()),
                tasks: task.map(|task| task.id).into_iter().filter(|_| self.chance.percent(50)).collect(),
                created_by_us: self.chance.percent(50),
            }),
            7..10 => Command::UpdateWorkspace(UpdateWorkspace {
                workspace,
                status: self.chance.pick(WorkspaceStatus::ALL).filter(|_| self.chance.percent(30)),
                merge_commit: self.chance.percent(40).then(|| "abc123".to_owned()),
                pr_url: self.chance.percent(40).then(|| "https://example.org/1".to_owned()),
                config: maybe_json(&mut self.chance),
                cleaned: None,
            }),
            _ => {
                let own =
                    tables.workspaces.values().filter(|place| Some(place.workflow) == task.map(|task| task.workflow));
                let own: Vec<WorkspaceId> = own.map(|place| place.id).collect();
                let workspace = self.chance.pick(&own).unwrap_or(workspace);
                Command::AssignWorkspace { task: task.map_or(engine::id::TaskId::LAST, |task| task.id), workspace }
            }
        }
    }

    fn path(&mut self) -> String {
        if self.chance.percent(90) { self.chance.word_of(&PATHS) } else { text(&mut self.chance) }
    }

    fn template(&mut self, tables: &Tables) -> Command {
        if self.chance.percent(40) {
            let template = self.chance.key(&tables.templates).unwrap_or(TemplateId::FIRST);
            return Command::RemoveTemplate { template };
        }
        let tasks = plans::tasks(&mut self.chance, "{{what}} ", tables);
        let defaults = BTreeMap::from([("what".to_owned(), text(&mut self.chance))]);
        let odd = self.chance.percent(10);
        let name = if odd { text(&mut self.chance) } else { format!("template {}", self.chance.below(6)) };
        let settings = odd.then(|| Json::from_stored("{\"max_parallel_tasks\":3}".to_owned()));
        Command::CreateTemplate {
            name,
            description: maybe_text(&mut self.chance),
            body: TemplateBody { tasks, defaults, settings },
        }
    }
}
