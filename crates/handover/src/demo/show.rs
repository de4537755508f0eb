//! What the demo shows: a line for each thing that happens, and a summary.

use std::collections::HashMap;
use std::io::Write as _;
use std::time::Duration;

use anstyle::{AnsiColor, Color};
use engine::event::Cause;
use engine::id::{AgentId, TaskId, WorkflowId};
use engine::task::State;
use engine::view::Progress;
use engine::{Actor, Event, view};
use serde_json::json;
use store::Verdict;

use super::Failed;
use crate::service::{Entry, Service};

/// For people, or for programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    Lines,
    Json,
}

pub(super) struct Screen {
    style: Style,
    began: tokio::time::Instant,
    tasks: HashMap<TaskId, String>,
    agents: HashMap<AgentId, String>,
    claims: u32,
    recovered: u32,
    messages: u32,
    checkpoints: u32,
    lost: u32,
    holders: HashMap<TaskId, AgentId>,
    doubled: u32,
}

impl Screen {
    pub(super) fn new(style: Style) -> Self {
        Self {
            style,
            began: tokio::time::Instant::now(),
            tasks: HashMap::new(),
            agents: HashMap::new(),
            claims: 0,
            recovered: 0,
            messages: 0,
            checkpoints: 0,
            lost: 0,
            holders: HashMap::new(),
            doubled: 0,
        }
    }

    /// The names of the tasks, which events give by their ids.
    pub(super) async fn learn(&mut self, service: &Service, workflow: WorkflowId) -> Result<(), Failed> {
        let page = service.view(move |world| view::tasks(world, workflow, &[], None, 100)).await?;
        self.tasks = page.rows.into_iter().map(|row| (row.task.id, row.task.name)).collect();
        Ok(())
    }

    pub(super) fn is(&self, actor: Actor, name: &str) -> bool {
        matches!(actor, Actor::Agent(agent) if self.agents.get(&agent).is_some_and(|known| known == name))
    }

    fn task(&self, id: TaskId) -> &str {
        self.tasks.get(&id).map_or("a task", String::as_str)
    }

    fn agent(&self, id: AgentId) -> &str {
        self.agents.get(&id).map_or("somebody", String::as_str)
    }

    fn who(&self, actor: Actor) -> String {
        match actor {
            Actor::Agent(agent) => self.agent(agent).to_owned(),
            Actor::Runner | Actor::Coordinator | Actor::Person | Actor::Engine => actor.to_string(),
        }
    }

    /// A line of the demo itself.
    pub(super) fn say(&self, text: &str) {
        self.line("", AnsiColor::Yellow, text);
    }

    /// A line that an agent printed.
    pub(super) fn said(&mut self, name: &str, text: &str) {
        if text.contains("but somebody has it") {
            self.lost += 1;
        }
        self.line(name, AnsiColor::BrightBlack, text);
    }

    fn line(&self, name: &str, colour: AnsiColor, text: &str) {
        let at = self.began.elapsed();
        let mut out = anstream::stdout().lock();
        let text: String = text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
        let printed = match self.style {
            Style::Json => {
                let ms = u64::try_from(at.as_millis()).unwrap_or(u64::MAX);
                writeln!(out, "{}", json!({"ms": ms, "who": name, "what": text}))
            }
            Style::Lines => {
                let style = anstyle::Style::new().fg_color(Some(Color::Ansi(colour)));
                writeln!(out, "{:>5.1} s  {name:<6} {style}{text}{style:#}", at.as_secs_f64())
            }
        };
        // Whoever watched has gone; the work goes on.
        let _unseen = printed.and_then(|()| out.flush());
    }

    /// An entry of the log.
    #[expect(clippy::wildcard_enum_match_arm, reason = "the other events say nothing to somebody who watches")]
    pub(super) fn happened(&mut self, entry: &Entry) {
        let Ok(event) = serde_json::from_str::<Event>(&entry.body) else { return };
        match event {
            Event::Registered { agent } => {
                self.agents.insert(agent.id, agent.name.clone());
                self.line(&agent.name, AnsiColor::Green, "registers");
            }
            Event::Claimed { task, agent, attempt, .. } => {
                self.claims += 1;
                let before = self.holders.insert(task, agent);
                self.doubled += u32::from(before.is_some_and(|before| before != agent));
                let text = format!("claims {} (attempt {attempt})", self.task(task));
                self.line(self.agent(agent), AnsiColor::Cyan, &text);
            }
            Event::CheckpointAdded { checkpoint, .. } => {
                self.checkpoints += 1;
                let text = format!("notes on {}: {}", self.task(checkpoint.task), checkpoint.note.summary);
                self.line(&self.who(checkpoint.by), AnsiColor::White, &text);
            }
            Event::LeaseEnded { task, agent, cause, .. } => {
                self.recovered += 1;
                self.holders.remove(&task);
                let why = match cause {
                    Cause::Killed | Cause::Crashed => "its process was killed",
                    Cause::Expired => "its lease ended",
                    Cause::Closed => "its connection closed",
                    Cause::Released | Cause::Unregistered => "it was given back",
                };
                let text = format!("{} of {} is offered again: {why}", self.task(task), self.agent(agent));
                self.line("system", AnsiColor::Red, &text);
            }
            Event::Moved(moved) => {
                if moved.state.lease().is_none() {
                    self.holders.remove(&moved.task);
                }
                if let State::Completed { by, outcome } = &moved.state {
                    let text = format!("completes {}: {outcome}", self.task(moved.task));
                    self.line(&self.who(*by), AnsiColor::Green, &text);
                }
            }
            Event::Sent { message, slug } => {
                self.messages += 1;
                let text = format!("writes to {slug}: {}", message.draft.body);
                self.line(&self.who(message.from), AnsiColor::Magenta, &text);
            }
            Event::Left { agent, .. } => self.line(self.agent(agent), AnsiColor::BrightBlack, "leaves"),
            Event::WorkflowMoved { to, .. } => self.line("", AnsiColor::Yellow, &format!("the workflow is {to}")),
            _ => {}
        }
    }

    pub(super) fn summary(&self, progress: &Progress, verdict: &Verdict, took: Duration) {
        let workflow = &progress.workflow;
        let done = workflow.tasks - workflow.open;
        let whole = verdict.findings.is_empty();
        let mut out = anstream::stdout().lock();
        let printed = match self.style {
            Style::Json => writeln!(
                out,
                "{}",
                json!({
                    "completed": done, "tasks": workflow.tasks, "claims": self.claims, "claims_lost": self.lost,
                    "claims_doubled": self.doubled, "recovered": self.recovered, "checkpoints": self.checkpoints, "messages": self.messages,
                    "log_entries": verdict.entries, "log_verified": whole,
                    "ms": u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
                })
            ),
            Style::Lines => {
                let bold = anstyle::Style::new().bold();
                let log = if whole { "verified, every hash" } else { "NOT as it was written" };
                writeln!(
                    out,
                    "\n{bold}{done} of {} tasks completed in {:.1} s{bold:#}\n  \
                     {} claims, {} lost to somebody faster, {} held twice\n  \
                     {} taken back from a dead agent and done by another\n  \
                     {} checkpoints, {} messages\n  \
                     {} log entries: {log}",
                    workflow.tasks,
                    took.as_secs_f64(),
                    self.claims,
                    self.lost,
                    self.doubled,
                    self.recovered,
                    self.checkpoints,
                    self.messages,
                    verdict.entries,
                )
            }
        };
        let _unseen = printed.and_then(|()| out.flush());
    }
}
