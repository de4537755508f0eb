//! `handover answer`: answers the question of an agent that waits for a person.

use std::process::ExitCode;

use base::people::task_choice::TaskPurpose;
use clap::Args;
use engine::Rights;
use handover::office::Office;
use work::answer::{GivenAnswer, answer};

use super::super::show::{plain, refused};
use super::super::{say, say_json};
use super::choose::{ChoiceText, chosen_task};
use super::numbered;

const CHOICE: ChoiceText<'_> =
    ChoiceText { command: "handover answer", nothing: "No agent asks anything. Messages: handover inbox list" };

#[derive(Debug, Args)]
#[command(allow_missing_positional = true)]
pub(in crate::cli) struct AnswerArguments {
    /// The task that asks: its number, its name, or the beginning of its name
    task: Option<String>,
    /// Your answer, in quotes
    #[arg(required = true)]
    text: Option<String>,
    /// Print the reply as JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(office: &Office, asked: &AnswerArguments) -> anyhow::Result<ExitCode> {
    let task = match chosen_task(office, asked.task.as_deref(), TaskPurpose::Answer, CHOICE).await? {
        Ok(task) => task,
        Err(code) => return Ok(code),
    };
    let text = asked.text.clone().unwrap_or_default();
    match answer(office.desk.service(), Rights::Person, &task, text).await {
        Ok(None) => {
            eprintln!("{} asks nothing: it is {}.", numbered(task.number, &task.name).trim_start(), task.status());
            return Ok(ExitCode::from(1));
        }
        Ok(Some(GivenAnswer { reply, .. })) if asked.json => say_json(&reply)?,
        Ok(Some(GivenAnswer { agent, .. })) => {
            let agent = agent.map_or_else(|| "the agent".to_owned(), |agent| plain(&agent));
            say(&numbered(task.number, &format!("answered; {agent} continues with the next run")))?;
        }
        Err(error) => return refused("answer", error, asked.json),
    }
    Ok(ExitCode::SUCCESS)
}
