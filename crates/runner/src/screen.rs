//! Shows a run to a person: one line for each running turn, and above them the lines of finished turns. For programs,
//! it prints JSON events instead.

use std::collections::BTreeMap;
use std::io::{self, Write};

use anstyle::{AnsiColor, Color, Style};
use engine::id::TurnId;
use engine::turn::TurnEnd;
use serde_json::json;
use tokio::time::Instant;

use crate::attempt::shared::{RunEvent, RunNews};
use crate::outcome::OutputVerdict;
use base::people::intervention::Intervention;
use wire::visible;

/// The form in which a run is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScreenLook {
    /// The form for a terminal: lines that stay, and below them one line for each running turn. The lines of the
    /// running turns are drawn again and again.
    Live,
    Lines,
    Json,
}

#[derive(Debug)]
struct ScreenRow {
    agent: String,
    task: String,
    began: Instant,
    tools: u32,
    usd_micros: Option<u64>,
    tokens: Option<u64>,
    doing: String,
}

/// The widest line in characters; a longer text is cut. A line that wraps could not be erased correctly.
const WIDTH_MAX: usize = 200;

#[derive(Debug)]
pub struct Screen<W> {
    out: W,
    look: ScreenLook,
    width: usize,
    rows: BTreeMap<TurnId, ScreenRow>,
    /// The number of lines that the last `draw` wrote. They are erased before the next output.
    drawn: usize,
}

impl<W: Write> Screen<W> {
    pub fn new(out: W, look: ScreenLook, width: usize) -> Self {
        Self { out, look, width: width.clamp(20, WIDTH_MAX), rows: BTreeMap::new(), drawn: 0 }
    }

    pub fn tell(&mut self, news: &RunNews) -> io::Result<()> {
        self.follow(news);
        if self.look == ScreenLook::Json {
            let event = event(news);
            return match event.is_null() {
                true => Ok(()),
                false => writeln!(self.out, "{}", visible::json(&event.to_string())),
            };
        }
        if let Some((style, text)) = line(news) {
            self.erase()?;
            let (begin, end) = (style.render(), style.render_reset());
            writeln!(self.out, "{:<12} {:<20} {begin}{text}{end}", fit(&news.agent, 12), fit(&news.name, 20))?;
        }
        self.draw()
    }

    /// Shows an intervention: a person or an agent changed the plan, or changed a task that another agent holds.
    pub fn intervened(&mut self, found: &Intervention) -> io::Result<()> {
        if self.look == ScreenLook::Json {
            return writeln!(self.out, "{}", visible::json(&found.event().to_string()));
        }
        self.erase()?;
        let style = Style::new().fg_color(Some(Color::Ansi(AnsiColor::Yellow)));
        let (begin, end) = (style.render(), style.render_reset());
        let text = visible::decided(&found.line());
        writeln!(self.out, "{begin}{text}{end}")?;
        self.draw()
    }

    fn follow(&mut self, news: &RunNews) {
        match &news.what {
            RunEvent::Started { turn, .. } => {
                let row = ScreenRow {
                    agent: news.agent.clone(),
                    task: news.name.clone(),
                    began: Instant::now(),
                    tools: 0,
                    usd_micros: None,
                    tokens: None,
                    doing: "started".to_owned(),
                };
                self.rows.insert(*turn, row);
            }
            RunEvent::Tool { turn, name } => {
                if let Some(row) = self.rows.get_mut(turn) {
                    row.tools = row.tools.saturating_add(1);
                    row.doing.clone_from(name);
                }
            }
            RunEvent::Text { turn, text } => {
                if let Some(row) = self.rows.get_mut(turn) {
                    row.doing = text.split_whitespace().collect::<Vec<_>>().join(" ");
                }
            }
            RunEvent::Spent { turn, usd_micros, tokens } => {
                if let Some(row) = self.rows.get_mut(turn) {
                    (row.usd_micros, row.tokens) = (*usd_micros, *tokens);
                }
            }
            RunEvent::Ended { turn, .. } => drop(self.rows.remove(turn)),
            RunEvent::Claimed { .. }
            | RunEvent::Checking { .. }
            | RunEvent::Verified { .. }
            | RunEvent::Reviewed { .. }
            | RunEvent::Merged { .. }
            | RunEvent::Conflict { .. }
            | RunEvent::Completed { .. }
            | RunEvent::Asks { .. }
            | RunEvent::WantsApproval { .. }
            | RunEvent::Blocked { .. }
            | RunEvent::Failed { .. }
            | RunEvent::Returned { .. }
            | RunEvent::Warning { .. } => {}
        }
    }

