//! `handover diff`: shows the changes of a task or a plan in git that wait for a person.

use std::io::{IsTerminal as _, Write as _};
use std::process::{ExitCode, Stdio};

use anstyle::{AnsiColor, Color, Style};
use base::people::delivered::short;
use base::people::task_choice::NamedWork;
use clap::Args;
use engine::delivery::DeliveryState;
use git::changes::ChangeDiff;
use handover::office::Office;
use spawn::{StartEnvironment, StartFolder};
use wire::json::{Value, object};
use wire::visible;
use work::shown::{ShownWork, shown};

use super::super::show::plain;
use super::super::table::screen_width;
use super::super::{say, say_json};
use super::choose::{ChoiceText, chosen_work};
use super::numbered;
use super::site::work_site;
use super::stat::stat;

pub(super) const HELP: &str = "\
The first lines say who did the work, from which commit it started, and whether your checks passed on it. Then follow the
changed files and the diff. At a terminal the diff is shown with $PAGER; elsewhere it is printed as git prints it, so that
`handover diff 1 | git apply` works.";

/// The program that shows long texts when the environment variable `PAGER` is not set.
const PAGER: &str = "less -FRX";

const CHOICE: ChoiceText<'_> =
    ChoiceText { command: "handover diff", nothing: "No finished work waits for you. Start your agents: handover run" };

