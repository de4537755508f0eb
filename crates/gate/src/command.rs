//! Defines the findings in a call: commands as lists of words, and paths that are written.

use std::path::PathBuf;

use super::place;
use super::spot::{PathSpot, home};
use crate::shell::word::{ShellWord, WordPiece};

/// A word of a command, as far as it is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Arg {
    /// The word, when it is one literal.
    pub(super) text: Option<String>,
    /// The literal letters before the first unknown part: `--output=` of `--output=$x`.
    pub(super) lead: String,
    /// All literal letters, with `$_` for each unknown part. None when the word is one literal.
    pub(super) shape: Option<String>,
    /// The place that the word names, when it is a path.
    pub(super) spot: Option<PathSpot>,
}

impl Arg {
    pub(super) fn known(text: &str) -> Self {
        Self {
            text: Some(text.to_owned()),
            lead: text.to_owned(),
            shape: None,
            spot: Some(PathSpot::At(text.to_owned())),
        }
    }

    pub(super) fn unknown() -> Self {
        Self { text: None, lead: String::new(), shape: None, spot: None }
    }

    /// Returns an argument that stands for some files below a folder.
    pub(super) fn inside(folder: &str) -> Self {
        Self { spot: Some(PathSpot::Inside(folder.to_owned())), ..Self::unknown() }
    }

    pub(super) fn of(word: &ShellWord) -> Self {
        if let Some(text) = word.literal() {
            return Self::known(&text);
        }
        let spot = match word.pieces.as_slice() {
            [WordPiece::Tilde(name), rest @ ..] if name.is_empty() => {
                home().zip(text_of(rest)).map(|(home, rest)| PathSpot::At(format!("{home}{rest}")))
            }
            _ => word.files(),
        };
        Self { text: None, lead: word.lead(), shape: Some(word.shape()), spot }
    }

    /// Returns every word that braces make of one word: `a.txt` and `a.md` of `a.{txt,md}`.
    pub(super) fn several(word: &ShellWord) -> Vec<Self> {
        match word.choices() {
            Some(choices) => choices.iter().map(|choice| Self::known(choice)).collect(),
            None => vec![Self::of(word)],
        }
    }

    /// Returns the rest of this word after its first `letters` bytes, as far as it is known.
    pub(super) fn behind(&self, letters: usize) -> Self {
        match &self.text {
            Some(text) => Self::known(text.get(letters..).unwrap_or_default()),
            None => Self { lead: self.lead.get(letters..).unwrap_or_default().to_owned(), ..Self::unknown() },
        }
    }

    /// Returns the word as code for another program, as far as it is known.
    pub(super) fn as_code(&self) -> Option<&String> {
        // A blank, a bracket or a quote shows that the word is code.
        let text = |shape: &&String| shape.contains([' ', '\t', '\n', '(', ';', '"', '\'', '`']);
        self.text.as_ref().or(self.shape.as_ref().filter(text))
    }

    /// Returns the word as a script in which a number stands for each unknown part.
    pub(super) fn as_script(&self) -> Option<String> {
        self.shape.as_ref().map(|shape| shape.replace("$_", "1"))
    }

    pub(super) fn as_text(&self) -> &str {
        self.text.as_deref().unwrap_or_default()
    }

    /// Returns the word as a message to people shows it.
    pub(super) fn shown(&self) -> &str {
        self.text.as_deref().unwrap_or("…")
    }
}

fn text_of(pieces: &[WordPiece]) -> Option<String> {
    let word = ShellWord { pieces: pieces.to_vec(), inner: Vec::new() };
    word.literal()
}

/// A command that changes files of the work tree without naming them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WorkTreeMove {
    /// The command as people know it: `git switch`.
    pub(crate) what: String,
    /// Questions to git. Their answers together are the files.
    pub(crate) questions: Vec<GitQuestion>,
    /// True if the command needs approval when git cannot tell the files.
    pub(crate) asks: bool,
    /// The folders where the command runs, once they are known.
    pub(crate) folders: Option<CommandFolders>,
}

/// The arguments of a git call that lists files, each ended by a zero byte.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GitQuestion {
    pub(crate) arguments: Vec<String>,
    /// The arguments for another spelling, tried when the first call fails.
    pub(crate) otherwise: Option<Vec<String>>,
    /// A call without an answer means that there are no files.
    pub(crate) optional: bool,
}