    /// Draws one line for each running turn. The caller calls this function at an interval, because the lines show
    /// elapsed seconds.
    pub fn draw(&mut self) -> io::Result<()> {
        if self.look != ScreenLook::Live {
            return Ok(());
        }
        self.erase()?;
        for row in self.rows.values() {
            let cost = match (row.usd_micros, row.tokens) {
                (Some(micros), _) => format!("${}.{:02}", micros / 1_000_000, micros % 1_000_000 / 10_000),
                (None, Some(tokens)) => format!("{tokens} tokens"),
                (None, None) => String::new(),
            };
            let text = format!(
                "  {:<12} {:<20} {:>4} s  {:>3} calls  {cost:<10} {}",
                fit(&row.agent, 12),
                fit(&row.task, 20),
                row.began.elapsed().as_secs(),
                row.tools,
                row.doing
            );
            writeln!(self.out, "{}", fit(&text, self.width - 1))?;
        }
        self.drawn = self.rows.len();
        self.out.flush()
    }

    fn erase(&mut self) -> io::Result<()> {
        if self.drawn > 0 {
            write!(self.out, "\x1b[{}A\x1b[J", self.drawn)?;
            self.drawn = 0;
        }
        Ok(())
    }

    /// Prints a text above the lines of the running turns.
    pub fn say(&mut self, text: &str) -> io::Result<()> {
        self.erase()?;
        writeln!(self.out, "{text}")?;
        self.out.flush()
    }

    /// Prints the last text of the run and removes the lines of the running turns.
    pub fn end(&mut self, text: &str) -> io::Result<()> {
        self.rows.clear();
        self.erase()?;
        if self.look != ScreenLook::Json {
            writeln!(self.out, "{text}")?;
        }
        self.out.flush()
    }
}

/// Cuts a text to one line of this width. Makes control characters visible, and leaves out secrets.
fn fit(text: &str, width: usize) -> String {
    let clean = visible::decided(text);
    if clean.chars().count() <= width {
        return clean;
    }
    clean.chars().take(width.saturating_sub(1)).chain(['…']).collect()
}

fn line(news: &RunNews) -> Option<(Style, String)> {
    let plain = Style::new();
    let colour = |colour: AnsiColor| Style::new().fg_color(Some(Color::Ansi(colour)));
    let text = |text: &str| fit(text, 160);
    Some(match &news.what {
        RunEvent::Claimed { attempt: 1 } => (plain, "claimed".to_owned()),
        RunEvent::Claimed { attempt } => (plain, format!("claimed, attempt {attempt}")),
        RunEvent::Started { purpose: engine::turn::Purpose::First, .. } => return None,
        RunEvent::Started { purpose, .. } => (colour(AnsiColor::Cyan), format!("started another turn: {purpose}")),
        RunEvent::Ended { end, reason, verdict, ms, .. } => {
            let codes = verdict.as_ref().map(codes).unwrap_or_default();
            let seconds = ms / 1_000;
            match (end, reason) {
                (TurnEnd::Finished, _) if codes.is_empty() => return None,
                (TurnEnd::Finished, _) => (
                    colour(AnsiColor::Yellow),
                    format!(
                        "the agent's output is not valid: \
                    {codes}"
                    ),
                ),
                (end, Some(reason)) => {
                    (colour(AnsiColor::Yellow), text(&format!("{} after {seconds} s: {reason}", ended(*end))))
                }
                (end, None) => (colour(AnsiColor::Yellow), format!("{} after {seconds} s", ended(*end))),
            }
        }
        RunEvent::Checking { command } => (plain, text(&format!("checks: {command}"))),
        RunEvent::Verified { passed: true, .. } => (plain, "verified".to_owned()),
        RunEvent::Verified { passed: false, problem } => {
            let problem = problem.as_deref().unwrap_or_default();
            (colour(AnsiColor::Yellow), text(&format!("verification failed: {problem}")))
        }
        RunEvent::Reviewed { problem: Some(problem), .. } => {
            (colour(AnsiColor::Yellow), text(&format!("not reviewed: {problem}")))
        }
        RunEvent::Reviewed { open: 0, .. } => (plain, "reviewed, no open findings".to_owned()),
        RunEvent::Reviewed { session, open, .. } => (
            colour(AnsiColor::Yellow),
            text(&format!("reviewed, open findings: {open} (handover review show {session})")),
        ),
        RunEvent::Merged { commit } => (plain, format!("merged as {}", commit.chars().take(10).collect::<String>())),
        RunEvent::Conflict { paths } => (colour(AnsiColor::Yellow), text(&format!("conflicts: {}", paths.join(", ")))),
        RunEvent::Completed { summary } => (colour(AnsiColor::Green), text(&format!("completed: {summary}"))),
        RunEvent::Asks { question } => (colour(AnsiColor::Magenta), text(&format!("asks: {question}"))),
        RunEvent::WantsApproval { approval, operation } => {
            let how = format!("needs your approval: {operation} (handover approval show {approval})");
            (colour(AnsiColor::Magenta), text(&how))
        }
        RunEvent::Blocked { kind, reason } => (colour(AnsiColor::Red), text(&format!("blocked ({kind}): {reason}"))),
        RunEvent::Failed { reason } => (colour(AnsiColor::Red), text(&format!("failed: {reason}"))),
        RunEvent::Returned { reason } => {
            (colour(AnsiColor::Yellow), text(&format!("the task is open again: {reason}")))
        }
        RunEvent::Warning { text: warning } => (colour(AnsiColor::Yellow), text(&format!("warning: {warning}"))),
        RunEvent::Tool { .. } | RunEvent::Text { .. } | RunEvent::Spent { .. } => return None,
    })
}

