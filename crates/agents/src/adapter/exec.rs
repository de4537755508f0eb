//! Any program: one line of envelope in, whatever it prints out.

use super::account::{Account, Verdict};
use super::listener::Dialect;
use super::order::{Input, Launch, Order, Unlaunchable};

/// A repair or a resumption is a new start: the envelope says so itself, and there is no conversation.
pub(super) fn launch(order: &Order) -> Result<Launch, Unlaunchable> {
    let mut launch = order.start()?;
    launch.arguments.extend(order.args.iter().cloned());
    let prompt = launch.write(order, "prompt.md", order.system.clone())?;
    launch.set("HANDOVER_PROMPT", prompt);
    if let Some(input) = &order.input {
        let input = launch.write(order, "input.json", input.clone())?;
        launch.set("HANDOVER_INPUT", input);
    }
    let envelope = launch.write(order, "envelope.json", format!("{}\n", order.message.trim_end()))?;
    launch.input = Input::File(envelope.into());
    Ok(launch)
}

/// All of standard output is the answer. It has no events, so the exit code is all there is to believe.
#[derive(Debug, Default)]
pub(super) struct Output;

impl Dialect for Output {
    fn line(&mut self, line: &[u8], account: &mut Account) {
        account.block(&String::from_utf8_lossy(line));
    }

    fn verdict(&self, _: &str, _: &mut Account) -> Verdict {
        Verdict::Unsaid
    }
}
