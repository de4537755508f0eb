//! The reason why no agent takes a task. `status`, `run`, `doctor` and the replies of `task_next` and `task_wait` use
//! the same words.

use std::collections::BTreeMap;
use std::path::Path;

use engine::agent::Agent;
use engine::id::WorkflowId;
use engine::list::{AgentFilter, AgentQuery};
use engine::task::Task;
use engine::view;
use engine::{DecisionStop, Timestamp, World};

use super::workload;
use crate::ground::words::count;
use crate::project::settings::team::{AgentSettings, AgentWork};
use crate::project::trust;

/// The roles and capabilities of an agent. They decide which tasks the agent takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentSkill {
    pub roles: Vec<String>,
    /// The capabilities of the agent. `None` means that the agent has every capability.
    pub capabilities: Option<Vec<String>>,
}

impl AgentSkill {
    /// Returns the role and the capabilities of a registered agent.
    pub fn of(agent: &Agent) -> Self {
        Self { roles: vec![agent.role.clone()], capabilities: Some(agent.capabilities.clone()) }
    }

    fn fits(&self, task: &Task) -> bool {
        let has = |wanted: &String| self.capabilities.as_ref().is_none_or(|own| own.contains(wanted));
        task.role.as_ref().is_none_or(|role| self.roles.contains(role)) && task.capabilities.iter().all(has)
    }
}

/// Returns the reason why none of these agents takes a ready task: ``needs the role `reviewer`; no agent has it``.
/// Returns `None` when an agent can take the task, or when the task needs no role and no capability.
pub fn why_not_taken(task: &Task, skills: &[AgentSkill]) -> Option<String> {
    if skills.iter().any(|skill| skill.fits(task)) { None } else { needs(task) }
}

/// Returns a text that says which role and capabilities a task needs, and that no agent has them. Call it only when no
/// agent has them. Returns `None` when the task needs none.
pub fn needs(task: &Task) -> Option<String> {
    skill_words(task).map(|(skills, them)| format!("needs {skills}; no agent has {them}"))
}

/// Returns in words the role and the capabilities that a task needs, and the pronoun that stands for them in a
/// sentence: `it` for one, `all of it` for several.
fn skill_words(task: &Task) -> Option<(String, &'static str)> {
    let role = task.role.as_ref().map(|role| format!("the role `{role}`"));
    let capabilities = task.capabilities.iter().map(|name| format!("`{name}`"));
    let all: Vec<String> = role.into_iter().chain(capabilities).collect();
    match all.as_slice() {
        [] => None,
        [one] => Some((one.clone(), "it")),
        [most @ .., last] => Some((format!("{} and {last}", most.join(", ")), "all of it")),
    }
}

/// Returns the skills of the agents that the accepted settings of a project name and that work on tasks. A runner
/// starts these agents when they are needed.
pub fn skills_of_project(root: &Path) -> Vec<AgentSkill> {
    let Ok(view) = trust::view(root, crate::project::place::data_folder().as_deref()) else { return Vec::new() };
    skills_of(&view.settings.team.agents)
}

/// Returns the skills of the agents that work on tasks.
pub fn skills_of(agents: &[AgentSettings]) -> Vec<AgentSkill> {
    let skill = |agent: &AgentSettings| AgentSkill {
        roles: agent.roles.clone(),
        capabilities: Some(agent.capabilities.clone()),
    };
    agents.iter().filter(|agent| agent.work(false) != AgentWork::OnlyAsked).map(skill).collect()
}

/// Returns the skills of all registered agents that have not left.
pub fn registered_skills(world: &World) -> Result<Vec<AgentSkill>, DecisionStop> {
    let query = AgentQuery { filter: AgentFilter::default(), after: None, limit: workload::AGENTS_MAX };
    let here = world.ask(&query)?.iter().filter(|(agent, _)| agent.left.is_none());
    Ok(here.map(|(agent, _)| AgentSkill::of(agent)).collect())
}

