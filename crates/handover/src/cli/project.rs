//! `handover project`: shows the project context (the shared knowledge about the project, which agents write), and the
//! history of each section.

use std::process::ExitCode;

use base::service::sections;
use clap::Subcommand;
use handover::keeper;
use handover::office::Office;
use wire::json::{Value, object};

use super::outline::outline;
use super::say;
use super::show::{refused, table};

/// The maximum number of changes in the history of a section. Older changes are left out, because people do not read
/// longer lists.
const ROWS: u32 = 200;

pub(super) const COLUMNS: [&str; 5] = ["name", "version", "agent", "updated_at", "body"];

#[derive(Debug, Subcommand)]
pub(crate) enum ProjectVerb {
    /// List the sections of the project context, or show one
    Show {
        /// The name of the section
        section: Option<String>,
        /// Print the reply as JSON
        #[arg(long)]
        json: bool,
    },
    /// List the writes of a section, newest first: the author, the time, the task, the text before and after
    History {
        /// The name of the section
        section: String,
        /// Print the list as JSON
        #[arg(long)]
        json: bool,
    },
}

pub(super) async fn run(office: &Office, verb: ProjectVerb) -> anyhow::Result<ExitCode> {
    keeper::once(&office.desk).await;
    let service = office.desk.service();
    let (found, json) = match verb {
        ProjectVerb::Show { section: None, json } => (all(sections::list(service).await?, json), json),
        ProjectVerb::Show { section: Some(name), json } => (sections::show(service, &name).await, json),
        ProjectVerb::History { section, json } => {
            let found = sections::history(service, &section, ROWS).await;
            let whole = |rows| object([("section", section.as_str().into()), ("changes", Value::List(rows))]);
            (found.map(whole), json)
        }
    };
    match found {
        Ok(value) if json => say(&value.to_string())?,
        Ok(Value::Object(members)) => say(outline(members.iter()).trim_end())?,
        // A value that is not an object is a text, which the function `all` has rendered for people already.
        Ok(value) => say(value.as_text().unwrap_or_default())?,
        Err(error) => return refused("project", error, json),
    }
    Ok(ExitCode::SUCCESS)
}

fn all(rows: Vec<Value>, json: bool) -> Result<Value, base::Error> {
    Ok(if json {
        object([("sections", Value::List(rows))])
    } else if rows.is_empty() {
        "the project context is empty; agents write it with their handoffs".into()
    } else {
        table(&COLUMNS, &rows).into()
    })
}
