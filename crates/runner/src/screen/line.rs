//! The lines that stay on the screen: the number of the task, who did what, and the details.
//!
//! ```text
//!  1  claude started     After login, go back to the page the user came from
//!  1  check failed       npm test exited 1 twice: "1 failing: keeps the query"
//! ```

use anstyle::{AnsiColor, Color, Style};
use engine::turn::{Purpose, TurnEnd};

use super::fit;
use crate::attempt::shared::{CheckFailure, RunEvent, RunNews};
use crate::outcome::OutputVerdict;

/// The maximum width in characters of a line that stays on the screen. A longer line is cut.
pub(super) const LINE_WIDTH: usize = 80;
/// The width of the second column, which holds a label such as `check failed`, with the space after it.
const LABEL_WIDTH: usize = 19;

/// One line of the screen. Only its label, such as `check failed`, has a colour.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ScreenLine {
    pub(super) before: String,
    pub(super) style: Style,
    pub(super) label: String,
    pub(super) after: String,
}

/// Collects the screen lines that report one event of the run.
struct LineMaker<'a> {
    news: &'a RunNews,
    width: usize,
    found: Vec<ScreenLine>,
}

/// The colours of the labels of lines. `CALM` has no colour: it is for lines that only report.
const CALM: Style = Style::new();
const GOOD: Style = Style::new().fg_color(Some(Color::Ansi(AnsiColor::Green)));
const WARN: Style = Style::new().fg_color(Some(Color::Ansi(AnsiColor::Yellow)));
const BAD: Style = Style::new().fg_color(Some(Color::Ansi(AnsiColor::Red)));
const ASKS: Style = Style::new().fg_color(Some(Color::Ansi(AnsiColor::Magenta)));

/// Returns the screen lines that report an event of the run. Many events have no such line. Some of them, such as tool
/// calls, appear only in the lines of the running turns, which are drawn again and again.
pub(super) fn lines(news: &RunNews, width: usize) -> Vec<ScreenLine> {
    let mut maker = LineMaker { news, width, found: Vec::new() };
    maker.work();
    maker.trouble();
    maker.found
}

