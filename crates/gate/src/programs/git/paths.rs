//! Reads the paths in git commands, to find the files that the commands change.

use crate::command::Arg;
use crate::programs::effect::{ProgramEffect, TreeEffect};

/// Returns the files that a path in a git command names. Git has its own patterns and prefixes, such as `:(top)`. A
/// path with such a pattern or prefix may name any file of the repository.
pub(super) fn named(path: &Arg) -> Vec<ProgramEffect> {
    match path.text.as_deref() {
        Some(text) if text.starts_with(':') || text.contains(['*', '?', '[']) => anywhere(),
        Some(text) => vec![
            ProgramEffect::Writes(path.clone(), TreeEffect::No),
            // Git may also change any file below this path, if the path is a folder.
            ProgramEffect::Writes(Arg::inside(text), TreeEffect::Yes),
        ],
        None => vec![ProgramEffect::Writes(path.clone(), TreeEffect::Yes)],
    }
}

/// Returns a write to any file of the repository.
pub(super) fn anywhere() -> Vec<ProgramEffect> {
    vec![ProgramEffect::Writes(Arg::inside("/"), TreeEffect::Yes)]
}

/// Tells whether a word is an expression for a commit and not the name of a branch: `HEAD~1`, `v1^`, `main@{1}`, a
/// hash.
pub(super) fn is_revision(text: &str) -> bool {
    let hash = text.len() >= 7 && text.chars().all(|letter| letter.is_ascii_hexdigit());
    let named = matches!(text, "HEAD" | "@" | "ORIG_HEAD" | "FETCH_HEAD" | "MERGE_HEAD" | "-");
    hash || (!named && text.contains(['~', '^'])) || text.contains("@{") || matches!(text, "ORIG_HEAD" | "FETCH_HEAD")
}

/// Returns the folder that a clone of an address creates: `repo` of `https://host/repo.git`.
pub(super) fn folder_of(address: &Arg) -> Option<Arg> {
    let text = address.text.as_deref()?.trim_end_matches('/');
    let text = text.strip_suffix("/.git").unwrap_or(text);
    let name = text.rsplit(['/', ':']).next()?;
    let name = name.strip_suffix(".git").or_else(|| name.strip_suffix(".bundle")).unwrap_or(name);
    (!name.is_empty() && name != "." && name != "..").then(|| Arg::known(name))
}
