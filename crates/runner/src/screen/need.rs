//! The things that a person has to do after a run, each with the commands that do it.

use base::ground::local_time::LocalClock;
use base::people::attention::{AttentionAct, AttentionCause, AttentionFact, AttentionItem, items};

use super::fit;

/// The blanks before the commands of a need, and between two commands.
const INDENT: &str = "    ";
const BETWEEN: &str = "   ";

/// One thing that a person has to do, with the commands that do it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PersonNeed {
    pub number: Option<u32>,
    pub text: String,
    /// The commands from which the person chooses one. The first command is the one that a person most likely wants.
    pub commands: Vec<String>,
    /// True when the person has to start a run again after the first command, so that the work continues.
    pub runs_again: bool,
}

impl PersonNeed {
    /// Returns the thing that a person has to do about a stopped task. Returns `None` for a fact that stops no agent,
    /// such as finished work that waits for its merge.
    pub fn of(fact: &AttentionFact, clock: &LocalClock) -> Option<Self> {
        let item: AttentionItem = items(std::slice::from_ref(fact), clock).into_iter().next()?;
        if !item.stops_agents {
            return None;
        }
        let label = item.task.as_ref()?;
        let text = match &fact.cause {
            AttentionCause::Question { text, .. } => text.clone(),
            AttentionCause::Stuck { why } => format!("{} {why}", label.name),
            AttentionCause::Approval { .. }
            | AttentionCause::AgentRests { .. }
            | AttentionCause::SetupFailed { .. }
            | AttentionCause::SettingsChanged { .. }
            | AttentionCause::CheckFailed { .. }
            | AttentionCause::Conflict { .. }
            | AttentionCause::NoChanges { .. }
            | AttentionCause::TipFailed { .. }
            | AttentionCause::CheckChanged { .. }
            | AttentionCause::Budget { .. }
            | AttentionCause::Blocked { .. }
            | AttentionCause::Failed { .. }
            | AttentionCause::Finding { .. }
            | AttentionCause::Merge { .. }
            | AttentionCause::Baseline { .. } => item.headline.clone(),
        };
        let runs_again = item.acts.first().is_some_and(|act: &AttentionAct| matches!(act.name, "answer" | "retry"));
        let commands = item.acts.into_iter().map(|act| act.command).collect();
        Some(Self { number: Some(label.number), text, commands, runs_again })
    }

    /// Returns the thing to do as lines of at most this width: the text, then as many commands as fit into one line.
    pub(super) fn lines(&self, width: usize) -> Vec<String> {
        let number = self.number.map(|number| number.to_string()).unwrap_or_default();
        let text = self.text.split_whitespace().collect::<Vec<_>>().join(" ");
        let mut lines = vec![format!("{number:>2}  {}", fit(&text, width.saturating_sub(4)))];
        let Some((first, others)) = self.commands.split_first() else { return lines };
        let mut line = format!("{INDENT}{first}");
        if self.runs_again {
            line.push_str("          then: handover run");
        } else {
            for command in others {
                let longer = format!("{line}{BETWEEN}{command}");
                if longer.chars().count() <= width {
                    line = longer;
                }
            }
        }
        lines.push(line);
        lines
    }
}
