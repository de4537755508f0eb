//! Reads sed scripts. The command `w` of sed writes files, and `e` runs commands. All other commands of sed only change
//! the text that passes through sed.

use std::iter::Peekable;
use std::str::Chars;

use super::{Fragility, ProgramEffect, backup, write};
use crate::command::Arg;
use crate::programs::options::ParsedOptions;

const NEW_FILES: &[&str] = &["/dev/stdout", "/dev/stderr"];

pub(super) fn effects(parsed: &ParsedOptions) -> Vec<ProgramEffect> {
    let mut found = Vec::new();
    let mut scripts: Vec<Arg> = parsed.values(&["-e", "--expression"]).cloned().collect();
    let from_file = parsed.has(&["-f", "--file"]);
    let mut files = parsed.operands.as_slice();
    if scripts.is_empty()
        && !from_file
        && let Some((script, rest)) = files.split_first()
    {
        scripts.push(script.clone());
        files = rest;
    }
    if from_file {
        found.push(ProgramEffect::Doubt("a script from a file".to_owned()));
    }
    let texts: Option<Vec<&str>> = scripts.iter().map(|script| script.text.as_deref()).collect();
    match texts {
        _ if parsed.has(&["--sandbox"]) => {}
        Some(texts) => found.extend(of_script(&texts.join("\n"))),
        // A variable at the start of a sed script may hold a whole script. In the middle of a script, a variable counts
        // as plain text.
        None if scripts.iter().any(|script| script.text.is_none() && script.lead.is_empty()) => {
            found.push(ProgramEffect::Doubt("a script that is not literal".to_owned()));
        }
        None => {
            found.push(ProgramEffect::Fragile(Fragility::Text, "a script with a variable in it".to_owned()));
            let texts: Vec<String> =
                scripts.iter().filter_map(|script| script.text.clone().or_else(|| script.as_script())).collect();
            let sure = |effect: &ProgramEffect| !matches!(effect, ProgramEffect::Doubt(_));
            found.extend(of_script(&texts.join("\n")).into_iter().filter(sure));
        }
    }
    if parsed.has(&["-i", "--in-place"]) {
        found.extend(files.iter().map(write));
        found.extend(backup(parsed, &["-i", "--in-place"]));
    }
    found
}

/// Returns the effects of a sed script. If a command of the script is unknown, the script counts as one that may write
/// files and run commands.
fn of_script(script: &str) -> Vec<ProgramEffect> {
    let mut reader = SedReader { letters: script.chars().peekable(), found: Vec::new() };
    match reader.commands() {
        Some(()) => reader.found,
        None => vec![ProgramEffect::Doubt("a script that may run commands or write".to_owned())],
    }
}

struct SedReader<'t> {
    letters: Peekable<Chars<'t>>,
    found: Vec<ProgramEffect>,
}

