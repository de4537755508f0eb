//! Runs any program as an agent. The program's input is either the envelope (one line of JSON that describes the turn)
//! or the goal as plain text. All of its output is the answer.

use super::account::{Account, EventVerdict};
use super::listener::EventDialect;
use super::order::{ProgramInput, ProgramLaunch, TurnOrder, Unlaunchable};

/// Returns the launch (the command line and the files) of a program. The program remembers no conversation, so every
/// turn (a run of the program) starts from the beginning, even a turn that repairs an answer or resumes work. Its
/// input, the envelope, tells the program which kind of turn it is.
pub(super) fn launch(order: &TurnOrder) -> Result<ProgramLaunch, Unlaunchable> {
    let mut launch = order.start()?;
    launch.arguments.extend(order.args.iter().cloned());
    let prompt = launch.write(order, "prompt.md", order.system.clone())?;
    launch.set("HANDOVER_PROMPT", prompt);
    if let Some(input) = &order.input {
        let input = launch.write(order, "input.json", input.clone())?;
        launch.set("HANDOVER_INPUT", input);
    }
    let text = format!("{}\n", order.message.trim_end());
    let input = if order.is_plain {
        let goal = launch.write(order, "goal.txt", text)?;
        launch.set("HANDOVER_GOAL_FILE", goal.clone());
        goal
    } else {
        launch.write(order, "envelope.json", text)?
    };
    launch.input = ProgramInput::File(input.into());
    Ok(launch)
}

/// A reader that takes all of standard output as the answer. The output has no events, so only the exit code tells how
/// the turn (the run of the program) ended.
#[derive(Debug, Default)]
pub(super) struct ExecOutput;

impl EventDialect for ExecOutput {
    fn line(&mut self, line: &[u8], account: &mut Account) {
        account.block(&String::from_utf8_lossy(line));
    }

    fn verdict(&self, _: &str, _: &mut Account) -> EventVerdict {
        EventVerdict::Unsaid
    }
}
