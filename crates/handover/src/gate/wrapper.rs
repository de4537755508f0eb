//! Programs that run another one: how the command in them is found.

mod table;

use self::table::{Form, WRAPPERS, Wrapper};
use super::command::Arg;
use super::options::{Parsed, base, parse};

/// What a wrapper holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Inner {
    /// The words from this place on are a command.
    Rest(usize),
    /// These words are a command.
    Command(Vec<Arg>),
    /// A text for a shell.
    Script(String),
    /// A variable is set.
    Sets(String),
    /// What it runs, it runs there.
    Folder(Arg),
    /// A path it writes; with what is below, if so marked.
    Writes(Arg, Tree),
    /// It cannot be looked into.
    Ask(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tree {
    Yes,
    No,
}

/// Whether rules about the command inside can allow this program, too.
pub(super) fn matters(words: &[Arg]) -> bool {
    find(words).is_some_and(|wrapper| wrapper.matters)
}

/// It reads a text, as an interpreter does.
pub(super) fn interprets(name: &str) -> bool {
    let forms = WRAPPERS.iter().filter(|wrapper| wrapper.names.contains(&name)).map(|wrapper| wrapper.form);
    name == "eval" || forms.into_iter().any(|form| matches!(form, Form::Shell | Form::Remote))
}

pub(super) fn is_wrapper(name: &str) -> bool {
    name == "find" || WRAPPERS.iter().any(|wrapper| wrapper.names.contains(&name))
}

fn find(words: &[Arg]) -> Option<&'static Wrapper> {
    let name = base(words.first()?.as_text());
    WRAPPERS.iter().find(|wrapper| wrapper.names.contains(&name))
}

/// What a program holds; nothing when it is no wrapper.
pub(super) fn unwrap(words: &[Arg]) -> Vec<Inner> {
    let Some(program) = words.first() else { return Vec::new() };
    let name = base(program.as_text());
    if name == "find" {
        return in_find(words);
    }
    let Some(wrapper) = find(words) else { return Vec::new() };
    // `command -v git` asks where it is and runs nothing.
    if name == "command" && words.get(1).is_some_and(|word| matches!(word.as_text(), "-v" | "-V" | "-pv" | "-pV")) {
        return Vec::new();
    }
    let words = bare_number(name, words);
    if wrapper.form == Form::Shell {
        return in_shell(name, wrapper, &words);
    }
    let parsed = match parse(&wrapper.options, &words) {
        Ok(parsed) => parsed,
        Err(problem) => return vec![Inner::Ask(format!("{name} with {problem}"))],
    };
    let mut inner: Vec<Inner> = parsed.values(&["-C", "--chdir", "-D"]).cloned().map(Inner::Folder).collect();
    if name == "time" {
        inner.extend(parsed.values(&["-o", "--output"]).map(|path| Inner::Writes(path.clone(), Tree::No)));
    }
    let rest = words.get(parsed.rest..).unwrap_or_default();
    match wrapper.form {
        Form::Command | Form::Shell => inner.extend(command_at(parsed.rest, rest)),
        Form::After(operands) => {
            inner.extend(command_at(parsed.rest + operands, rest.get(operands..).unwrap_or_default()));
        }
        Form::Assignments | Form::Login => inner.extend(assignments(name, parsed.rest, rest)),
        Form::Joined => inner.extend(joined(name, rest)),
        Form::Remote => inner.extend(remote(&parsed, rest)),
        Form::Input => inner.extend(from_input(&parsed, rest)),
    }
    inner
}

fn command_at(at: usize, rest: &[Arg]) -> Option<Inner> {
    (!rest.is_empty()).then_some(Inner::Rest(at))
}

/// `nice -10 program`.
fn bare_number(name: &str, words: &[Arg]) -> Vec<Arg> {
    let mut words = words.to_vec();
    if name == "nice"
        && let Some(word) = words.get_mut(1)
        && let Some(number) = word.as_text().strip_prefix('-')
        && number.trim_start_matches(['-', '+']).chars().all(|letter| letter.is_ascii_digit())
        && !number.is_empty()
    {
        *word = Arg::known("-n0");
    }
    words
}

fn assignments(name: &str, at: usize, rest: &[Arg]) -> Vec<Inner> {
    let mut inner = Vec::new();
    for (by, word) in rest.iter().enumerate() {
        match &word.text {
            None => {
                inner.push(Inner::Ask(format!("{name} with a word before its command that is not literal")));
                return inner;
            }
            Some(text) => match text.split_once('=') {
                Some((variable, _)) if !variable.contains('/') => inner.push(Inner::Sets(variable.to_owned())),
                Some(_) | None => {
                    inner.push(Inner::Rest(at + by));
                    return inner;
                }
            },
        }
    }
    if !matches!(name, "env" | "time") {
        inner.push(Inner::Ask(format!("{name} without a command")));
    }
    inner
}

