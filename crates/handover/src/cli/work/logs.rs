//! `handover logs`: shows the texts and tool calls of the agents that worked on a task, as readable lines.

use std::io::{Read, Seek as _, SeekFrom, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use agents::adapter::{AdapterKind, HeardEvent, Listener};
use agents::host::{STDERR, STDOUT};
use anyhow::Context as _;
use base::ground::{objects, words};
use base::people::task_choice::TaskPurpose;
use base::service::turns::{self, NamedTurn};
use clap::Args;
use engine::id::TurnId;
use engine::list::Whose;
use handover::office::Office;
use runner::turn_proof::turn_folder;
use wire::json::{Value, object};
use wire::visible;

use super::super::say_json;
use super::super::show::plain;
use super::choose::{ChoiceText, chosen_task};
use super::numbered;

pub(super) const HELP: &str = "\
Each turn (one run of an agent's program) begins with a line that names the agent and how the turn ended. Below it are the
words of the agent, one line for each tool that it called, and what it wrote to standard error. --raw prints the output of
the program byte for byte. Secrets are left out, except with --raw.";

/// The maximum number of turns (runs of agents' programs) of one task that are shown. Older turns are left out.
const TURNS_MAX: u32 = 200;
/// The maximum number of bytes that one read takes from the output of a program.
const PIECE_BYTES: usize = 64 << 10;
/// The maximum number of bytes that are shown of a program's standard error. The beginning of a longer text is left
/// out.
const STDERR_BYTES_MAX: u64 = 64 << 10;
/// The time between two reads of the output of a program that still runs.
const LOOK: Duration = Duration::from_millis(250);

const CHOICE: ChoiceText<'_> =
    ChoiceText { command: "handover logs", nothing: "No task is running or stuck. All tasks: handover task list" };

#[derive(Debug, Args)]
pub(in crate::cli) struct LogsArguments {
    /// The task: its number, its name, or the beginning of its name
    task: Option<String>,
    /// Follow the running turn until it ends
    #[arg(long, short, conflicts_with = "json")]
    follow: bool,
    /// Show only this turn of the task, by its number
    #[arg(long, value_name = "N")]
    turn: Option<u32>,
    /// Print the output of the programs byte for byte
    #[arg(long, conflicts_with = "json")]
    raw: bool,
    /// Print the turns with their lines as JSON
    #[arg(long)]
    json: bool,
}

/// Collects the readable lines of a turn (one run of an agent's program). Several calls of the same tool in a row
/// become one line.
#[derive(Debug, Default)]
struct LogLines {
    ready: Vec<String>,
    calls: Option<(String, u32)>,
}

impl LogLines {
    fn hear(&mut self, heard: HeardEvent) {
        match heard {
            HeardEvent::ToolCall { name } => match &mut self.calls {
                Some((last, count)) if *last == name => *count = count.saturating_add(1),
                Some(_) | None => {
                    self.settle();
                    self.calls = Some((name, 1));
                }
            },
            HeardEvent::Text(text) => {
                self.settle();
                self.ready.extend(text.lines().filter(|line| !line.trim().is_empty()).map(shown));
            }
            HeardEvent::Conversation(_) | HeardEvent::Progress => {}
        }
    }

    /// Writes one line for the last tool and the number of its calls in a row.
    fn settle(&mut self) {
        if let Some((name, count)) = self.calls.take() {
            let times = if count == 1 { String::new() } else { format!(" ({count} times)") };
            self.ready.push(format!("· {}{times}", plain(&name)));
        }
    }

    fn take(&mut self) -> Vec<String> {
        std::mem::take(&mut self.ready)
    }
}

/// Returns a line that an agent wrote, without secrets and with hidden characters made visible.
fn shown(line: &str) -> String {
    plain(&visible::redacted(line.trim_end()))
}

/// The output of an agent's program. After the turn (the run of the program) ended, it is in the object store; before
/// that, it is in a file in the turn's folder.
struct TurnOutput<'a> {
    office: &'a Office,
    turn: &'a NamedTurn,
}

