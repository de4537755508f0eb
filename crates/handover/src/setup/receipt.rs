//! What we did to a file, kept in the user's data folder, so that undoing gives back the same bytes.
//!
//! A receipt holds only the pieces that were changed, never the file: configurations have secrets in them. When the
//! file was changed since, the receipt still says what we made, and the rest is found by structure.

use std::fmt::Write as _;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use similar::{Algorithm, DiffOp, capture_diff_slices};

use super::problem::Problem;

/// A receipt we wrote is small; anything longer is not one.
const BYTES_MAX: u64 = 1 << 20;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Receipt {
    /// For whoever looks into the folder.
    pub(super) path: String,
    /// The file was there before us.
    pub(super) existed: bool,
    /// The places in it that were not there before us.
    pub(super) made: Vec<String>,
    /// Folders that were not there before us, from the outermost.
    pub(super) folders: Vec<PathBuf>,
    before: String,
    after: String,
    back: Vec<Hunk>,
}

/// Bytes of what we wrote, and what was in their place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Hunk {
    at: usize,
    len: usize,
    text: String,
}

impl Receipt {
    /// What leads back from a text we write to the one that was there.
    pub(super) fn new(path: &Path, before: Option<&str>, after: &str) -> Self {
        Self {
            path: path.display().to_string(),
            existed: before.is_some(),
            made: Vec::new(),
            folders: Vec::new(),
            before: hash(before.unwrap_or_default()),
            after: hash(after),
            back: hunks(before.unwrap_or_default(), after),
        }
    }

    /// The text that was there before us, when nobody changed the file since.
    pub(super) fn restore(&self, now: &str) -> Option<String> {
        if hash(now) != self.after {
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
        (hash(&text) == self.before).then_some(text)
    }

    /// The receipt for a file, if there is one. One that cannot be read is as good as none.
    pub(super) fn find(folder: &Path, target: &Path) -> Result<Option<Self>, Problem> {
        let path = file(folder, target);
        let unreadable = |cause| Problem::Unreadable { path: path.clone(), cause };
        match std::fs::metadata(&path) {
            Ok(about) if about.len() > BYTES_MAX => return Ok(None),
            Ok(_) => {}
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return Ok(None),
            Err(error) => return Err(unreadable(error)),
        }
        let bytes = std::fs::read(&path).map_err(unreadable)?;
        Ok(serde_json::from_slice(&bytes).ok())
    }

    /// Returns the receipt of what is left after the places of `gone` were taken out. It leads back to no earlier text.
    pub(super) fn without(self, gone: impl Fn(&str) -> bool) -> Self {
        let made = self.made.into_iter().filter(|made| !gone(made)).collect();
        Self { made, after: String::new(), back: Vec::new(), ..self }
    }

    pub(super) fn text(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string_pretty(self).map(|text| text + "\n")
    }
}

/// Where the receipt for a file is.
pub(super) fn file(folder: &Path, target: &Path) -> PathBuf {
    let mut name = hash(&target.display().to_string());
    name.truncate(16);
    folder.join(name + ".json")
}

fn hash(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    digest.iter().fold(String::new(), |mut hex, byte| {
        // Writing to a string cannot fail.
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

/// The pieces that differ. By words and not by lines: a file on one line would end up in the receipt as a whole.
fn hunks(before: &str, after: &str) -> Vec<Hunk> {
    let (old, new) = (words(before), words(after));
    let mut hunks = Vec::new();
    let (mut at, mut seen) = (0, 0);
    for op in capture_diff_slices(Algorithm::Myers, &old, &new) {
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

/// Runs of letters and digits, and every other character for itself.
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
