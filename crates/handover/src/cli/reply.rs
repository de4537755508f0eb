//! `handover inbox reply`: a person answers an agent. It is only a command and no MCP tool, so that no agent can answer
//! in a person's name.

use std::process::ExitCode;

use base::people::answers;
use clap::{ArgMatches, Args, Command, FromArgMatches};
use engine::Rights;
use engine::id::MessageId;
use handover::keeper;
use handover::office::Office;
use wire::json::Value;

use super::show::refused;
use super::{say, say_json};

/// The word after `handover` in the command `handover inbox reply`. The other commands that begin with `handover inbox`
/// call tools.
pub(super) const NOUN: &str = "inbox";
const VERB: &str = "reply";

#[derive(Debug, Args)]
pub(crate) struct ReplyAnswer {
    /// The id of the message, such as msg_0123456789ab
    message: MessageId,
    /// The answer to the agent
    text: String,
    /// Print the reply as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn command() -> Command {
    ReplyAnswer::augment_args(Command::new(VERB).about("Answer an agent's question, so that its task continues"))
}

/// Returns the arguments of `handover inbox reply`; `None` when another command was typed.
pub(super) fn asked(matches: &ArgMatches) -> Option<ReplyAnswer> {
    let (_, inner) = matches.subcommand().filter(|(noun, _)| *noun == NOUN)?;
    let (_, inner) = inner.subcommand().filter(|(verb, _)| *verb == VERB)?;
    Some(ReplyAnswer::from_arg_matches(inner).unwrap_or_else(|error| error.exit()))
}

pub(super) async fn run(office: &Office, asked: ReplyAnswer) -> anyhow::Result<ExitCode> {
    keeper::once(&office.desk).await;
    let ReplyAnswer { message, text, json } = asked;
    match answers::answer(office.desk.service(), Rights::Person, message, text).await {
        Ok(value) if json => say_json(&value)?,
        Ok(value) => {
            let word = |name: &str| value.get(name).and_then(Value::as_text);
            let task = word("task_id").zip(word("task_status"));
            let task = task.map(|(task, status)| format!("; {task} is {status}")).unwrap_or_default();
            say(&format!("answered{task}"))?;
        }
        Err(error) => return refused("inbox", error, json),
    }
    Ok(ExitCode::SUCCESS)
}