#[derive(Debug, Args)]
pub(in crate::cli) struct DiffArguments {
    /// The task or plan: a number, a name, or the beginning of a name
    #[arg(value_name = "TASK|PLAN")]
    work: Option<String>,
    /// Show only the changed files with their numbers of lines
    #[arg(long, conflicts_with = "name_only")]
    stat: bool,
    /// Show only the names of the changed files
    #[arg(long)]
    name_only: bool,
    /// Print the facts and the diff as JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(office: &Office, asked: &DiffArguments) -> anyhow::Result<ExitCode> {
    let named = match chosen_work(office, asked.work.as_deref(), CHOICE).await? {
        Ok(named) => named,
        Err(code) => return Ok(code),
    };
    let site = match work_site(office).await? {
        Ok(site) => site,
        Err(code) => return Ok(code),
    };
    let Some(shown) = shown(&site, &named).await? else {
        eprintln!("{}", without_work(&named));
        return Ok(ExitCode::from(1));
    };
    if asked.name_only {
        shown.changes.list.iter().try_for_each(|file| say(&plain(&file.path)))?;
        return Ok(ExitCode::SUCCESS);
    }
    let diff = if asked.stat { None } else { Some(shown.diff(&site).await?) };
    if asked.json {
        say_json(&json(&shown, diff.as_ref()))?;
        return Ok(ExitCode::SUCCESS);
    }
    let head = head(&shown);
    match diff {
        Some(diff) => print(&head, &diff)?,
        None => say(head.trim_end())?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the sentence that tells a person that a task or plan has no finished work.
pub(super) fn without_work(named: &NamedWork) -> String {
    match named {
        NamedWork::Task(task) => format!(
            "{} has no finished work: it is {}. What happened: handover logs {}",
            numbered(task.number, &task.name).trim_start(),
            task.status().as_str().replace('_', " "),
            task.number
        ),
        NamedWork::Plan(plan) => format!(
            "The plan {} has no finished work yet: it is {}.",
            plain(&plan.name),
            plan.status.as_str().replace('_', " ")
        ),
    }
}

/// Returns the lines above the diff: who did the work, how it was checked, what the agent said, and the changed files.
fn head(shown: &ShownWork) -> String {
    let work = &shown.work;
    let title = work.number.map_or_else(|| format!("    {}", plain(&work.name)), |number| numbered(number, &work.name));
    let mut text = format!("{title}\n    {}\n    {}\n", plain(&work.origin()), plain(&work.checked()));
    match &work.state {
        DeliveryState::Waiting => {}
        DeliveryState::InPlan { commit } => text.push_str(&format!("    in its plan's branch at {}\n", short(commit))),
        DeliveryState::Merged { into, commit, .. } => {
            text.push_str(&format!("    merged into {} as {}\n", plain(into), short(commit)));
        }
        DeliveryState::Dropped { .. } => text.push_str("    dropped\n"),
    }
    if let Some(outcome) = &work.outcome {
        text.push_str(&format!("    \"{}\"\n", plain(&visible::redacted(outcome))));
    }
    format!("{text}\n{}", stat(&shown.changes, screen_width()))
}

fn json(shown: &ShownWork, diff: Option<&ChangeDiff>) -> Value {
    let Value::Object(mut members) = shown.work.to_value() else { return Value::Null };
    let row = |file: &git::changes::ChangedFile| {
        object([
            ("path", file.path.as_str().into()),
            ("old_path", file.old_path.clone().into()),
            ("added", file.added.into()),
            ("removed", file.removed.into()),
            ("binary", file.is_binary.into()),
        ])
    };
    members.push(("changed_files".to_owned(), Value::List(shown.changes.list.iter().map(row).collect())));
    if let Some(diff) = diff {
        members.push(("diff".to_owned(), String::from_utf8_lossy(&diff.bytes).into_owned().into()));
        members.push(("diff_is_cut".to_owned(), diff.is_cut.into()));
    }
    Value::Object(members)
}

/// Prints the diff. At a terminal it has colours and is shown in a pager; elsewhere it is printed byte for byte.
fn print(head: &str, diff: &ChangeDiff) -> anyhow::Result<()> {
    let cut = if diff.is_cut { "\nThe diff is longer; its end is not shown. Use git diff to see it.\n" } else { "" };
    if !std::io::stdout().is_terminal() {
        let mut out = std::io::stdout().lock();
        out.write_all(head.as_bytes())?;
        out.write_all(&diff.bytes)?;
        out.write_all(cut.as_bytes())?;
        return Ok(out.flush()?);
    }
    let text = format!("{head}{}{cut}", coloured(&String::from_utf8_lossy(&diff.bytes)));
    let is_plain = anstream::AutoStream::choice(&std::io::stdout()) == anstream::ColorChoice::Never;
    let text = if is_plain { anstream::adapter::strip_str(&text).to_string() } else { text };
    if page(&text).is_err() {
        write!(anstream::stdout(), "{text}")?;
    }
    Ok(())
}

/// Returns a diff with the usual colours. Hidden characters, which could deceive a person, are shown by their numbers,
/// such as `<U+202E>`.
fn coloured(diff: &str) -> String {
    let mut text = String::with_capacity(diff.len());
    for line in diff.lines() {
        let style = match line.as_bytes() {
            [b'+', b'+', b'+', b' ', ..] | [b'-', b'-', b'-', b' ', ..] => Style::new().bold(),
            [b'+', ..] => Style::new().fg_color(Some(Color::Ansi(AnsiColor::Green))),
            [b'-', ..] => Style::new().fg_color(Some(Color::Ansi(AnsiColor::Red))),
            [b'@', b'@', ..] => Style::new().fg_color(Some(Color::Ansi(AnsiColor::Cyan))),
            [b'd', b'i', b'f', b'f', b' ', ..] => Style::new().bold(),
            _ => Style::new(),
        };
        text.push_str(&format!("{style}{}{style:#}\n", visible::lines(line)));
    }
    text
}

/// Shows a text with the person's pager. Fails when the pager cannot be started.
fn page(text: &str) -> anyhow::Result<()> {
    let named = std::env::var("PAGER").ok().filter(|named| !named.trim().is_empty());
    let pager = named.unwrap_or_else(|| PAGER.to_owned());
    let mut command = spawn::command("sh", StartFolder::Own, StartEnvironment::Whole);
    let mut child = command.args(["-c", &pager]).stdin(Stdio::piped()).spawn()?;
    if let Some(mut input) = child.stdin.take() {
        // When the person quits the pager early, it closes its input. That is no failure.
        let _left_early = input.write_all(text.as_bytes());
    }
    let ended = child.wait()?;
    if ended.code() == Some(127) {
        anyhow::bail!("the pager is not installed");
    }
    Ok(())
}
