//! Reads simple commands: assignments, words and redirections.

use brush_parser::ast;

use super::{CommandWalk, StandardInput, WalkScope};
use crate::command::{Arg, WriteCause};
use crate::patch;
use crate::programs::effect::TreeEffect;
use crate::programs::program;
use crate::shell::script::ProgramText;
use crate::shell::word::ShellWord;

impl CommandWalk {
    pub(super) fn simple(&mut self, simple: &ast::SimpleCommand, script: &ProgramText, scope: &mut WalkScope) {
        for item in simple.prefix.iter().flat_map(|prefix| &prefix.0) {
            // Assignments and redirections before a command are not words of that command.
            self.item(item, script, scope, &mut Vec::new());
            if let ast::CommandPrefixOrSuffixItem::AssignmentWord(assignment, _) = item {
                let (ast::AssignmentName::VariableName(name) | ast::AssignmentName::ArrayElementName(name, _)) =
                    &assignment.name;
                let plain = matches!(assignment.name, ast::AssignmentName::VariableName(_)) && !assignment.append;
                // Before a command (`X=1 make`), the value is set only for that command. Without a command (`X=1`), the
                // variable stays set.
                if plain && simple.word_or_name.is_none() && simple.suffix.is_none() {
                    scope.set.insert(name.clone());
                } else {
                    self.values.lose(name);
                    self.handed(assignment, script, scope);
                }
            }
        }
        let mut words = Vec::new();
        if let Some(word) = &simple.word_or_name {
            words.push(self.word(word, script, scope));
        }
        for item in simple.suffix.iter().flat_map(|suffix| &suffix.0) {
            self.item(item, script, scope, &mut words);
        }
        if let [program] = words.as_slice()
            && program.as_text() == "export"
        {
            let assigned = simple.suffix.iter().flat_map(|suffix| &suffix.0).filter_map(|item| match item {
                ast::CommandPrefixOrSuffixItem::AssignmentWord(assignment, _) => Some(&assignment.name),
                ast::CommandPrefixOrSuffixItem::IoRedirect(_)
                | ast::CommandPrefixOrSuffixItem::Word(_)
                | ast::CommandPrefixOrSuffixItem::ProcessSubstitution(..) => None,
            });
            scope.set.extend(assigned.filter_map(|name| match name {
                ast::AssignmentName::VariableName(name) => Some(name.clone()),
                ast::AssignmentName::ArrayElementName(..) => None,
            }));
        }
        if words.first().is_some_and(|word| matches!(word.as_text(), "apply_patch" | "applypatch")) {
            self.patch(simple, &words, script, scope);
        }
        let input = self.input(simple, script, scope).unwrap_or_else(|| scope.input.clone());
        self.listed = super::listing::listed(&words, &input);
        self.printed = words.iter().skip(1).filter_map(|word| word.as_code().cloned()).collect();
        if let StandardInput::Text(text) | StandardInput::Partly(text) = &input {
            self.printed.push(text.clone());
        }
        self.found
            .texts
            .extend(self.printed.iter().filter(|text| text.contains([' ', '(', '\t', '\n', '\\'])).cloned());
        let before = std::mem::replace(&mut scope.input, input);
        self.command(&words, &[], scope);
        scope.input = before;
    }

    /// Reads the value of a variable that is set for one command. The value may be a command that the program runs:
    /// `RUNNER='git push' cargo run`.
    fn handed(&mut self, assignment: &ast::Assignment, script: &ProgramText, scope: &WalkScope) {
        let ast::AssignmentValue::Scalar(value) = &assignment.value else { return };
        let text = script.words.get(&value.value).and_then(ShellWord::literal);
        let (ast::AssignmentName::VariableName(name) | ast::AssignmentName::ArrayElementName(name, _)) =
            &assignment.name;
        if let Some(text) = text {
            self.hand(name, &text, scope);
        }
    }

