//! Shows a run to a person. The lower lines show the running turns (a turn is one run of an agent's program), one line
//! for each, and are drawn again and again. The lines above them stay. For programs, the run is printed as JSON events
//! instead.

mod collect;
mod event;
mod line;
pub mod need;
pub mod summary;

use std::collections::BTreeMap;
use std::io::{self, Write};

use anstyle::{AnsiColor, Color, Style};
use engine::id::TurnId;
use tokio::time::Instant;

use self::collect::RunCollector;
use self::event::event;
use self::line::{LINE_WIDTH, lines};
use self::need::PersonNeed;
use self::summary::{RunSummary, SummaryEnd};
use crate::attempt::shared::{RunEvent, RunNews};
use base::ground::words::{count, duration};
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
    number: Option<u32>,
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
    collector: RunCollector,
    began: Instant,
}

impl<W: Write> Screen<W> {
    pub fn new(out: W, look: ScreenLook, width: usize) -> Self {
        Self {
            out,
            look,
            width: width.clamp(20, WIDTH_MAX),
            rows: BTreeMap::new(),
            drawn: 0,
            collector: RunCollector::default(),
            began: Instant::now(),
        }
    }

    pub fn tell(&mut self, news: &RunNews) -> io::Result<()> {
        self.follow(news);
        self.collector.add(news);
        if self.look == ScreenLook::Json {
            let event = event(news);
            return match event.is_null() {
                true => Ok(()),
                false => writeln!(self.out, "{}", visible::json(&event.to_string())),
            };
        }
        let lines = lines(news, self.width.min(LINE_WIDTH));
        if !lines.is_empty() {
            self.erase()?;
        }
        for line in lines {
            let (begin, end) = (line.style.render(), line.style.render_reset());
            writeln!(self.out, "{}{begin}{}{end}{}", line.before, line.label, line.after)?;
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
                    number: news.number,
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
            RunEvent::Tool { turn, title, .. } => {
                if let Some(row) = self.rows.get_mut(turn) {
                    row.tools = row.tools.saturating_add(1);
                    row.doing.clone_from(title);
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
            | RunEvent::Setup { .. }
            | RunEvent::SetupFailed { .. }
            | RunEvent::Finished { .. }
            | RunEvent::NoChanges { .. }
            | RunEvent::Checking { .. }
            | RunEvent::Checked { .. }
            | RunEvent::Unchecked { .. }
            | RunEvent::CheckFailed { .. }
            | RunEvent::Rejected { .. }
            | RunEvent::BaselineFails { .. }
            | RunEvent::BaselinePasses { .. }
            | RunEvent::TipFailed { .. }
            | RunEvent::Reviewed { .. }
            | RunEvent::Merged { .. }
            | RunEvent::Conflict { .. }
            | RunEvent::Completed { .. }
            | RunEvent::Asks { .. }
            | RunEvent::WantsApproval { .. }
            | RunEvent::Blocked { .. }
            | RunEvent::Failed { .. }
            | RunEvent::Returned { .. }
            | RunEvent::Crashed { .. }
            | RunEvent::AgentRests { .. }
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
            let seconds = row.began.elapsed().as_secs();
            let number = row.number.map(|number| number.to_string()).unwrap_or_default();
            let text = format!(
                "{number:>2}  {:<8} {:>2}:{:02}  {:>3} calls  {cost:<8} {}: {}",
                fit(&row.agent, 8),
                seconds / 60,
                seconds % 60,
                row.tools,
                row.doing,
                row.task
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

    /// Returns the summary of the run so far. `needs` are the things that its tasks need from a person.
    pub fn summary(&self, needs: Vec<PersonNeed>, end: SummaryEnd) -> RunSummary {
        self.collector.summary(u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX), needs, end)
    }

    /// Returns the number of tasks that agents of this run work on now.
    pub fn running(&self) -> usize {
        self.collector.running()
    }

    /// Tells the person that the run takes no new task and waits for the running tasks. `turn_ms_max` is the longest
    /// time of a turn.
    pub fn finishing(&mut self, turn_ms_max: u64) -> io::Result<()> {
        let running = self.running();
        if self.look == ScreenLook::Json {
            return writeln!(self.out, "{}", serde_json::json!({"event": "finishing", "running": running}));
        }
        let (them, tasks) = if running == 1 { ("it", "task") } else { ("them", "tasks") };
        let text = match running {
            0 => "Starting nothing new.".to_owned(),
            _ => format!(
                "Finishing {} (up to {}); starting nothing new. Ctrl-C again stops {them} and gives the {tasks} back.",
                count(running, "running task"),
                duration(turn_ms_max)
            ),
        };
        self.say(&text)?;
        self.draw()
    }

    /// Prints a text above the lines of the running turns.
    pub fn say(&mut self, text: &str) -> io::Result<()> {
        self.erase()?;
        writeln!(self.out, "{text}")?;
        self.out.flush()
    }

    /// Removes the lines of the running turns, and prints the last lines of the run for people.
    pub fn end(&mut self, lines: &[String]) -> io::Result<()> {
        self.rows.clear();
        self.erase()?;
        if self.look != ScreenLook::Json {
            lines.iter().try_for_each(|line| writeln!(self.out, "{line}"))?;
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

#[cfg(test)]
#[path = "screen/tests.rs"]
mod tests;
