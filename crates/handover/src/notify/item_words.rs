//! The texts of notices about items (things that need a person) and about the end of a run.

use base::people::attention::AttentionItem;
use wire::json::{Value, object};

/// The facts about the end of a run that a notice tells people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunEndNotice {
    /// The name of the run, which no other run of this store has.
    pub run: String,
    /// The result in one line, such as `Done in 4 min: 2 tasks, both checked.`
    pub text: String,
}

/// One notice as people see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NoticeText {
    pub(super) title: String,
    pub(super) body: String,
}

impl NoticeText {
    /// Returns the notice about new items. `all` is the number of all items that need a person, including the items
    /// about which people were already told.
    pub(super) fn of_items(repository: &str, new: &[&AttentionItem], all: usize) -> Self {
        let body = match new {
            [item] => item.title.clone(),
            _ => format!("{} things need you", all.max(new.len())),
        };
        Self { title: title(repository), body }
    }

    pub(super) fn of_end(repository: &str, end: &RunEndNotice) -> Self {
        Self { title: title(repository), body: end.text.clone() }
    }
}

fn title(repository: &str) -> String {
    format!("Handover · {repository}")
}

/// Returns the notice about items as one line of JSON, for the command and the webhook of the settings.
pub(super) fn items_body(repository: &str, new: &[&AttentionItem], text: &NoticeText) -> String {
    let told = object([
        ("type", "items.waiting".into()),
        ("repository", repository.into()),
        ("text", text.body.as_str().into()),
        ("items", Value::List(new.iter().map(|item| item.to_value()).collect())),
        ("look", "handover status".into()),
    ]);
    told.to_string()
}

/// Returns the notice about the end of a run as one line of JSON.
pub(super) fn end_body(repository: &str, end: &RunEndNotice) -> String {
    let told = object([
        ("type", "run.ended".into()),
        ("repository", repository.into()),
        ("text", end.text.as_str().into()),
        ("look", "handover status".into()),
    ]);
    told.to_string()
}
