//! The end of a run: what needs the person, the summary, and the exit code.

use std::collections::BTreeSet;
use std::process::ExitCode;

use base::ground::local_time::LocalClock;
use base::people::attention::{self, AttentionFact, AttentionSurroundings};
use base::people::task_choice;
use base::people::untaken::AgentSkill;
use base::project::settings::TeamSettings;
use base::project::settings::team::{AgentSettings, AgentWork};
use base::service::Service;
use engine::id::{TaskId, WorkflowId};
use runner::claim::lack::{LackKind, TaskLack};
use runner::claim::over::{RunEnded, RunScope, StuckRun};
use runner::screen::need::PersonNeed;
use runner::screen::summary::{RunSummary, SummaryEnd};
use wire::visible;

use super::super::{say, show, table};

/// The exit code of a run that a person stopped.
const STOPPED: u8 = 130;
/// The exit code of a run in which nothing could start.
const NOTHING_STARTED: u8 = 2;

/// A run that is over.
pub(super) struct EndedRun<'a> {
    pub(super) service: &'a Service,
    pub(super) settings: &'a TeamSettings,
    pub(super) scope: RunScope,
    pub(super) ended: RunEnded,
}

impl EndedRun<'_> {
    /// Returns the things that the tasks of the run need from a person, the most urgent first.
    pub(super) async fn needs(&self) -> anyhow::Result<Vec<PersonNeed>> {
        let skill = |agent: &AgentSettings| AgentSkill {
            roles: if agent.roles.is_empty() { vec!["worker".to_owned()] } else { agent.roles.clone() },
            capabilities: Some(agent.capabilities.clone()),
        };
        let agents = self.settings.agents.iter().filter(|agent| agent.work(false) != AgentWork::OnlyAsked);
        let skills = agents.map(skill).collect();
        let around = AttentionSurroundings { unaccepted: Vec::new(), skills, home: std::env::home_dir() };
        let mut facts = attention::gather(self.service, &around).await?;
        facts.sort_by_key(|fact| (fact.put_off_until.is_some(), fact.cause.kind(), fact.since));
        let (clock, mut needs) = (LocalClock::here(), Vec::new());
        for fact in facts {
            if self.is_own(&fact).await? {
                needs.extend(PersonNeed::of(&fact, &clock));
            }
        }
        if let RunEnded::Stuck(StuckRun { reason, lacks, locks }) = &self.ended {
            needs.extend(lacks.iter().map(lack_need));
            let plain = |text: &str| PersonNeed {
                number: None,
                text: text.to_owned(),
                commands: Vec::new(),
                runs_again: false,
            };
            needs.extend(locks.iter().map(|lock| plain(lock)));
            if needs.is_empty() && !reason.is_empty() {
                needs.push(plain(reason));
            }
        }
        Ok(needs)
    }

    async fn is_own(&self, fact: &AttentionFact) -> anyhow::Result<bool> {
        let Some(label) = &fact.task else { return Ok(false) };
        let id = label.id;
        let workflow = self.service.view(move |world| Ok(world.task(id)?.workflow)).await?;
        Ok(self.scope.has(id, workflow))
    }

    /// Returns the names of the plans of the run that are finished and wait for a person. Each name is in quotes, so
    /// that the person can type it in a command.
    pub(super) async fn plans(&self, summary: &RunSummary) -> anyhow::Result<Vec<String>> {
        let mut worked: BTreeSet<WorkflowId> = BTreeSet::new();
        for id in summary.tasks.iter().filter_map(|task| task.id.parse::<TaskId>().ok()) {
            worked.insert(self.service.view(move |world| Ok(world.task(id)?.workflow)).await?);
        }
        let waiting = task_choice::waiting_plans(self.service).await?;
        let own = waiting.into_iter().filter(|plan| worked.contains(&plan.id));
        Ok(own.map(|plan| format!("\"{}\"", show::plain(&plan.name).replace('"', "'"))).collect())
    }

    /// Prints how the run ended, as text or as a JSON event. Returns the exit code.
    pub(super) fn tell(&self, summary: &RunSummary, json: bool) -> anyhow::Result<ExitCode> {
        let code = self.code(summary);
        if json {
            self.tell_event(summary, code)?;
            return Ok(ExitCode::from(code));
        }
        if let (NOTHING_STARTED, RunEnded::Stuck(stuck)) = (code, &self.ended) {
            for lack in &stuck.lacks {
                eprintln!("{}", visible::decided(&lack.sentence()));
            }
            return Ok(ExitCode::from(code));
        }
        match (self.scope, &self.ended) {
            (RunScope::Task(_), RunEnded::Completed) if summary.tasks.is_empty() => {
                say("Nothing to do: the task is done already. Look at it: handover diff")?;
            }
            (RunScope::Workflow(_), RunEnded::Completed) if summary.tasks.is_empty() => {
                say("Nothing to do: every task of the plan is done already.")?;
            }
            (RunScope::Task(_) | RunScope::Workflow(_) | RunScope::Ready | RunScope::Stay, _) => {
                summary.lines(table::screen_width()).iter().try_for_each(|line| say(line))?;
            }
        }
        Ok(ExitCode::from(code))
    }

    fn code(&self, summary: &RunSummary) -> u8 {
        let is_reviewer = |lack: &TaskLack| matches!(lack.kind, LackKind::Reviewer { .. });
        match &self.ended {
            RunEnded::Stopped => STOPPED,
            RunEnded::Stuck(stuck)
                if summary.tasks.is_empty()
                    && stuck.lacks.iter().any(is_reviewer)
                    && summary.needs.len() == stuck.lacks.len() =>
            {
                NOTHING_STARTED
            }
            RunEnded::Completed | RunEnded::Idle | RunEnded::Stuck(_) => summary.exit_code(),
        }
    }

    fn tell_event(&self, summary: &RunSummary, code: u8) -> anyhow::Result<()> {
        let (word, reason) = match &self.ended {
            RunEnded::Completed => ("completed", None),
            RunEnded::Idle if !summary.needs.is_empty() => {
                let texts: Vec<&str> = summary.needs.iter().map(|need| need.text.as_str()).collect();
                ("stuck", Some(texts.join("\n")))
            }
            RunEnded::Idle => ("idle", None),
            // Agents wrote parts of this text, so secrets are removed from it below.
            RunEnded::Stuck(stuck) => ("stuck", Some(stuck.reason.clone())),
            RunEnded::Stopped => ("stopped", None),
        };
        let reason = reason.map(|reason| visible::redacted(&reason));
        let mut event = serde_json::json!({"event": "run_ended", "how": word, "reason": reason, "exit_code": code});
        if let (Some(event), serde_json::Value::Object(more)) = (event.as_object_mut(), summary.event()) {
            event.extend(more);
        }
        say(&visible::json(&event.to_string()))
    }

    pub(super) fn summary_end(&self) -> SummaryEnd {
        if self.ended == RunEnded::Stopped { SummaryEnd::Interrupted } else { SummaryEnd::Over }
    }
}

fn lack_need(lack: &TaskLack) -> PersonNeed {
    let (text, commands) = match &lack.kind {
        LackKind::Reviewer { role, .. } => (
            format!("nobody here can review {} (role {role})", lack.name),
            vec!["add an agent with this role to .handover/local.toml, then: handover run".to_owned()],
        ),
        LackKind::Other(_) => (lack.sentence(), Vec::new()),
    };
    PersonNeed { number: Some(lack.number), text, commands, runs_again: false }
}
