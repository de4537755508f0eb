//! A word of a command, with the facts that are known before bash expands it.

use wire::glob::braces::{self, LoneBrace};

use crate::shell::script::ProgramText;
use crate::spot::PathSpot;

#[derive(Debug, Default)]
pub(crate) struct ShellWord {
    pub(crate) pieces: Vec<WordPiece>,
    /// The commands that bash runs when it expands this word, in order: `date` for `$(date)`.
    pub(crate) inner: Vec<ProgramText>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum WordPiece {
    /// Unquoted text, in which bash expands braces.
    Plain(String),
    /// Text that was quoted or escaped.
    Quoted(String),
    /// `~` or `~name` at the start of the word.
    Tilde(String),
    /// A character of a file name pattern: `*`, `?` or `[`.
    Wild(char),
    /// A number of unknown value: the result of `$((…))`.
    Number,
    /// A variable that is used without any change of its value: `$x` or `${x}`.
    Variable { name: String, quoted: bool },
    /// A part of unknown value: a variable in another form, such as `${x%.md}`, or the output of a command.
    Unknown,
}

impl ShellWord {
    pub(crate) fn quoted(text: String) -> Self {
        Self { pieces: vec![WordPiece::Quoted(text)], inner: Vec::new() }
    }

    pub(crate) fn push(&mut self, letter: char, quoted: bool) {
        match (self.pieces.last_mut(), quoted) {
            (Some(WordPiece::Plain(text)), false) | (Some(WordPiece::Quoted(text)), true) => text.push(letter),
            (_, true) => self.pieces.push(WordPiece::Quoted(letter.to_string())),
            (_, false) => self.pieces.push(WordPiece::Plain(letter.to_string())),
        }
    }

    /// Returns the text of this word, if it is the same in every run of the command. Otherwise returns None.
    pub(crate) fn literal(&self) -> Option<String> {
        let mut whole = String::new();
        for piece in &self.pieces {
            match piece {
                WordPiece::Plain(text) | WordPiece::Quoted(text) => whole.push_str(text),
                WordPiece::Tilde(_)
                | WordPiece::Wild(_)
                | WordPiece::Number
                | WordPiece::Variable { .. }
                | WordPiece::Unknown => {
                    return None;
                }
            }
        }
        (!self.has_choice()).then_some(whole)
    }

    /// Tells whether the word may contain braces that bash expands to several words, such as `{a,b}` or `{1..9}`.
    pub(crate) fn has_choice(&self) -> bool {
        let plain = || {
            self.pieces.iter().filter_map(|piece| match piece {
                WordPiece::Plain(text) => Some(text.as_str()),
                WordPiece::Quoted(_)
                | WordPiece::Tilde(_)
                | WordPiece::Wild(_)
                | WordPiece::Number
                | WordPiece::Variable { .. }
                | WordPiece::Unknown => None,
            })
        };
        plain().any(|text| text.contains('{')) && plain().any(|text| text.contains(',') || text.contains(".."))
    }

    /// Returns the text of the word if it is plain: without quotes, variables, substitutions and file name patterns.
    pub(crate) fn bare(&self) -> Option<&str> {
        match self.pieces.as_slice() {
            [WordPiece::Plain(text)] => Some(text),
            _ => None,
        }
    }

    /// Tells whether the word begins like an assignment: a name, and then `=`, `+=` or the bracket of an index.
    pub(crate) fn begins_assignment(&self) -> bool {
        let lead = self.lead();
        let name = lead.trim_start_matches(|letter: char| letter == '_' || letter.is_ascii_alphanumeric());
        let indexed = name.is_empty() && self.pieces.get(1) == Some(&WordPiece::Wild('['));
        name.len() < lead.len() && (name.starts_with(['=', '+', '[']) || indexed)
    }

    /// Tells whether the word is a whole number, or a range of whole numbers.
    pub(crate) fn is_number(&self) -> bool {
        let numeric = |text: &str| !text.is_empty() && text.chars().all(|letter| letter.is_ascii_digit());
        match self.pieces.as_slice() {
            [WordPiece::Number] => true,
            [WordPiece::Plain(text)] => {
                numeric(text.strip_prefix('-').unwrap_or(text))
                    || text
                        .strip_prefix('{')
                        .and_then(|text| text.strip_suffix('}'))
                        .is_some_and(|text| text.split("..").all(numeric))
            }
            [WordPiece::Quoted(text)] => numeric(text),
            _ => false,
        }
    }

    pub(crate) fn runs_something(&self) -> bool {
        !self.inner.is_empty()
    }

