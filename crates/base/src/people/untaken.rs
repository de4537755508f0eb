//! The reason why no agent takes a task that is ready. `status`, `run` and the reply of `task_next` use the same words.

use engine::agent::Agent;
use engine::task::Task;

/// The tasks that an agent takes: its roles and its capabilities.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentSkill {
    pub roles: Vec<String>,
    /// The capabilities of the agent. `None` when the agent has all of them, because a runner starts it for any task.
    pub capabilities: Option<Vec<String>>,
}

impl AgentSkill {
    /// Returns the skill of a registered agent.
    pub fn of(agent: &Agent) -> Self {
        Self { roles: vec![agent.role.clone()], capabilities: Some(agent.capabilities.clone()) }
    }

    fn fits(&self, task: &Task) -> bool {
        let has = |wanted: &String| self.capabilities.as_ref().is_none_or(|own| own.contains(wanted));
        task.role.as_ref().is_none_or(|role| self.roles.contains(role)) && task.capabilities.iter().all(has)
    }
}

/// Returns the reason why none of these agents takes a ready task: ``needs the role `reviewer`; no agent has it``.
/// Returns `None` when the task needs no skill, or when an agent has it.
pub fn why_not_taken(task: &Task, skills: &[AgentSkill]) -> Option<String> {
    if skills.iter().any(|skill| skill.fits(task)) { None } else { needs(task) }
}

/// Returns the role and the capabilities that a task needs, for a caller that knows that no agent has them. Returns
/// `None` when the task needs none.
pub fn needs(task: &Task) -> Option<String> {
    let role = task.role.as_ref().map(|role| format!("the role `{role}`"));
    let capabilities = task.capabilities.iter().map(|name| format!("`{name}`"));
    let all: Vec<String> = role.into_iter().chain(capabilities).collect();
    match all.as_slice() {
        [] => None,
        [one] => Some(format!("needs {one}; no agent has it")),
        [most @ .., last] => Some(format!("needs {} and {last}; no agent has all of it", most.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use engine::Timestamp;
    use engine::id::{TaskId, WorkflowId};
    use engine::task::{Priority, TaskState};

    use super::*;

    fn task(role: Option<&str>, capabilities: &[&str]) -> Task {
        Task {
            id: TaskId::FIRST,
            workflow: WorkflowId::FIRST,
            number: 17,
            name: "Review".to_owned(),
            sequence: 1,
            priority: Priority::DEFAULT,
            role: role.map(str::to_owned),
            capabilities: capabilities.iter().map(|&name| name.to_owned()).collect(),
            touches: Vec::new(),
            group: None,
            verify: false,
            review: false,
            gate: false,
            limited: false,
            author: None,
            attempts_max: 5,
            attempt: 0,
            crashes: 0,
            unmet: 0,
            checkpoints: 0,
            repository: None,
            workspace: None,
            state: TaskState::Pending { lease: None },
            created: Timestamp(0),
            updated: Timestamp(0),
        }
    }

    fn skill(roles: &[&str], capabilities: Option<&[&str]>) -> AgentSkill {
        let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        AgentSkill { roles: owned(roles), capabilities: capabilities.map(owned) }
    }

    #[test]
    fn a_task_is_not_taken_when_no_agent_has_its_role_and_all_its_capabilities() {
        let developer = || skill(&["developer"], Some(&["rust"]));
        let rows = [
            (task(None, &[]), vec![], None),
            (task(None, &[]), vec![developer()], None),
            (task(Some("developer"), &[]), vec![developer()], None),
            (task(Some("developer"), &["rust"]), vec![developer()], None),
            (task(Some("reviewer"), &[]), vec![], Some("needs the role `reviewer`; no agent has it")),
            (task(Some("reviewer"), &[]), vec![developer()], Some("needs the role `reviewer`; no agent has it")),
            (task(None, &["docker"]), vec![developer()], Some("needs `docker`; no agent has it")),
            (task(None, &["docker"]), vec![developer(), skill(&[], None)], None),
            (
                task(Some("developer"), &["rust", "docker"]),
                vec![developer()],
                Some("needs the role `developer`, `rust` and `docker`; no agent has all of it"),
            ),
        ];
        for (task, skills, expected) in rows {
            assert_eq!(why_not_taken(&task, &skills).as_deref(), expected, "{:?} {skills:?}", task.role);
        }
    }
}