impl LineMaker<'_> {
    fn add(&mut self, style: Style, label: &str, detail: &str) {
        let line = screen_line(self.news, (style, label), detail, self.width);
        self.found.push(line);
    }

    /// Adds a line whose label names the agent and what it did, such as `claude started`.
    fn agent(&mut self, style: Style, word: &str, detail: &str) {
        let label = format!("{} {word}", self.news.agent);
        self.add(style, &label, detail);
    }

    /// Adds the lines for events of the work on a task: turns, their results and the checks.
    fn work(&mut self) {
        let news = self.news;
        match &news.what {
            RunEvent::Started { purpose, retry, .. } => match (purpose, retry) {
                (Purpose::First, _) => self.agent(CALM, "started", &news.name),
                (Purpose::Evaluation | Purpose::Review, _) => {}
                (_, Some(retry)) => {
                    let text = format!("with {} (try {} of {})", retry.with, retry.number, retry.of);
                    self.agent(CALM, "retrying", &text);
                }
                (_, None) => self.agent(CALM, "resumed", &news.name),
            },
            RunEvent::Finished { files, added, removed, summary } => {
                let counts = changes(*files, *added, *removed);
                let whole = format!("{counts}: {summary}");
                let room = self.width.saturating_sub(4 + LABEL_WIDTH);
                // The summary is shown only when it fits, because its end is often the important part.
                let fits = !summary.contains('\n') && whole.chars().count() <= room;
                self.agent(CALM, "finished", if fits { &whole } else { &counts });
            }
            RunEvent::NoChanges { summary } => {
                self.agent(WARN, "finished", &format!("no changes: \"{summary}\""));
                let number = news.number.map_or_else(|| news.task.to_string(), |number| number.to_string());
                let text = format!("it was to change files and changed none: handover logs {number}");
                self.add(ASKS, "needs you", &text);
            }
            RunEvent::Checked { command, ms, flaky } => {
                let flaky = flaky.map(|(run, of)| format!(", flaky: passed on run {run} of {of}")).unwrap_or_default();
                self.add(GOOD, "checked", &format!("{command} passed in {}{flaky}", seconds(*ms)));
            }
            RunEvent::Unchecked { why } => self.add(WARN, "unchecked", why),
            RunEvent::CheckFailed { command, end, runs, last_line } => {
                let last = if last_line.is_empty() { String::new() } else { format!(": \"{last_line}\"") };
                self.add(WARN, "check failed", &format!("{command} {}{}{last}", how(*end), times(*runs)));
            }
            RunEvent::Rejected { problem } => self.add(WARN, "not accepted", problem),
            RunEvent::Reviewed { problem: Some(problem), .. } => self.add(WARN, "not reviewed", problem),
            RunEvent::Reviewed { open: 0, .. } => self.add(CALM, "reviewed", "no open findings"),
            RunEvent::Reviewed { session, open, .. } => {
                let more = if *open == 1 { "finding" } else { "findings" };
                self.add(WARN, "reviewed", &format!("{open} open {more}: handover review show {session}"));
            }
            RunEvent::Merged { commit } => {
                let short: String = commit.chars().take(7).collect();
                self.add(CALM, "merged", &format!("as {short}, into the branch of the plan"));
            }
            RunEvent::Asks { question } => self.agent(ASKS, "asks", question),
            RunEvent::WantsApproval { approval, operation } => {
                self.agent(ASKS, "asks", &format!("may I {operation}? handover approval show {approval}"));
            }
            RunEvent::Claimed { .. }
            | RunEvent::Tool { .. }
            | RunEvent::Text { .. }
            | RunEvent::Spent { .. }
            | RunEvent::Ended { .. }
            | RunEvent::Setup { .. }
            | RunEvent::SetupFailed { .. }
            | RunEvent::Checking { .. }
            | RunEvent::BaselineFails { .. }
            | RunEvent::BaselinePasses { .. }
            | RunEvent::TipFailed { .. }
            | RunEvent::Conflict { .. }
            | RunEvent::Completed { .. }
            | RunEvent::Blocked { .. }
            | RunEvent::Failed { .. }
            | RunEvent::Returned { .. }
            | RunEvent::Crashed { .. }
            | RunEvent::AgentRests { .. }
            | RunEvent::Warning { .. } => {}
        }
    }

    /// Adds the lines for events that report a problem.
    fn trouble(&mut self) {
        match &self.news.what {
            RunEvent::Ended { end, reason, verdict, spent, .. } => {
                if let Some(text) = ended(*end, reason.as_deref(), verdict.as_ref(), spent.ms) {
                    self.agent(WARN, "stopped", &text);
                }
            }
            RunEvent::SetupFailed { problem } => {
                self.add(BAD, "setup failed", &format!("{} {}", problem.command, problem.how));
                problem.last_lines.lines().for_each(|line| self.add(CALM, "", line));
            }
            RunEvent::BaselineFails { command, exit_code, last_line } => {
                let how = exit_code.map_or_else(|| "does not end in time".to_owned(), |code| format!("exits {code}"));
                self.add(WARN, "check fails", &format!("{command} {how} before any change"));
                if !last_line.is_empty() {
                    self.add(CALM, "", &format!("last line: {last_line}"));
                }
            }
            RunEvent::TipFailed { branch, command, last_line, tasks } => {
                self.add(BAD, "check failed", &format!("{command} fails on {branch}: \"{last_line}\""));
                self.add(CALM, "", &format!("merged since it passed: {}", tasks.join(", ")));
            }
            RunEvent::Conflict { paths } => self.add(WARN, "conflict", &paths.join(", ")),
            // A task that is blocked because nothing changed needs no line: an earlier line already says that nothing
            // changed.
            RunEvent::Blocked { reason, .. } if reason.starts_with(crate::attempt::NO_CHANGES) => {}
            RunEvent::Blocked { reason, .. } => self.add(ASKS, "needs you", reason),
            RunEvent::Failed { reason } => self.add(BAD, "failed", reason),
            RunEvent::Returned { reason } => self.add(WARN, "open again", reason),
            RunEvent::Crashed { reason, again_ms, attempt, of } => {
                let again = format!("{reason}; again in {} ({attempt} of {of})", pause(*again_ms));
                self.agent(WARN, "crashed", &again);
            }
            RunEvent::AgentRests { reason, waiting, .. } => {
                self.agent(BAD, "rests", reason);
                self.add(CALM, "", &rest_effect(*waiting));
            }
            RunEvent::Warning { text } => self.add(WARN, "warning", text),
            RunEvent::Claimed { .. }
            | RunEvent::Started { .. }
            | RunEvent::Tool { .. }
            | RunEvent::Text { .. }
            | RunEvent::Spent { .. }
            | RunEvent::Setup { .. }
            | RunEvent::Finished { .. }
            | RunEvent::NoChanges { .. }
            | RunEvent::Checking { .. }
            | RunEvent::Checked { .. }
            | RunEvent::Unchecked { .. }
            | RunEvent::CheckFailed { .. }
            | RunEvent::Rejected { .. }
            | RunEvent::BaselinePasses { .. }
            | RunEvent::Reviewed { .. }
            | RunEvent::Merged { .. }
            | RunEvent::Completed { .. }
            | RunEvent::Asks { .. }
            | RunEvent::WantsApproval { .. } => {}
        }
    }
}

