//! Receipts. A receipt records how setup changed one file of a client, so that `--undo` restores the original bytes.
//! Receipts are files in the user's data folder.
//!
//! A receipt holds only the changed parts, never the full file, because configurations contain secrets. If the file was
//! changed after the setup, its bytes cannot be restored. The receipt then lists the entries that `--undo` removes.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use similar::DiffOp;

use super::problem::SetupProblem;
use base::ground::digest::sha256;

/// The largest size, in bytes, of a receipt (the record of how setup changed a file). A longer file is ignored, because
/// Handover writes no such receipt.
const BYTES_MAX: u64 = 1 << 20;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Receipt {
    /// The path of the client's file that setup configured. The program does not use it: it tells people who look into
    /// the folder of receipts which file a receipt is about.
    pub(super) path: String,
    /// `true` if the client's file existed before the first setup.
    pub(super) existed: bool,
    /// The entries that setup created in the client's file, such as `mcpServers/handover`.
    pub(super) made: Vec<String>,
    /// The folders that setup created for the client's file, outermost first.
    pub(super) folders: Vec<PathBuf>,
    before: String,
    after: String,
    back: Vec<Hunk>,
}

/// One difference between the text that setup wrote and the original text: a range of bytes, and the original text at
/// that place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Hunk {
    at: usize,
    len: usize,
    text: String,
}

impl Receipt {
    /// Returns a receipt, that is, a record from which the text `before` can be restored when the file has the text
    /// `after`.
    pub(super) fn new(path: &Path, before: Option<&str>, after: &str) -> Self {
        Self {
            path: path.display().to_string(),
            existed: before.is_some(),
            made: Vec::new(),
            folders: Vec::new(),
            before: sha256(before.unwrap_or_default().as_bytes()),
            after: sha256(after.as_bytes()),
            back: hunks(before.unwrap_or_default(), after),
        }
    }

    /// Returns the text that the client's file had before the first setup. Returns `None` if the file was changed since
    /// the last setup.
    pub(super) fn restore(&self, now: &str) -> Option<String> {
        if sha256(now.as_bytes()) != self.after {
            return None;
        }
        let mut text = String::new();
        let mut from = 0;
        for hunk in &self.back {
            text.push_str(now.get(from..hunk.at)?);
            text.push_str(&hunk.text);
            from = hunk.at.checked_add(hunk.len)?;
        }
        text.push_str(now.get(from..)?);
        (sha256(text.as_bytes()) == self.before).then_some(text)
    }

    /// Returns the receipt of a client's file (the record of how setup changed it), if there is one. A receipt that is
    /// too long or is not valid JSON is ignored.
    pub(super) fn find(folder: &Path, target: &Path) -> Result<Option<Self>, SetupProblem> {
        let path = file(folder, target);
        let unreadable = |cause| SetupProblem::Unreadable { path: path.clone(), cause };
        match std::fs::metadata(&path) {
            Ok(about) if about.len() > BYTES_MAX => return Ok(None),
            Ok(_) => {}
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return Ok(None),
            Err(error) => return Err(unreadable(error)),
        }
        let bytes = std::fs::read(&path).map_err(unreadable)?;
        Ok(serde_json::from_slice(&bytes).ok())
    }

    /// Returns the receipt (the record of what setup wrote) without the entries for which `gone` is true. The new
    /// receipt cannot restore the original text.
    pub(super) fn without(self, gone: impl Fn(&str) -> bool) -> Self {
        let made = self.made.into_iter().filter(|made| !gone(made)).collect();
        Self { made, after: String::new(), back: Vec::new(), ..self }
    }

    pub(super) fn text(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string_pretty(self).map(|text| text + "\n")
    }
}

/// Returns the path of the receipt for a client's file, that is, of the record of how setup changed the file.
pub(super) fn file(folder: &Path, target: &Path) -> PathBuf {
    let mut name = sha256(target.display().to_string().as_bytes());
    name.truncate(16);
    folder.join(name + ".json")
}

/// Returns the differences between two texts. The function compares words and not lines, because some configurations
/// are one long line, and the receipt (the record of how setup changed a file) must not contain the full text.
fn hunks(before: &str, after: &str) -> Vec<Hunk> {
    let (old, new) = (words(before), words(after));
    let mut hunks = Vec::new();
    let (mut at, mut seen) = (0, 0);
    for op in base::ground::difference::steps(&old, &new) {
        let is = op.new_range();
        at += bytes(&new[seen..is.start]);
        seen = is.start;
        if !matches!(op, DiffOp::Equal { .. }) {
            hunks.push(Hunk { at, len: bytes(&new[is]), text: old[op.old_range()].concat() });
        }
    }
    hunks
}

fn bytes(words: &[&str]) -> usize {
    words.iter().map(|word| word.len()).sum()
}

/// Splits a text into words. A word is a run of letters and digits, or one other character.
fn words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let run = rest.find(|c: char| !c.is_alphanumeric()).unwrap_or(rest.len());
        let (word, after) = rest.split_at(if run == 0 { first.len_utf8() } else { run });
        words.push(word);
        rest = after;
    }
    words
}
