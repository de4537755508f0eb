//! Reads awk programs, to find the files that they write and the commands that they run: `print > file`,
//! `print | command`, `system(command)`.

use super::{Fragility, ProgramEffect, write};
use crate::command::Arg;
use crate::programs::options::ParsedOptions;

pub(super) fn effects(name: &str, parsed: &ParsedOptions) -> Vec<ProgramEffect> {
    let mut found = Vec::new();
    let in_place = parsed.values(&["-i", "--include"]).any(|value| value.as_text().starts_with("inplace"));
    let elsewhere = parsed.has(&["-f", "--file", "-E", "--exec", "-e", "--source"]);
    let (text, files) = match parsed.operands.split_first() {
        Some((text, files)) if !elsewhere => (Some(text.clone()), files),
        Some(_) | None => (None, parsed.operands.as_slice()),
    };
    let texts = parsed.values(&["-e", "--source"]).cloned().chain(text);
    for text in texts {
        match &text.text {
            Some(text) => found.extend(of_text(name, text)),
            None if text.lead.is_empty() => found.push(ProgramEffect::Doubt("a text that is not literal".to_owned())),
            None => {
                found.push(ProgramEffect::Fragile(Fragility::Text, "a text with a variable in it".to_owned()));
                let sure = |effect: &ProgramEffect| !matches!(effect, ProgramEffect::Doubt(_));
                found.extend(text.as_script().into_iter().flat_map(|text| of_text(name, &text)).filter(sure));
            }
        }
    }
    if in_place {
        found.extend(files.iter().filter(|word| !word.as_text().contains('=')).map(write));
    }
    found
}

/// A token of an awk program. It holds only the details that show whether the program writes files or runs commands.
#[derive(Debug, Clone, PartialEq, Eq)]
enum AwkToken {
    Text(String),
    Name(String),
    /// A number or a pattern. Its content does not matter, because it neither writes a file nor runs a command.
    Value,
    Sign(char),
    /// The end of an awk statement.
    End,
}

fn of_text(name: &str, text: &str) -> Vec<ProgramEffect> {
    let Some(tokens) = tokens(text) else {
        return vec![ProgramEffect::Doubt("a text that may run commands or write".to_owned())];
    };
    let ask = |what: &str| ProgramEffect::Ask(format!("{name} with {what} that is not one literal text"));
    let sign = |at: usize, wanted: char| tokens.get(at) == Some(&AwkToken::Sign(wanted));
    let ends = |at: usize| matches!(tokens.get(at), None | Some(AwkToken::End | AwkToken::Sign('}')));
    let mut found = Vec::new();
    let mut printing = false;
    let mut depth = 0_i32;
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        match token {
            AwkToken::Name(word) if word == "print" || word == "printf" => (printing, depth) = (true, 0),
            AwkToken::Name(word) if word == "system" => match (tokens.get(at + 1), tokens.get(at + 2)) {
                (Some(AwkToken::Sign('(')), Some(AwkToken::Text(text))) if sign(at + 3, ')') => {
                    found.push(ProgramEffect::Script(text.clone()));
                }
                _ => found.push(ask("a command")),
            },
            AwkToken::Sign('@') => found.push(ProgramEffect::Doubt("code from elsewhere".to_owned())),
            AwkToken::End | AwkToken::Sign('{' | '}') => printing = false,
            AwkToken::Sign('(') => depth += 1,
            AwkToken::Sign(')') => depth -= 1,
            AwkToken::Sign('>') if printing && depth <= 0 => {
                at += usize::from(sign(at + 1, '>'));
                found.push(match tokens.get(at + 1) {
                    Some(AwkToken::Text(path)) if ends(at + 2) => write(&Arg::known(path)),
                    _ => write(&Arg::unknown()),
                });
            }
            AwkToken::Sign('|') if sign(at + 1, '|') => at += 1,
            AwkToken::Sign('|') => {
                let next = at + 1 + usize::from(sign(at + 1, '&'));
                let from = tokens.get(next) == Some(&AwkToken::Name("getline".to_owned()));
                let command = if from { at.checked_sub(1).and_then(|at| tokens.get(at)) } else { tokens.get(next) };
                let alone = if from {
                    at.checked_sub(2)
                        .and_then(|at| tokens.get(at))
                        .is_none_or(|token| matches!(token, AwkToken::End | AwkToken::Sign('{' | '(' | ';' | '!')))
                } else {
                    ends(next + 1)
                };
                found.push(match command {
                    Some(AwkToken::Text(text)) if alone => ProgramEffect::Script(text.clone()),
                    _ => ask("a command"),
                });
            }
            AwkToken::Text(_) | AwkToken::Name(_) | AwkToken::Value | AwkToken::Sign(_) => {}
        }
        at += 1;
    }
    found
}

