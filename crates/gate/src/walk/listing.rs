//! Reads commands that list files, such as `grep -rl x src`. If a pipe passes the list to xargs, the folders of the
//! files are known.

use super::{CommandWalk, StandardInput};
use crate::command::{Arg, CommandFolders, PathWrite};
use crate::place;
use crate::programs::options::{self, base};
use crate::programs::{table, wrapper};
use crate::spot::PathSpot;

/// Programs that print some of the lines that they read, unchanged.
const FILTERS: &[&str] = &["sort", "uniq", "head", "tail", "tac", "shuf"];

/// Options of `git ls-files` that take no value. With them the command prints paths relative to the current folder.
const LS_FILES: &[&str] =
    &["-z", "-c", "-d", "-m", "-o", "--cached", "--deleted", "--modified", "--others", "--exclude-standard"];

/// Returns the folders that hold the files which a command lists. Returns None when the command lists something else,
/// or when its words do not show the folders.
pub(super) fn listed(words: &[Arg], input: &StandardInput) -> Option<Vec<Arg>> {
    let (program, rest) = words.split_first()?;
    let name = base(program.as_text());
    let operands: Vec<&Arg> = rest.iter().filter(|word| !word.lead.starts_with('-')).collect();
    let has = |names: &[&str]| rest.iter().any(|word| names.contains(&word.as_text()));
    let passed = || match input {
        StandardInput::Pipe { listed, .. } => listed.clone(),
        StandardInput::Inherited
        | StandardInput::Text(_)
        | StandardInput::File
        | StandardInput::Partly(_)
        | StandardInput::Unknown => None,
    };
    match name {
        "grep" | "egrep" | "fgrep" | "rg" => {
            let parsed = options::parse(table::exactly(&format!("list-{name}"))?, words);
            let elsewhere = parsed.has(&["-e", "--regexp", "-f", "--file", "--files"]);
            let folders = parsed.operands.get(usize::from(!elsewhere)..).unwrap_or_default();
            let filters = folders.is_empty() && !parsed.has(&["-r", "-R", "--recursive", "-l"]) && name != "rg";
            match parsed.unknown.as_slice() {
                [] if filters => passed(),
                [] if parsed.has(&["-l", "--files-with-matches", "--files"]) => below(folders),
                _ => None,
            }
        }
        "find" => wrapper::found_by_find(words),
        "echo" if !has(&["-e", "-n", "-E"]) => plain_words(&literal(rest)?),
        "git" => match rest.split_first() {
            Some((command, words)) if command.as_text() == "ls-files" => {
                let (options, paths): (Vec<Arg>, Vec<Arg>) =
                    words.iter().cloned().partition(|word| word.lead.starts_with('-'));
                let known = options.iter().all(|option| LS_FILES.contains(&option.as_text()));
                below(&paths).filter(|_| known)
            }
            Some(_) | None => None,
        },
        _ if FILTERS.contains(&name) && operands.iter().all(|word| word.as_text().parse::<u32>().is_ok()) => passed(),
        _ => None,
    }
}

fn literal(words: &[Arg]) -> Option<String> {
    let texts: Option<Vec<&str>> = words.iter().map(|word| word.text.as_deref()).collect();
    texts.map(|texts| texts.join(" "))
}

/// Returns the words into which xargs splits a text. Returns None when quotes or backslashes give the text another
/// meaning.
fn plain_words(text: &str) -> Option<Vec<Arg>> {
    let words: Vec<Arg> = text.split_whitespace().map(Arg::known).collect();
    (!text.contains(['\'', '"', '\\']) && !words.is_empty()).then_some(words)
}

/// Turns folders into arguments that stand for the files that a command lists in these folders. Returns None when one
/// of the folders is unknown.
fn below(folders: &[Arg]) -> Option<Vec<Arg>> {
    let plain = |word: &Arg| match (&word.text, &word.spot) {
        (Some(text), _) => (!text.starts_with(':')).then(|| Arg::inside(text)),
        (None, Some(PathSpot::Matching { .. })) => Some(word.clone()),
        (None, _) => None,
    };
    let found: Option<Vec<Arg>> = folders.iter().map(plain).collect();
    found.filter(|found| !found.is_empty())
}

impl CommandWalk {
    /// Returns the arguments that xargs gets from its input, as far as they or their folders are known. By default
    /// xargs splits names at blanks. So if a file name may have a blank, the arguments are unknown, and the result is
    /// None.
    pub(super) fn piped_files(
        &self,
        words: &[Arg],
        input: &StandardInput,
        folders: &CommandFolders,
    ) -> Option<Vec<Arg>> {
        // The command text may itself create a file with a blank in its name, which xargs would split.
        let odd = |write: &PathWrite| {
            write.spot.as_ref().is_none_or(|spot| spot.path().contains(|letter: char| letter.is_whitespace()))
        };
        if self.found.writes.iter().any(odd) {
            return None;
        }
        let whole = match split_at(words)? {
            Split::Blanks => false,
            Split::Lines => true,
        };
        let listed = match input {
            StandardInput::Pipe { listed: Some(listed), .. } => listed.clone(),
            StandardInput::Text(text) => plain_words(text)?,
            StandardInput::Pipe { listed: None, .. }
            | StandardInput::Inherited
            | StandardInput::File
            | StandardInput::Partly(_)
            | StandardInput::Unknown => return None,
        };
        let literal = listed.iter().any(|word| word.text.is_some());
        let CommandFolders::Known(folders) = folders else { return None };
        let plain = |place: &Arg| {
            let path = place.spot.as_ref().map(PathSpot::path).unwrap_or_default();
            place.text.is_some() || folders.iter().all(|folder| !place::has_odd_names(&folder.join(path)))
        };
        (whole && !literal || !whole && listed.iter().all(plain)).then_some(listed)
    }
}

/// The way in which xargs splits its input.
enum Split {
    Blanks,
    /// xargs splits at the ends of lines, or at zero bytes.
    Lines,
}

/// Returns how xargs splits its input. Returns None when the command is not xargs, when an option names another
/// separator than the end of a line, or when xargs reads a file.
fn split_at(words: &[Arg]) -> Option<Split> {
    let table = table::find(base(words.first()?.as_text())).filter(|table| table.does == "input")?;
    let parsed = options::parse(table, words);
    if !parsed.unknown.is_empty() || parsed.has(&["-a", "--arg-file", "-E", "-e", "--eof", "-s", "--max-chars"]) {
        return None;
    }
    if parsed.has(&["-0", "--null"]) {
        return Some(Split::Lines);
    }
    match parsed.values(&["-d", "--delimiter"]).last().map(Arg::as_text) {
        Some("\\n" | "\n") => Some(Split::Lines),
        Some(_) => None,
        None => Some(Split::Blanks),
    }
}
