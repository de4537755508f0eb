//! Draws the text that `handover status` shows to a person.

use std::fmt::Write as _;

use anstyle::Style;
use base::ground::local_time::LocalClock;
use base::ground::words::{self, CostKnowledge, count};
use base::people::attention::AttentionItem;
use base::people::workload::{ReadyTask, RunningTask, Workload};

use super::super::show::plain;
use super::super::table::{cut, display_width};

/// The column of the screen at which the age of an item ends. On a narrow screen the age ends earlier, and after a long
/// title later.
const AGE_END: usize = 71;
/// The indentation of the second line of an item on the status screen.
const INDENT: &str = "        ";
const GAP: &str = "   ";
/// The maximum number of ready tasks that the status screen lists by name. Further ready tasks are only counted.
const READY_SHOWN: usize = 10;
/// The maximum number of tasks that `Done today` lists by name. This list is shown only when no task runs and no item
/// needs the person.
const DONE_SHOWN: usize = 5;
/// The width, in columns, for the name of the task that an agent works on.
const DOING: usize = 30;

/// The size of the status screen, and the clock by which it shows times.
pub(super) struct StatusScreen {
    pub(super) width: usize,
    pub(super) clock: LocalClock,
}

impl StatusScreen {
    pub(super) fn text(&self, items: &[AttentionItem], work: &Workload) -> String {
        let bold = Style::new().bold();
        let (put_off, items): (Vec<&AttentionItem>, Vec<&AttentionItem>) =
            items.iter().partition(|item| item.is_put_off());
        let is_quiet = items.is_empty() && work.running.is_empty();
        let mut text = String::new();
        if is_quiet {
            text.push_str("Nothing needs you. Nothing is running.\n");
        } else if items.is_empty() {
            text.push_str("Nothing needs you.\n\n");
        } else {
            let _ = writeln!(text, "{bold}Needs you{bold:#}");
            for item in items {
                text.push_str(&self.item(item));
            }
            text.push('\n');
        }
        put_off.iter().for_each(|item| text.push_str(&self.put_off(item)));
        if !put_off.is_empty() && !is_quiet {
            text.push('\n');
        }
        if !work.running.is_empty() {
            let _ = writeln!(text, "{bold}Running{bold:#}");
            let widest = work.running.iter().map(|row| display_width(&row.agent)).max().unwrap_or(0);
            for row in &work.running {
                text.push_str(&self.running(row, widest));
            }
            text.push('\n');
        } else if !is_quiet {
            text.push_str("Nothing is running.\n\n");
        }
        for plan in &work.stalled {
            let line = format!("Stalled  {}: {}", plain(&plan.name), plan.words());
            let _ = writeln!(text, "{}", cut(&line, self.width));
        }
        text.push_str(&self.ready(&work.ready));
        text.push_str(&if is_quiet { self.done(work) } else { today(work) });
        let can_start = work.ready.iter().any(|row| row.after.is_empty());
        match (can_start, is_quiet) {
            (true, true) => text.push_str("Start them: handover run\n"),
            (false, true) => text.push_str("Add work: handover add \"...\"\n"),
            (true | false, false) => {}
        }
        text.trim_end().to_owned() + "\n"
    }

    fn item(&self, item: &AttentionItem) -> String {
        let number = item.task.as_ref().map(|task| task.number.to_string()).unwrap_or_default();
        let age = words::age(item.since, self.clock.now());
        let room = self.width.saturating_sub(5 + 2 + display_width(&age));
        let headline = cut(&plain(&item.headline), room);
        let begin = format!("{number:>3}  {headline}");
        let used = display_width(&begin) + display_width(&age);
        let space = AGE_END.min(self.width).saturating_sub(used).max(2);
        let mut text = format!("{begin}{}{age}\n", " ".repeat(space));
        let note = cut(&plain(&item.note), self.width.saturating_sub(INDENT.len()));
        let commands = item.acts.iter().map(|act| plain(&act.command));
        let parts = std::iter::once(note).filter(|note| !note.is_empty()).chain(commands);
        text.push_str(&self.wrapped(INDENT, INDENT, GAP, parts));
        text
    }

