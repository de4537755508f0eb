//! Shows the changes that a setup plans: as differences for a person, or as JSON for a program.

use std::path::Path;

use serde_json::{Value, json};

use super::client::ClientProgram;
use super::plan::{Edit, SetupPlan, SetupReach, SetupSurroundings};
use wire::visible::{is_hidden, redacted};

/// The largest number of characters that are shown of a changed line. A longer line is cut: in a generated file, one
/// line may be the full text.
const LINE_CHARS_MAX: usize = 300;

/// The choice between coloured and plain output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ink {
    Plain,
    Coloured,
}

/// The way in which setup changes a client's file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    Created,
    Changed,
    Deleted,
    Unchanged,
}

impl Action {
    pub fn of(edit: &Edit) -> Self {
        match (&edit.before, &edit.after) {
            (before, after) if before == after => Self::Unchanged,
            (None, _) => Self::Created,
            (_, None) => Self::Deleted,
            (Some(_), Some(_)) => Self::Changed,
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Changed => "changed",
            Self::Deleted => "deleted",
            Self::Unchanged => "unchanged",
        }
    }
}

/// Returns the change of a file in the unified diff format. The text is empty when nothing changes.
pub fn diff(edit: &Edit) -> String {
    let name = edit.path.display().to_string();
    let text = base::ground::difference::unified(&name, edit.before.as_deref(), edit.after.as_deref());
    text.lines().map(|line| veil(line) + "\n").collect()
}

/// Returns all planned changes of a setup as text for a person.
pub(super) fn text(plan: &SetupPlan, around: &SetupSurroundings, ink: Ink) -> String {
    let mut out = String::new();
    for edit in &plan.edits {
        let (path, about, action) = (short(&edit.path, around), edit.about, Action::of(edit).as_str());
        out.push_str(&format!("{action:<9} {path} ({about})\n"));
    }
    for edit in plan.edits.iter().filter(|edit| edit.changes()) {
        out.push('\n');
        for line in diff(edit).lines() {
            out.push_str(&paint(line, ink));
            out.push('\n');
        }
    }
    out
}

/// Returns all planned changes of a setup as JSON for a program.
pub(super) fn json(client: ClientProgram, reach: SetupReach, plan: &SetupPlan, applied: bool) -> Value {
    let change = |edit: &Edit| {
        let action = Action::of(edit).as_str();
        json!({"path": edit.path.display().to_string(), "action": action, "diff": diff(edit)})
    };
    let changes = plan.edits.iter().map(change).collect::<Vec<_>>();
    json!({"client": client.as_str(), "reach": reach.as_str(), "changes": changes, "applied": applied})
}

/// Returns a short path: relative to the project, or with `~` for the home folder.
fn short(path: &Path, around: &SetupSurroundings) -> String {
    if let Ok(inside) = path.strip_prefix(&around.root) {
        return inside.display().to_string();
    }
    match around.home.as_ref().and_then(|home| path.strip_prefix(home).ok()) {
        Some(inside) => format!("~/{}", inside.display()),
        None => path.display().to_string(),
    }
}

fn paint(line: &str, ink: Ink) -> String {
    let colour = match (ink, line.chars().next()) {
        (Ink::Coloured, Some('+')) => "32",
        (Ink::Coloured, Some('-')) => "31",
        (Ink::Coloured, Some('@')) => "36",
        (Ink::Coloured | Ink::Plain, _) => return line.to_owned(),
    };
    format!("\u{1b}[{colour}m{line}\u{1b}[0m")
}

/// Returns a line that is safe to show: hidden characters and secrets are replaced, and a line over the limit is cut.
fn veil(line: &str) -> String {
    let line = redacted(line);
    let clean = |c: char| if is_hidden(c) && c != '\t' { '\u{fffd}' } else { c };
    let mut shown = line.chars().take(LINE_CHARS_MAX).map(clean).collect::<String>();
    if line.chars().nth(LINE_CHARS_MAX).is_some() {
        shown.push_str(" …");
    }
    shown
}
