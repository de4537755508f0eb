//! Decides which caller may run which command. Some commands need a person, and some need a person or a person's
//! script. Agents may run all other commands, with an agent's rights.

use clap::ArgMatches;
use engine::token::Scope;
use handover::person::{self, NotAPerson};
use handover::token;

use super::failure::CommandFailure;

/// The table of all commands and of the callers that may run them, one line per command.
const COMMANDS: &str = include_str!("commands.txt");

/// The callers that may run a command: only a person (`Deciding`), a person or a person's script (`Operating`), or any
/// caller, also an agent (`BelowAgent`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CommandList {
    Deciding,
    Operating,
    BelowAgent,
}

/// One line of the table that says which callers may run which command.
#[derive(Debug, Clone, PartialEq, Eq)]
struct CommandRow {
    list: CommandList,
    /// The words of the command with one space between them, such as `token create`.
    command: String,
    /// The option that must be typed for this line of the table of commands to apply, and the value that the option
    /// must have, if any.
    option: Option<(String, Option<String>)>,
}

impl CommandRow {
    fn parse(line: &'static str) -> Option<Self> {
        let mut words = line.split_ascii_whitespace();
        let list = match words.next()? {
            "decide" => CommandList::Deciding,
            "operate" => CommandList::Operating,
            "agent" => CommandList::BelowAgent,
            _ => return None,
        };
        let (options, command): (Vec<&str>, Vec<&str>) = words.partition(|word| word.starts_with("--"));
        let option = options.first().map(|option| {
            let (name, value) = option.split_once('=').map_or((*option, None), |(name, value)| (name, Some(value)));
            (name.trim_start_matches('-').to_owned(), value.map(str::to_owned))
        });
        Some(Self { list, command: command.join(" "), option })
    }

    fn is_for(&self, command: &str, matches: &ArgMatches) -> bool {
        self.command == command
            && self.option.as_ref().is_none_or(|(name, value)| was_given(matches, name, value.as_deref()))
    }
}

/// Tells whether an option was typed, if `value` is `None`. Otherwise tells whether the option has this value.
fn was_given(matches: &ArgMatches, name: &str, value: Option<&str>) -> bool {
    let id = name.replace('-', "_");
    match value {
        Some(value) => {
            let typed = matches.try_get_raw(&id).ok().flatten();
            typed.is_some_and(|mut typed| typed.next().is_some_and(|word| word == value) && typed.next().is_none())
        }
        None => matches.try_contains_id(&id).is_ok_and(|known| known) && typed_or_set(matches, &id),
    }
}

fn typed_or_set(matches: &ArgMatches, id: &str) -> bool {
    matches.value_source(id).is_some_and(|source| source != clap::parser::ValueSource::DefaultValue)
}

fn rows() -> impl Iterator<Item = CommandRow> {
    COMMANDS.lines().filter_map(CommandRow::parse)
}

/// Returns the words of the typed command, such as `token create`, and the options that were typed for it.
fn typed(matches: &ArgMatches) -> (String, &ArgMatches) {
    let (mut words, mut inner) = (Vec::new(), matches);
    while let Some((word, below)) = inner.subcommand() {
        words.push(word);
        inner = below;
    }
    (words.join(" "), inner)
}

/// Returns a [`CommandFailure`] if this process may not run the typed command. This runs before the command does
/// anything.
pub(super) fn check(matches: &ArgMatches) -> anyhow::Result<()> {
    let (command, inner) = typed(matches);
    let list = rows().find(|row| row.is_for(&command, inner)).map(|row| row.list);
    let store = matches.get_one::<String>("store").map(String::as_str);
    let judged = match list {
        Some(CommandList::BelowAgent) => Ok(()),
        Some(CommandList::Operating) | None => person::not_below(store),
        Some(CommandList::Deciding) => deciding(store)?,
    };
    let Err(stranger) = judged else { return Ok(()) };
    let mut text = stranger.to_string();
    if (command.as_str(), &stranger) == ("trust", &NotAPerson::NoTerminal) {
        text.push_str(
            "\na script of yours can accept the settings without a terminal: `handover trust --json` prints their \
             hash, and `handover trust --sha256 HASH` accepts them",
        );
    }
    Err(CommandFailure::by_text(&text).into())
}

