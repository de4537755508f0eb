//! `handover check set`: a person sets the command that checks the work of every task. `handover check` without `set`
//! checks a document.

use std::process::ExitCode;

use base::project::detect::clients::find_program;
use base::project::files::edit::with_check;
use clap::{Args, Subcommand};

use super::failure::CommandFailure;
use super::say;
use super::show::plain;
use super::typed_edit::{EditResult, EditSite};

const HELP: &str = "\
The command is written into .handover/config.toml, where it replaces all checks, and you accept it by typing it. It runs in a
worktree after each task, without a shell, and passes with exit code 0. For several commands: 'sh -c \"make lint && make test\"'";

/// Characters that only a shell understands.
const SHELL_SIGNS: &[char] = &[';', '|', '&', '<', '>', '`', '$', '(', ')'];

/// The arguments of `handover check`, with or without a further command.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true, disable_help_subcommand = true)]
pub(crate) struct CheckCommand {
    #[command(subcommand)]
    verb: Option<CheckVerb>,
    #[command(flatten)]
    document: Option<crate::check::CheckArguments>,
}

#[derive(Debug, Subcommand)]
enum CheckVerb {
    /// Set the command that checks the work of every task, and accept that it runs on this machine
    #[command(after_long_help = HELP)]
    Set {
        /// The command, in quotes or as separate words
        #[arg(value_name = "COMMAND", required = true, trailing_var_arg = true, allow_hyphen_values = true)]
        command: Vec<String>,
    },
}

pub(super) fn run(asked: &CheckCommand) -> anyhow::Result<ExitCode> {
    match (&asked.verb, &asked.document) {
        (Some(CheckVerb::Set { command }), _) => set(command),
        (None, Some(document)) => crate::check::run(document),
        (None, None) => {
            Err(CommandFailure::unusable("name the kind of document; `handover help check` lists them").into())
        }
    }
}

fn set(typed: &[String]) -> anyhow::Result<ExitCode> {
    let command = match typed {
        [text] => words(text).map_err(|problem| CommandFailure::needed(&problem))?,
        words => words.to_vec(),
    };
    let program = command.first().map(String::as_str).unwrap_or_default();
    let path = std::env::var_os("PATH").unwrap_or_default();
    // Look only for a plain name. A path such as `.venv/bin/python` may not exist here, because the setup commands may
    // create the program in each worktree.
    if !program.is_empty() && !program.contains('/') && find_program(&path, program).is_none() {
        let text =
            format!("There is no program `{}` on this machine. Install it, or correct the name.", plain(program));
        return Err(CommandFailure::needed(&text).into());
    }
    let site = EditSite::open()?;
    let known = &site.before().written.team.verify.checks;
    let before: Vec<String> = known.iter().map(|check| plain(&check.command.join(" "))).collect();
    site.change("config.toml", &|files| with_check(files, &command), &|result| {
        let shown = plain(&command.join(" "));
        if result == EditResult::Same {
            return say(&format!("{shown} is the check already."));
        }
        say(&format!("check   {shown}   after each task"))?;
        let others: Vec<&str> = before.iter().map(String::as_str).filter(|before| *before != shown).collect();
        let replaced = match others.is_empty() {
            true => String::new(),
            false => format!("It replaces {}. ", others.join(" and ")),
        };
        say(&format!("{replaced}Written to .handover/config.toml (commit it)."))
    })?;
    Ok(ExitCode::SUCCESS)
}

/// Splits a text into words as a shell does, with quotes and backslashes. Refuses operators such as `|` and variables,
/// because a check runs without a shell.
fn words(text: &str) -> Result<Vec<String>, String> {
    let (mut found, mut word) = (Vec::new(), None::<String>);
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match letter {
            ' ' | '\t' | '\n' => found.extend(word.take()),
            '\'' | '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match letters.next() {
                        None => return Err(format!("There is no closing {letter} in the command.")),
                        Some(end) if end == letter => break,
                        Some('\\') if letter == '"' => match letters.next() {
                            Some(next) if "\"\\$`".contains(next) => word.push(next),
                            Some(next) => word.extend(['\\', next]),
                            None => return Err("There is no closing \" in the command.".to_owned()),
                        },
                        Some(next) => word.push(next),
                    }
                }
            }
            '\\' => word.get_or_insert_default().extend(letters.next()),
            sign if SHELL_SIGNS.contains(&sign) => {
                return Err(format!(
                    "A check runs without a shell, so `{sign}` does not work. Write: handover check set 'sh -c \"...\"'"
                ));
            }
            letter => word.get_or_insert_default().push(letter),
        }
    }
    found.extend(word);
    let is_variable =
        |word: &String| word.split_once('=').is_some_and(|(name, _)| !name.is_empty() && !name.contains('/'));
    if found.first().is_some_and(is_variable) {
        return Err(
            "A check runs without a shell. To set variables, write: handover check set 'env NAME=VALUE PROGRAM'"
                .to_owned(),
        );
    }
    if found.is_empty() {
        Err("The command is empty. Write one, such as: handover check set \"make test\"".to_owned())
    } else {
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_split_as_a_shell_splits_it() {
        let cases: [(&str, &[&str]); 8] = [
            ("make test", &["make", "test"]),
            ("  make\ttest  ", &["make", "test"]),
            ("sh -c 'a && b'", &["sh", "-c", "a && b"]),
            ("sh -c \"a \\\"b\\\" \\n $x\"", &["sh", "-c", "a \"b\" \\n $x"]),
            ("a 'b'c\"d\"", &["a", "bcd"]),
            ("a '' \"\"", &["a", "", ""]),
            ("a\\ b c\\'d", &["a b", "c'd"]),
            ("npm test -- --grep=x", &["npm", "test", "--", "--grep=x"]),
        ];
        for (text, expected) in cases {
            assert_eq!(words(text).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn commands_for_a_shell_are_refused_with_the_way_to_write_them() {
        for (text, told) in [
            ("make lint && make test", "sh -c"),
            ("make test | tee log", "`|`"),
            ("echo $HOME", "`$`"),
            ("CI=1 make test", "env NAME=VALUE"),
            ("make 'test", "closing '"),
            ("make \"test", "closing \""),
            (" ", "empty"),
        ] {
            let problem = words(text).unwrap_err();
            assert!(problem.contains(told), "{text}: {problem}");
        }
    }
}
