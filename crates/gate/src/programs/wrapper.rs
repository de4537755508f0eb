//! Finds the inner commands of wrappers: programs that run other programs, such as `sudo` and `xargs`.

use crate::command::Arg;
use crate::programs::effect::{ProgramEffect, TreeEffect};
use crate::programs::options::{ParsedOptions, base, parse};
use crate::programs::program;
use crate::programs::table::{self, ProgramTable};
use crate::spot::PathSpot;

/// The kinds of wrappers, that is, of programs such as `sudo` that run another program. The kind of a wrapper is the
/// first word of the line `does` in its option table.
const KINDS: &[&str] = &["command", "after", "assignments", "login", "joined", "remote", "input", "shell"];

/// Tells whether a wrapper such as `sudo` does more than run its inner command. A gate rule that allows the inner
/// command then does not allow the wrapper.
pub(crate) fn matters(words: &[Arg]) -> bool {
    find(words).is_some_and(|table| table.style.matters)
}

/// Tells whether a program runs a text as commands, as a shell does.
pub(crate) fn interprets(name: &str) -> bool {
    name == "eval" || table::find(name).is_some_and(|table| matches!(table.does.as_str(), "shell" | "remote"))
}

pub(crate) fn is_wrapper(name: &str) -> bool {
    let kind = |table: &ProgramTable| table.does.split(' ').next().is_some_and(|kind| KINDS.contains(&kind));
    is_find(name) || table::find(name).is_some_and(kind)
}

fn is_find(name: &str) -> bool {
    matches!(name, "find" | "gfind")
}

fn find(words: &[Arg]) -> Option<&'static ProgramTable> {
    let name = base(words.first()?.as_text());
    table::find(name).filter(|_| is_wrapper(name))
}

/// Returns the commands that a wrapper runs. The result is empty when the program is not a wrapper. `files` are the
/// arguments that xargs gets from its input, if they are known.
pub(crate) fn unwrap(words: &[Arg], files: Option<&[Arg]>) -> Vec<ProgramEffect> {
    let Some(program) = words.first() else { return Vec::new() };
    let name = base(program.as_text());
    if is_find(name) {
        return in_find(words);
    }
    let Some(table) = find(words) else { return Vec::new() };
    // `command -v git` only prints the path of the program and runs nothing.
    if name == "command" && words.get(1).is_some_and(|word| matches!(word.as_text(), "-v" | "-V" | "-pv" | "-pV")) {
        return Vec::new();
    }
    if words.len() == 2 && matches!(words[1].as_text(), "--version" | "--help") {
        return Vec::new();
    }
    let words = bare_number(name, words);
    let parsed = parse(table, &words);
    if let Some(problem) = parsed.unknown.first() {
        return vec![ProgramEffect::Ask(format!("{name} with {problem}"))];
    }
    let mut inner: Vec<ProgramEffect> = Vec::new();
    for given in &parsed.given {
        let value = || given.value.clone().unwrap_or_else(Arg::unknown);
        match given.effect {
            table::OptionEffect::Folder => inner.push(ProgramEffect::Folder(value())),
            table::OptionEffect::Write => inner.push(ProgramEffect::Writes(value(), TreeEffect::No)),
            table::OptionEffect::Asks => {
                return vec![ProgramEffect::Ask(format!("{name} with {}, which can run other commands", given.name))];
            }
            table::OptionEffect::Nothing
            | table::OptionEffect::Place
            | table::OptionEffect::Tree
            | table::OptionEffect::Run
            | table::OptionEffect::Setting
            | table::OptionEffect::Doubt => {}
        }
    }
    let rest = words.get(parsed.rest..).unwrap_or_default();
    let (kind, count) = table.does.split_once(' ').unwrap_or((&table.does, "0"));
    match kind {
        "command" => inner.extend(command_at(parsed.rest, rest)),
        "after" => {
            let operands = count.parse::<usize>().unwrap_or(0);
            inner.extend(command_at(parsed.rest + operands, rest.get(operands..).unwrap_or_default()));
        }
        "assignments" | "login" => inner.extend(assignments(name, parsed.rest, rest)),
        "joined" => inner.extend(joined(name, rest)),
        "remote" => inner.extend(remote(&parsed, rest)),
        "input" => inner.extend(from_input(&parsed, rest, files)),
        "shell" => inner.extend(in_shell(name, &parsed, &words)),
        _ => {}
    }
    inner
}