/// Tells whether the caller of this command is a person: no agent started this process, and the process has a terminal
/// or a person's token.
pub(super) fn deciding(store: Option<&str>) -> anyhow::Result<Result<(), NotAPerson>> {
    if let Err(stranger) = person::not_below(store) {
        return Ok(Err(stranger));
    }
    if person::has_terminal() {
        return Ok(Ok(()));
    }
    let Some(secret) = person::secret() else { return Ok(Err(NotAPerson::NoTerminal)) };
    let found = super::runtime()?.block_on(async {
        let office = super::open_office(store).await?;
        anyhow::Ok(token::find(office.desk.service(), &secret).await?)
    })?;
    let is_person = found.is_some_and(|token| token.scope == Scope::Person);
    Ok(if is_person { Ok(()) } else { Err(NotAPerson::ForeignToken) })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Collects every command of the program, including commands below other commands, with the options of each
    /// command.
    fn commands(command: &clap::Command, above: &str, found: &mut Vec<(String, Vec<String>)>) {
        for inner in command.get_subcommands() {
            let name =
                if above.is_empty() { inner.get_name().to_owned() } else { format!("{above} {}", inner.get_name()) };
            commands(inner, &name, found);
            if crate::cli::help::runs_alone(inner) {
                let options = inner.get_arguments().filter_map(|argument| argument.get_long().map(str::to_owned));
                found.push((name, options.collect()));
            }
        }
    }

    #[test]
    fn every_command_is_on_a_list_and_every_line_names_a_command() {
        let mut all = Vec::new();
        commands(&crate::cli::whole(), "", &mut all);
        let lines = COMMANDS.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).count();
        assert_eq!(rows().count(), lines, "a line that is no row");
        let plain: Vec<String> = rows().filter(|row| row.option.is_none()).map(|row| row.command).collect();
        let known: BTreeSet<&String> = all.iter().map(|(name, _)| name).collect();
        let listed: BTreeSet<&String> = plain.iter().collect();
        assert_eq!(listed, known, "a command is missing from commands.txt, or a line names none");
        assert_eq!(plain.len(), listed.len(), "a command has one line without options");
        for row in rows() {
            let Some((option, _)) = &row.option else { continue };
            let has = |(name, options): &(String, Vec<String>)| *name == row.command && options.contains(option);
            assert!(all.iter().any(has), "{} has no --{option}", row.command);
        }
    }

    #[test]
    fn options_choose_the_list() {
        let list = |line: &str| {
            let words = std::iter::once("handover").chain(line.split(' '));
            let matches =
                crate::cli::whole().try_get_matches_from(words).unwrap_or_else(|error| panic!("{line}: {error}"));
            let (command, inner) = typed(&matches);
            rows().find(|row| row.is_for(&command, inner)).map(|row| row.list)
        };
        let cases = [
            ("token create amy", CommandList::Operating),
            ("token create amy --scope agent", CommandList::Operating),
            ("token create amy --scope=person", CommandList::Deciding),
            ("token create amy --scope coordinator", CommandList::Deciding),
            ("token create amy --scope admin", CommandList::Deciding),
            ("trust", CommandList::Deciding),
            ("trust --sha256 00", CommandList::Operating),
            ("trust --json", CommandList::BelowAgent),
            ("trust --json --sha256 00", CommandList::Operating),
            ("setup codex", CommandList::Operating),
            ("setup codex --print", CommandList::BelowAgent),
            ("--store x approval approve ap_0123456789ab", CommandList::Deciding),
            ("inbox read", CommandList::BelowAgent),
            ("inbox reply msg_0123456789ab x", CommandList::Deciding),
        ];
        for (line, expected) in cases {
            assert_eq!(list(line), Some(expected), "{line}");
        }
    }
}
