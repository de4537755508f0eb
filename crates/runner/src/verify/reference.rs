//! Finds the reference of a turn's output (`output_ref`, for example a path, an address or a commit) in the agent's
//! text and in the list of changed files. Does not read the disk.

use std::collections::BTreeSet;

use wire::message::OutputType;
use wire::path::{self, FilePath};

use super::evidence::{EvidenceCode, VerificationProblem};
use crate::outcome::SaidReference;

/// The facts at the end of a turn from which the reference of the output is found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TurnFacts {
    /// The reference that the caller gives directly, for example with `task verify --output-ref`. `None` when the
    /// caller gives none.
    pub output_ref: Option<String>,
    pub said: SaidReference,
    /// The files that the output contained and that were written, as paths relative to the worktree.
    pub artifacts: Vec<String>,
    /// The files that differ from the base commit and still exist, as paths relative to the worktree.
    pub changed: Vec<String>,
    pub has_remote: bool,
    /// The head commit of the worktree. `None` when there are no commits since the base commit.
    pub commit: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FoundReference {
    /// The resolved path of the output file, relative to the worktree.
    File(String),
    Url(String),
    Commit(String),
    Message(String),
}

impl FoundReference {
    pub fn as_str(&self) -> &str {
        match self {
            Self::File(text) | Self::Url(text) | Self::Commit(text) | Self::Message(text) => text,
        }
    }
}

/// Returns the reference of a turn's output, or the problem that says why none was found.
pub fn find(kind: OutputType, facts: &TurnFacts) -> Result<FoundReference, VerificationProblem> {
    match facts.name() {
        Some(name) => named(kind, name, facts),
        None => deduced(kind, facts),
    }
}

impl TurnFacts {
    /// Returns the reference that the caller gave directly, else the reference in the agent's last `output_ref:` note.
    /// Returns `None` if there is neither.
    pub(super) fn name(&self) -> Option<&str> {
        let noted = || self.said.notes.iter().rev().find_map(|note| noted(note));
        self.output_ref.as_deref().or_else(noted)
    }
}

/// Parses a note of the form `output_ref: VALUE`. Returns `None` for any other note, such as one with text before
/// `output_ref`.
fn noted(note: &str) -> Option<&str> {
    let value = note.trim().strip_prefix("output_ref:")?.trim();
    (!value.is_empty() && !value.contains(char::is_control)).then_some(value)
}

fn named(kind: OutputType, name: &str, facts: &TurnFacts) -> Result<FoundReference, VerificationProblem> {
    match kind {
        OutputType::File | OutputType::Json | OutputType::Report => file(name),
        OutputType::Message => Ok(FoundReference::Message(name.to_owned())),
        OutputType::Pr if is_url(name) => Ok(FoundReference::Url(name.to_owned())),
        OutputType::Pr => match &facts.commit {
            Some(commit) if !facts.has_remote && is_short_for(name, commit) => {
                Ok(FoundReference::Commit(commit.clone()))
            }
            Some(_) | None => {
                let wanted = if facts.has_remote { "the URL of a pull request" } else { "a URL or your last commit" };
                Err(VerificationProblem::new(EvidenceCode::OutputRefInvalid, format!("`{name}` must be {wanted}")))
            }
        },
    }
}

fn deduced(kind: OutputType, facts: &TurnFacts) -> Result<FoundReference, VerificationProblem> {
    match kind {
        OutputType::File | OutputType::Json | OutputType::Report => {
            // Artifacts are files that the agent handed over as its output. If there are any, files that were only
            // changed are ignored.
            let made = if facts.artifacts.is_empty() { &facts.changed } else { &facts.artifacts };
            let hint = "Name the output in a note of the form `output_ref: PATH`.";
            only(made.iter().map(String::as_str), hint).and_then(file)
        }
        OutputType::Message if facts.said.summary.trim().is_empty() => Err(missing("There is no summary.")),
        OutputType::Message => Ok(FoundReference::Message(facts.said.summary.clone())),
        OutputType::Pr if facts.has_remote => url(&facts.said).map(|url| FoundReference::Url(url.to_owned())),
        OutputType::Pr => match &facts.commit {
            Some(commit) => Ok(FoundReference::Commit(commit.clone())),
            None => Err(missing("Nothing was committed.")),
        },
    }
}

