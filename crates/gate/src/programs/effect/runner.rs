//! Reads commands of programs that run another command which is not simply the rest of their words: fd,
//! start-stop-daemon, cmake, docker compose and compilers.

use super::ProgramEffect;
use crate::command::Arg;
use crate::programs::options::ParsedOptions;
use crate::spot::PathSpot;

/// Returns the command that fd runs for each file that it finds: the words after `-x` or `-X`, and then the file.
pub(super) fn fd(words: &[Arg], parsed: &ParsedOptions) -> Vec<ProgramEffect> {
    let runs = |word: &Arg| matches!(word.as_text(), "-x" | "-X" | "--exec" | "--exec-batch");
    let Some(at) = words.iter().position(runs) else { return Vec::new() };
    let before = words.get(1..at).unwrap_or_default();
    let rest = words.get(at + 1..).unwrap_or_default();
    let end = rest.iter().position(|word| word.as_text() == ";").unwrap_or(rest.len());
    let found = found_by_fd(before, parsed);
    let is_mark = |word: &Arg| ["{}", "{.}", "{/}", "{//}", "{/.}"].iter().any(|mark| word.as_text().contains(mark));
    let put = |word: &Arg| match word.as_text() {
        "{}" => found.clone(),
        _ if is_mark(word) => Arg::unknown(),
        _ => word.clone(),
    };
    let mut command: Vec<Arg> = rest[..end].iter().map(put).collect();
    if !rest[..end].iter().any(is_mark) {
        command.push(found.clone());
    }
    vec![ProgramEffect::Command(command)]
}

/// Returns the files that fd finds, as far as its words show them: by their ending, or by a part of their names.
fn found_by_fd(words: &[Arg], parsed: &ParsedOptions) -> Arg {
    let operands: Vec<&Arg> = words.iter().filter(|word| parsed.operands.contains(word)).collect();
    let folder = match operands.get(1..).unwrap_or_default() {
        [] => Some("."),
        [only] => only.text.as_deref(),
        _ => None,
    };
    let endings: Vec<&Arg> = parsed.values(&["-e", "--extension"]).collect();
    let plain = |text: &str| text.chars().all(|letter| letter.is_alphanumeric() || "_-".contains(letter));
    let pattern = match (endings.as_slice(), operands.first().map(|word| word.as_text())) {
        ([ending], _) => ending.text.as_ref().map(|ending| format!("*.{ending}")),
        ([], Some(part)) if plain(part) && !part.is_empty() => Some(format!("*{part}*")),
        _ => None,
    };
    match (folder, pattern) {
        (Some(folder), Some(pattern)) => {
            Arg { spot: Some(PathSpot::Named { folder: folder.to_owned(), pattern }), ..Arg::unknown() }
        }
        (Some(folder), None) => Arg::inside(folder),
        (None, _) => Arg::unknown(),
    }
}

/// Returns the command of start-stop-daemon: the program that an option names, with the operands as its arguments.
pub(super) fn daemon(parsed: &ParsedOptions) -> Vec<ProgramEffect> {
    let program = parsed.values(&["-a", "--startas", "-x", "--exec"]).next();
    let command = |program: &Arg| std::iter::once(program.clone()).chain(parsed.operands.iter().cloned()).collect();
    program.map(|program| ProgramEffect::Command(command(program))).into_iter().collect()
}

/// Returns the command that `cmake -E` runs. The command begins after the folder of `cmake -E chdir`, after the
/// assignments of `cmake -E env`, or directly after `cmake -E time`.
pub(super) fn cmake(words: &[Arg]) -> Vec<ProgramEffect> {
    let Some(at) = words.iter().position(|word| word.as_text() == "-E") else { return Vec::new() };
    match words.get(at + 1).map(Arg::as_text) {
        Some("chdir") => {
            let folder = words.get(at + 2).cloned().unwrap_or_else(Arg::unknown);
            vec![ProgramEffect::Folder(folder), ProgramEffect::Rest(at + 3)]
        }
        Some("env") => {
            let wrapped = std::iter::once(Arg::known("env")).chain(words[at + 2..].iter().cloned());
            vec![ProgramEffect::Command(wrapped.filter(|word| !word.as_text().starts_with("--")).collect())]
        }
        Some("time") => vec![ProgramEffect::Rest(at + 2)],
        Some(_) | None => Vec::new(),
    }
}

/// Reads `docker compose up` as `docker-compose up`, because `docker-compose` has an option table of its own.
pub(super) fn compose(words: &[Arg]) -> Vec<ProgramEffect> {
    let Some(at) = words.iter().position(|word| word.as_text() == "compose").filter(|at| *at > 0) else {
        return Vec::new();
    };
    let rest = words.get(at + 1..).unwrap_or_default().iter().cloned();
    super::effects(&std::iter::once(Arg::known("docker-compose")).chain(rest).collect::<Vec<Arg>>()).unwrap_or_default()
}

/// Returns the command that a compiler's option `-wrapper` names. Commas separate the words of the command.
pub(super) fn compiler(words: &[Arg]) -> Vec<ProgramEffect> {
    let Some(at) = words.iter().position(|word| word.as_text() == "-wrapper") else { return Vec::new() };
    match words.get(at + 1).and_then(|word| word.text.as_deref()) {
        Some(text) => vec![ProgramEffect::Command(text.split(',').map(Arg::known).collect())],
        None => vec![ProgramEffect::Ask("a compiler with a wrapper that is not literal".to_owned())],
    }
}