impl TurnOutput<'_> {
    fn folder(&self) -> PathBuf {
        turn_folder(&self.office.state, self.turn.turn.id)
    }

    /// Opens the program's standard output. Returns `None` when this machine does not have it.
    fn open(&self) -> Option<Box<dyn Read>> {
        let kept = self.turn.turn.ended().and_then(|ended| ended.stream.as_ref());
        if let Some(file) = kept.and_then(|stream| objects::get(&self.office.state, stream).ok()) {
            return Some(Box::new(file));
        }
        let file = std::fs::File::open(self.folder().join(STDOUT)).ok()?;
        Some(Box::new(file))
    }

    /// Returns the last lines of the program's standard error, if the folder of the turn (the run of the program) still
    /// exists.
    fn stderr(&self) -> Vec<String> {
        let read = || {
            let mut file = std::fs::File::open(self.folder().join(STDERR))?;
            let from = file.metadata()?.len().saturating_sub(STDERR_BYTES_MAX);
            file.seek(SeekFrom::Start(from))?;
            let mut bytes = Vec::new();
            file.take(STDERR_BYTES_MAX).read_to_end(&mut bytes)?;
            std::io::Result::Ok(String::from_utf8_lossy(&bytes).into_owned())
        };
        // The folder of an old turn (one run of an agent's program) is deleted, and with it the standard error. So a
        // failed read means that there are no lines.
        let text = read().unwrap_or_default();
        text.lines().filter(|line| !line.trim().is_empty()).map(|line| format!("! {}", shown(line))).collect()
    }
}