fn missing(hint: &str) -> VerificationProblem {
    VerificationProblem::new(EvidenceCode::OutputRefMissing, format!("there is no output. {hint}"))
}

/// Returns the only candidate for the output's reference. Equal candidates count as one. No candidate, or several
/// different ones, are a problem.
fn only<'a>(candidates: impl Iterator<Item = &'a str>, hint: &str) -> Result<&'a str, VerificationProblem> {
    const SHOWN: usize = 10;
    let all: BTreeSet<&str> = candidates.collect();
    let mut some = all.iter();
    match (some.next(), some.next()) {
        (None, _) => Err(missing(hint)),
        (Some(one), None) => Ok(one),
        (Some(_), Some(_)) => {
            let shown = all.iter().take(SHOWN).copied().collect::<Vec<_>>().join(", ");
            let more = if all.len() > SHOWN { ", …" } else { "" };
            let told = format!("{} could be the output: {shown}{more}. {hint}", all.len());
            Err(VerificationProblem::new(EvidenceCode::OutputRefAmbiguous, told))
        }
    }
}

fn file(name: &str) -> Result<FoundReference, VerificationProblem> {
    // A path that ends in `.` or `..` names a folder, which cannot be an output.
    let is_folder = matches!(name.rsplit('/').next(), Some("." | ".."));
    let parts = path::resolve(name).filter(|_| !is_folder && FilePath::is_legal(name));
    parts.map(|parts| FoundReference::File(parts.join("/"))).ok_or_else(|| {
        let told = format!("`{name}` must be a relative path of a file inside of the worktree and outside of .git");
        VerificationProblem::new(EvidenceCode::PathOutsideRoot, told)
    })
}

/// Returns the address of the only pull request in the agent's texts. If there is no pull request, returns the only web
/// address.
fn url(said: &SaidReference) -> Result<&str, VerificationProblem> {
    let hint = "Name the pull request in a note of the form `output_ref: URL`.";
    let texts = || said.notes.iter().chain([&said.summary]);
    let all = || texts().flat_map(|text| urls(text));
    let mut requests: Vec<(&str, &str)> = all().filter_map(|url| Some((request(url)?, url))).collect();
    if requests.is_empty() {
        return only(all(), hint);
    }
    // Addresses of several pages of the same pull request count as one address.
    requests.sort_unstable();
    requests.dedup_by_key(|(request, _)| *request);
    only(requests.into_iter().map(|(_, url)| url), hint)
}

/// Returns the web addresses in a text, without the punctuation around them.
fn urls(text: &str) -> impl Iterator<Item = &str> {
    let is_end = |letter: char| letter.is_whitespace() || letter.is_control() || "<>()[]{}\"'`|\\^*".contains(letter);
    let words = text.split(is_end);
    let words = words.map(|word| word.trim_end_matches(['.', ',', ';', ':', '!', '?']));
    words.filter(|word| is_url(word))
}

/// Returns true when a text has the form `https://host/path` or `http://host/path`, without a password.
fn is_url(text: &str) -> bool {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    let Some((host, path)) = rest.and_then(|rest| rest.split_once('/')) else { return false };
    let is_host = |c: char| c.is_ascii_alphanumeric() || ".-:[]".contains(c);
    let is_clean = |c: char| !c.is_whitespace() && !c.is_control();
    host.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '[')
        && host.chars().all(is_host)
        && !path.is_empty()
        && path.chars().all(is_clean)
}

/// Returns the part of an address that identifies a pull request, for the address forms of the usual repository hosts.
/// Returns `None` for any other address.
fn request(url: &str) -> Option<&str> {
    const WORDS: [&str; 7] = ["pull", "pulls", "pull-requests", "pullrequest", "pullrequests", "merge_requests", "+"];
    let mut before = "";
    let mut end = 0;
    for part in url.split(['/', '?', '#']) {
        end += part.len();
        if WORDS.contains(&before) && !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()) {
            return url.get(..end);
        }
        (before, end) = (part, end + 1);
    }
    None
}

fn is_short_for(name: &str, commit: &str) -> bool {
    const SHORTEST: usize = 7;
    name.len() >= SHORTEST && commit.starts_with(&name.to_ascii_lowercase())
}

#[cfg(test)]
#[path = "reference_tests.rs"]
mod tests;
