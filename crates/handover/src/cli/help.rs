//! The help of the program: the everyday commands, all commands in groups, and the help of one command. The groups are
//! in `groups.txt`.

use std::process::ExitCode;

use anstyle::Style;
use clap::Command;
use clap::error::ErrorKind;

use super::table::{display_width, screen_width};

/// The file that sorts the commands into groups for the help. It also has the help texts of the everyday commands.
const GROUPS: &str = include_str!("groups.txt");
/// The word that stands for all commands in `handover help all`.
const ALL: &str = "all";
/// The name of the first group of commands. `handover --help` shows only the commands of this group.
const EVERYDAY: &str = "Every day";

/// One group of commands, with its name as people read it.
#[derive(Debug, PartialEq, Eq)]
struct CommandGroup {
    name: &'static str,
    rows: Vec<GroupRow>,
}

/// One line of a group of commands in `groups.txt`. A line with `task` also covers `task claim` and all other commands
/// below `task`, except those that have a line of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct GroupRow {
    command: &'static str,
    /// The text that the help shows for the command. `None` when the help shows the command's own description.
    line: Option<&'static str>,
}

impl GroupRow {
    fn parse(line: &'static str) -> Self {
        let (command, line) =
            line.split_once("  ").map_or((line, None), |(command, line)| (command, Some(line.trim())));
        Self { command: command.trim(), line }
    }

    fn covers(&self, path: &str) -> bool {
        path.strip_prefix(self.command).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
    }
}

fn groups() -> Vec<CommandGroup> {
    let mut groups: Vec<CommandGroup> = Vec::new();
    for line in GROUPS.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let name = line.strip_prefix('[').and_then(|line| line.strip_suffix(']'));
        match (name, groups.last_mut()) {
            (Some(name), _) => groups.push(CommandGroup { name, rows: Vec::new() }),
            (None, Some(group)) => group.rows.push(GroupRow::parse(line)),
            (None, None) => {}
        }
    }
    groups
}

/// Returns the line of `groups.txt` that covers a command, and its group. If several lines cover the command, returns
/// the longest one.
fn row_of<'a>(groups: &'a [CommandGroup], path: &str) -> Option<(&'a CommandGroup, GroupRow)> {
    let rows = groups.iter().flat_map(|group| group.rows.iter().map(move |row| (group, *row)));
    rows.filter(|(_, row)| row.covers(path)).max_by_key(|(_, row)| row.command.len())
}

/// Tells whether a command does something without a further command below it.
pub(super) fn runs_alone(command: &Command) -> bool {
    !command.has_subcommands() || command.is_args_conflicts_with_subcommands_set()
}

/// Collects all commands that do something and are not hidden: the words of each, and its description.
fn leaves(command: &Command, above: &str, found: &mut Vec<(String, String)>) {
    let is_shown = |inner: &&Command| !inner.is_hide_set();
    for inner in command.get_subcommands().filter(is_shown) {
        let path = if above.is_empty() { inner.get_name().to_owned() } else { format!("{above} {}", inner.get_name()) };
        if runs_alone(inner) {
            found.push((path.clone(), inner.get_about().map(ToString::to_string).unwrap_or_default()));
        }
        leaves(inner, &path, found);
    }
}

/// Shows only the everyday commands in the help of the program.
pub(super) fn with_everyday(program: Command) -> Command {
    let bold = Style::new().bold().underline();
    let groups = groups();
    let everyday = groups.iter().find(|group| group.name == EVERYDAY);
    let rows = everyday.map(|group| group.rows.as_slice()).unwrap_or_default();
    let rows: Vec<(String, String)> =
        rows.iter().map(|row| (row.command.to_owned(), row.line.unwrap_or_default().to_owned())).collect();
    program.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{bold}{EVERYDAY}:{bold:#}\n{}\n\
         All commands: handover help all\nOne command:  handover help COMMAND\n\n\
         {bold}Options:{bold:#}\n{{options}}{{after-help}}",
        listed(&rows, usize::MAX)
    ))
}

