//! Reads the operands of git's commands, to find the files that they change.

use super::moves;
use super::paths::{anywhere, folder_of, is_revision, named};
use crate::command::Arg;
use crate::programs::effect::{ProgramEffect, TreeEffect, copy};
use crate::programs::options::ParsedOptions;
use crate::spot::PathSpot;

/// Tells whether this module reads operands of the given kind. The kind is the first word of the line `does` of an
/// option table.
#[cfg(test)]
pub(crate) fn knows_kind(kind: &str) -> bool {
    kind == "format-patch" || kind.starts_with("git-")
}

fn tree(path: &Arg) -> ProgramEffect {
    ProgramEffect::Writes(path.clone(), TreeEffect::Yes)
}

fn write(path: &Arg) -> ProgramEffect {
    ProgramEffect::Writes(path.clone(), TreeEffect::No)
}

fn all(paths: &[Arg]) -> Vec<ProgramEffect> {
    paths.iter().flat_map(named).collect()
}

/// Returns the effects of a git command's operands. `does` is the line of that name in the command's option table,
/// which says what the operands mean.
pub(super) fn effects(name: &str, does: &str, parsed: &ParsedOptions) -> Vec<ProgramEffect> {
    let operands = parsed.operands.as_slice();
    let first = operands.first().map(Arg::as_text).unwrap_or_default();
    let others = operands.get(1..).unwrap_or_default();
    let ask = |what: &str| vec![ProgramEffect::AskUnlessNamed(format!("git {what}, which can run other commands"))];
    match does {
        "all" => operands.iter().map(write).collect(),
        "git-asks" => ask(name),
        "git-paths" => checkout(name, parsed),
        "git-state" => state(name, parsed),
        "git-checkout-index" => checkout_index(parsed),
        "git-read-tree" if parsed.has(&["-u", "--reset"]) => match parsed.values(&["--prefix"]).next() {
            Some(prefix) => vec![tree(prefix)],
            None => moves::unknown("read-tree"),
        },
        "git-reset" if parsed.has(&["--hard", "--merge", "--keep"]) => moves::reset(parsed),
        "git-rm" if parsed.has(&["--cached", "-n", "--dry-run"]) => Vec::new(),
        "git-rm" if parsed.has(&["--pathspec-from-file"]) => anywhere(),
        "git-rm" => {
            operands.iter().flat_map(|path| if parsed.has(&["-r"]) { named(path) } else { single(path) }).collect()
        }
        "git-mv" if !parsed.has(&["-n", "--dry-run"]) => copy::operands("mv", "move", parsed),
        "git-clean" if !parsed.has(&["-n", "--dry-run"]) => match operands {
            [] => named(&Arg::known(".")),
            paths => all(paths),
        },
        "git-apply" => apply(parsed),
        "git-am" if !parsed.has(&["--abort", "--quit", "--skip", "--show-current-patch"]) => anywhere(),
        "git-stash" => stash(parsed),
        "git-sparse" if !matches!(first, "list" | "check-rules") => moves::unknown("sparse-checkout"),
        "git-submodule" => submodule(first, others),
        "git-bisect" if first == "run" => ask("bisect run"),
        "git-merge-file" if !parsed.has(&["-p", "--stdout", "--object-id"]) => {
            operands.first().map(write).into_iter().collect()
        }
        "git-bundle" if first == "create" => others.first().map(write).into_iter().collect(),
        "git-clone" => {
            let folder = operands.get(1).cloned().or_else(|| operands.first().and_then(folder_of));
            folder.map(|folder| vec![write(&folder), tree(&folder)]).unwrap_or_default()
        }
        "git-init" => match operands.first().filter(|path| path.as_text() != ".") {
            Some(path) => vec![write(path)],
            // `git init` without an operand creates a repository in the current folder. Its settings and hooks are new,
            // so only `.git/objects` counts as written.
            None => vec![write(&Arg::known(".git/objects"))],
        },
        "git-each" => {
            let command = std::iter::once(Arg::known("git")).chain(operands.iter().cloned()).collect();
            vec![ProgramEffect::Command(command)]
        }
        "git-worktree" => match first {
            "add" => others.first().map(write).into_iter().collect(),
            "move" | "remove" => others.iter().map(tree).collect(),
            _ => Vec::new(),
        },
        "git-trailers" if parsed.has(&["--in-place"]) => operands.iter().map(write).collect(),
        "git-maintenance" if matches!(first, "start" | "register" | "unregister" | "stop") => ask("maintenance"),
        "git-grep" if parsed.has(&["-O", "--open-files-in-pager"]) => ask("grep -O"),
        "git-config" => config(parsed),
        "format-patch" if !parsed.has(&["--stdout", "-o", "--output-directory", "--output"]) => {
            let spot = PathSpot::Matching { folder: ".".to_owned(), pattern: "*.patch".to_owned() };
            vec![write(&Arg { spot: Some(spot), ..Arg::unknown() })]
        }
        _ => Vec::new(),
    }
}

