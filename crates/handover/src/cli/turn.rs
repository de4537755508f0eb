//! `handover turn`: shows turns, that is, single runs of agents' programs, and the results of their verification.

use std::io::Write as _;
use std::process::ExitCode;

use anyhow::Context as _;
use base::ground::objects;
use base::ground::words::{self, CostKnowledge};
use base::service::turns::{self, NamedTurn};
use clap::Subcommand;
use engine::id::{TurnId, WorkflowId};
use engine::list::Whose;
use engine::turn::Turn;
use handover::keeper;
use handover::office::Office;
use wire::json::{Object, Value, object};

use super::failure::CommandFailure;
use super::outline::outline;
use super::say;
use super::show::{refused, table};
use super::table::screen_width;
use super::work;

/// The maximum number of turns (runs of agents' programs) in a list. Older turns are left out, because people do not
/// read longer lists.
const ROWS: u32 = 200;

pub(super) const COLUMNS: [&str; 7] = ["id", "task", "agent", "status", "cost", "time", "said"];
/// The columns of the list on a wide screen, which has room for the tokens.
const WIDE_COLUMNS: [&str; 8] = ["id", "task", "agent", "status", "cost", "tokens", "time", "said"];
/// The width of a screen, in columns, from which the list shows the tokens.
const WIDE: usize = 120;

#[derive(Debug, Subcommand)]
pub(crate) enum TurnVerb {
    /// List turns, newest first: of a task, of a workflow, or of the newest workflows
    List {
        /// Only turns of this task: its number, its name or its id
        #[arg(long, conflicts_with = "workflow")]
        task: Option<String>,
        /// Only turns of this workflow, such as wf_0123456789ab
        #[arg(long)]
        workflow: Option<WorkflowId>,
        /// Print the list as JSON
        #[arg(long)]
        json: bool,
    },
    /// Show one turn: its text, its calls, its cost, its end, and the verification of its output
    Show {
        /// The id of the turn, such as tn_0123456789ab
        id: TurnId,
        /// Print the turn as JSON
        #[arg(long)]
        json: bool,
        /// Print the full output of the turn's program, byte for byte
        #[arg(long, conflicts_with = "json")]
        stream: bool,
    },
}

pub(super) async fn run(office: &Office, verb: TurnVerb) -> anyhow::Result<ExitCode> {
    keeper::once(&office.desk).await;
    match verb {
        TurnVerb::List { task, workflow, json } => {
            let task = match task {
                Some(named) => match work::task_id(office, &named).await? {
                    Ok(task) => Some(task),
                    Err(code) => return Ok(code),
                },
                None => None,
            };
            list(office, task.map(Whose::Task).or(workflow.map(Whose::Workflow)), json).await
        }
        TurnVerb::Show { id, stream: true, .. } => stream(office, id).await,
        TurnVerb::Show { id, json, .. } => one(office, id, json).await,
    }
}