impl SedReader<'_> {
    /// Reads the commands of a sed script to its end. Returns None when a command is unknown.
    fn commands(&mut self) -> Option<()> {
        loop {
            self.skip(|letter| letter.is_whitespace() || matches!(letter, ';' | '{' | '}'));
            self.addresses()?;
            let Some(command) = self.letters.next() else { return Some(()) };
            match command {
                '{' | '}' | '=' | 'd' | 'D' | 'g' | 'G' | 'h' | 'H' | 'n' | 'N' | 'p' | 'P' | 'x' | 'z' | 'F' => {}
                'l' | 'q' | 'Q' | 'L' => self.skip(|letter| letter == ' ' || letter.is_ascii_digit()),
                '#' => drop(self.line()),
                'a' | 'i' | 'c' => self.text(),
                'r' | 'R' => drop(self.line()),
                ':' | 'b' | 't' | 'T' | 'v' => {
                    self.skip(|letter| letter == ' ');
                    self.skip(|letter| letter != ';' && !letter.is_whitespace());
                }
                'w' | 'W' => self.file(),
                'e' => {
                    let command = self.line();
                    // The command `e` of sed, without a text after it, runs the current line of sed's input as a
                    // command.
                    if command.trim().is_empty() {
                        self.found.push(ProgramEffect::Ask("sed with `e`, which runs what it reads".to_owned()));
                    } else {
                        self.found.push(ProgramEffect::Script(command));
                    }
                }
                's' => self.substitution()?,
                'y' => {
                    let mark = self.letters.next()?;
                    self.until(mark)?;
                    self.until(mark)?;
                }
                _ => return None,
            }
        }
    }

    fn skip(&mut self, wanted: impl Fn(char) -> bool) {
        while self.letters.next_if(|letter| wanted(*letter)).is_some() {}
    }

    fn addresses(&mut self) -> Option<()> {
        loop {
            self.skip(|letter| letter.is_ascii_digit() || " \t,!~+$".contains(letter));
            match self.letters.peek() {
                Some('/') => {
                    self.letters.next();
                    self.until('/')?;
                }
                Some('\\') => {
                    self.letters.next();
                    let mark = self.letters.next()?;
                    self.until(mark)?;
                }
                Some(_) | None => return Some(()),
            }
            self.skip(|letter| matches!(letter, 'I' | 'M'));
        }
    }

    /// Returns the rest of the current line of the sed script.
    fn line(&mut self) -> String {
        let mut line = String::new();
        while let Some(letter) = self.letters.next_if(|letter| *letter != '\n') {
            line.push(letter);
        }
        line
    }

    /// Skips the text of the sed commands `a`, `i` and `c`. The text continues on the next line after a line that ends
    /// with a backslash.
    fn text(&mut self) {
        loop {
            let line = self.line();
            if self.letters.next().is_none() || !line.ends_with('\\') {
                return;
            }
        }
    }

    fn file(&mut self) {
        let file = self.line();
        let file = file.trim_start();
        if !NEW_FILES.contains(&file) {
            self.found.push(write(&Arg::known(file)));
        }
    }

    /// Skips to the next unescaped `mark`, the letter that separates the parts of `s/a/b/`. Returns None for a mark in
    /// brackets, as in `s/[/]/x/`: versions of sed disagree whether it ends the pattern.
    fn until(&mut self, mark: char) -> Option<()> {
        let mut bracketed = false;
        loop {
            match self.letters.next()? {
                '\\' => drop(self.letters.next()?),
                letter if letter == mark => return (!bracketed).then_some(()),
                '[' => bracketed = true,
                ']' => bracketed = false,
                _ => {}
            }
        }
    }

    fn substitution(&mut self) -> Option<()> {
        let mark = self.letters.next().filter(|mark| !matches!(mark, '\\' | '\n'))?;
        self.until(mark)?;
        // In the replacement of `s/a/b/`, unlike in the pattern, brackets have no meaning.
        loop {
            match self.letters.next()? {
                '\\' => drop(self.letters.next()?),
                letter if letter == mark => break,
                _ => {}
            }
        }
        while let Some(flag) = self.letters.next_if(|letter| !matches!(letter, ';' | '\n' | '}' | ' ' | '#')) {
            match flag {
                'g' | 'p' | 'i' | 'I' | 'm' | 'M' | '0'..='9' => {}
                'w' => {
                    self.file();
                    return Some(());
                }
                'e' => self.found.push(ProgramEffect::Ask("sed with `s///e`, which runs what it makes".to_owned())),
                _ => return None,
            }
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_and_commands_are_found_wherever_they_stand() {
        for (script, wanted) in [
            ("s/a/b/", "[]"),
            ("s|a|b|g;/x/d;$!N", "[]"),
            ("1,5p", "[]"),
            ("/a/,/b/{s/x/y/;p}", "[]"),
            ("a\\\nw infra/x", "[]"),
            ("s/a/b/w infra/x", "[\"infra/x\"]"),
            ("s/a/b/gw infra/x\np", "[\"infra/x\"]"),
            ("w infra/x", "[\"infra/x\"]"),
            (":a;w infra/x", "[\"infra/x\"]"),
            (":a;N;$!ba;s/\\n/ /g", "[]"),
            ("1!{p;w infra/x\n}", "[\"infra/x\"]"),
            ("\\cxcw infra/x", "[\"infra/x\"]"),
            ("y/abc/def/;W infra/x", "[\"infra/x\"]"),
            ("w /dev/stdout", "[]"),
            ("1e git push", "[\"git push\"]"),
            ("s/a/b/e", "[\"?\"]"),
            ("e", "[\"?\"]"),
            ("s/[/]/w/", "[\"?\"]"),
            ("s/a/b", "[\"?\"]"),
        ] {
            let shown = |effect: &ProgramEffect| {
                if let ProgramEffect::Script(text) = effect {
                    return text.trim().to_owned();
                }
                let path = if let ProgramEffect::Writes(path, _) = effect { path.text.clone() } else { None };
                path.unwrap_or_else(|| "?".to_owned())
            };
            let found: Vec<String> = of_script(script).iter().map(shown).collect();
            assert_eq!(format!("{found:?}"), wanted, "{script}");
        }
    }
}