    /// Returns the line of an item that is put off: `Put off until 09:00  14  claude asks: Which port?`.
    fn put_off(&self, item: &AttentionItem) -> String {
        let until = item.put_off_until.and_then(|until| self.clock.ahead(until)).unwrap_or_default();
        let number = item.task.as_ref().map(|task| format!("{:>2}  ", task.number)).unwrap_or_default();
        format!("{}\n", cut(&format!("Put off until {until}  {number}{}", plain(&item.headline)), self.width))
    }

    fn running(&self, row: &RunningTask, widest: usize) -> String {
        let ms = u64::try_from(self.clock.now().0.saturating_sub(row.since.0)).unwrap_or(0);
        let agent = format!("{}{}", row.agent, " ".repeat(widest.saturating_sub(display_width(&row.agent))));
        let doing = cut(&plain(&row.task.name), DOING - 2);
        let space = " ".repeat(DOING.saturating_sub(display_width(&doing)));
        let cost = words::cost(row.usd_micros, CostKnowledge::Complete);
        format!("{:>3}  {agent}{GAP}{}{GAP}{doing}{space}{cost}\n", row.task.number, words::stopwatch(ms))
    }

    fn ready(&self, ready: &[ReadyTask]) -> String {
        let named = ready.iter().take(READY_SHOWN).map(|row| {
            let after: Vec<String> = row.after.iter().map(u32::to_string).collect();
            let after = if after.is_empty() { String::new() } else { format!(" (after {})", after.join(", ")) };
            let room = self.width.saturating_sub(20 + after.len());
            format!("{} {}{after}", row.task.number, cut(&plain(&row.task.name), room))
        });
        let more = ready.len().saturating_sub(READY_SHOWN);
        let more = (more > 0).then(|| format!("{more} more"));
        self.wrapped("Ready  ", "       ", " · ", named.chain(more))
    }

    /// Returns the newest tasks that were completed today, one line for each task.
    fn done(&self, work: &Workload) -> String {
        let mut text = String::new();
        let skipped = work.done.len().saturating_sub(DONE_SHOWN);
        for (index, row) in work.done.iter().skip(skipped).enumerate() {
            let begin = if index == 0 { "Done today" } else { "          " };
            let end = match row.merged.and_then(|at| self.clock.short(at)) {
                Some(at) => format!("merged {at}"),
                None => "done".to_owned(),
            };
            let name = cut(&plain(&row.name), self.width.saturating_sub(19 + end.len()));
            let _ = writeln!(text, "{begin}  {:>2}  {name}{GAP}{end}", row.number);
        }
        text
    }

    /// Joins the parts with `between`, and begins a new line where the next part does not fit the screen. `first`
    /// stands before the first line, and `next` before every further line.
    fn wrapped(&self, first: &str, next: &str, between: &str, parts: impl Iterator<Item = String>) -> String {
        let (mut text, mut line) = (String::new(), String::new());
        for part in parts {
            if line.is_empty() {
                line = format!("{first}{part}");
            } else if display_width(&line) + display_width(between) + display_width(&part) <= self.width {
                let _ = write!(line, "{between}{part}");
            } else {
                let _ = writeln!(text, "{line}");
                line = format!("{next}{part}");
            }
        }
        if !line.is_empty() {
            let _ = writeln!(text, "{line}");
        }
        text
    }
}

/// Returns one line about the tasks that were completed today and their cost: `Today  6 done, 5 merged, $3.12 and 2
/// tasks of unknown cost`.
fn today(work: &Workload) -> String {
    if work.done.is_empty() {
        return String::new();
    }
    let merged = work.done.iter().filter(|row| row.merged.is_some()).count();
    let known: Vec<u64> = work.done.iter().filter_map(|row| row.usd_micros).collect();
    let unknown = work.done.len() - known.len();
    let unknown = (unknown > 0).then(|| format!("{} of unknown cost", count(unknown, "task")));
    let known = (!known.is_empty()).then(|| words::usd(known.iter().sum()));
    let cost: Vec<String> = known.into_iter().chain(unknown).collect();
    format!("Today  {} done, {merged} merged, {}\n", work.done.len(), cost.join(" and "))
}
