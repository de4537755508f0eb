//! Reads git commands that bring another state of the repository into the work tree. Prepares the git calls that list
//! which files change.

use super::paths::is_revision;
use crate::command::{Arg, GitQuestion, WorkTreeMove};
use crate::programs::effect::ProgramEffect;
use crate::programs::options::ParsedOptions;

fn question(words: &[&str]) -> GitQuestion {
    let arguments = words.iter().map(|word| (*word).to_owned()).collect();
    GitQuestion { arguments, otherwise: None, optional: false }
}

fn difference(from: &str, to: &str) -> GitQuestion {
    question(&["diff", "--name-only", "-z", "--no-renames", "--no-relative", "--no-ext-diff", from, to, "--"])
}

/// Returns the git call that lists the files with uncommitted changes.
fn uncommitted() -> GitQuestion {
    question(&["diff", "--name-only", "-z", "--no-renames", "--no-relative", "--no-ext-diff", "HEAD", "--"])
}

/// Returns the word if git can read it only as the name of a commit, such as a branch. Returns None for any other word.
fn revision(word: &Arg) -> Option<String> {
    let text = word.text.as_deref()?;
    match text {
        "-" => Some("@{-1}".to_owned()),
        _ if text.is_empty() || text.starts_with('-') || text.contains(':') => None,
        _ => Some(text.to_owned()),
    }
}

fn found(name: &str, questions: Option<Vec<GitQuestion>>, asks: bool) -> Vec<ProgramEffect> {
    let what = format!("git {name}");
    match questions {
        Some(questions) if questions.is_empty() && !asks => Vec::new(),
        questions => vec![ProgramEffect::Moves(WorkTreeMove {
            what,
            asks: asks || questions.is_none(),
            questions: questions.unwrap_or_default(),
            folders: None,
        })],
    }
}

/// Returns a change of the work tree for which no git call can list the files, so the files stay unknown.
pub(super) fn unknown(name: &str) -> Vec<ProgramEffect> {
    found(name, None, true)
}

/// Returns the effects of `git checkout` and `git switch` to another branch or commit. A short name may also mean a
/// branch of a remote.
pub(super) fn to_state(name: &str, start: Option<&Arg>, force: bool) -> Vec<ProgramEffect> {
    let mut questions = Vec::new();
    if force {
        questions.push(uncommitted());
    }
    let Some(start) = start else { return found(name, Some(questions), force) };
    let asks = force || start.text.as_deref().is_none_or(is_revision);
    let Some(state) = revision(start) else { return found(name, None, asks) };
    let remote = difference("HEAD", &format!("origin/{state}")).arguments;
    questions.push(GitQuestion { otherwise: Some(remote), ..difference("HEAD", &state) });
    found(name, Some(questions), asks)
}

/// Returns the effects of `reset --hard` and similar commands.
pub(super) fn reset(parsed: &ParsedOptions) -> Vec<ProgramEffect> {
    let mut questions = vec![uncommitted()];
    match parsed.operands.first().map(revision) {
        Some(None) => return unknown("reset"),
        Some(Some(state)) => questions.push(difference("HEAD", &state)),
        None => {}
    }
    found("reset", Some(questions), true)
}

/// Returns the effects of `git merge`, `git pull` and `git rebase`. They write the files that the merged branch changed
/// since it separated from the current branch.
pub(super) fn joined(name: &str, parsed: &ParsedOptions) -> Vec<ProgramEffect> {
    let upstream =
        || vec![question(&["diff", "--name-only", "-z", "--no-renames", "--no-relative", "HEAD...@{upstream}", "--"])];
    if parsed.has(&["--abort", "--quit", "--continue", "--skip", "--edit-todo", "--show-current-patch"]) {
        return Vec::new();
    }
    let since = |state: String| {
        question(&["diff", "--name-only", "-z", "--no-renames", "--no-relative", &format!("HEAD...{state}"), "--"])
    };
    let questions = match (name, parsed.operands.as_slice()) {
        // `git pull` first fetches new commits, and those are unknown. Only the files of commits that were fetched
        // before are listed.
        ("pull", [remote, states @ ..]) if !states.is_empty() => {
            let fetched = |state: &Arg| {
                let name = revision(&Arg::known(state.text.as_deref()?.split(':').next()?))?;
                Some(since(if remote.as_text() == "." { name } else { format!("{}/{name}", remote.as_text()) }))
            };
            states.iter().map(fetched).collect()
        }
        ("pull", _) | (_, []) => Some(upstream()),
        (_, states) => states.iter().map(|state| revision(state).map(since)).collect(),
    };
    let onto: Vec<GitQuestion> = parsed.values(&["--onto"]).filter_map(revision).map(since).collect();
    found(name, questions.map(|questions| [questions, onto].concat()), false)
}

/// Returns the effects of `git cherry-pick` and `git revert`: they write the files that the named commits change.
pub(super) fn picked(name: &str, parsed: &ParsedOptions) -> Vec<ProgramEffect> {
    let changed = |state: String| match state.split_once("..") {
        Some((from, to)) => difference(from, to.trim_start_matches('.')),
        None => difference(&format!("{state}^"), &state),
    };
    found(name, parsed.operands.iter().map(|state| revision(state).map(changed)).collect(), false)
}

/// Returns the effects of `git stash`: it writes the files whose changes it puts away or brings back.
pub(super) fn stash(parsed: &ParsedOptions) -> Vec<ProgramEffect> {
    let operands = parsed.operands.as_slice();
    let (verb, rest) = operands.split_first().map_or(("push", operands), |(verb, rest)| (verb.as_text(), rest));
    match verb {
        "push" | "save" if !parsed.has_dashes && (verb == "save" || rest.is_empty()) => {
            let untracked = question(&["ls-files", "-z", "--full-name", "-o", "--exclude-standard"]);
            let ignored = question(&["ls-files", "-z", "--full-name", "-o"]);
            let mut questions = vec![uncommitted()];
            questions.extend(parsed.has(&["-u", "--include-untracked"]).then_some(untracked));
            questions.extend(parsed.has(&["-a", "--all"]).then_some(ignored));
            found("stash", Some(questions), false)
        }
        "pop" | "apply" | "branch" => {
            let name = if verb == "branch" { rest.get(1) } else { rest.first() };
            let state = match name.map(|name| (name, name.as_text().parse::<u32>())) {
                Some((_, Ok(number))) => Some(format!("stash@{{{number}}}")),
                Some((name, Err(_))) => revision(name),
                None => Some("stash@{0}".to_owned()),
            };
            let questions = state.map(|state| {
                let tree = question(&["ls-tree", "-r", "-z", "--name-only", "--full-tree", &format!("{state}^3")]);
                vec![difference(&format!("{state}^1"), &state), GitQuestion { optional: true, ..tree }]
            });
            found("stash", questions, false)
        }
        _ => Vec::new(),
    }
}