/// Returns how a turn ended, in words for people.
fn ended(end: TurnEnd) -> &'static str {
    match end {
        TurnEnd::Finished => "the turn finished",
        TurnEnd::Failed => "the program failed",
        TurnEnd::Signalled => "the program crashed",
        TurnEnd::TimedOut => "the turn timed out",
        TurnEnd::OverBudget => "the turn was stopped at its limit",
        TurnEnd::SpawnFailed => "the program could not be started",
        TurnEnd::Interrupted => "the turn was interrupted",
        TurnEnd::Cancelled => "the turn was cancelled",
        TurnEnd::ClaimLost => "the turn was stopped because the task was lost",
        TurnEnd::ApiError => "the model's API failed",
        TurnEnd::ConversationLost => "the program lost its conversation",
    }
}

/// Returns the error codes of an invalid output. Returns an empty text when the output is valid.
fn codes(verdict: &OutputVerdict) -> String {
    if verdict.says.is_some() { String::new() } else { fit(&verdict.codes.join(", "), 120) }
}

/// Returns the JSON event for an item of news (an event of the run). Returns null for news that is only shown to
/// people.
fn event(news: &RunNews) -> serde_json::Value {
    let base = |event: &str, more: serde_json::Value| {
        let mut all = json!({"event": event, "task_id": news.task.to_string(), "task": news.name, "agent": news.agent});
        if let (Some(all), serde_json::Value::Object(more)) = (all.as_object_mut(), more) {
            all.extend(more);
        }
        all
    };
    match &news.what {
        RunEvent::Claimed { attempt } => base("claimed", json!({"attempt": attempt})),
        RunEvent::Started { turn, purpose } => {
            base("turn_started", json!({"turn_id": turn.to_string(), "purpose": purpose.as_str()}))
        }
        RunEvent::Tool { turn, name } => base("tool_call", json!({"turn_id": turn.to_string(), "tool": name})),
        RunEvent::Text { .. } | RunEvent::Spent { .. } => serde_json::Value::Null,
        RunEvent::Ended { turn, end, reason, verdict, ms } => {
            let verdict = verdict.as_ref().and_then(|verdict| serde_json::to_value(verdict).ok());
            let turn = turn.to_string();
            base(
                "turn_ended",
                json!({"turn_id": turn, "end": end.as_str(), "reason": reason, "verdict": verdict, "ms": ms}),
            )
        }
        RunEvent::Checking { command } => base("checking", json!({"command": command})),
        RunEvent::Verified { passed, problem } => base("verified", json!({"passed": passed, "problem": problem})),
        RunEvent::Reviewed { session, found, open, problem } => {
            base("reviewed", json!({"session": session, "found": found, "open": open, "problem": problem}))
        }
        RunEvent::Merged { commit } => base("merged", json!({"commit": commit})),
        RunEvent::Conflict { paths } => base("conflict", json!({"paths": paths})),
        RunEvent::Completed { summary } => base("completed", json!({"summary": summary})),
        RunEvent::Asks { question } => base("asks", json!({"question": question})),
        RunEvent::WantsApproval { approval, operation } => {
            base("wants_approval", json!({"approval_id": approval, "operation": operation}))
        }
        RunEvent::Blocked { kind, reason } => base("blocked", json!({"blocker_type": kind, "reason": reason})),
        RunEvent::Failed { reason } => base("failed", json!({"reason": reason})),
        RunEvent::Returned { reason } => base("returned", json!({"reason": reason})),
        RunEvent::Warning { text } => base("warning", json!({"text": text})),
    }
}