/// The kind of a reason why tasks cannot be claimed. Reasons are shown in the order of these kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum WaitKind {
    /// No agent has the role or the capabilities that the task needs, or the agent that asks does not have them.
    Role,
    /// Another task changes the same files.
    Files,
    /// A person must approve the start of the task (a gated task).
    Gate,
    /// The task depends on tasks that are not done yet.
    Dependencies,
    /// A person must answer a question, decide about a blocked task, or retry a failed task.
    Person,
    /// An agent works on the task.
    Working,
}

impl WaitKind {
    /// Returns the stable name of the kind, for programs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Role => "role",
            Self::Files => "files",
            Self::Gate => "gate",
            Self::Dependencies => "dependencies",
            Self::Person => "person",
            Self::Working => "working",
        }
    }
}

/// A reason why tasks cannot be claimed, the number of these tasks, and both in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitCause {
    pub kind: WaitKind,
    pub tasks: u32,
    pub words: String,
}

/// The agent that looks for a task, and the skills of all agents that could take one.
#[derive(Debug, Clone, Default)]
pub struct TaskSeeker {
    /// The skills of the agent that asks. `None` when a person asks for all agents.
    pub own: Option<AgentSkill>,
    /// The skills of the agents that the project's settings name.
    pub team: Vec<AgentSkill>,
}

/// Returns the reasons why no task of these plans can be claimed, with the number of tasks for each reason.
pub fn causes(
    world: &World,
    plans: &[WorkflowId],
    seeker: &TaskSeeker,
    now: Timestamp,
) -> Result<Vec<WaitCause>, DecisionStop> {
    let all: Vec<AgentSkill> = registered_skills(world)?.into_iter().chain(seeker.team.iter().cloned()).collect();
    let fits = |task: &Task| match &seeker.own {
        Some(own) => own.fits(task),
        None => skill_words(task).is_none() || all.iter().any(|skill| skill.fits(task)),
    };
    let mut skills: BTreeMap<(String, &'static str, bool), Vec<u32>> = BTreeMap::new();
    let (mut gate, mut files, mut dependent, mut person, mut working) = (0, 0, 0, 0, 0);
    for plan in plans {
        let found = view::waiting(world, *plan, &fits, now)?;
        for task in &found.unfit {
            let is_elsewhere = all.iter().any(|skill| skill.fits(task));
            if let Some((words, them)) = skill_words(task) {
                skills.entry((words, them, is_elsewhere)).or_default().push(task.number);
            }
        }
        gate += length(&found.gated);
        files += length(&found.files);
        dependent += found.dependent;
        person += found.person;
        working += found.working;
    }
    let mut causes: Vec<WaitCause> = skills.into_iter().map(of_skills).collect();
    let verb =
        |tasks: u32, one: &str, many: &str| format!("{} {}", count(tasks, "task"), if tasks == 1 { one } else { many });
    let mut add = |kind, tasks, words: String| causes.extend((tasks > 0).then_some(WaitCause { kind, tasks, words }));
    let wait = |tasks, what: &str| verb(tasks, &format!("waits for {what}"), &format!("wait for {what}"));
    add(WaitKind::Files, files, wait(files, "files that another task changes"));
    add(WaitKind::Gate, gate, wait(gate, "a person's approval to start"));
    add(WaitKind::Dependencies, dependent, wait(dependent, "other tasks"));
    add(WaitKind::Person, person, wait(person, "a person"));
    add(WaitKind::Working, working, verb(working, "is being worked on", "are being worked on"));
    Ok(causes)
}

fn length<T>(list: &[T]) -> u32 {
    u32::try_from(list.len()).unwrap_or(u32::MAX)
}

fn of_skills(((skills, them, is_elsewhere), numbers): ((String, &'static str, bool), Vec<u32>)) -> WaitCause {
    let tasks = length(&numbers);
    let who = match numbers.as_slice() {
        [one] => format!("task {one} needs"),
        more => format!("{} need", count(more.len(), "task")),
    };
    let words = if is_elsewhere {
        format!("{who} {skills}, which you do not have")
    } else {
        format!("{who} {skills}; no agent has {them}")
    };
    WaitCause { kind: WaitKind::Role, tasks, words }
}

/// Returns all reasons as one sentence.
pub fn sentence(causes: &[WaitCause]) -> String {
    causes.iter().map(|cause| cause.words.as_str()).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
#[path = "untaken_tests.rs"]
mod tests;