fn command_at(at: usize, rest: &[Arg]) -> Option<ProgramEffect> {
    (!rest.is_empty()).then_some(ProgramEffect::Rest(at))
}

/// Replaces the number in `nice -10 program` with an option that the option table of nice has.
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

fn assignments(name: &str, at: usize, rest: &[Arg]) -> Vec<ProgramEffect> {
    let mut inner = Vec::new();
    for (by, word) in rest.iter().enumerate() {
        match &word.text {
            None => {
                inner.push(ProgramEffect::Ask(format!("{name} with a word before its command that is not literal")));
                return inner;
            }
            Some(text) => match text.split_once('=') {
                Some((variable, value)) if !variable.contains('/') => {
                    inner.push(ProgramEffect::Sets(variable.to_owned(), Arg::known(value)));
                }
                Some(_) | None => {
                    inner.push(ProgramEffect::Rest(at + by));
                    return inner;
                }
            },
        }
    }
    if !matches!(name, "env" | "time") {
        inner.push(ProgramEffect::Ask(format!("{name} without a command")));
    }
    inner
}

/// Joins the words into one text, because a program such as `eval` passes them to a shell, which splits the text again.
fn joined(name: &str, rest: &[Arg]) -> Vec<ProgramEffect> {
    let own = rest.iter().position(|word| word.as_text().starts_with(":::")).unwrap_or(rest.len());
    if rest.is_empty() && name == "eval" {
        return Vec::new();
    }
    if own == 0 {
        return vec![ProgramEffect::Ask(format!("{name} with commands from its input"))];
    }
    let words: Option<Vec<&str>> = rest[..own].iter().map(|word| word.text.as_deref()).collect();
    let Some(words) = words else {
        return vec![ProgramEffect::Ask(format!("{name} with words that are not literal"))];
    };
    let mut inner = vec![ProgramEffect::Script(words.join(" "))];
    if name == "parallel" {
        // The program `parallel` inserts its arguments into the text, so the shell may run parts of them, too.
        inner.push(ProgramEffect::Ask("parallel, which puts its arguments into a text for the shell".to_owned()));
    }
    inner
}

fn remote(parsed: &ParsedOptions, rest: &[Arg]) -> Vec<ProgramEffect> {
    let Some((_, command)) = rest.split_first() else {
        return vec![ProgramEffect::Ask("ssh with words that are not literal".to_owned())];
    };
    // An address such as `git@host` names a server for repositories, where ssh gives no shell.
    if command.is_empty() && rest.first().is_some_and(|host| host.as_text().starts_with("git@")) {
        return Vec::new();
    }
    // ssh accepts options after the host as well. These options are not parsed here, so the command needs a person's
    // approval.
    if command.first().is_some_and(|word| word.as_text().starts_with('-')) {
        return vec![ProgramEffect::Ask("ssh with options behind the host".to_owned())];
    }
    if parsed.has(&["-N", "-V", "-G", "-Q"]) {
        return Vec::new();
    }
    match joined("ssh", command).as_slice() {
        [ProgramEffect::Script(text)] => {
            vec![ProgramEffect::Folder(Arg::unknown()), ProgramEffect::Script(text.clone())]
        }
        _ => vec![ProgramEffect::Ask("ssh whose commands come from its input or are not literal".to_owned())],
    }
}