    /// Reads the value of an environment variable that a program gets. It may be a command, options or code for the
    /// program.
    pub(super) fn hand(&mut self, name: &str, text: &str, scope: &WalkScope) {
        if program::holds_options(name) {
            let words: Vec<Arg> = std::iter::once("options").chain(text.split_whitespace()).map(Arg::known).collect();
            self.suspect_command(&words, scope);
        }
        if program::holds_code(name) {
            self.suspect_command(&[Arg::known("lua"), Arg::known("-e"), Arg::known(text)], scope);
        }
        if text.trim().contains(' ') {
            self.suspect(&[Arg::known("env"), Arg::known(text)], scope);
        }
    }

    /// Returns the standard input that redirections give to a command. If there are several, the last one counts.
    fn input(&self, simple: &ast::SimpleCommand, script: &ProgramText, scope: &WalkScope) -> Option<StandardInput> {
        let prefix = simple.prefix.iter().flat_map(|prefix| &prefix.0);
        let items = prefix.chain(simple.suffix.iter().flat_map(|suffix| &suffix.0));
        let mut found = None;
        for item in items {
            let ast::CommandPrefixOrSuffixItem::IoRedirect(redirect) = item else { continue };
            match redirect {
                ast::IoRedirect::HereString(None | Some(0), word) => {
                    let arg = script.words.get(&word.value).map_or_else(Arg::unknown, |word| self.arg(word, scope));
                    found = Some(match (arg.text, arg.shape) {
                        (Some(text), _) => StandardInput::Text(text),
                        (None, Some(shape)) => StandardInput::Partly(shape),
                        (None, None) => StandardInput::Unknown,
                    });
                }
                ast::IoRedirect::File(
                    None | Some(0),
                    ast::IoFileRedirectKind::Read | ast::IoFileRedirectKind::ReadAndWrite,
                    ast::IoFileRedirectTarget::Filename(word),
                ) => {
                    let file = script.words.get(&word.value).and_then(ShellWord::literal);
                    let plain = file.is_some_and(|file| !crate::programs::wrapper::is_input(&file));
                    found = Some(if plain { StandardInput::File } else { StandardInput::Unknown });
                }
                ast::IoRedirect::File(None | Some(0), ast::IoFileRedirectKind::DuplicateInput, _) => {
                    found = Some(StandardInput::Unknown);
                }
                ast::IoRedirect::HereString(..)
                | ast::IoRedirect::HereDocument(..)
                | ast::IoRedirect::OutputAndError(..)
                | ast::IoRedirect::File(..) => {}
            }
        }
        found
    }

    /// Reads the command `apply_patch`, which Codex runs as its tool. The patch is an argument or the standard input.
    fn patch(&mut self, simple: &ast::SimpleCommand, words: &[Arg], script: &ProgramText, scope: &WalkScope) {
        let items = || {
            simple.prefix.iter().flat_map(|prefix| &prefix.0).chain(simple.suffix.iter().flat_map(|suffix| &suffix.0))
        };
        let inputs = items().filter_map(|item| match item {
            ast::CommandPrefixOrSuffixItem::IoRedirect(ast::IoRedirect::HereString(_, word)) => Some(word),
            ast::CommandPrefixOrSuffixItem::IoRedirect(_)
            | ast::CommandPrefixOrSuffixItem::Word(_)
            | ast::CommandPrefixOrSuffixItem::AssignmentWord(..)
            | ast::CommandPrefixOrSuffixItem::ProcessSubstitution(..) => None,
        });
        let inputs = inputs.map(|word| script.words.get(&word.value).and_then(ShellWord::literal));
        let texts: Vec<Option<String>> = words[1..].iter().map(|word| word.text.clone()).chain(inputs).collect();
        match texts.as_slice() {
            [Some(text)] => match patch::paths(text) {
                Ok(paths) => paths
                    .iter()
                    .for_each(|path| self.writes(&Arg::known(path), TreeEffect::No, WriteCause::Itself, scope)),
                Err(problem) => self.ask(format!("a patch whose paths cannot be read for sure: {problem}")),
            },
            _ => self.ask("a patch whose paths cannot be read"),
        }
    }

