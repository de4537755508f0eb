//! The example at the end of the help of each command. The examples are in `examples.txt`, one line per command.

use clap::Command;

/// The examples of all commands, one line per command.
const EXAMPLES: &str = include_str!("examples.txt");

/// Returns the example of a command, such as `task claim`. For a group of commands, such as `task`, returns the first
/// example of the group.
fn example(command: &str) -> Option<&'static str> {
    let is_of = |line: &&str| {
        let rest = line.strip_prefix("handover ").and_then(|line| line.strip_prefix(command));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
    };
    EXAMPLES.lines().find(is_of)
}

/// Adds the example of a command to the end of its help. `path` is the command as a person types it, without
/// `handover`.
pub(super) fn with_example(command: Command, path: &str) -> Command {
    let Some(example) = example(path) else { return command };
    let above = command.get_after_help().map(|text| format!("{text}\n\n")).unwrap_or_default();
    // `--help` shows the long text at the end of a command's help instead of the short one. So the long text needs the
    // example, too.
    let long = command.get_after_long_help().map(ToString::to_string);
    let command = match long.filter(|text| !text.contains("\n  handover ")) {
        Some(text) => command.after_long_help(format!("{text}\n\nExample:\n  {example}")),
        None => command,
    };
    command.after_help(format!("{above}Example:\n  {example}"))
}

/// Adds an example to the help of every command below `command`. `above` is the path of `command`, such as `task`; it
/// is empty for the whole program.
pub(super) fn with_examples(command: Command, above: &str) -> Command {
    command.mut_subcommands(|inner| {
        let path = if above.is_empty() { inner.get_name().to_owned() } else { format!("{above} {}", inner.get_name()) };
        with_examples(with_example(inner, &path), &path)
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn leaves(command: &Command, above: &str, found: &mut BTreeSet<String>) {
        for inner in command.get_subcommands() {
            let path = format!("{above}{}", inner.get_name());
            leaves(inner, &format!("{path} "), found);
            if crate::cli::help::runs_alone(inner) {
                found.insert(path);
            }
        }
    }

    /// Splits an example into the words that a shell would give the program. An example may end with a redirection.
    fn words(example: &str) -> Vec<String> {
        let command = example.split(" > ").next().and_then(|command| command.split(" < ").next()).unwrap_or(example);
        let quoted = command.split('\'').enumerate().map(|(number, part)| (number % 2 == 1, part));
        quoted
            .flat_map(|(is_quoted, part)| match is_quoted {
                true => vec![part.to_owned()],
                false => part.split_whitespace().map(str::to_owned).collect(),
            })
            .collect()
    }

    #[test]
    fn every_command_has_one_example_which_is_valid() {
        let whole = crate::cli::whole();
        let mut known = BTreeSet::new();
        leaves(&whole, "", &mut known);
        let lines: Vec<&str> = EXAMPLES.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
        let mut seen = BTreeSet::new();
        for line in &lines {
            let matches = whole
                .clone()
                .try_get_matches_from(words(line))
                .unwrap_or_else(|error| panic!("the example `{line}` is wrong: {error}"));
            let (mut path, mut inner) = (Vec::new(), &matches);
            while let Some((word, below)) = inner.subcommand() {
                path.push(word);
                inner = below;
            }
            assert!(seen.insert(path.join(" ")), "a second example for `{}`: {line}", path.join(" "));
            // An argument with `@` names a file with a document. This test does not read such files, so it skips the
            // check of the arguments.
            if line.contains('@') {
                continue;
            }
            let asked = crate::cli::tools::asked(&matches).unwrap_or_else(|error| panic!("`{line}`: {error}"));
            let problems = asked.and_then(|asked| asked.problems());
            assert_eq!(problems, None, "{line}");
        }
        assert_eq!(seen, known, "a command without an example in examples.txt");
    }

    #[test]
    fn help_of_commands_and_groups_ends_with_an_example() {
        let mut whole = crate::cli::whole();
        for path in ["task", "task claim", "log", "log verify", "setup", "status"] {
            let found = path.split(' ').fold(&mut whole, |command, word| {
                command.find_subcommand_mut(word).unwrap_or_else(|| panic!("there is no command {path}"))
            });
            let help = found.render_help().to_string();
            let last = help.trim_end().lines().last().unwrap_or_default();
            assert!(last.starts_with(&format!("  handover {path}")), "{path}: {help}");
        }
    }
}