fn single(path: &Arg) -> Vec<ProgramEffect> {
    match path.text.as_deref() {
        Some(text) if text.starts_with(':') || text.contains(['*', '?', '[']) => anywhere(),
        Some(_) | None => vec![write(path)],
    }
}

/// Returns the effects of `git checkout` and `git restore`. The words after `--` are paths. Without `--` every word may
/// be a path.
fn checkout(name: &str, parsed: &ParsedOptions) -> Vec<ProgramEffect> {
    let mut found = Vec::new();
    if parsed.has(&["--pathspec-from-file"]) {
        found.extend(anywhere());
    }
    if name == "restore" {
        if !parsed.has(&["-S", "--staged"]) || parsed.has(&["-W", "--worktree"]) {
            found.extend(all(&parsed.operands));
        }
        return found;
    }
    let branches = parsed.has(&["-b", "-B", "--orphan", "--detach", "-d", "-t", "--track"]);
    let paths = if parsed.has_dashes { &parsed.operands[parsed.before_dashes..] } else { &parsed.operands[..] };
    if !branches {
        found.extend(all(paths));
    }
    let whole = parsed.operands.len() <= 1 || branches;
    let starts = parsed.operands.first().filter(|_| whole && !(parsed.has_dashes && parsed.before_dashes == 0));
    let resets = parsed.operands.is_empty() && parsed.has(&["-f", "--force"]);
    found.extend(moves::to_state(name, starts, resets));
    found
}

/// Returns the effects of `git switch`, `merge`, `pull`, `rebase`, `cherry-pick` and `revert`.
fn state(name: &str, parsed: &ParsedOptions) -> Vec<ProgramEffect> {
    match name {
        "switch" => switch(parsed),
        "cherry-pick" | "revert" => moves::picked(name, parsed),
        _ => moves::joined(name, parsed),
    }
}

fn stash(parsed: &ParsedOptions) -> Vec<ProgramEffect> {
    let paths = match parsed.operands.split_first() {
        Some((verb, paths)) if verb.as_text() == "push" => paths,
        // After sub-commands other than `git stash push`, the operands are messages and names of stashes. Only the
        // words after `--` are paths.
        Some(_) | None => parsed.operands.get(parsed.before_dashes..).unwrap_or_default(),
    };
    [all(paths), moves::stash(parsed)].concat()
}

/// Returns the effects of `git switch` to a branch, or to the commit at which a new branch starts.
fn switch(parsed: &ParsedOptions) -> Vec<ProgramEffect> {
    let force = parsed.has(&["-f", "--force", "--discard-changes"]);
    let mut found = moves::to_state("switch", parsed.operands.last(), force);
    // If git cannot list the files, `git switch` needs a person's approval only in two cases: an operand is a variable,
    // which may stand for any commit, or an operand is an expression for a commit, such as `HEAD~1`.
    for effect in &mut found {
        if let ProgramEffect::Moves(moved) = effect {
            moved.asks &= parsed.operands.iter().any(|word| word.text.as_deref().is_none_or(is_revision));
        }
    }
    found
}