/// Returns the command that xargs runs. xargs adds the words of its input at the end of the command, or inserts them
/// where the command has a mark such as `{}`.
fn from_input(parsed: &ParsedOptions, rest: &[Arg], files: Option<&[Arg]>) -> Vec<ProgramEffect> {
    if rest.is_empty() {
        return Vec::new();
    }
    // The options `-i` and `--replace` of xargs, without a value, insert the input at `{}`.
    let bare = parsed.given.iter().any(|given| matches!(given.name, "-i" | "--replace") && given.value.is_none());
    let braces = Arg::known("{}");
    let mark = parsed.values(&["-I", "-i", "--replace", "-J"]).next().or(bare.then_some(&braces));
    let unknown = [Arg::unknown()];
    // At a mark such as `{}`, xargs inserts a whole line of its input. Several known words may be one line or several
    // lines. So if there is a mark and more than one literal word, the inserted text is unknown.
    let apart = |files: &&[Arg]| mark.is_none() || files.len() == 1 || files.iter().all(|file| file.text.is_none());
    let files = files.filter(apart).unwrap_or(&unknown);
    let mut words: Vec<Arg> = Vec::new();
    for word in rest {
        let text = mark.map(|mark| mark.text.as_deref());
        match text {
            Some(Some(mark)) if word.as_text() == mark && !words.is_empty() => words.extend_from_slice(files),
            // If the mark, such as `{}`, is the first word of the command or a part of a longer word, the whole word is
            // unknown.
            Some(mark) if mark.is_none_or(|mark| word.as_text().contains(mark)) => words.push(Arg::unknown()),
            Some(_) | None => words.push(word.clone()),
        }
    }
    if mark.is_none() {
        words.extend_from_slice(files);
    }
    vec![ProgramEffect::Command(words)]
}

fn in_shell(name: &str, parsed: &ParsedOptions, words: &[Arg]) -> Vec<ProgramEffect> {
    let first = words.get(parsed.rest);
    // For a shell, a word such as `+e` is an option, too, and the script comes after it.
    if first.is_some_and(|word| word.as_text().starts_with('+')) {
        return vec![ProgramEffect::Ask(format!("{name} with an option that begins with a plus"))];
    }
    if let Some(option) = parsed.values(&["-O"]).find(|option| program::changes_reading(option.as_text())) {
        return vec![ProgramEffect::Ask(format!("{name} -O {}, which changes how words are read", option.as_text()))];
    }
    if parsed.has(&["-c"]) {
        return match first {
            Some(Arg { text: Some(text), .. }) => vec![ProgramEffect::Script(text.clone())],
            Some(_) | None => vec![ProgramEffect::Ask(format!("{name} -c with a text that is not literal"))],
        };
    }
    match first {
        Some(_) if parsed.has(&["-s"]) => vec![ProgramEffect::Input],
        None => vec![ProgramEffect::Input],
        Some(Arg { text: Some(script), .. }) if is_input(script) => vec![ProgramEffect::Input],
        Some(Arg { text: Some(script), .. }) => {
            vec![ProgramEffect::Opaque(format!("{name} runs {script}, which is not looked into"))]
        }
        Some(_) => vec![ProgramEffect::Ask(format!("{name} with a script whose name is not literal"))],
    }
}

/// Tells whether a path names standard input, or another file that is already open.
pub(crate) fn is_input(path: &str) -> bool {
    path == "-" || path.starts_with("/dev/") || path.starts_with("/proc/")
}

/// Returns the commands that `find` runs, and the files that it deletes or writes.
fn in_find(words: &[Arg]) -> Vec<ProgramEffect> {
    let mut inner = Vec::new();
    let mut starts: Vec<Arg> = Vec::new();
    let mut expression = false;
    let mut at = 1;
    while let Some(word) = words.get(at) {
        at += 1;
        match word.as_text() {
            "-exec" | "-execdir" | "-ok" | "-okdir" => {
                let rest = &words[at..];
                let end = rest.iter().position(|word| matches!(word.as_text(), ";" | "+"));
                let Some(end) = end else {
                    inner.push(ProgramEffect::Ask("find with a command that has no end".to_owned()));
                    return inner;
                };
                // The word `{}` stands for a path that find found. If `{}` is only a part of a word, the whole word is
                // unknown.
                let found = named(words, at - 1, &starts);
                let put = |word: &Arg| match (word.as_text(), &found) {
                    ("{}", Some(path)) => vec![path.clone()],
                    ("{}", None) => vec![Arg::unknown()],
                    (text, _) if text.contains("{}") => vec![Arg::unknown()],
                    _ => vec![word.clone()],
                };
                if word.as_text().ends_with("dir") {
                    // `find -execdir` runs the program in every folder below the start folders. So a program such as
                    // make, which works in its folder, may write everywhere below them.
                    let works = rest.first().and_then(|word| table::find(base(word.as_text())));
                    if works.is_some_and(|table| table.style.works) {
                        inner.extend(starts.iter().map(|start| ProgramEffect::Writes(start.below(), TreeEffect::Yes)));
                    }
                    inner.push(ProgramEffect::Folder(Arg::unknown()));
                }
                inner.push(ProgramEffect::Command(rest[..end].iter().flat_map(put).collect()));
                at += end + 1;
            }
            "-delete" => {
                let here = [Arg::known(".")];
                let from = if starts.is_empty() { here.as_slice() } else { starts.as_slice() };
                match named(words, at - 1, &starts) {
                    Some(path) => inner.push(ProgramEffect::Writes(path, TreeEffect::No)),
                    None => {
                        inner.extend(from.iter().map(|start| ProgramEffect::Writes(start.clone(), TreeEffect::Yes)))
                    }
                }
            }
            "-fprint" | "-fprint0" | "-fls" | "-fprintf" => {
                inner.push(ProgramEffect::Writes(words.get(at).cloned().unwrap_or_else(Arg::unknown), TreeEffect::No));
                at += 1;
            }
            // The shell may expand this word to several words, and one of them may be `-exec` with a command.
            "" if word.text.is_none() && word.spot.is_none() => {
                inner.push(ProgramEffect::Ask("find with a word that is not literal".to_owned()));
            }
            "-H" | "-L" | "-P" if starts.is_empty() => {}
            "-D" | "-O" | "-O1" | "-O2" | "-O3" if starts.is_empty() => at += usize::from(word.as_text() == "-D"),
            text if !text.starts_with(['-', '(', '!']) && !expression => starts.push(word.clone()),
            text if text.starts_with(['-', '(', '!']) => expression = true,
            _ => {}
        }
    }
    inner
}

