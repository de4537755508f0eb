//! Reads shell builtins that change the state of the shell: its folder and its variables.

use super::{CommandWalk, WalkScope};
use crate::command::{Arg, CommandFolders};
use crate::programs::program;
use crate::spot::home;

impl CommandWalk {
    /// Applies the effects of a shell builtin. `here` is true when the builtin runs in the shell itself and not inside
    /// a wrapper such as `sudo`.
    pub(super) fn builtin(&mut self, words: &[Arg], here: bool, scope: &mut WalkScope) {
        let Some((program, arguments)) = words.split_first() else { return };
        match program.as_text() {
            "cd" | "pushd" if here => {
                let mut operands = arguments.iter().filter(|word| !is_option(word.as_text()));
                let to = operands.next().cloned().or_else(|| home().map(|home| Arg::known(&home)));
                let to = to.filter(|_| program.as_text() == "cd" || !arguments.is_empty());
                // If `cd` has more than one operand, an operand is the value of an option, or the command has the
                // syntax of another shell. The folder is then unknown.
                let to = to.filter(|_| operands.next().is_none());
                scope.folders = to.map_or(CommandFolders::Unknown, |to| scope.folders.moved(&to));
            }
            "popd" if here => scope.folders = CommandFolders::Unknown,
            "export" | "declare" | "typeset" | "local" | "readonly" => {
                self.declares(program.as_text(), arguments, scope);
            }
            "read" | "mapfile" | "readarray" | "unset" | "getopts" => self.names(program.as_text(), arguments),
            // `test -v 'x[$(command)]'` runs the command in the index. A gate rule that allows `test` does not allow
            // that command, so the whole command needs a person's approval.
            "test" | "["
                if arguments.iter().any(|word| matches!(word.as_text(), "-v" | "-R"))
                    && arguments.iter().any(|word| word.text.as_deref().is_none_or(|text| text.contains('['))) =>
            {
                self.ask("`test -v` of a name with an index, which is computed");
            }
            "printf" => {
                // The name of the variable may be in the same word as `-v`: `printf -vname`.
                match arguments.first().map(Arg::as_text) {
                    Some("-v") => self.names("printf -v", arguments.get(1..2).unwrap_or_default()),
                    Some(text) if text.starts_with("-v") => self.ask("printf with a name in its option"),
                    Some(_) | None => {}
                }
            }
            _ => {}
        }
    }

    fn declares(&mut self, program: &str, arguments: &[Arg], scope: &WalkScope) {
        for argument in arguments {
            let Some(text) = &argument.text else {
                self.ask(format!("{program} of something that is not literal"));
                continue;
            };
            // An attribute such as `-i` or `-u` of `declare` may change the assigned value. So the value of the
            // variable counts as unknown.
            self.values.lose(text.split(['=', '+', '[']).next().unwrap_or(text));
            if text.starts_with(['-', '+']) {
                if text.contains(['n', 'i']) {
                    self.ask(format!("{program} {text}, with which assignments compute"));
                }
                continue;
            }
            let name = text.split('=').next().unwrap_or(text);
            if text.contains("=(") {
                self.ask(format!("{program} with a list in quotes, which is expanded once more"));
            } else if !is_name(name.trim_end_matches('+')) {
                self.ask(format!("{program} of {name:?}, which is no plain name"));
            } else if text.contains('=') {
                self.assigned(name.trim_end_matches('+'), None);
                let value = argument.behind(name.len() + 1);
                self.placed(name, &value, scope);
                self.hand(name, value.as_text(), scope);
            } else if program::changes_programs(name) && program != "export" {
                self.ask(format!("{program} of {name}, which changes what programs do"));
            }
        }
    }

    /// Records that a builtin sets the variables that its arguments name. A name with an index, such as `x[1]`, needs a
    /// person's approval, because bash evaluates the index.
    fn names(&mut self, program: &str, arguments: &[Arg]) {
        for argument in arguments {
            match argument.text.as_deref() {
                None => self.ask(format!("{program} with a word that is not literal")),
                Some(text) if text.contains('[') => self.ask(format!("{program} of {text:?}, whose index is computed")),
                Some(text) if text.starts_with("-C") || text == "-c" => {
                    self.ask(format!("{program} {text}, which runs a command"))
                }
                Some(text) if is_name(text) => self.assigned(text, None),
                Some(_) => {}
            }
        }
    }

    /// Records that a loop of the command text sets its variable.
    pub(super) fn looped(&mut self, variable: &str, numbers: bool) {
        if program::changes_programs(variable) || !is_name(variable) {
            self.ask(format!("a loop over {variable}, which changes what programs do"));
        }
        if numbers {
            self.numbers.insert(variable.to_owned());
        } else {
            self.others.insert(variable.to_owned());
        }
    }
}

fn is_option(text: &str) -> bool {
    matches!(text, "-L" | "-P" | "-e" | "-@" | "--" | "-n")
}

fn is_name(text: &str) -> bool {
    let mut letters = text.chars();
    letters.next().is_some_and(|letter| letter == '_' || letter.is_ascii_alphabetic())
        && letters.all(|letter| letter == '_' || letter.is_ascii_alphanumeric())
}