pub(super) async fn run(office: &Office, asked: &LogsArguments) -> anyhow::Result<ExitCode> {
    let task = match chosen_task(office, asked.task.as_deref(), TaskPurpose::Logs, CHOICE).await? {
        Ok(task) => task,
        Err(code) => return Ok(code),
    };
    let mut found = turns::list(office.desk.service(), Some(Whose::Task(task.id)), TURNS_MAX).await?;
    found.reverse();
    if let Some(number) = asked.turn {
        found.retain(|named| named.turn.number == number);
    }
    if found.is_empty() {
        let name = numbered(task.number, &task.name);
        match asked.turn {
            Some(number) => eprintln!("{} has no turn {number}.", name.trim_start()),
            None => eprintln!("No agent has worked on {} yet. Start it: handover run", name.trim_start()),
        }
        return Ok(ExitCode::from(1));
    }
    if asked.json {
        let rows = found.iter().map(|named| row(office, named)).collect::<anyhow::Result<Vec<_>>>()?;
        let number = u64::from(task.number);
        say_json(&object([("task", number.into()), ("name", task.name.into()), ("turns", Value::List(rows))]))?;
        return Ok(ExitCode::SUCCESS);
    }
    if !asked.raw {
        print(&[numbered(task.number, &task.name)])?;
    }
    for named in &found {
        if asked.raw {
            raw(office, named)?;
        } else if asked.follow && named.turn.ended().is_none() {
            follow(office, named).await?;
        } else {
            print(&[heading(named)])?;
            print(&indented(lines(office, named)?))?;
            print(&ending(named))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the readable lines of a whole turn: the agent's texts and tool calls, its answer, and its standard error.
fn lines(office: &Office, named: &NamedTurn) -> anyhow::Result<Vec<String>> {
    let output = TurnOutput { office, turn: named };
    let mut collected = LogLines::default();
    let mut answer = String::new();
    if let Some(mut file) = output.open() {
        let mut listener = listener(named);
        let mut bytes = vec![0; PIECE_BYTES];
        loop {
            let count = file.read(&mut bytes).context("read the output of the program")?;
            let Some(fresh) = bytes.get(..count).filter(|fresh| !fresh.is_empty()) else { break };
            listener.feed(fresh).into_iter().for_each(|heard| collected.hear(heard));
        }
        if named.turn.ended().is_some() {
            answer = listener.end(agents::adapter::Exit::Code(0), "").text;
        }
    }
    collected.settle();
    let mut lines = collected.take();
    // The events in a program's output have only the beginning of a long text. So add the agent's full answer, unless
    // the collected lines already end with it.
    let whole: Vec<String> = answer.lines().filter(|line| !line.trim().is_empty()).map(shown).collect();
    if !whole.is_empty() && lines.last() != whole.last() {
        lines.extend(whole);
    }
    lines.extend(output.stderr());
    Ok(lines)
}

fn listener(named: &NamedTurn) -> Listener {
    Listener::new(AdapterKind::named(&named.turn.adapter).unwrap_or(AdapterKind::Exec))
}

/// Prints the lines of a running turn (one run of an agent's program) as they come, until the turn ends.
async fn follow(office: &Office, named: &NamedTurn) -> anyhow::Result<()> {
    print(&[heading(named)])?;
    let path = TurnOutput { office, turn: named }.folder().join(STDOUT);
    let (mut listener, mut collected, mut at) = (listener(named), LogLines::default(), 0_u64);
    loop {
        // Ask whether the agent's program has ended before reading its output. In the other order, output that is
        // written between the two steps would be lost.
        let ended = ended(office, named.turn.id).await?;
        if let Ok(mut file) = std::fs::File::open(&path) {
            file.seek(SeekFrom::Start(at))?;
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes)?;
            at = at.saturating_add(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
            listener.feed(&bytes).into_iter().for_each(|heard| collected.hear(heard));
        }
        if let Some(ended) = ended {
            collected.settle();
            print(&indented(collected.take()))?;
            print(&ending(&ended))?;
            return Ok(());
        }
        print(&indented(collected.take()))?;
        tokio::time::sleep(LOOK).await;
    }
}

/// Returns the turn (one run of an agent's program) if it has ended, else `None`.
async fn ended(office: &Office, turn: TurnId) -> anyhow::Result<Option<NamedTurn>> {
    let (named, _) = turns::show(office.desk.service(), turn).await?;
    Ok(named.turn.ended().is_some().then_some(named))
}

fn raw(office: &Office, named: &NamedTurn) -> anyhow::Result<()> {
    if let Some(mut file) = (TurnOutput { office, turn: named }).open() {
        let mut out = std::io::stdout().lock();
        std::io::copy(&mut file, &mut out).context("print the output of the program")?;
        out.flush()?;
    }
    Ok(())
}

/// Returns the heading above the lines of a turn: `turn 2: claude repaired its output, 38 s, $0.18`.
fn heading(named: &NamedTurn) -> String {
    let turn = &named.turn;
    let agent = named.agent.as_deref().unwrap_or("an agent");
    let cost = turn.ended().map(|ended| {
        let cost = words::cost(ended.spent.usd_micros, words::CostKnowledge::of(turn));
        format!(", {}, {cost}", words::duration(ended.spent.ms))
    });
    format!("turn {}: {} ({}){}", turn.number, plain(agent), turn.purpose, cost.unwrap_or_default())
}

/// Returns the line below a turn (one run of an agent's program), which says with which result the turn ended.
fn ending(named: &NamedTurn) -> Vec<String> {
    let Some(ended) = named.turn.ended() else { return vec!["    still running".to_owned()] };
    let how = ended.end.as_str().replace('_', " ");
    let reason = ended.reason.as_deref().map(|reason| format!(": {}", shown(reason))).unwrap_or_default();
    vec![format!("    {how}{reason}")]
}

fn indented(lines: Vec<String>) -> Vec<String> {
    lines.into_iter().map(|line| format!("    {line}")).collect()
}

fn print(lines: &[String]) -> anyhow::Result<()> {
    let mut out = anstream::stdout().lock();
    for line in lines {
        writeln!(out, "{line}")?;
    }
    Ok(out.flush()?)
}

fn row(office: &Office, named: &NamedTurn) -> anyhow::Result<Value> {
    let turn = &named.turn;
    let lines = lines(office, named)?.into_iter().map(Value::from).collect();
    Ok(object([
        ("turn", u64::from(turn.number).into()),
        ("id", turn.id.to_string().into()),
        ("agent", named.agent.clone().into()),
        ("purpose", turn.purpose.as_str().into()),
        ("status", turn.ended().map_or("running", |ended| ended.end.as_str()).into()),
        ("reason", turn.ended().and_then(|ended| ended.reason.clone()).into()),
        ("lines", Value::List(lines)),
    ]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_tool_calls_in_a_row_are_one_line_and_blank_lines_are_left_out() {
        let call = |name: &str| HeardEvent::ToolCall { name: name.to_owned() };
        let mut lines = LogLines::default();
        for heard in [
            HeardEvent::Conversation("c1".to_owned()),
            HeardEvent::Text("I look.\n\n  Then I change.".to_owned()),
            call("Read"),
            call("Read"),
            HeardEvent::Progress,
            call("Edit"),
            HeardEvent::Text("Done \u{1b}[31m.".to_owned()),
            call("Bash"),
        ] {
            lines.hear(heard);
        }
        lines.settle();
        let expected = ["I look.", "  Then I change.", "· Read (2 times)", "· Edit", "Done <U+001B>[31m.", "· Bash"];
        assert_eq!(lines.take(), expected);
    }
}
