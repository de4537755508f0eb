//! Records the situations, such as refusals and takeovers, that a run of the simulator met. With this record, a test
//! fails when the simulated callers do not try these situations.

use engine::refusal::ElsewhereHome;
use engine::{Command, Event, Refusal, Rights};

use crate::machine::Seen;
use crate::voice;

/// The situations that a few hundred runs of the simulator must meet. The rules about the identity of agents and about
/// protections (such as a required review) exist because of these situations.
pub(crate) const WANTED: [&str; 26] = [
    "refused AGENT_ELSEWHERE while its home lives",
    "refused AGENT_ELSEWHERE to its own user after its home died",
    "refused AGENT_ELSEWHERE to another user after its home died",
    "refused AGENT_REQUIRED",
    "refused AGENT_NOT_FOUND",
    "refused PROTECTED to an agent",
    "refused PROTECTED to a coordinator",
    "refused PROTECTED to a script",
    "refused NOT_PERMITTED to a script",
    "refused APPROVAL_REQUIRED to a script",
    "moved by a script",
    "skipped by a script",
    "task_added by a script",
    "refused CLAIM_LOST",
    "registered with the name of an agent that lives elsewhere",
    "resumed on its own connection",
    "resumed over another connection",
    "resumed with a task",
    "lease renewed after its end",
    "lease of a sleeping process renewed by a sweep",
    "lease ended",
    "session_closed",
    "keys_ended",
    "dependencies_kept",
    "task_removed by an agent",
    "skipped by an agent",
];

/// Returns the situations, such as a refusal, that a step of the simulator met.
pub(crate) fn of(seen: &Seen<'_>) -> Vec<String> {
    let mut met: Vec<String> =
        seen.change.reply.as_ref().err().map(|refusal| refused(seen, refusal)).into_iter().collect();
    met.extend(seen.change.events.iter().filter_map(|event| happened(seen, event)));
    met
}

fn refused(seen: &Seen<'_>, refusal: &Refusal) -> String {
    let code = refusal.code();
    match (refusal, voice::rights(seen.before, seen.step)) {
        (Refusal::AgentElsewhere { home: ElsewhereHome::Alive, .. }, _) => {
            format!("refused {code} while its home lives")
        }
        (Refusal::AgentElsewhere { home: ElsewhereHome::Resumable, .. }, _) => {
            format!("refused {code} to its own user after its home died")
        }
        (Refusal::AgentElsewhere { home: ElsewhereHome::Foreign, .. }, _) => {
            format!("refused {code} to another user after its home died")
        }
        (_, Rights::Script) => format!("refused {code} to a script"),
        (Refusal::Protected { .. }, Rights::Coordinator) => format!("refused {code} to a coordinator"),
        (Refusal::Protected { .. }, _) => format!("refused {code} to an agent"),
        _ => format!("refused {code}"),
    }
}

fn happened(seen: &Seen<'_>, event: &Event) -> Option<String> {
    let rights = voice::rights(seen.before, seen.step);
    let (agent, script) = (rights == Rights::Agent, rights == Rights::Script);
    let found = match event {
        Event::Resumed { agent, session, .. } => {
            let here = seen.before.agents.get(agent).is_some_and(|agent| agent.session == *session);
            let holds = seen.before.tasks.values().any(|task| task.holder() == Some(*agent));
            match (here, holds) {
                (true, _) => "resumed on its own connection",
                (false, true) => "resumed with a task",
                (false, false) => "resumed over another connection",
            }
        }
        Event::Registered { agent } => {
            let same = |other: &&engine::agent::Agent| other.name == agent.name && other.left.is_none();
            seen.before
                .agents
                .values()
                .find(same)
                .map(|_| "registered with the name of an agent that lives elsewhere")?
        }
        Event::Renewed { task, .. } => {
            let lease = seen.before.tasks.get(task).and_then(|task| task.state.running_lease())?;
            match (lease.is_over(seen.step.now), &seen.step.command) {
                (true, Command::Sweep { .. }) => "lease of a sleeping process renewed by a sweep",
                (true, _) => "lease renewed after its end",
                (false, _) => "lease renewed",
            }
        }
        Event::LeaseEnded { .. } => "lease ended",
        Event::TaskRemoved { .. } if agent => "task_removed by an agent",
        Event::Moved(moved) if agent && moved.state.status() == engine::task::Status::Skipped => "skipped by an agent",
        Event::Moved(moved) if script && moved.state.status() == engine::task::Status::Skipped => "skipped by a script",
        Event::Moved(_) if script => "moved by a script",
        Event::TaskAdded { .. } if script => "task_added by a script",
        other => other.name(),
    };
    Some(found.to_owned())
}