/// Returns the files that find prints, as far as its words show them. Returns None when find runs another program or
/// prints in another format, or when a start folder is not literal.
pub(crate) fn found_by_find(words: &[Arg]) -> Option<Vec<Arg>> {
    let is_start = |word: &&Arg| !word.lead.starts_with(['-', '(', '!']);
    let starts: Vec<Arg> = words.iter().skip(1).take_while(is_start).cloned().collect();
    let prints = |word: &Arg| !matches!(word.as_text(), "-printf" | "-fprintf" | "-ls" | "-exec" | "-execdir" | "-ok");
    if starts.is_empty() || !words.iter().all(prints) {
        return None;
    }
    if let Some(found) = named(words, words.len(), &starts) {
        return Some(vec![found]);
    }
    starts.iter().map(|start| start.text.as_deref().map(Arg::inside)).collect()
}

/// Conditions of a find command, such as `-empty`, that take no value. `TESTS_WITH_WORD` lists conditions that take a
/// value. If a find command has any other condition, or `-o`, the files that it finds are unknown.
const TESTS_ALONE: &[&str] = &["-print", "-print0", "-empty", "-depth", "-mount", "-xdev"];
const TESTS_WITH_WORD: &[&str] =
    &["-type", "-maxdepth", "-mindepth", "-mtime", "-mmin", "-newer", "-size", "-user", "-path"];

/// Returns the files on which an action of find, such as `-delete` at the index `end`, acts: the entries below one
/// start folder whose names fit the pattern of `-name`. Returns None when the words do not show these files.
fn named(words: &[Arg], end: usize, starts: &[Arg]) -> Option<Arg> {
    let folder = match starts {
        [] => ".",
        [only] => only.text.as_deref()?,
        _ => return None,
    };
    let mut pattern = None;
    let mut at = 1 + starts.len();
    while at < end {
        let (test, value) = (words.get(at)?.as_text(), words.get(at + 1));
        match test {
            "-name" => {
                pattern = value?.text.clone();
                pattern.as_ref()?;
                at += 2;
            }
            // `! -path x` only excludes files. The names of the remaining files still fit the pattern of `-name`.
            "!" | "-not" if value?.as_text() == "-path" => at += 3,
            _ if TESTS_ALONE.contains(&test) => at += 1,
            _ if TESTS_WITH_WORD.contains(&test) => at += 2,
            _ => return None,
        }
    }
    // With `-o` or `,` later in the expression, find may act on files of other names.
    let alternatives = words[end..].iter().any(|word| matches!(word.as_text(), "-o" | "-or" | ","));
    let spot = PathSpot::Named { folder: folder.to_owned(), pattern: pattern? };
    (!alternatives).then(|| Arg { spot: Some(spot), ..Arg::unknown() })
}