fn checkout_index(parsed: &ParsedOptions) -> Vec<ProgramEffect> {
    let prefix = parsed.values(&["--prefix"]).next();
    let start = match prefix {
        None => String::new(),
        Some(Arg { text: Some(text), .. }) => text.clone(),
        Some(_) => return vec![write(&Arg::unknown())],
    };
    let mut found: Vec<ProgramEffect> = parsed
        .operands
        .iter()
        .map(|path| path.text.as_ref().map_or_else(Arg::unknown, |path| Arg::known(&format!("{start}{path}"))))
        .map(|path| write(&path))
        .collect();
    if parsed.has(&["-a", "--all", "--stdin"]) {
        let folder = start.rsplit_once('/').map_or(".", |(folder, _)| folder);
        found.push(tree(&Arg::inside(folder)));
    }
    found
}

fn apply(parsed: &ParsedOptions) -> Vec<ProgramEffect> {
    let shows = parsed.has(&["--check", "--stat", "--numstat", "--summary"]) && !parsed.has(&["--apply"]);
    if shows || parsed.has(&["--cached"]) {
        return Vec::new();
    }
    if parsed.has(&["--unsafe-paths"]) {
        return vec![write(&Arg::unknown()), tree(&Arg::inside("/"))];
    }
    let folder = match parsed.values(&["--directory"]).next() {
        None => ".",
        Some(Arg { text: Some(folder), .. }) => folder,
        Some(_) => return vec![write(&Arg::unknown())],
    };
    vec![tree(&Arg::inside(folder))]
}

fn submodule(command: &str, operands: &[Arg]) -> Vec<ProgramEffect> {
    match command {
        "foreach" => {
            vec![ProgramEffect::AskUnlessNamed("git submodule foreach, which runs other commands".to_owned())]
        }
        "add" => {
            let folder = operands.get(1).cloned().or_else(|| operands.first().and_then(folder_of));
            folder.iter().map(tree).collect()
        }
        "deinit" | "update" => {
            let path = |word: &&Arg| !word.lead.starts_with('-') && word.as_text() != ".";
            operands.iter().filter(path).flat_map(named).collect()
        }
        _ => Vec::new(),
    }
}

/// Returns the settings that `git config` changes, in its older syntax (`git config key value`) and its newer one
/// (`git config set key value`).
fn config(parsed: &ParsedOptions) -> Vec<ProgramEffect> {
    let reads =
        ["--get", "--get-all", "--get-regexp", "--get-urlmatch", "--get-color", "--get-colorbool", "-l", "--list"];
    if parsed.has(&reads) {
        return Vec::new();
    }
    let edits = || vec![ProgramEffect::Ask("git config with an editor, or with whole sections".to_owned())];
    if parsed.has(&["-e", "--edit", "--rename-section", "--remove-section"]) {
        return edits();
    }
    let (verb, operands) = match parsed.operands.split_first() {
        Some((verb, rest)) if !verb.as_text().contains('.') && verb.text.is_some() => (verb.as_text(), rest),
        Some(_) | None => ("", parsed.operands.as_slice()),
    };
    let sets = match verb {
        "list" | "get" => false,
        "edit" | "rename-section" | "remove-section" => return edits(),
        "set" | "unset" => true,
        // `git config` with one operand only reads the setting.
        _ => operands.len() > 1 || parsed.has(&["--unset", "--unset-all", "--add", "--replace-all"]),
    };
    let Some(key) = operands.first().filter(|_| sets) else { return Vec::new() };
    let mut found = vec![ProgramEffect::Setting(key.clone(), operands.get(1).cloned())];
    found.extend(parsed.values(&["-f", "--file"]).map(write));
    found
}
