//! Decides which agent of a team may take which open task. The runner claims tasks by these rules. A process that
//! follows a runner uses the same rules to find out that nothing more can start.

use std::collections::BTreeSet;

use base::project::settings::TeamSettings;
use base::project::settings::team::{AgentSettings, AgentWork};
use engine::id::TaskId;
use engine::task::Task;

use super::prospect::Offered;

/// The agents of a team. The agents in `resting` take no task until a person has done something, such as a login.
#[derive(Debug, Clone)]
pub(crate) struct TaskTakers<'a> {
    pub(crate) settings: &'a TeamSettings,
    pub(crate) agents: Vec<&'a AgentSettings>,
    pub(crate) resting: &'a BTreeSet<String>,
}

impl TaskTakers<'_> {
    /// Returns the first task that this agent may claim now.
    pub(crate) fn first_for(&self, agent: &AgentSettings, offered: &[Offered]) -> Option<TaskId> {
        if self.resting.contains(&agent.slug) { None } else { self.fitting(agent, offered) }
    }

    /// Returns true when an agent would claim one of these tasks now.
    pub(crate) fn is_wanted(&self, offered: &[Offered]) -> bool {
        self.agents.iter().any(|agent| self.first_for(agent, offered).is_some())
    }

    /// Returns true when only agents that cannot work now would take this task.
    pub(crate) fn waits_for_rest(&self, offered: &Offered) -> bool {
        let one = std::slice::from_ref(offered);
        !self.is_wanted(one) && self.agents.iter().any(|agent| self.fitting(agent, one).is_some())
    }

    /// Returns true when an agent has the role and all capabilities that a task needs.
    pub(crate) fn has_skill(&self, task: &Task) -> bool {
        self.agents.iter().any(|agent| is_skilled(agent, task))
    }

    pub(crate) fn is_evaluator(&self, agent: &AgentSettings) -> bool {
        self.settings.evaluator.as_ref().is_some_and(|evaluator| evaluator.agent == agent.slug)
    }

    /// Returns the first task that this agent may take, even when the agent cannot work at the moment.
    fn fitting(&self, agent: &AgentSettings, offered: &[Offered]) -> Option<TaskId> {
        let may_judge = self.is_evaluator(agent);
        let is_judge = may_judge || offered.iter().any(|offered| offered.review.as_deref() == Some(&agent.slug));
        let work = agent.work(is_judge);
        let takes = |wanted: Option<&str>| match work {
            AgentWork::AnyTask => true,
            AgentWork::TasksOfRoles => wanted.is_some(),
            AgentWork::OnlyAsked => false,
        };
        let is_reviewed_by_another =
            |named: &String| crate::review::provider::reviewer_of(self.settings, named, &agent.slug).is_some();
        let fits = |offered: &&Offered| {
            takes(offered.task.role.as_deref())
                && is_skilled(agent, &offered.task)
                && !(may_judge && offered.judged)
                && offered.review.as_ref().is_none_or(is_reviewed_by_another)
        };
        offered.iter().find(fits).map(|offered| offered.task.id)
    }
}

fn is_skilled(agent: &AgentSettings, task: &Task) -> bool {
    let role = agent.roles.first().map_or("worker", String::as_str);
    task.role.as_deref().is_none_or(|wanted| wanted == role)
        && task.capabilities.iter().all(|wanted| agent.capabilities.contains(wanted))
}
