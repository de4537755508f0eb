//! `handover log`: shows the log of events, follows it, and checks whether an entry was changed afterwards.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use base::ground::words::count;
use clap::Subcommand;
use store::{Cursor, Entry, Head, Store};
use wire::json::Value;

use super::outline::scalar;
use super::say;
use super::show::plain;

#[derive(Debug, Subcommand)]
pub(crate) enum LogVerb {
    /// Show the last entries of the log; with --follow, also new entries
    Tail {
        /// Show only this topic, such as workflows/wf_0123456789ab or agents/quinn
        #[arg(long)]
        topic: Option<String>,
        /// The number of last entries to show
        #[arg(long, short = 'n', default_value_t = 20)]
        lines: u32,
        /// Continue with new entries until you press Ctrl-C
        #[arg(long, short)]
        follow: bool,
        /// Print entries as JSON lines, with their cursor
        #[arg(long)]
        json: bool,
    },
    /// Compute every hash again, and name the first entry that was changed, removed, inserted or moved
    Verify {
        /// A file with the output of an earlier `handover log head`; with it, a rewritten or shortened log is found,
        /// too
        #[arg(long)]
        heads: Option<PathBuf>,
        /// Print the result as JSON
        #[arg(long)]
        json: bool,
    },
    /// Print the last number and hash of every topic as JSON lines; save them elsewhere for `log verify --heads`
    Head,
}

pub(super) async fn run(store: &dyn Store, verb: LogVerb) -> anyhow::Result<ExitCode> {
    match verb {
        LogVerb::Tail { topic, lines, follow, json } => tail(store, topic, lines, follow, json).await,
        LogVerb::Verify { heads, json } => verify(store, heads, json).await,
        LogVerb::Head => head(store).await,
    }
}

/// The maximum number of log entries that one call of the store returns. A loop reads the following entries.
const PAGE: u32 = 500;

async fn tail(
    store: &dyn Store,
    topic: Option<String>,
    lines: u32,
    follow: bool,
    json: bool,
) -> anyhow::Result<ExitCode> {
    let mut bell = store.watch();
    let wanted = |entry: &Entry| topic.as_ref().is_none_or(|topic| *topic == entry.topic);
    let mut last: std::collections::VecDeque<(Entry, Cursor)> = std::collections::VecDeque::new();
    let mut cursor = Cursor::default();
    loop {
        let page = store.follow(cursor, PAGE).await?;
        let whole = page.entries.len() < usize::try_from(PAGE)?;
        cursor = page.next;
        for (entry, place) in page.entries.into_iter().zip(page.places).filter(|(entry, _)| wanted(entry)) {
            last.push_back((entry, place));
            if last.len() > usize::try_from(lines)? {
                last.pop_front();
            }
        }
        if whole {
            break;
        }
    }
    last.iter().try_for_each(|(entry, place)| print(entry, *place, json))?;
    if !follow {
        return Ok(ExitCode::SUCCESS);
    }
    loop {
        bell.changed(Duration::from_secs(30)).await;
        let page = store.follow(cursor, PAGE).await?;
        cursor = page.next;
        for (entry, place) in page.entries.iter().zip(page.places).filter(|(entry, _)| wanted(entry)) {
            print(entry, place, json)?;
        }
    }
}

fn print(entry: &Entry, place: Cursor, json: bool) -> anyhow::Result<()> {
    if json {
        let mut value = serde_json::to_value(entry)?;
        value["cursor"] = place.to_string().into();
        // Print the entry's body as a JSON value. It is stored as JSON text, and would otherwise be printed as a quoted
        // string.
        value["body"] = serde_json::from_str(&entry.body).unwrap_or_default();
        return say(&value.to_string());
    }
    let at = wire::time::DateTime::from_timestamp(entry.at).map(|at| at.to_string()).unwrap_or_default();
    let body: String = parts(&entry.body).chars().take(160).collect();
    say(&format!("{at} {} #{} {} by {}  {body}", plain(&entry.topic), entry.seq, entry.kind, plain(&entry.sender)))
}

/// Returns the body of an entry for people: each value with its name. The members of an inner object have names with
/// dots, such as `state.status`.
fn parts(body: &str) -> String {
    let mut parts = Vec::new();
    if let Ok(node) = wire::json::parse(body) {
        part("", &node.to_value(), &mut parts);
    }
    parts.join(", ")
}

fn part(name: &str, value: &Value, parts: &mut Vec<String>) {
    match value {
        Value::Null => {}
        Value::Object(members) => {
            for (inner, value) in members {
                let name = if name.is_empty() { inner.clone() } else { format!("{name}.{inner}") };
                part(&name, value, parts);
            }
        }
        Value::List(items) => items.iter().for_each(|item| part(name, item, parts)),
        Value::Bool(_) | Value::Number(_) | Value::Text(_) => {
            let last = name.rsplit('.').next().unwrap_or(name);
            parts.push(format!("{}: {}", plain(name), scalar(last, value)));
        }
    }
}

async fn verify(store: &dyn Store, heads: Option<PathBuf>, json: bool) -> anyhow::Result<ExitCode> {
    let kept = match heads {
        None => Vec::new(),
        Some(path) => {
            let text = std::fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
            let lines = text.lines().filter(|line| !line.trim().is_empty());
            lines
                .map(serde_json::from_str)
                .collect::<Result<Vec<Head>, _>>()
                .with_context(|| format!("read heads from {}", path.display()))?
        }
    };
    let verdict = store::verify(store, &kept).await?;
    let whole = verdict.findings.is_empty();
    if json {
        let findings: Vec<String> = verdict.findings.iter().map(ToString::to_string).collect();
        let value = serde_json::json!({
            "verified": whole, "entries": verdict.entries, "topics": verdict.topics, "findings": findings,
        });
        say(&value.to_string())?;
    } else {
        for finding in &verdict.findings {
            say(&finding.to_string())?;
        }
        if whole {
            let (entries, topics) = (count(verdict.entries, "entry"), count(verdict.topics, "topic"));
            say(&format!("verified {entries} of {topics}"))?;
        }
    }
    Ok(ExitCode::from(u8::from(!whole)))
}

async fn head(store: &dyn Store) -> anyhow::Result<ExitCode> {
    let mut after = String::new();
    loop {
        let heads = store.heads(after.clone(), 500).await?;
        let Some(last) = heads.last() else { return Ok(ExitCode::SUCCESS) };
        after.clone_from(&last.topic);
        for head in &heads {
            say(&serde_json::to_string(head)?)?;
        }
    }
}