/// Returns a list with two columns: commands and their descriptions. A description that does not fit the width
/// continues on the next line, in its own column.
fn listed(rows: &[(String, String)], width: usize) -> String {
    let first = rows.iter().map(|(command, _)| display_width(command)).max().unwrap_or(0);
    let indent = " ".repeat(first + 4);
    let mut text = String::new();
    for (command, about) in rows {
        let mut line = format!("  {command:<first$}  ");
        let mut is_new = true;
        for word in about.split_whitespace() {
            if !is_new && display_width(&line) + 1 + display_width(word) > width {
                text.push_str(&format!("{line}\n"));
                line.clone_from(&indent);
                is_new = true;
            }
            if !is_new {
                line.push(' ');
            }
            line.push_str(word);
            is_new = false;
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// Returns the list of all commands, in groups.
fn all(program: &Command, width: usize) -> String {
    let bold = Style::new().bold().underline();
    let groups = groups();
    let mut found = Vec::new();
    leaves(program, "", &mut found);
    let mut text = String::new();
    for group in &groups {
        let mut rows = Vec::new();
        for row in &group.rows {
            let own = found.iter().filter(|(path, _)| row_of(&groups, path).is_some_and(|(_, best)| best == *row));
            rows.extend(own.map(|(path, about)| (path.clone(), row.line.map_or_else(|| about.clone(), str::to_owned))));
        }
        text.push_str(&format!("{bold}{}:{bold:#}\n{}\n", group.name, listed(&rows, width)));
    }
    text + "One command: handover help COMMAND\n"
}

/// Returns a command of the whole program by its words. Without words, returns the program.
pub(super) fn find(words: &[String]) -> Result<Command, clap::Error> {
    let mut program = super::whole();
    program.build();
    let mut found = program.clone();
    for (place, word) in words.iter().enumerate() {
        found = match found.find_subcommand(word) {
            Some(inner) => inner.clone(),
            None => {
                let typed = words.get(..=place).unwrap_or(words).join(" ");
                let text = format!("there is no command `{typed}`\n\n  tip: `handover help all` lists all commands\n");
                return Err(program.error(ErrorKind::InvalidSubcommand, text));
            }
        };
    }
    Ok(found)
}

/// Prints the help of a command, or the list of all commands.
pub(super) fn run(words: &[String]) -> anyhow::Result<ExitCode> {
    let text = match words {
        [word] if word == ALL => all(&super::whole(), screen_width()),
        _ => find(words)?.render_long_help().ansi().to_string(),
    };
    super::say(text.trim_end())?;
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn plain(text: &str) -> String {
        anstream::adapter::strip_str(text).to_string()
    }

    #[test]
    fn every_command_is_in_a_group_and_every_row_names_a_command() {
        let (groups, mut found) = (groups(), Vec::new());
        leaves(&super::super::whole(), "", &mut found);
        let mut used = BTreeSet::new();
        for (path, _) in &found {
            let (_, row) = row_of(&groups, path).unwrap_or_else(|| panic!("`{path}` is in no group of groups.txt"));
            used.insert(row.command);
        }
        let rows = || groups.iter().flat_map(|group| &group.rows);
        let named: BTreeSet<&str> = rows().map(|row| row.command).collect();
        assert_eq!(named, used, "a row of groups.txt names no command");
        assert_eq!(named.len(), rows().count(), "a command is in two groups");
    }

    #[test]
    fn everyday_commands_have_a_line_that_fits() {
        let groups = groups();
        assert_eq!(groups.first().map(|group| group.name), Some(EVERYDAY));
        for row in groups.iter().flat_map(|group| &group.rows) {
            let is_everyday = groups[0].rows.contains(row);
            assert_eq!(row.line.is_some(), is_everyday, "{}: only everyday commands have a line", row.command);
        }
        let help = plain(&super::super::own().render_help().ansi().to_string());
        for row in &groups[0].rows {
            let line = help.lines().find(|line| line.trim_start().starts_with(row.command)).unwrap_or_default();
            assert!(line.contains(row.line.unwrap()) && display_width(line) <= 80, "{line}");
        }
        assert!(help.contains("All commands: handover help all"), "{help}");
        assert!(!help.contains("workspace"), "only everyday commands are shown: {help}");
    }

    #[test]
    fn help_all_shows_every_command_once_in_eighty_columns() {
        let program = super::super::whole();
        let text = plain(&all(&program, 80));
        let mut found = Vec::new();
        leaves(&program, "", &mut found);
        for (path, _) in &found {
            let is_of =
                |line: &&str| line.strip_prefix(&format!("  {path}")).is_some_and(|rest| rest.starts_with("  "));
            assert_eq!(text.lines().filter(is_of).count(), 1, "{path}: {text}");
        }
        let wide: Vec<&str> = text.lines().filter(|line| display_width(line) > 80).collect();
        assert_eq!(wide, Vec::<&str>::new());
    }

    #[test]
    fn every_command_is_found_by_its_words_and_its_help_ends_with_an_example() {
        let mut found = Vec::new();
        leaves(&super::super::whole(), "", &mut found);
        for (path, _) in &found {
            let words: Vec<String> = path.split(' ').map(str::to_owned).collect();
            let help = find(&words).unwrap().render_long_help().to_string();
            assert!(help.contains(&format!("Usage: handover {path}")), "{path}: {help}");
            assert!(help.contains(&format!("\n  handover {path}")), "{path} has no example: {help}");
        }
        let error = find(&["task".to_owned(), "fly".to_owned()]).unwrap_err().to_string();
        assert!(error.contains("there is no command `task fly`") && error.contains("handover help all"), "{error}");
    }
}