    fn item(
        &mut self,
        item: &ast::CommandPrefixOrSuffixItem,
        script: &ProgramText,
        scope: &WalkScope,
        words: &mut Vec<Arg>,
    ) {
        match item {
            ast::CommandPrefixOrSuffixItem::IoRedirect(redirect) => self.redirect(redirect, script, scope),
            ast::CommandPrefixOrSuffixItem::Word(word) => {
                let arg = self.word(word, script, scope);
                // bash makes several words of `{a,b}`. Other shells keep it as one word.
                match script.words.get(&word.value).filter(|word| !scope.foreign && word.has_choice()) {
                    Some(word) => words.extend(Arg::several(word)),
                    None => words.push(arg),
                }
            }
            ast::CommandPrefixOrSuffixItem::AssignmentWord(assignment, word) => {
                let is_argument = !words.is_empty();
                let declares = words.first().is_some_and(|word| super::program::DECLARES.contains(&word.as_text()));
                let (ast::AssignmentName::VariableName(name) | ast::AssignmentName::ArrayElementName(name, _)) =
                    &assignment.name;
                match &assignment.value {
                    ast::AssignmentValue::Scalar(value) => {
                        self.word(value, script, scope);
                        if !is_argument || declares {
                            let given = script.words.get(&value.value);
                            self.assigned(name, given);
                            // An attribute such as `-i` of `declare` may change the assigned value. So the value of the
                            // variable counts as unknown.
                            if declares && words.first().is_some_and(|word| word.as_text() != "export")
                                || words.len() > 1
                                || assignment.append
                            {
                                self.values.lose(name);
                            }
                            let place = given.map_or_else(|| Arg::known(&value.value), |word| self.arg(word, scope));
                            self.placed(name, &place, scope);
                            if let Some(text) = given.and_then(ShellWord::literal).filter(|_| declares) {
                                self.hand(name, &text, scope);
                            }
                        }
                        // bash expands the text in `declare -a x='($(ls))'`, although it is quoted. So a person must
                        // approve such a value.
                        let lists = words
                            .iter()
                            .any(|word| word.as_text().starts_with('-') && word.as_text().contains(['a', 'A']));
                        let text = script.words.get(&value.value).and_then(ShellWord::literal);
                        if declares && text.map_or(lists, |text| text.contains('(')) {
                            self.ask("a list in quotes, which is expanded once more");
                        }
                    }
                    ast::AssignmentValue::Array(elements) => {
                        for (key, value) in elements {
                            key.iter().chain([value]).for_each(|word| drop(self.word(word, script, scope)));
                            // bash reads `[$(…)]=x` in a list as an index, and `brush-parser` reads it as a plain word.
                            // So a person must approve such a list.
                            if script.words.get(&value.value).is_some_and(is_indexed) {
                                self.ask("a list with indexes");
                            }
                        }
                        self.assigned(name, None);
                        if is_argument && !declares {
                            self.ask("a list where no assignment can stand");
                        }
                    }
                }
                // `brush-parser` takes a word such as `of=file` for an assignment. It is an assignment only after a
                // builtin such as `export`. After any other command the word is an argument.
                if !declares {
                    words.push(script.words.get(&word.value).map_or_else(Arg::unknown, Arg::of));
                }
            }
            // The reader of this crate (`shell::script`) turns process substitutions such as `<(ls)` into words, so
            // `brush-parser` should find none.
            ast::CommandPrefixOrSuffixItem::ProcessSubstitution(..) => self.ask("what does not parse as a command"),
        }
    }

    /// Reads the commands inside a word, such as `$(date)`, and returns the facts that are known about the word before
    /// the command runs.
    pub(super) fn word(&mut self, word: &ast::Word, script: &ProgramText, scope: &WalkScope) -> Arg {
        // A word may look like an assignment where no assignment is possible: `> a=$(ls)`. Read the commands in its
        // value, too.
        if let Some(value) = word.value.split_once('=').and_then(|(_, value)| script.words.get(value)) {
            self.inside(value, scope);
        }
        match script.words.get(&word.value) {
            Some(word) => {
                self.inside(word, scope);
                self.arg(word, scope)
            }
            // The word is a keyword of the shell that is used as a plain word: `echo if`.
            None => Arg::known(&word.value),
        }
    }