/// Returns the effect of an agent that cannot work, and what to type when it can work again.
fn rest_effect(waiting: u32) -> String {
    match waiting {
        0 => "No task waits for it. Afterwards: handover run".to_owned(),
        1 => "1 task waits for it. Afterwards: handover run".to_owned(),
        more => format!("{more} tasks wait for it. Afterwards: handover run"),
    }
}

fn how(end: CheckFailure) -> String {
    match end {
        CheckFailure::Exited(code) => format!("exited {code}"),
        CheckFailure::Signalled(signal) => format!("was ended by signal {signal}"),
        CheckFailure::TooMuchOutput => "printed too much".to_owned(),
        CheckFailure::Other => "failed".to_owned(),
    }
}

fn times(runs: u32) -> String {
    match runs {
        0 | 1 => String::new(),
        2 => " twice".to_owned(),
        more => format!(" {more} times"),
    }
}

fn screen_line(news: &RunNews, (style, label): (Style, &str), detail: &str, width: usize) -> ScreenLine {
    let is_first = !label.is_empty();
    let number = news.number.filter(|_| is_first).map(|number| number.to_string()).unwrap_or_default();
    let before = format!("{number:>2}  ");
    let label = fit(label, width);
    let gap = LABEL_WIDTH.saturating_sub(label.chars().count()).max(2);
    let room = width.saturating_sub(before.chars().count() + label.chars().count() + gap);
    let one_line = detail.split_whitespace().collect::<Vec<_>>().join(" ");
    ScreenLine { before, style, label, after: format!("{}{}", " ".repeat(gap), fit(&one_line, room)) }
}

/// Returns the counts of changed files and lines, such as `2 files, +31 −4`.
fn changes(files: u32, added: u32, removed: u32) -> String {
    let word = if files == 1 { "file" } else { "files" };
    format!("{files} {word}, +{added} −{removed}")
}

/// Returns a duration in seconds with one digit after the point, such as `6.4 s`.
fn seconds(ms: u64) -> String {
    format!("{}.{} s", ms / 1_000, ms % 1_000 / 100)
}

/// Returns a pause in whole seconds or minutes.
fn pause(ms: u64) -> String {
    if ms < 60_000 { format!("{} s", ms.div_ceil(1_000)) } else { format!("{} min", ms.div_ceil(60_000)) }
}

/// Returns the end of a turn in words for people. Returns `None` for a turn that gave a valid output, and for a crash,
/// which has a line of its own.
fn ended(end: TurnEnd, reason: Option<&str>, verdict: Option<&OutputVerdict>, ms: u64) -> Option<String> {
    let after = seconds(ms);
    let why = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
    Some(match end {
        TurnEnd::Finished => {
            let invalid = verdict.filter(|verdict| verdict.says.is_none())?;
            let lacks: Option<Vec<&str>> = invalid.codes.iter().map(|code| code.strip_prefix("MISSING:/")).collect();
            match lacks {
                Some(lacks) if !lacks.is_empty() => format!("its answer lacks {}", lacks.join(", ")),
                Some(_) | None => format!("its answer is not valid: {}", invalid.codes.join(", ")),
            }
        }
        TurnEnd::Failed | TurnEnd::Signalled | TurnEnd::SpawnFailed | TurnEnd::ApiError => return None,
        TurnEnd::TimedOut => format!("the turn timed out after {after}{why}"),
        TurnEnd::OverBudget => format!("the turn reached its limit after {after}{why}"),
        TurnEnd::Interrupted => format!("the turn was interrupted after {after}{why}"),
        TurnEnd::Cancelled => format!("the turn was cancelled after {after}{why}"),
        TurnEnd::ClaimLost => format!("the task was lost after {after}{why}"),
        TurnEnd::ConversationLost => "the program lost its conversation".to_owned(),
    })
}
