//! Handles the stop of a session or a sub-agent. An agent that holds a claim must hand over before it stops, that is,
//! report on its work, when its settings ask for that.

use engine::agent::{Agent, slug_of};
use engine::checkpoint::Kind;
use engine::command::{PromptReport, SendBack};
use engine::id::ReviewId;
use engine::task::{BlockKind, Task, TaskDetail};
use engine::workflow::Workflow;
use engine::{Caller, Command, Refusal, Reply, Rights, view};
use wire::json::object;
use wire::output::OutputKind;
use wire::prompt::PromptAgent;

use super::handoff::StoppedSession;
use super::{HookAnswer, HookCall, HookError, HookEvent, who, with_store};
use crate::office::Office;
use base::error::Error;
use base::project::settings::{self, TeamSettings, team};
use base::project::team::identity;
use base::project::trust;
use runner::outcome::route::{EscalationRoutes, EscalationTarget};
use runner::outcome::{self, AgentAnswer, AnswerContext, AnswerForm, REPAIR, note};
use runner::turn::brief;

/// The maximum number of characters of an agent's last message that the store keeps with the task; the rest is cut.
const SAID_CHARS_MAX: usize = 8_000;

/// A handoff (a report on its work) that an agent owes before it may stop, with the agent and its task.
pub(super) struct DueHandoff {
    pub(super) agent: Agent,
    pub(super) task: Task,
    pub(super) workflow: Workflow,
    /// The newest review of the task, if the task needs a review before it can be completed; `None` if it needs no
    /// review or has none yet.
    pub(super) review: Option<ReviewId>,
    pub(super) settings: team::AgentSettings,
    /// The description of the agent in the project: its card (a file that describes it) or its persona (a description
    /// in the settings). `None` when the project has neither.
    pub(super) who: Option<PromptAgent>,
    pub(super) report: PromptReport,
    /// The number of the agent's last handoffs in a row, before this stop, that only reported progress.
    pub(super) progress_reports: u32,
    pub(super) detail: TaskDetail,
    /// The number of other tasks that this session holds and for which the agent must report on its work, too.
    pub(super) others: usize,
}

pub(super) fn stopping(hook: &HookCall<'_>) -> Result<HookAnswer, HookError> {
    // Do nothing if the payload does not name the sub-agent that stops: the session continues and keeps its claims.
    if hook.event == HookEvent::SubagentStop && hook.payload.part().is_none() {
        return Ok(HookAnswer::Nothing);
    }
    let team = match hook.root() {
        Some(root) => {
            let view = trust::view(&root, base::project::place::data_folder().as_deref())?;
            // Take the agents from the settings file, even if no person accepted the file: here they only decide which
            // form an agent's answer must have, and start no program. Leave out agents that no file names (installed
            // clients that were detected), because only a file asks for a form. The checks of an output start programs,
            // so take the checks from the settings that a person accepted.
            let mut agents = view.written.team.agents;
            agents.retain(|agent| agent.source == settings::SettingSource::File);
            settings::TeamSettings { agents, ..view.settings.team }
        }
        None => settings::TeamSettings::default(),
    };
    if !team.agents.iter().any(owes) {
        return Ok(HookAnswer::Nothing);
    }
    with_store(hook, async |office| {
        let Some(due) = due(office, hook, &team).await? else { return Ok(HookAnswer::Nothing) };
        let said = hook.payload.last_assistant_message.as_deref().unwrap_or_default();
        let stop = StoppedSession { office, hook, team: &team, due: &due };
        let mut answer = read(&due, said);
        stop.write_artifacts(&mut answer)?;
        match answer.result {
            Some(result) => stop.hand_over(&result).await,
            None => stop.send_back(REPAIR, answer.problems).await,
        }
    })
}

fn owes(agent: &team::AgentSettings) -> bool {
    agent.output() == team::OutputSettings::Handoff
}

