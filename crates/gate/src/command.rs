//! What was found in a call: commands as lists of words, and paths that are written.

use std::path::PathBuf;

use super::git::WorkTreeMove;
use super::place;
use super::word::{Piece, Word};

/// A word of a command, as far as it is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Arg {
    /// The word, when it is one literal.
    pub(super) text: Option<String>,
    /// The literal letters before the first part that is not known: `--output=` of `--output=$x`.
    pub(super) lead: String,
    /// All of its literal letters, with `$_` for each part that is not known; nothing when it is one literal.
    pub(super) shape: Option<String>,
    /// Where it points, when it is a path.
    pub(super) spot: Option<Spot>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Spot {
    At(String),
    /// Some files in this folder or below.
    Inside(String),
    /// Entries of this folder whose names fit a pattern of the shell.
    Matching {
        folder: String,
        pattern: String,
    },
    /// Entries of this folder, and of those below it, whose names fit a pattern.
    Named {
        folder: String,
        pattern: String,
    },
}

impl Spot {
    /// Returns the path, or the folder that the paths lie in.
    pub(super) fn path(&self) -> &str {
        match self {
            Self::At(path)
            | Self::Inside(path)
            | Self::Matching { folder: path, .. }
            | Self::Named { folder: path, .. } => path,
        }
    }
}

impl Arg {
    pub(super) fn known(text: &str) -> Self {
        Self { text: Some(text.to_owned()), lead: text.to_owned(), shape: None, spot: Some(Spot::At(text.to_owned())) }
    }

    pub(super) fn unknown() -> Self {
        Self { text: None, lead: String::new(), shape: None, spot: None }
    }

    /// Names some files below a folder.
    pub(super) fn inside(folder: &str) -> Self {
        Self { spot: Some(Spot::Inside(folder.to_owned())), ..Self::unknown() }
    }

    pub(super) fn of(word: &Word) -> Self {
        if let Some(text) = word.literal() {
            return Self::known(&text);
        }
        let spot = match word.pieces.as_slice() {
            [Piece::Tilde(name), rest @ ..] if name.is_empty() => {
                home().zip(text_of(rest)).map(|(home, rest)| Spot::At(format!("{home}{rest}")))
            }
            _ => word.files(),
        };
        Self { text: None, lead: word.lead(), shape: Some(word.shape()), spot }
    }

    /// Returns every word that braces make of one: `a.txt` and `a.md` of `a.{txt,md}`.
    pub(super) fn several(word: &Word) -> Vec<Self> {
        match word.choices() {
            Some(choices) => choices.iter().map(|choice| Self::known(choice)).collect(),
            None => vec![Self::of(word)],
        }
    }

    /// Returns the value behind so many letters of this word, as far as it is known.
    pub(super) fn behind(&self, letters: usize) -> Self {
        match &self.text {
            Some(text) => Self::known(text.get(letters..).unwrap_or_default()),
            None => Self { lead: self.lead.get(letters..).unwrap_or_default().to_owned(), ..Self::unknown() },
        }
    }

    /// Returns a text for another program, as far as it is known.
    pub(super) fn as_code(&self) -> Option<&String> {
        // Blanks and signs tell that it is a text.
        let text = |shape: &&String| shape.contains([' ', '\t', '\n', '(', ';', '"', '\'', '`']);
        self.text.as_ref().or(self.shape.as_ref().filter(text))
    }

    /// Returns a script in which a number stands for each part that is not known.
    pub(super) fn as_script(&self) -> Option<String> {
        self.shape.as_ref().map(|shape| shape.replace("$_", "1"))
    }

    pub(super) fn as_text(&self) -> &str {
        self.text.as_deref().unwrap_or_default()
    }

    /// For people.
    pub(super) fn shown(&self) -> &str {
        self.text.as_deref().unwrap_or("…")
    }
}

fn text_of(pieces: &[Piece]) -> Option<String> {
    let word = Word { pieces: pieces.to_vec(), inner: Vec::new() };
    word.literal()
}

/// The home that bash would put for `~`.
pub(super) fn home() -> Option<String> {
    std::env::var("HOME").ok().filter(|home| home.starts_with('/'))
}