/// Words that a shell reads once more.
fn joined(name: &str, rest: &[Arg]) -> Vec<Inner> {
    let own = rest.iter().position(|word| word.as_text().starts_with(":::")).unwrap_or(rest.len());
    if rest.is_empty() && name == "eval" {
        return Vec::new();
    }
    if own == 0 {
        return vec![Inner::Ask(format!("{name} with commands from its input"))];
    }
    let words: Option<Vec<&str>> = rest[..own].iter().map(|word| word.text.as_deref()).collect();
    let Some(words) = words else {
        return vec![Inner::Ask(format!("{name} with words that are not literal"))];
    };
    let mut inner = vec![Inner::Script(words.join(" "))];
    if name == "parallel" {
        // What it puts in is read by the shell as well.
        inner.push(Inner::Ask("parallel, which puts its arguments into a text for the shell".to_owned()));
    }
    inner
}

fn remote(parsed: &Parsed, rest: &[Arg]) -> Vec<Inner> {
    let Some((_, command)) = rest.split_first() else {
        return vec![Inner::Ask("ssh with words that are not literal".to_owned())];
    };
    // Behind the host options may follow again.
    if command.first().is_some_and(|word| word.as_text().starts_with('-')) {
        return vec![Inner::Ask("ssh with options behind the host".to_owned())];
    }
    if parsed.has(&["-N", "-V", "-G", "-Q"]) {
        return Vec::new();
    }
    match joined("ssh", command).as_slice() {
        [Inner::Script(text)] => vec![Inner::Folder(Arg::unknown()), Inner::Script(text.clone())],
        _ => vec![Inner::Ask("ssh whose commands come from its input or are not literal".to_owned())],
    }
}

/// xargs: what it reads is added, or put where a mark stands.
fn from_input(parsed: &Parsed, rest: &[Arg]) -> Vec<Inner> {
    if rest.is_empty() {
        return Vec::new();
    }
    let mark = parsed.values(&["-I", "--replace"]).next();
    let mut words: Vec<Arg> = Vec::new();
    for word in rest {
        let marked = match mark {
            Some(mark) => mark.text.as_deref().is_none_or(|mark| word.as_text().contains(mark)),
            None => false,
        };
        words.push(if marked { Arg::unknown() } else { word.clone() });
    }
    if mark.is_none() {
        words.push(Arg::unknown());
    }
    vec![Inner::Command(words)]
}

fn in_shell(name: &str, wrapper: &Wrapper, words: &[Arg]) -> Vec<Inner> {
    let parsed = match parse(&wrapper.options, words) {
        Ok(parsed) => parsed,
        Err(problem) => return vec![Inner::Ask(format!("{name} with {problem}"))],
    };
    // `+e` is an option, too, and the text stands behind it.
    if words.get(parsed.rest).is_some_and(|word| word.as_text().starts_with('+')) {
        return vec![Inner::Ask(format!("{name} with an option that begins with a plus"))];
    }
    if parsed.has(&["-i", "-l", "--login"]) && !parsed.has(&["-c"]) {
        return vec![Inner::Ask(format!("{name} with commands from its input"))];
    }
    match (parsed.has(&["-c"]), words.get(parsed.rest)) {
        (true, Some(Arg { text: Some(text), .. })) => vec![Inner::Script(text.clone())],
        (true, _) => vec![Inner::Ask(format!("{name} -c with a text that is not literal"))],
        (false, None) => match words.get(1).map(Arg::as_text) {
            Some("--version" | "--help") => Vec::new(),
            _ => vec![Inner::Ask(format!("{name} with commands from its input"))],
        },
        (false, Some(_)) => vec![Inner::Ask(format!("{name} with a script"))],
    }
}

/// The commands in `find`, and what it deletes or writes.
fn in_find(words: &[Arg]) -> Vec<Inner> {
    let mut inner = Vec::new();
    let mut starts: Vec<Arg> = Vec::new();
    let mut at = 1;
    while let Some(word) = words.get(at) {
        at += 1;
        match word.as_text() {
            "-exec" | "-execdir" | "-ok" | "-okdir" => {
                let rest = &words[at..];
                let end = rest.iter().position(|word| matches!(word.as_text(), ";" | "+"));
                let Some(end) = end else {
                    inner.push(Inner::Ask("find with a command that has no end".to_owned()));
                    return inner;
                };
                let put = |word: &Arg| if word.as_text().contains("{}") { Arg::unknown() } else { word.clone() };
                inner.push(Inner::Folder(Arg::unknown()));
                inner.push(Inner::Command(rest[..end].iter().map(put).collect()));
                at += end + 1;
            }
            "-delete" => {
                let here = [Arg::known(".")];
                let from = if starts.is_empty() { here.as_slice() } else { starts.as_slice() };
                inner.extend(from.iter().map(|start| Inner::Writes(start.clone(), Tree::Yes)));
            }
            "-fprint" | "-fprint0" | "-fls" | "-fprintf" => {
                inner.push(Inner::Writes(words.get(at).cloned().unwrap_or_else(Arg::unknown), Tree::No));
                at += 1;
            }
            // It may become several words, and one of them a command.
            "" if word.text.is_none() && word.spot.is_none() => {
                inner.push(Inner::Ask("find with a word that is not literal".to_owned()));
            }
            text if !text.starts_with(['-', '(', '!']) && starts.len() + 1 == at - 1 => starts.push(word.clone()),
            _ => {}
        }
    }
    inner
}