async fn list(office: &Office, whose: Option<Whose>, json: bool) -> anyhow::Result<ExitCode> {
    let found = match turns::list(office.desk.service(), whose, ROWS).await {
        Ok(found) => found,
        Err(error) => return refused("turn", error, json),
    };
    if json {
        let rows = found.iter().map(|named| turns::row(named, |stream| objects::has(&office.state, stream)));
        say(&object([("turns", Value::List(rows.collect()))]).to_string())?;
    } else if found.is_empty() {
        say("there are no turns; `handover run` starts them")?;
    } else {
        let rows: Vec<Value> = found.iter().map(line).collect();
        let columns: &[&str] = if screen_width() < WIDE { &COLUMNS } else { &WIDE_COLUMNS };
        say(&table(columns, &rows))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn line(named: &NamedTurn) -> Value {
    let row = turns::row(named, |_| true);
    let part = |name: &str| row.get(name).cloned().unwrap_or(Value::Null);
    let ended = named.turn.ended();
    let said = row.get("verdict").and_then(|verdict| verdict.get("summary")).cloned();
    object([
        ("id", part("id")),
        ("task", named.task.clone().unwrap_or_else(|| named.turn.task.to_string()).into()),
        ("agent", named.agent.clone().into()),
        ("status", part("status")),
        ("cost", ended.map(|ended| cost(&named.turn, ended.spent.usd_micros)).into()),
        ("tokens", ended.and_then(|ended| words::tokens(ended.spent)).into()),
        ("time", ended.map(|ended| words::stopwatch(ended.spent.ms)).into()),
        ("said", said.unwrap_or_else(|| part("reason"))),
    ])
}

/// Returns the cost of a turn for the column `cost`, such as `$0.42`, `≥ $0.42` or `unknown`.
fn cost(turn: &Turn, usd_micros: Option<u64>) -> String {
    match (usd_micros, CostKnowledge::of(turn)) {
        (None, _) => "unknown".to_owned(),
        (Some(micros), CostKnowledge::Complete) => words::usd(micros),
        (Some(micros), CostKnowledge::AtLeast) => format!("≥ {}", words::usd(micros)),
    }
}

async fn one(office: &Office, id: TurnId, json: bool) -> anyhow::Result<ExitCode> {
    let (named, verified) = match turns::show(office.desk.service(), id).await {
        Ok(found) => found,
        Err(error) => return refused("turn", error, json),
    };
    let mut row = turns::row(&named, |stream| objects::has(&office.state, stream));
    if let Value::Object(members) = &mut row {
        members.extend(replayed(office, &named).await);
        members.push(("verifications".to_owned(), Value::List(verified.iter().map(turns::verification).collect())));
    }
    if json {
        say(&row.to_string())?;
    } else if let Value::Object(members) = &mut row {
        in_words(&named.turn, members);
        say(outline(members.iter()).trim_end())?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Replaces the numbers of a turn's cost by words for people: `$0.12, 12,400 tokens in, 900 out, 3 s, 1 turn`.
fn in_words(turn: &Turn, members: &mut Object) {
    let Some(ended) = turn.ended() else { return };
    for (_, value) in members.iter_mut().filter(|(name, _)| name == "spent") {
        *value = words::spent(ended.spent, CostKnowledge::of(turn)).into();
    }
}

/// Returns the text and the tool calls of a turn, from the stored output of its program. Returns nothing if this output
/// is missing or damaged.
async fn replayed(office: &Office, named: &NamedTurn) -> Vec<(String, Value)> {
    let Some(stream) = named.turn.ended().and_then(|ended| ended.stream.clone()) else { return Vec::new() };
    let (state, adapter) = (office.state.clone(), named.turn.adapter.clone());
    let heard =
        tokio::task::spawn_blocking(move || agents::adapter::replay(&adapter, objects::get(&state, &stream)?)).await;
    let Ok(Ok((said, calls))) = heard else { return Vec::new() };
    let times = |(name, times): (String, u32)| {
        if times == 1 { name } else { format!("{name} ({})", words::count(times, "time")) }
    };
    let calls = calls.into_iter().map(|call| Value::from(times(call))).collect();
    vec![("said".to_owned(), said.trim_end().into()), ("called".to_owned(), Value::List(calls))]
}

async fn stream(office: &Office, id: TurnId) -> anyhow::Result<ExitCode> {
    let (named, _) = match turns::show(office.desk.service(), id).await {
        Ok(found) => found,
        Err(error) => return refused("turn", error, false),
    };
    let Some(stream) = named.turn.ended().and_then(|ended| ended.stream.clone()) else {
        let text = format!("OUTPUT_NOT_KEPT the output of {id} was not kept; `handover turn show {id}` shows the rest");
        return Err(CommandFailure::by_text(&text).into());
    };
    let state = office.state.clone();
    tokio::task::spawn_blocking(move || {
        let mut kept =
            objects::get(&state, &stream).with_context(|| format!("open the stored output {}", stream.hash))?;
        let mut out = std::io::stdout().lock();
        std::io::copy(&mut kept, &mut out).with_context(|| format!("print the stored output {}", stream.hash))?;
        Ok::<_, anyhow::Error>(out.flush()?)
    })
    .await??;
    Ok(ExitCode::SUCCESS)
}
