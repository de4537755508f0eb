//! `handover status --all`: what needs the person in all projects in which the person used Handover on this machine.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anstyle::Style;
use base::ground::local_time::LocalClock;
use base::people::attention::{self, AttentionItem};
use base::people::workload::{self, Workload};
use base::project::{known, place};
use handover::office::{self, Office};
use wire::json::{Value, object};
use wire::visible;

use super::super::show::{plain, without_secrets};
use super::super::table::{cut, screen_width};
use super::{ready, running};

/// The maximum number of items that are shown of one project. Further items are only counted.
const ITEMS_SHOWN: usize = 5;

/// A project with its state, or the reason why its state cannot be read.
struct ProjectState {
    root: PathBuf,
    found: Result<(Vec<AttentionItem>, Workload), String>,
}

pub(super) async fn run(office: &Office, json: bool) -> anyhow::Result<ExitCode> {
    let clock = LocalClock::here();
    let mut states = Vec::new();
    if let Some(root) = &office.place.root {
        states.push(ProjectState { root: root.clone(), found: read(office, &clock).await });
    }
    let data = place::data_folder();
    let others = data.as_deref().map(known::list).unwrap_or_default();
    for root in others.into_iter().filter(|root| Some(root) != office.place.root.as_ref()) {
        let found = match open(&root).await {
            Ok(other) => read(&other, &clock).await,
            Err(why) => Err(why),
        };
        states.push(ProjectState { root, found });
    }
    let mut out = anstream::stdout().lock();
    if json {
        let value = object([("projects", Value::List(states.iter().map(value).collect()))]);
        writeln!(out, "{}", visible::json(&without_secrets(&value).to_string()))?;
    } else {
        write!(out, "{}", text(&states, screen_width()))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Opens the store of another project. Creates no store.
async fn open(root: &Path) -> Result<Office, String> {
    if !root.is_dir() {
        return Err("the folder is gone".to_owned());
    }
    let place = office::find_from(None, Some(root)).map_err(|closed| closed.to_string())?;
    let file = Path::new(place.store.strip_prefix("sqlite:").unwrap_or(&place.store));
    if !place.store.contains("://") && !file.exists() {
        return Err("it has no store any more".to_owned());
    }
    office::open_from(None, Some(root)).await.map_err(|closed| {
        let cause = std::error::Error::source(&closed).map(|cause| format!(": {cause}")).unwrap_or_default();
        format!("{closed}{cause}")
    })
}

async fn read(office: &Office, clock: &LocalClock) -> Result<(Vec<AttentionItem>, Workload), String> {
    handover::keeper::once(&office.desk).await;
    let service = office.desk.service();
    let data = base::project::place::data_folder();
    let around = handover::attention::surroundings(office.place.root.as_deref(), data.as_deref());
    let facts = attention::gather(service, &around).await.map_err(|error| error.to_string())?;
    let work = workload::read(service, clock.today()).await.map_err(|error| error.to_string())?;
    Ok((attention::items(&facts, clock), work))
}

fn text(states: &[ProjectState], width: usize) -> String {
    let bold = Style::new().bold();
    let mut lines = Vec::new();
    for state in states {
        let name = state.root.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let (items, work) = match &state.found {
            Ok(found) => found,
            Err(why) => {
                lines.push(cut(&format!("Skipped {}: {}", plain(&state.root.to_string_lossy()), plain(why)), width));
                lines.push(String::new());
                continue;
            }
        };
        let head = cut(&format!("{}  {}", plain(&name), plain(&state.root.to_string_lossy())), width);
        lines.push(format!("{bold}{head}{bold:#}"));
        lines.push(format!("  {}", counts(items, work)));
        let open: Vec<&AttentionItem> = items.iter().filter(|item| !item.is_put_off()).collect();
        for item in open.iter().take(ITEMS_SHOWN) {
            let number = item.task.as_ref().map(|task| task.number.to_string()).unwrap_or_default();
            lines.push(cut(&format!("{number:>5}  {}", plain(&item.headline)), width));
        }
        if open.len() > ITEMS_SHOWN {
            lines.push(format!("       {} more", open.len() - ITEMS_SHOWN));
        }
        lines.push(String::new());
    }
    if states.is_empty() {
        lines.push("No project is known on this machine. Start in the folder of one: handover init".to_owned());
    }
    lines.join("\n").trim_end().to_owned() + "\n"
}

/// Returns the state of a project in one line: `2 need you, 1 put off, 1 running, 3 ready, 4 done today`.
fn counts(items: &[AttentionItem], work: &Workload) -> String {
    let put_off = items.iter().filter(|item| item.is_put_off()).count();
    let need = match items.len() - put_off {
        0 => "nothing needs you".to_owned(),
        1 => "1 needs you".to_owned(),
        more => format!("{more} need you"),
    };
    let need = if put_off == 0 { need } else { format!("{need}, {put_off} put off") };
    let can_start = work.ready.iter().filter(|row| row.after.is_empty()).count();
    let stalled = (!work.stalled.is_empty()).then(|| format!(", {} stalled", work.stalled.len()));
    let (running, done) = (work.running.len(), work.done.len());
    format!("{need}, {running} running, {can_start} ready, {done} done today{}", stalled.unwrap_or_default())
}

fn value(state: &ProjectState) -> Value {
    let path = state.root.to_string_lossy();
    match &state.found {
        Ok((items, work)) => object([
            ("path", path.as_ref().into()),
            ("items", Value::List(items.iter().map(AttentionItem::to_value).collect())),
            ("running", Value::List(work.running.iter().map(running).collect())),
            ("ready", Value::List(work.ready.iter().map(ready).collect())),
            ("done_today", u64::try_from(work.done.len()).unwrap_or(u64::MAX).into()),
        ]),
        Err(why) => object([("path", path.as_ref().into()), ("skipped", why.as_str().into())]),
    }
}
