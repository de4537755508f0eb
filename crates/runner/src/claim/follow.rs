//! Follows the work of another runner of this machine by reading the store. The follower reports the same events and
//! the same end as that runner, but it claims no task and starts no program.

use std::collections::BTreeSet;

use base::Service;
use base::error::Error;
use base::project::settings::TeamSettings;
use base::project::settings::team::AgentSettings;
use base::service::log_tail::LogTail;
use engine::Event;
use engine::condition::{Condition, ConditionKind};
use engine::delivery::{CheckOutcome, DeliveryState};
use engine::event::Cause;
use engine::id::{AgentId, TaskId};
use engine::list::{ConditionQuery, SpentQuery, Whose};
use engine::task::TaskState;
use engine::turn::Turn;
use engine::{Need, TypedQuestion as _};

use super::over::{KnownLacks, RunEnded, RunOutlook, RunScope, StuckRun, workflows};
use super::takers::TaskTakers;
use crate::attempt::shared::{FailedSetup, RunEvent, RunNews};

/// The maximum number of conditions (facts about the project that need a person) that are read from the store.
const CONDITIONS: u32 = 50;

/// A reader of the work of another runner, from the moment at which the reader was made.
#[derive(Debug)]
pub struct RunFollower {
    service: Service,
    settings: TeamSettings,
    scope: RunScope,
    log: LogTail,
    lacking: KnownLacks,
    /// The setup command that failed since this reader was made. `None` when no setup command failed.
    setup_failed: Option<String>,
}

impl RunFollower {
    /// Makes a reader that starts after the newest entry of the log.
    pub async fn from_now(service: Service, settings: TeamSettings, scope: RunScope) -> Result<Self, Error> {
        let log = LogTail::from_now(service.clone()).await?;
        Ok(Self { service, settings, scope, log, lacking: KnownLacks::default(), setup_failed: None })
    }

    /// Returns the events of the followed work since the last call.
    pub async fn next(&mut self) -> Result<Vec<RunNews>, Error> {
        let mut found = Vec::new();
        for event in self.log.next().await? {
            found.extend(self.news(event).await?);
        }
        Ok(found)
    }