/// Splits an awk program into tokens. Returns None when a quote or a pattern is not closed, or when an escape is not
/// known.
fn tokens(text: &str) -> Option<Vec<AwkToken>> {
    let mut letters = text.chars().peekable();
    let mut found: Vec<AwkToken> = Vec::new();
    while let Some(letter) = letters.next() {
        match letter {
            '\n' | ';' => found.push(AwkToken::End),
            '\\' | ' ' | '\t' | '\r' => {}
            '#' => while letters.next_if(|letter| *letter != '\n').is_some() {},
            '"' => {
                let mut word = String::new();
                loop {
                    match letters.next()? {
                        '"' => break,
                        '\\' => match letters.next()? {
                            'n' => word.push('\n'),
                            't' => word.push('\t'),
                            letter @ ('/' | '"' | '\\') => word.push(letter),
                            // Give up on the whole awk program, because the meaning of any other escape is unknown.
                            _ => return None,
                        },
                        letter => word.push(letter),
                    }
                }
                found.push(AwkToken::Text(word));
            }
            '/' if begins_pattern(found.last()) => {
                let mut bracketed = false;
                loop {
                    match letters.next()? {
                        '/' if !bracketed => break,
                        '\\' => drop(letters.next()?),
                        '[' => bracketed = true,
                        ']' => bracketed = false,
                        '\n' => return None,
                        _ => {}
                    }
                }
                found.push(AwkToken::Value);
            }
            letter if letter.is_ascii_digit() => found.push(AwkToken::Value),
            letter if letter == '_' || letter.is_ascii_alphabetic() => {
                let mut word = letter.to_string();
                while let Some(letter) = letters.next_if(|letter| *letter == '_' || letter.is_ascii_alphanumeric()) {
                    word.push(letter);
                }
                found.push(AwkToken::Name(word));
            }
            letter => found.push(AwkToken::Sign(letter)),
        }
    }
    Some(found)
}

/// Tells whether a slash in an awk program begins a pattern. After a value, a slash means division.
fn begins_pattern(before: Option<&AwkToken>) -> bool {
    match before {
        None | Some(AwkToken::End | AwkToken::Sign(_)) => !matches!(before, Some(AwkToken::Sign(')' | ']' | '$'))),
        Some(AwkToken::Name(word)) => matches!(word.as_str(), "print" | "printf" | "return" | "case" | "in"),
        Some(AwkToken::Text(_) | AwkToken::Value) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comparisons_and_patterns_write_nothing() {
        for (text, wanted) in [
            ("{ print $1 }", "[]"),
            ("$3 > 100 { print $1 }", "[]"),
            ("{ if ($1 > 2) print $2 }", "[]"),
            ("/a|b/ { print }", "[]"),
            ("$1 ~ /x|y/ || $2 > 3 { n++ } END { print n / 2 }", "[]"),
            ("{ print ($1 > $2) }", "[]"),
            ("{ while ((getline line < \"f\") > 0) n++ }", "[]"),
            ("{ print > \"infra/x\" }", "[\"infra/x\"]"),
            ("{ printf \"%s\", $1 >> \"infra/x\" }", "[\"infra/x\"]"),
            ("{ print > $1 }", "[\"?\"]"),
            ("{ print > \"a\" $1 }", "[\"?\"]"),
            ("{ print | \"sort\" }", "[\"sort\"]"),
            ("{ \"date\" | getline d }", "[\"date\"]"),
            ("BEGIN { system(\"git push\") }", "[\"git push\"]"),
            ("BEGIN { system(x) }", "[\"?\"]"),
            ("BEGIN { c | getline }", "[\"?\"]"),
            ("@load \"x\"", "[\"?\"]"),
        ] {
            let shown = |effect: &ProgramEffect| {
                if let ProgramEffect::Script(text) = effect {
                    return text.clone();
                }
                let path = if let ProgramEffect::Writes(path, _) = effect { path.text.clone() } else { None };
                path.unwrap_or_else(|| "?".to_owned())
            };
            let found: Vec<String> = of_text("awk", text).iter().map(shown).collect();
            assert_eq!(format!("{found:?}"), wanted, "{text}");
        }
    }
}
