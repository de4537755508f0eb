//! `handover answer`: answers the question of an agent that waits for a person.

use std::process::ExitCode;

use base::people::answers;
use base::people::task_choice::TaskPurpose;
use clap::Args;
use engine::Rights;
use engine::list::MessageQuery;
use handover::office::Office;

use super::super::show::{plain, refused};
use super::super::{say, say_json};
use super::choose::{ChoiceText, chosen_task};
use super::numbered;
use super::send_back::agent_of;

/// The number of a task's newest questions among which the command looks for an open question.
const QUESTIONS_MAX: u32 = 50;

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
    let service = office.desk.service();
    let questions = service.ask(MessageQuery::QuestionsOfTask { task: task.id, limit: QUESTIONS_MAX }).await?;
    // Answer the oldest open question first, because the agent asked it first.
    let Some(question) = questions.into_iter().rev().find(engine::inbox::Message::is_open_question) else {
        eprintln!("{} asks nothing: it is {}.", numbered(task.number, &task.name).trim_start(), task.status());
        return Ok(ExitCode::from(1));
    };
    let text = asked.text.clone().unwrap_or_default();
    let agent = agent_of(office, &task).await?;
    match answers::answer(service, Rights::Person, question.id, text).await {
        Ok(value) if asked.json => say_json(&value)?,
        Ok(_) => {
            let agent = agent.map_or_else(|| "the agent".to_owned(), |agent| plain(&agent));
            say(&numbered(task.number, &format!("answered; {agent} continues with the next run")))?;
        }
        Err(error) => return refused("answer", error, asked.json),
    }
    Ok(ExitCode::SUCCESS)
}