    /// Returns the result of the followed work when it is over: no agent holds a task of it, and nothing more can
    /// start.
    pub async fn ended(&mut self) -> Result<Option<RunEnded>, Error> {
        for workflow in workflows(&self.service, self.scope).await? {
            self.lacking.check(&self.service, &self.settings, &workflow).await?;
        }
        let rows = self.service.ask(ConditionQuery { limit: CONDITIONS }).await?;
        let resting = rows.into_iter().filter(|row| row.kind == ConditionKind::AgentRests).map(|row| row.subject);
        let resting: BTreeSet<String> = resting.collect();
        let all = by_role(&self.settings.agents);
        let takers = TaskTakers { settings: &self.settings, agents: all.iter().collect(), resting: &resting };
        let outlook = RunOutlook { service: &self.service, takers, lacking: &self.lacking };
        if let Some(command) = &self.setup_failed {
            let reason = format!("the setup command `{command}` failed; fix the reason, then run again");
            return Ok(Some(RunEnded::Stuck(StuckRun { reason, ..StuckRun::default() })));
        }
        outlook.ended(self.scope).await
    }

    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "a person sees the events of the work, and there are many others"
    )]
    async fn news(&mut self, event: Event) -> Result<Vec<RunNews>, Error> {
        let (task, agent, what) = match event {
            Event::Claimed { task, agent, attempt, .. } => (task, Some(agent), vec![RunEvent::Claimed { attempt }]),
            Event::TurnStarted { turn } => (turn.task, Some(turn.agent), vec![started(&turn)]),
            Event::TurnEnded { turn } => (turn.task, Some(turn.agent), ended(&turn)),
            Event::Delivered { delivery } => {
                let base = delivery.work.base_branch.clone().unwrap_or_else(|| delivery.work.base.clone());
                let (work, summary) = (&delivery.work, String::new());
                let done = RunEvent::Finished { files: work.files, added: work.added, removed: work.removed, summary };
                (
                    delivery.task,
                    Some(delivery.agent),
                    std::iter::once(done).chain(checked(&delivery.check, &base)).collect(),
                )
            }
            Event::Moved(moved) => (moved.task, None, self.moved(moved.task, &moved.state).await?),
            Event::LeaseEnded { task, agent, cause, failed, .. } => {
                let what = match (failed, cause) {
                    (Some(reason), _) => RunEvent::Failed { reason },
                    (None, Cause::Crashed) => {
                        RunEvent::Returned { reason: "the program of its agent crashed".to_owned() }
                    }
                    (None, Cause::Expired | Cause::Killed | Cause::Closed | Cause::Released | Cause::Unregistered) => {
                        RunEvent::Returned { reason: "its agent gave it back".to_owned() }
                    }
                };
                (task, Some(agent), vec![what])
            }
            Event::ConditionSet { condition } => return Ok(self.condition(&condition).into_iter().collect()),
            _ => return Ok(Vec::new()),
        };
        if what.is_empty() {
            return Ok(Vec::new());
        }
        self.named(task, agent, what).await
    }

    /// Returns the events with the names of the task and its agent. Returns an empty list when the task does not belong
    /// to the followed work.
    async fn named(&self, task: TaskId, agent: Option<AgentId>, what: Vec<RunEvent>) -> Result<Vec<RunNews>, Error> {
        let scope = self.scope;
        let found = self.service.view(move |world| {
            world.want([Some(Need::Task(task)), agent.map(Need::Agent)].into_iter().flatten())?;
            let row = world.task(task)?;
            let slug = match agent.or(row.holder()) {
                Some(agent) => world.agent(agent)?.slug.clone(),
                None => String::new(),
            };
            let is_own = scope.has(task, row.workflow);
            Ok(is_own.then(|| (row.number, row.name.clone(), slug)))
        });
        let named = match found.await {
            Ok(named) => named,
            // The task may have been removed after its event was written.
            Err(Error::Refused(_)) => None,
            Err(error) => return Err(error),
        };
        let Some((number, name, agent)) = named else { return Ok(Vec::new()) };
        let news = |what| RunNews { task, number: Some(number), name: name.clone(), agent: agent.clone(), what };
        Ok(what.into_iter().map(news).collect())
    }

    async fn moved(&self, task: TaskId, state: &TaskState) -> Result<Vec<RunEvent>, Error> {
        Ok(match state {
            TaskState::Completed { outcome, .. } => {
                let spent = SpentQuery(Whose::Task(task));
                let (spent, waits_for_merge) = self
                    .service
                    .view(move |world| {
                        world.want([spent.need(), Need::Delivery(task)])?;
                        let waits = world.delivery(task)?.is_some_and(|row| row.state == DeliveryState::Waiting);
                        Ok((*world.ask(&spent)?, waits))
                    })
                    .await?;
                vec![RunEvent::Completed { summary: outcome.clone(), spent, waits_for_merge }]
            }
            TaskState::Blocked(block) => {
                vec![RunEvent::Blocked { kind: block.kind.to_string(), reason: block.reason.clone() }]
            }
            TaskState::Failed { error, .. } => vec![RunEvent::Failed { reason: error.clone() }],
            TaskState::Paused { reason, .. } => {
                let question = reason.clone().unwrap_or_else(|| "waits for an answer".to_owned());
                vec![RunEvent::Asks { question }]
            }
            TaskState::Pending { .. }
            | TaskState::Planning { .. }
            | TaskState::InProgress { .. }
            | TaskState::Skipped { .. } => Vec::new(),
        })
    }

    fn condition(&mut self, condition: &Condition) -> Option<RunNews> {
        let detail: serde_json::Value = serde_json::from_str(condition.detail.as_str()).unwrap_or_default();
        let text = |name: &str| detail.get(name).and_then(|value| value.as_str()).unwrap_or_default().to_owned();
        let subject = &condition.subject;
        let (agent, what) = match condition.kind {
            ConditionKind::AgentRests => {
                let title = &condition.title;
                let reason = title.strip_prefix(&format!("{subject} rests: ")).unwrap_or(title).to_owned();
                (subject.clone(), RunEvent::AgentRests { reason, advice: text("advice"), waiting: 0 })
            }
            ConditionKind::SetupFailed => {
                self.setup_failed = Some(subject.clone());
                let problem =
                    FailedSetup { command: subject.clone(), how: text("how"), last_lines: text("last_lines") };
                ("runner".to_owned(), RunEvent::SetupFailed { problem })
            }
            ConditionKind::BaselineFails | ConditionKind::TipFailed => return None,
        };
        Some(RunNews { task: TaskId::FIRST, number: None, name: String::new(), agent, what })
    }
}

/// Returns one entry for each role of each agent, because a runner registers an agent once for each of its roles.
fn by_role(agents: &[AgentSettings]) -> Vec<AgentSettings> {
    let mut all = Vec::new();
    for agent in agents {
        all.push(agent.clone());
        for role in agent.roles.iter().skip(1) {
            let slug = format!("{}-{role}", agent.slug);
            all.push(AgentSettings { slug, roles: vec![role.clone()], ..agent.clone() });
        }
    }
    all
}

fn started(turn: &Turn) -> RunEvent {
    RunEvent::Started { turn: turn.id, purpose: turn.purpose, retry: None }
}

fn ended(turn: &Turn) -> Vec<RunEvent> {
    let Some(ended) = turn.ended() else { return Vec::new() };
    let (reason, spent, model) = (ended.reason.clone(), ended.spent, ended.model.clone());
    vec![RunEvent::Ended { turn: turn.id, end: ended.end, reason, verdict: None, spent, model }]
}

fn checked(check: &CheckOutcome, base: &str) -> Option<RunEvent> {
    Some(match check {
        CheckOutcome::Checked { command, ms } => RunEvent::Checked { command: command.clone(), ms: *ms, flaky: None },
        CheckOutcome::CheckedFlaky { command, run, of, ms } => {
            RunEvent::Checked { command: command.clone(), ms: *ms, flaky: Some((*run, *of)) }
        }
        CheckOutcome::Unchecked { why } => {
            RunEvent::Unchecked { why: base::people::delivered::unchecked_words(why, base) }
        }
        CheckOutcome::NoChanges => return None,
    })
}