/// The folders in which a command may run. There may be several, because bash continues when `cd` fails.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum CommandFolders {
    Known(Vec<PathBuf>),
    Unknown,
}

/// The largest number of possible folders. With more of them the folder counts as unknown.
const FOLDERS_MAX: usize = 16;

impl CommandFolders {
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

    /// Returns the folders after a `cd` that succeeded.
    pub(super) fn moved(&self, to: &Arg) -> Self {
        let Some(text) = to.spot.as_ref().and_then(|spot| match spot {
            PathSpot::At(text) if text != "-" && !text.is_empty() => Some(text),
            PathSpot::At(_) | PathSpot::Inside(_) | PathSpot::Matching { .. } | PathSpot::Named { .. } => None,
        }) else {
            return Self::Unknown;
        };
        match self {
            Self::Known(folders) => {
                // `..` after a link leads back to the folder of the link, or out of the link's target: shells do both.
                let both = folders.iter().flat_map(|folder| [folder.join(text), place::tidy(&folder.join(text))]);
                Self::Known(both.collect()).and(Self::Known(Vec::new()))
            }
            Self::Unknown if text.starts_with('/') => Self::Known(vec![PathBuf::from(text)]),
            Self::Unknown => Self::Unknown,
        }
    }
}

/// A command with the commands that wrap it, outermost first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SeenCommand {
    pub(super) levels: Vec<CommandLevel>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CommandLevel {
    pub(super) words: Vec<Arg>,
    /// The word at which the inner command begins, when the inner command is the rest of this one.
    pub(super) inner: Option<usize>,
    /// The reason why this command needs approval unless a rule names it.
    pub(super) ask: Option<String>,
    /// The reason why this command cannot be analyzed. It needs approval if the settings say so, unless a rule names
    /// it.
    pub(super) opaque: Option<String>,
    /// Options that the program's table lacks, and other options that may write or run something.
    pub(super) doubts: Vec<String>,
    /// The command runs or writes its arguments in unknown ways, so its arguments are compared with the rules.
    pub(super) searched: bool,
    /// Texts in a language that is not parsed here: code, and text that is piped into an interpreter.
    pub(super) codes: Vec<String>,
    /// The command holds a text or commands that are judged separately.
    pub(super) holds: bool,
    /// The command does more than run its inner command, so no rule about the inner command can allow it.
    pub(super) matters: bool,
    /// The folders where it may run.
    pub(super) folders: CommandFolders,
}

/// A path that is written.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct PathWrite {
    pub(super) spot: Option<PathSpot>,
    pub(super) folders: CommandFolders,
    /// Everything below the path is written as well.
    pub(super) tree: bool,
    pub(super) by: WriteCause,
}

/// The kind of write, which decides which rules count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum WriteCause {
    /// A tool or a redirection writes. The default decides about a path that no rule names.
    Itself,
    /// A program writes, and its command is judged as well. Only a rule that names the path counts.
    Program,
    /// The path is copied, and the copy of a link is again a link. The copy counts only if the path is a link, and
    /// then for the link's target.
    Copy,
}

#[derive(Debug, Default)]
pub(super) struct FoundActs {
    pub(super) commands: Vec<SeenCommand>,
    pub(super) writes: Vec<PathWrite>,
    /// Reasons why the call needs approval, even if the rules allow it.
    pub(super) asks: Vec<String>,
    /// Changes to the settings that decide here, other than by writing a file. They need approval even if the rules
    /// allow them.
    pub(super) guarded: Vec<String>,
    /// Findings besides commands that cannot be analyzed: variables that change the behaviour of a toolchain.
    pub(super) opaques: Vec<String>,
    /// Moves of the work tree to another state of the repository. The files that they write are unknown.
    pub(super) moves: Vec<WorkTreeMove>,
    /// Descriptors were moved, so that `/dev/stdout` may be a file that was opened for reading.
    pub(super) reopened: bool,
    /// Doubts about commands whose meaning a variable of the same text may change.
    pub(super) doubts: Vec<String>,
    /// Literal words and here-documents: the possible content of a file that the text writes.
    pub(super) texts: Vec<String>,
    /// The findings when arguments of unknown programs are read as commands.
    pub(super) suspects: Vec<FoundActs>,
}
