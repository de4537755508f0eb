//! A word of a command: what is known of it before bash expands it.

use super::script::Script;

#[derive(Debug, Default)]
pub(super) struct Word {
    pub(super) pieces: Vec<Piece>,
    /// What is run in order to know the word, in order.
    pub(super) inner: Vec<Script>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    /// As it stands, open to braces.
    Plain(String),
    /// Text that was quoted or escaped.
    Quoted(String),
    /// `~` or `~name` at the start.
    Tilde(String),
    /// A part of a pattern that names files.
    Wild(char),
    /// A number, from `$((…))`.
    Number,
    /// A variable, or what a command prints.
    Unknown,
}

impl Word {
    pub(super) fn quoted(text: String) -> Self {
        Self { pieces: vec![Piece::Quoted(text)], inner: Vec::new() }
    }

    pub(super) fn push(&mut self, letter: char, quoted: bool) {
        match (self.pieces.last_mut(), quoted) {
            (Some(Piece::Plain(text)), false) | (Some(Piece::Quoted(text)), true) => text.push(letter),
            (_, true) => self.pieces.push(Piece::Quoted(letter.to_string())),
            (_, false) => self.pieces.push(Piece::Plain(letter.to_string())),
        }
    }

    /// The one text that this word is, whatever happens.
    pub(super) fn literal(&self) -> Option<String> {
        let mut whole = String::new();
        for piece in &self.pieces {
            match piece {
                Piece::Plain(text) | Piece::Quoted(text) => whole.push_str(text),
                Piece::Tilde(_) | Piece::Wild(_) | Piece::Number | Piece::Unknown => return None,
            }
        }
        (!self.has_choice()).then_some(whole)
    }

    /// `{a,b}` or `{1..9}` may be in it.
    pub(super) fn has_choice(&self) -> bool {
        let plain = || {
            self.pieces.iter().filter_map(|piece| match piece {
                Piece::Plain(text) => Some(text.as_str()),
                Piece::Quoted(_) | Piece::Tilde(_) | Piece::Wild(_) | Piece::Number | Piece::Unknown => None,
            })
        };
        plain().any(|text| text.contains('{')) && plain().any(|text| text.contains(',') || text.contains(".."))
    }

    /// The text, when nothing in it was quoted.
    pub(super) fn bare(&self) -> Option<&str> {
        match self.pieces.as_slice() {
            [Piece::Plain(text)] => Some(text),
            _ => None,
        }
    }

    /// A whole number, or a choice of such.
    pub(super) fn is_number(&self) -> bool {
        let numeric = |text: &str| !text.is_empty() && text.chars().all(|letter| letter.is_ascii_digit());
        match self.pieces.as_slice() {
            [Piece::Number] => true,
            [Piece::Plain(text)] => {
                numeric(text.strip_prefix('-').unwrap_or(text))
                    || text
                        .strip_prefix('{')
                        .and_then(|text| text.strip_suffix('}'))
                        .is_some_and(|text| text.split("..").all(numeric))
            }
            [Piece::Quoted(text)] => numeric(text),
            _ => false,
        }
    }

    pub(super) fn runs_something(&self) -> bool {
        !self.inner.is_empty()
    }

    /// The folder in which the files of a pattern lie: `infra` of `infra/*.tf`.
    pub(super) fn folder(&self) -> Option<String> {
        let mut known = String::new();
        let mut rest = String::new();
        let mut wild = false;
        for piece in &self.pieces {
            match piece {
                Piece::Plain(text) | Piece::Quoted(text) if wild => rest.push_str(text),
                Piece::Plain(text) | Piece::Quoted(text) => known.push_str(text),
                Piece::Wild(_) => wild = true,
                Piece::Tilde(_) | Piece::Number | Piece::Unknown => return None,
            }
        }
        // `.*` may stand for `..`, and so may a class.
        let (folder, start) = known.rsplit_once('/').unwrap_or((".", &known));
        let leads_up = start.starts_with('.') || rest.contains("/.") || self.pieces.contains(&Piece::Wild('['));
        if !wild || self.has_choice() || leads_up {
            return None;
        }
        Some(if folder.is_empty() && known.starts_with('/') { "/".to_owned() } else { folder.to_owned() })
    }
}
