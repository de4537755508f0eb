//! `handover logs`: shows the texts and tool calls of the agents that worked on a task, as readable lines.

use std::io::Write as _;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;
use base::ground::words;
use base::people::task_choice::TaskPurpose;
use base::service::turns::{self, NamedTurn};
use clap::Args;
use engine::list::Whose;
use handover::office::Office;
use wire::json::{Value, object};
use work::conversation::{TurnOutput, TurnTail, shown_line};

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
            print(&indented(output(office, named).lines()?))?;
            print(&ending(named))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn output<'a>(office: &'a Office, named: &'a NamedTurn) -> TurnOutput<'a> {
    TurnOutput { state: &office.state, turn: &named.turn }
}

/// Prints the lines of a running turn (one run of an agent's program) as they come, until the turn ends.
async fn follow(office: &Office, named: &NamedTurn) -> anyhow::Result<()> {
    print(&[heading(named)])?;
    let mut tail = TurnTail::of(output(office, named));
    loop {
        let (lines, ended) = tail.read(office.desk.service()).await?;
        print(&indented(lines))?;
        if let Some(ended) = ended {
            return print(&ending(&ended));
        }
        tokio::time::sleep(LOOK).await;
    }
}

fn raw(office: &Office, named: &NamedTurn) -> anyhow::Result<()> {
    if let Some(mut file) = output(office, named).open() {
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
    let reason = ended.reason.as_deref().map(|reason| format!(": {}", shown_line(reason))).unwrap_or_default();
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
    let lines = output(office, named).lines()?.into_iter().map(Value::from).collect();
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