/// Returns the handoff that is due, that is, the report that an agent owes for its latest claim on a task. Looks only
/// at one part of the session: the main agent or one sub-agent.
async fn due(office: &Office, hook: &HookCall<'_>, team: &TeamSettings) -> Result<Option<DueHandoff>, HookError> {
    let told = hook.told(office);
    let settings = team.agents.clone();
    let prompt = hook.payload.prompt();
    let found = office.desk.service().view(move |world| {
        let agents = who::agents(world, &told)?;
        let mut held = who::held(world, &agents)?;
        held.retain(|(agent, task)| !who::is_paused(task) && settings_of(&settings, agent).is_some_and(owes));
        let others = held.len().saturating_sub(1);
        let Some((agent, task)) = held.into_iter().next() else { return Ok(None) };
        let (detail, workflow) = (world.detail(task.id)?.clone(), world.workflow(task.workflow)?.clone());
        let review = if task.review { view::gating(world, task.id, task.attempt)? } else { None };
        let Some(settings) = settings_of(&settings, &agent).cloned() else { return Ok(None) };
        let reminder = world.reminder(&told.conversation, told.part.as_deref().unwrap_or_default())?;
        let progress_reports = reminder.map_or(0, |known| known.goes_on_in(task.id, task.attempt));
        let report = PromptReport {
            conversation: told.conversation.clone(),
            part: told.part.clone().unwrap_or_default(),
            prompt: prompt.chars().take(200).collect(),
            task: task.id,
            attempt: task.attempt,
        };
        let (review, who) = (review.map(|known| known.review.id), None);
        let due = DueHandoff { agent, task, workflow, review, settings, who, report, progress_reports, detail, others };
        Ok(Some(due))
    });
    let found = found.await?;
    Ok(found.map(|due| DueHandoff { who: hook.root().and_then(|root| identity(&root, &due.settings)), ..due }))
}

/// Finds the settings of an agent by its slug (its short name), else by the slug that its full name gives. The two
/// slugs differ when several agents have the same name: the second agent's slug ends with a number.
fn settings_of<'a>(settings: &'a [team::AgentSettings], agent: &Agent) -> Option<&'a team::AgentSettings> {
    let by = |slug: &str| settings.iter().find(|known| known.slug == slug);
    by(&agent.slug).or_else(|| by(&slug_of(&agent.name)))
}

/// Reads the agent's last message as its answer. The rules are the same as at the end of a program that Handover's
/// runner started.
fn read(due: &DueHandoff, said: &str) -> AgentAnswer {
    let input = brief::demands(&due.detail, &due.settings.writable_sections);
    let context = AnswerContext {
        wanted: AnswerForm::Document(OutputKind::Handoff),
        agent: Some(due.agent.id),
        input: Some(&input),
    };
    outcome::read(said, &context)
}

impl StoppedSession<'_> {
    pub(super) fn routes(&self) -> EscalationRoutes<'_> {
        EscalationRoutes { who: self.due.who.as_ref(), settings: &self.team.routes }
    }

    /// Sends the problems of a handoff (a report on its work) back to the agent, which continues its session to fix
    /// them. When the agent has no tries left, the task is blocked and the session may stop.
    pub(super) async fn send_back(
        &self,
        reason: &str,
        problems: Vec<(String, String)>,
    ) -> Result<HookAnswer, HookError> {
        let due = self.due;
        let codes = problems.iter().take(10).map(|(code, _)| code.as_str()).collect::<Vec<_>>().join(", ");
        let said: String = self.said().chars().take(SAID_CHARS_MAX).collect();
        let detail = object([("codes", codes.as_str().into()), ("said", said.as_str().into())]);
        let blocked = format!(
            "the agent's handoff is still not valid after it was sent back: {codes}\n\
            The agent's last text:\n\
            {said}"
        );
        let route = self.routes().of_block(BlockKind::VerificationFail, &blocked);
        let sent = SendBack {
            report: due.report.clone(),
            note: note(Kind::Progress, &format!("the handoff was sent back to the agent: {codes}"), Some(&detail)),
            blocked,
            role: route.and_then(EscalationTarget::role),
        };
        let caller = Caller::agent(due.agent.id);
        let reply = match self.office.desk.service().execute(caller, Command::SendBack(Box::new(sent))).await {
            Err(Error::Refused(refusal)) => return Ok(let_go(due, &refusal)),
            done => done?,
        };
        if !matches!(reply, Reply::SentBack { .. }) {
            let task = due.task.id;
            let text = format!(
                "{task} is blocked (verification_fail): the agent's handoff is still not valid: \
                {codes}"
            );
            return Ok(HookAnswer::Note(text));
        }
        let holds = format!("You hold {}, so you must end with a handoff. {reason}", due.task.id);
        Ok(HookAnswer::Block(brief::repair(due.agent.id, &holds, problems)))
    }
}

/// Returns the note for an agent that lost its task before it handed over. Such an agent has nothing more to do.
pub(super) fn let_go(due: &DueHandoff, refusal: &Refusal) -> HookAnswer {
    HookAnswer::Note(format!("the handoff of {} had no effect: {refusal}", due.task.id))
}

/// Returns a caller with the rights of the runner (`handover run`). Applying a handoff (an agent's report) needs these
/// rights, both in a hook and in the runner.
pub(super) fn runner(due: &DueHandoff) -> Caller {
    Caller { agent: Some(due.agent.id), ..Caller::with_rights(Rights::Runner) }
}