/// Where a command may run: bash goes on when `cd` fails, so there may be several.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Folders {
    Known(Vec<PathBuf>),
    Unknown,
}

/// Possible folders beyond which none is known.
const FOLDERS_MAX: usize = 16;

impl Folders {
    pub(super) fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Known(mut here), Self::Known(there)) => {
                here.extend(there);
                here.sort();
                here.dedup();
                if here.len() > FOLDERS_MAX { Self::Unknown } else { Self::Known(here) }
            }
            (Self::Unknown, _) | (_, Self::Unknown) => Self::Unknown,
        }
    }

    /// After a change that succeeded.
    pub(super) fn moved(&self, to: &Arg) -> Self {
        let Some(text) = to.spot.as_ref().and_then(|spot| match spot {
            Spot::At(text) if text != "-" && !text.is_empty() => Some(text),
            Spot::At(_) | Spot::Inside(_) | Spot::Matching { .. } | Spot::Named { .. } => None,
        }) else {
            return Self::Unknown;
        };
        match self {
            Self::Known(folders) => {
                // `..` behind a link leads back to where the link is, or out of where it points: shells do both.
                let both = folders.iter().flat_map(|folder| [folder.join(text), place::tidy(&folder.join(text))]);
                Self::Known(both.collect()).and(Self::Known(Vec::new()))
            }
            Self::Unknown if text.starts_with('/') => Self::Known(vec![PathBuf::from(text)]),
            Self::Unknown => Self::Unknown,
        }
    }
}

/// A command, and what it is wrapped in, outermost first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) levels: Vec<Level>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Level {
    pub(super) words: Vec<Arg>,
    /// At which word the command in it begins, when it is the rest of this one.
    pub(super) inner: Option<usize>,
    /// Why it asks unless a rule names it.
    pub(super) ask: Option<String>,
    /// Why it cannot be looked into; it asks where the settings say so, unless a rule names it.
    pub(super) opaque: Option<String>,
    /// Options that its table lacks, and others that may write or run something.
    pub(super) doubts: Vec<String>,
    /// It runs or writes what its arguments name in ways that are not known, so rules are looked for in them.
    pub(super) searched: bool,
    /// Texts of a language that is not read here: code, and what is piped into an interpreter.
    pub(super) codes: Vec<String>,
    /// It holds a text or commands that are judged by themselves.
    pub(super) holds: bool,
    /// It does more than to pass its command on, so no rule about that command can allow it.
    pub(super) matters: bool,
    /// Where it may run.
    pub(super) folders: Folders,
}

/// A path that is written.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Write {
    pub(super) spot: Option<Spot>,
    pub(super) folders: Folders,
    /// What is below is written as well.
    pub(super) tree: bool,
    pub(super) by: By,
}

/// How a path comes to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum By {
    /// A tool or a redirection: what no rule names is up to the default.
    Itself,
    /// A program whose command is judged as well: only a rule that names the path counts.
    Program,
    /// A copy of it is made that is a link again when it is one: only then it counts, for what it leads to.
    Copy,
}

#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) commands: Vec<Seen>,
    pub(super) writes: Vec<Write>,
    /// What asks whatever the rules say.
    pub(super) asks: Vec<String>,
    /// Changes of what decides here, other than by writing a file: they ask whatever the rules say.
    pub(super) guarded: Vec<String>,
    /// What cannot be looked into beside commands: variables that change what a toolchain does.
    pub(super) opaques: Vec<String>,
    /// Moves of the work tree to another state of the repository: it is not known which files they write.
    pub(super) moves: Vec<WorkTreeMove>,
    /// Descriptors were moved, so that `/dev/stdout` may be a file that was opened for reading.
    pub(super) reopened: bool,
    /// What may change the meaning of a command through a variable of the same text.
    pub(super) doubts: Vec<String>,
    /// Literal words and here-documents: what a file that the text writes may hold.
    pub(super) texts: Vec<String>,
    /// What arguments of programs that are not known would be as commands.
    pub(super) suspects: Vec<Found>,
}
