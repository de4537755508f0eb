//! Defines the types that describe a tool call: the commands that the call runs, as lists of words, and the paths that
//! the call writes.

use std::path::PathBuf;

use super::place;
use super::spot::{PathSpot, home};
use crate::shell::word::{ShellWord, WordPiece};

/// A word of a command, as far as its value is known before the command runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Arg {
    /// The text of the word, when the whole word is literal: it has neither variables nor patterns.
    pub(super) text: Option<String>,
    /// The literal letters of a word before its first unknown part: `--output=` of `--output=$x`.
    pub(super) lead: String,
    /// All literal letters of a word, with `$_` in place of each unknown part. None when the whole word is literal.
    pub(super) shape: Option<String>,
    /// The path, or the group of paths, that the word names. None when it is unknown which paths the word names.
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

    /// Returns an argument that stands for unknown files below a folder.
    pub(super) fn inside(folder: &str) -> Self {
        Self { spot: Some(PathSpot::Inside(folder.to_owned())), ..Self::unknown() }
    }

    /// Returns an argument that stands for unknown files below the folder that this argument names.
    pub(super) fn below(&self) -> Self {
        match &self.spot {
            Some(PathSpot::At(folder)) => Self::inside(folder),
            Some(PathSpot::Inside(_) | PathSpot::Matching { .. } | PathSpot::Named { .. }) | None => self.clone(),
        }
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

    /// Returns the words into which bash expands the braces of one word: `a.txt` and `a.md` for `a.{txt,md}`.
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

    /// Returns the word as code for another program, such as the code after `python -c`. `$_` stands for each unknown
    /// part of the word.
    pub(super) fn as_code(&self) -> Option<&String> {
        // A word with unknown parts counts as code only if it holds a blank, a bracket, a quote or another sign of
        // code.
        let text = |shape: &&String| shape.contains([' ', '\t', '\n', '(', ';', '"', '\'', '`']);
        self.text.as_ref().or(self.shape.as_ref().filter(text))
    }

    /// Returns the word as a shell script, with `1` in place of each unknown part. Returns None when the whole word is
    /// literal.
    pub(super) fn as_script(&self) -> Option<String> {
        self.shape.as_ref().map(|shape| shape.replace("$_", "1"))
    }

    pub(super) fn as_text(&self) -> &str {
        self.text.as_deref().unwrap_or_default()
    }

    /// Returns the word for a message to people. A word that is not literal is shown as `…`.
    pub(super) fn shown(&self) -> &str {
        self.text.as_deref().unwrap_or("…")
    }
}

fn text_of(pieces: &[WordPiece]) -> Option<String> {
    let word = ShellWord { pieces: pieces.to_vec(), inner: Vec::new() };
    word.literal()
}

/// A git command that changes files of the work tree without naming the files, such as `git switch main`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WorkTreeMove {
    /// The name of the git command for messages to people, such as `git switch`.
    pub(crate) what: String,
    /// The git calls that list the files which the command changes. The lists of all these calls are joined.
    pub(crate) questions: Vec<GitQuestion>,
    /// True if the command needs a person's approval when git cannot list the changed files.
    pub(crate) asks: bool,
    /// The folders where the git command may run. None until the function that reads the command text fills them in.
    pub(crate) folders: Option<CommandFolders>,
}

/// A git call that lists files. Git ends each file name with a zero byte.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GitQuestion {
    pub(crate) arguments: Vec<String>,
    /// The arguments of a second git call, which runs only when the call with `arguments` fails. For `git switch x`,
    /// the first call reads `x` as a branch, and the second one reads it as a branch of the remote: `origin/x`.
    pub(crate) otherwise: Option<Vec<String>>,
    /// True if a failure of this git call means that no files change. False if it means that the changed files are
    /// unknown.
    pub(crate) optional: bool,
}

/// The folders in which a command may run. There may be several, because bash continues when `cd` fails.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum CommandFolders {
    Known(Vec<PathBuf>),
    Unknown,
}

/// The largest number of possible folders that are kept for one command. If it may run in more folders, its folder
/// counts as unknown.
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

    /// Returns the folders where the shell may be after a successful `cd` to the word `to`.
    pub(super) fn moved(&self, to: &Arg) -> Self {
        let Some(text) = to.spot.as_ref().and_then(|spot| match spot {
            PathSpot::At(text) if text != "-" && !text.is_empty() => Some(text),
            PathSpot::At(_) | PathSpot::Inside(_) | PathSpot::Matching { .. } | PathSpot::Named { .. } => None,
        }) else {
            return Self::Unknown;
        };
        match self {
            Self::Known(folders) => {
                // Shells read `..` after a link in two ways: as the folder that contains the link, or as the folder
                // above the link's target. Keep both results, because it is unknown which shell runs the command.
                let both = folders.iter().flat_map(|folder| [folder.join(text), place::tidy(&folder.join(text))]);
                Self::Known(both.collect()).and(Self::Known(Vec::new()))
            }
            Self::Unknown if text.starts_with('/') => Self::Known(vec![PathBuf::from(text)]),
            Self::Unknown => Self::Unknown,
        }
    }
}