    /// Returns the literal letters before the first unknown part of the word.
    pub(crate) fn lead(&self) -> String {
        let mut lead = String::new();
        for piece in &self.pieces {
            match piece {
                WordPiece::Plain(text) if text.contains('{') => break,
                WordPiece::Plain(text) | WordPiece::Quoted(text) => lead.push_str(text),
                WordPiece::Tilde(_)
                | WordPiece::Wild(_)
                | WordPiece::Number
                | WordPiece::Variable { .. }
                | WordPiece::Unknown => break,
            }
        }
        lead
    }

    /// Returns the literal letters of the word, with `$_` in place of each unknown part.
    pub(crate) fn shape(&self) -> String {
        let mut shape = String::new();
        for piece in &self.pieces {
            match piece {
                WordPiece::Plain(text) | WordPiece::Quoted(text) => shape.push_str(text),
                WordPiece::Wild(letter) => shape.push(*letter),
                WordPiece::Tilde(_) | WordPiece::Number | WordPiece::Variable { .. } | WordPiece::Unknown => {
                    shape.push_str("$_")
                }
            }
        }
        shape
    }

    /// Returns the words that bash makes of a word with braces. Returns None when the word has no braces, or when the
    /// resulting words are unknown.
    pub(crate) fn choices(&self) -> Option<Vec<String>> {
        if !self.has_choice() {
            return None;
        }
        // Braces in quotes have no meaning. So each quoted part is replaced by a stand-in character while the braces
        // are expanded.
        let (mut text, mut kept) = (String::new(), Vec::new());
        for piece in &self.pieces {
            match piece {
                WordPiece::Plain(plain) => text.push_str(plain),
                WordPiece::Quoted(quoted) => {
                    text.push(STAND_IN);
                    kept.push(quoted.as_str());
                }
                WordPiece::Tilde(_)
                | WordPiece::Wild(_)
                | WordPiece::Number
                | WordPiece::Variable { .. }
                | WordPiece::Unknown => {
                    return None;
                }
            }
        }
        if text.matches(STAND_IN).count() != kept.len() || text.contains("..") {
            return None;
        }
        let words = braces::expand(&text, LoneBrace::Refuse).ok()?;
        // Each word that the braces make must contain all quoted parts. Otherwise it is unknown which quoted part each
        // stand-in character replaces.
        let whole = |word: &String| {
            let mut parts = kept.iter();
            let mut full = String::new();
            for letter in word.chars() {
                if letter == STAND_IN { full.push_str(parts.next()?) } else { full.push(letter) }
            }
            parts.next().is_none().then_some(full)
        };
        let whole: Option<Vec<String>> = words.iter().map(whole).collect();
        // bash drops a word that is empty after the braces are expanded and has no quotes.
        whole.map(|words| words.into_iter().filter(|word| !word.is_empty() || !kept.is_empty()).collect())
    }

    /// Returns the files that a word with a file name pattern may name. Returns None when the word has no pattern, or
    /// its files are unknown.
    pub(crate) fn files(&self) -> Option<PathSpot> {
        let mut known = String::new();
        let mut pattern = String::new();
        let mut wild = false;
        for piece in &self.pieces {
            match piece {
                WordPiece::Plain(text) | WordPiece::Quoted(text) if wild => {
                    text.chars().for_each(|letter| escape(letter, &mut pattern));
                }
                WordPiece::Plain(text) | WordPiece::Quoted(text) => known.push_str(text),
                WordPiece::Wild(letter) => {
                    wild = true;
                    // A class such as `[a-z]` is not parsed here, so it counts as `*`, which fits any text.
                    pattern.push(if *letter == '[' { '*' } else { *letter });
                }
                WordPiece::Tilde(_) | WordPiece::Number | WordPiece::Variable { .. } | WordPiece::Unknown => {
                    return None;
                }
            }
        }
        // The pattern `.*` may also match `..`, and so may a class such as `[.]` at the start. Such a word may name any
        // file.
        let (folder, start) = known.rsplit_once('/').unwrap_or((".", &known));
        let classes = self.pieces.contains(&WordPiece::Wild('['));
        if !wild || self.has_choice() || start.starts_with('.') || pattern.contains("/.") || classes && start.is_empty()
        {
            return None;
        }
        let folder = if folder.is_empty() && known.starts_with('/') { "/" } else { folder }.to_owned();
        if pattern.contains('/') || classes {
            return Some(PathSpot::Inside(folder));
        }
        let mut whole = String::new();
        start.chars().for_each(|letter| escape(letter, &mut whole));
        whole.push_str(&pattern);
        Some(PathSpot::Matching { folder, pattern: whole })
    }
}

/// The character that replaces a quoted part while braces are expanded. The gate refuses a shell text that contains
/// this character.
const STAND_IN: char = '\u{1}';
fn escape(letter: char, pattern: &mut String) {
    if "*?[]{}\\".contains(letter) {
        pattern.push('\\');
    }
    pattern.push(letter);
}