    pub(super) fn text_of(name: &str, script: &ProgramText) -> String {
        match script.words.get(name) {
            Some(word) => word.literal().unwrap_or_else(|| "$".to_owned()),
            None => name.to_owned(),
        }
    }

    pub(super) fn redirects(&mut self, redirects: Option<&ast::RedirectList>, script: &ProgramText, scope: &WalkScope) {
        for redirect in redirects.iter().flat_map(|redirects| &redirects.0) {
            self.redirect(redirect, script, scope);
        }
    }

    fn redirect(&mut self, redirect: &ast::IoRedirect, script: &ProgramText, scope: &WalkScope) {
        // If a file is open for reading under a descriptor number other than 0, as after `3<file`, a path such as
        // `/dev/fd/3` can open the file again for writing.
        if let ast::IoRedirect::File(number, kind, target) = redirect {
            let reads = matches!(kind, ast::IoFileRedirectKind::Read | ast::IoFileRedirectKind::DuplicateInput);
            let from = match target {
                ast::IoFileRedirectTarget::Filename(word) | ast::IoFileRedirectTarget::Duplicate(word) => {
                    script.words.get(&word.value).and_then(ShellWord::literal).unwrap_or_default()
                }
                ast::IoFileRedirectTarget::Fd(number) => number.to_string(),
                ast::IoFileRedirectTarget::ProcessSubstitution(..) => String::new(),
            };
            let moves = matches!(kind, ast::IoFileRedirectKind::DuplicateOutput)
                && is_descriptor(&from)
                && !matches!(from.as_str(), "1" | "2");
            self.found.reopened |= reads && number.is_some_and(|number| number > 0) || moves;
        }
        match redirect {
            ast::IoRedirect::HereString(_, word) => drop(self.word(word, script, scope)),
            ast::IoRedirect::HereDocument(..) => self.ask("what does not parse as a command"),
            ast::IoRedirect::OutputAndError(word, _) => {
                let path = self.word(word, script, scope);
                self.writes(&path, TreeEffect::No, WriteCause::Itself, scope);
            }
            ast::IoRedirect::File(_, kind, target) => {
                let path = match target {
                    ast::IoFileRedirectTarget::Filename(word) | ast::IoFileRedirectTarget::Duplicate(word) => {
                        self.word(word, script, scope)
                    }
                    ast::IoFileRedirectTarget::Fd(_) => return,
                    ast::IoFileRedirectTarget::ProcessSubstitution(..) => {
                        return self.ask("what does not parse as a command");
                    }
                };
                match kind {
                    ast::IoFileRedirectKind::Read | ast::IoFileRedirectKind::DuplicateInput => {
                        // For `/dev/tcp/…` and `/dev/udp/…` bash opens a network connection, whether the redirection
                        // reads or writes.
                        if path.as_text().starts_with("/dev/tcp/") || path.as_text().starts_with("/dev/udp/") {
                            self.ask("a connection through /dev/tcp");
                        }
                    }
                    // `2>&1` writes to a file that is already open. `>&name` writes the file `name`.
                    ast::IoFileRedirectKind::DuplicateOutput if is_descriptor(path.as_text()) => {}
                    ast::IoFileRedirectKind::DuplicateOutput
                    | ast::IoFileRedirectKind::Write
                    | ast::IoFileRedirectKind::Append
                    | ast::IoFileRedirectKind::Clobber
                    | ast::IoFileRedirectKind::ReadAndWrite => {
                        self.writes(&path, TreeEffect::No, WriteCause::Itself, scope)
                    }
                }
            }
        }
    }
}

fn is_descriptor(text: &str) -> bool {
    let number = text.strip_suffix('-').unwrap_or(text);
    !text.is_empty() && number.chars().all(|letter| letter.is_ascii_digit())
}

fn is_indexed(word: &ShellWord) -> bool {
    use crate::shell::word::WordPiece;
    matches!(word.pieces.first(), Some(WordPiece::Wild('[')))
}