/// A command together with its wrappers: for `sudo env rm x`, the levels are `sudo`, `env` and `rm`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SeenCommand {
    pub(super) levels: Vec<CommandLevel>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CommandLevel {
    pub(super) words: Vec<Arg>,
    /// The index of the word at which the inner command begins: 1 for `sudo rm x`, whose inner command is `rm x`. None
    /// when there is no inner command.
    pub(super) inner: Option<usize>,
    /// The reason why a person must approve this command, unless a gate rule names the command.
    pub(super) ask: Option<String>,
    /// The reason why the gate cannot analyze this command. If no gate rule names the command, the setting `opaque`
    /// decides about it.
    pub(super) opaque: Option<String>,
    /// The options of the command that may write files or run programs. They include every option that the program's
    /// option table does not have.
    pub(super) doubts: Vec<String>,
    /// True if the program may run its arguments as commands, or write to them, in ways that the gate does not know.
    /// Then the arguments are searched for the commands and paths that gate rules name.
    pub(super) searched: bool,
    /// Texts in a language that the gate does not parse, such as the code of `python -c`, or text piped into an
    /// interpreter.
    pub(super) codes: Vec<String>,
    /// True if the command contains a script or other commands, as `sh -c` does. The gate judges the script and these
    /// commands separately.
    pub(super) holds: bool,
    /// True if a wrapper such as `sudo` does more than run its inner command. Then a gate rule that allows only the
    /// inner command does not allow the wrapper.
    pub(super) matters: bool,
    /// The folders in which the command may run.
    pub(super) folders: CommandFolders,
}

/// A write to one path, as it was found in a tool call.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct PathWrite {
    pub(super) spot: Option<PathSpot>,
    pub(super) folders: CommandFolders,
    /// True if the write also changes everything below the path.
    pub(super) tree: bool,
    pub(super) by: WriteCause,
}

/// The kind of a write. It decides which gate rules apply to the written path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum WriteCause {
    /// A tool or a redirection writes the path. If no gate rule names the path, the default decision of the gates
    /// applies.
    Itself,
    /// A program writes the path. The gate judges the program's command, too, so only a gate rule that names the path
    /// applies to this write.
    Program,
    /// A program copies the path without following links. If the path is a link, the copy is a second link to the same
    /// file, and a later command may write the file through it. So the target of the link counts as written. A copy of
    /// anything else is not judged.
    Copy,
    /// A program such as make works in the folder at this path, or in the folder that contains the file at this path.
    /// The program may write anything there, so a person must approve the command if a gate rule is about the path.
    Work,
}

#[derive(Debug, Default)]
pub(super) struct FoundActs {
    pub(super) commands: Vec<SeenCommand>,
    pub(super) writes: Vec<PathWrite>,
    /// The reasons why a person must approve the tool call, even if the gate rules allow it.
    pub(super) asks: Vec<String>,
    /// Changes to hooks, or to settings that make git run a program, such as `git config core.pager x`. A person must
    /// approve them even if the gate rules allow the command.
    pub(super) guarded: Vec<String>,
    /// Reasons why the gate cannot analyze the tool call. They belong to no single command. Example: the call sets
    /// `RUSTFLAGS`, a variable that changes the behaviour of a toolchain.
    pub(super) opaques: Vec<String>,
    /// Git commands that bring another state of the repository into the work tree, such as `git switch`. Git itself
    /// lists the files that they write.
    pub(super) moves: Vec<WorkTreeMove>,
    /// True if the command text opens or copies file descriptors, as `3<file` does. A write to `/dev/stdout` may then
    /// change the opened file.
    pub(super) reopened: bool,
    /// Reasons why a command may do something else than its words show. Example: the script of sed contains a variable,
    /// and the same command text sets a variable to a value that could change the script.
    pub(super) doubts: Vec<String>,
    /// Literal words and here-documents of the command text. They may be the content of a file that the command text
    /// writes.
    pub(super) texts: Vec<String>,
    /// The commands and writes found in arguments of unknown programs. Each argument was read as if it were a command.
    pub(super) suspects: Vec<FoundActs>,
}
