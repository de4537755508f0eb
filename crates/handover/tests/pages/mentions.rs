//! Tests that every command and option in the pages of the documentation exists.

use std::collections::BTreeMap;
use std::process::Command;

use crate::player::root;

/// A `handover` command in a page of the documentation, with its options.
#[derive(Debug)]
struct CommandMention {
    place: String,
    words: Vec<String>,
}

/// Returns the `handover` commands in a page of the documentation: commands between backticks, and lines of code blocks
/// that begin with a command.
fn mentions(page: &str) -> Vec<CommandMention> {
    let text = std::fs::read_to_string(root().join(page)).unwrap();
    let (mut found, mut is_block) = (Vec::new(), false);
    for (index, line) in text.lines().enumerate() {
        if line.trim().starts_with("```") {
            is_block = !is_block;
            continue;
        }
        let line = line.trim();
        let spans: Vec<&str> = match is_block {
            true => vec![line.strip_prefix("$ ").unwrap_or(line)],
            false => line.split('`').skip(1).step_by(2).collect(),
        };
        for span in spans.into_iter().filter_map(|span| span.strip_prefix("handover ")) {
            // A comment, a redirection or another command may follow after one of these characters, so the command ends
            // there.
            let end = span.find(['#', '|', '&', ';', '>', '<']).unwrap_or(span.len());
            let words = span[..end].split_whitespace().map(str::to_owned).collect();
            found.push(CommandMention { place: format!("{page}:{}", index + 1), words });
        }
    }
    found
}

/// Returns all commands of `handover`, which the file `commands.txt` lists.
fn known_commands() -> Vec<String> {
    let text = std::fs::read_to_string(root().join("crates/handover/src/cli/commands.txt")).unwrap();
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let words = |line: &str| {
        let words = line.split_whitespace().skip(1).take_while(|word| !word.starts_with('-'));
        words.collect::<Vec<_>>().join(" ")
    };
    lines.map(words).collect()
}

fn help(command: &str) -> String {
    #[expect(clippy::disallowed_methods, reason = "a test reads the help of our program")]
    let mut program = Command::new(env!("CARGO_BIN_EXE_handover"));
    let output = program.args(command.split(' ')).arg("--help").output().unwrap();
    assert!(output.status.success(), "handover {command} --help: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn every_command_and_option_in_the_pages_exists() {
    let (known, mut helps, mut wrong) = (known_commands(), BTreeMap::new(), Vec::new());
    for mention in crate::pages().iter().flat_map(|page| mentions(page)) {
        let start = |count: usize| mention.words.iter().take(count).cloned().collect::<Vec<_>>().join(" ");
        // The text `handover approval approve|reject|revoke` in a page names three commands. Only the first one is
        // checked.
        let first = |text: String| text.split('|').next().unwrap_or_default().to_owned();
        // A text such as `handover review`, without the last word of a command, stands for all commands of this group.
        let is_group = known.iter().any(|command| command.starts_with(&format!("{} ", mention.words.join(" "))));
        let is_general = is_group || mention.words.first().is_none_or(|word| word.starts_with('-') || word == "help");
        let Some(command) = [start(2), start(1)].map(first).into_iter().find(|command| known.contains(command)) else {
            if !is_general {
                wrong.push(format!("{}: handover {}", mention.place, mention.words.join(" ")));
            }
            continue;
        };
        let help = helps.entry(command.clone()).or_insert_with(|| help(&command));
        // The words after `--` belong to another program, so they are not options of `handover`.
        let options = mention.words.iter().take_while(|word| *word != "--");
        for option in options.filter(|word| word.starts_with("--")) {
            let name = option.split('=').next().unwrap_or_default();
            if !help.contains(name) {
                wrong.push(format!("{}: handover {command} has no {name}", mention.place));
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}
