//! Follows variables whose values the command text itself sets, to find the paths that they name.
//!
//! A value counts only if every value that the text gives to the variable is known, and if the variable is certainly
//! set before its use. The values are used only in paths. A command or an option in a variable stays unknown.

use std::collections::{BTreeMap, BTreeSet};

use super::{CommandWalk, WalkScope};
use crate::command::Arg;
use crate::shell::script::ProgramText;
use crate::shell::word::{ShellWord, WordPiece};
use crate::spot::{PathSpot, home};

/// The largest number of values that are kept for one variable. A variable that gets more values counts as unknown.
const VALUES_MAX: usize = 16;
/// Variables that bash itself sets. The gate does not use a value that the command text assigns to such a variable.
const BY_ITSELF: &str = "\
    _ RANDOM SRANDOM SECONDS LINENO REPLY MAPFILE OPTARG OPTIND COPROC FUNCNAME PIPESTATUS DIRSTACK EPOCHSECONDS \
    EPOCHREALTIME HISTCMD UID EUID PPID GROUPS PWD OLDPWD HOME IFS";

/// The largest number of loop rounds that are read one by one in a command text. After that, the body of each further
/// loop is read only once.
const ROUNDS_MAX: usize = 64;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum VariableValue {
    Text(String),
    /// The variable holds one of the paths that fit a file name pattern, such as `*.txt`.
    Entry(PathSpot),
}

/// A word that a loop runs over, with the paths that the word names. None when the word is unknown.
type LoopWord<'w> = Option<(&'w ShellWord, Option<PathSpot>)>;

/// The values that a command text assigns to its variables. A variable with an unknown value has None.
#[derive(Debug, Default)]
pub(super) struct VariableValues {
    given: BTreeMap<String, Option<Vec<VariableValue>>>,
    /// Variables that loops set, each with the number of values that it gets from loops.
    looped: BTreeMap<String, usize>,
    lost: bool,
}

impl VariableValues {
    pub(super) fn is_empty(&self) -> bool {
        self.given.values().all(Option::is_none)
    }

    pub(super) fn lose(&mut self, name: &str) {
        self.lost |= name == "TMPDIR";
        self.given.insert(name.to_owned(), None);
    }

    pub(super) fn lose_all(&mut self) {
        self.lost = true;
    }

    fn add(&mut self, name: &str, value: Option<VariableValue>) {
        // When the command text sets `TMPDIR`, the folder in which `mktemp` creates files is unknown. So the values of
        // all variables count as unknown, because a variable may hold the output of `mktemp`.
        self.lost |= name == "TMPDIR";
        let values = self.given.entry(name.to_owned()).or_insert_with(|| Some(Vec::new()));
        match (values.as_mut(), value) {
            (Some(known), Some(value)) if known.len() < VALUES_MAX => known.push(value),
            _ => *values = None,
        }
    }

    /// Records that the command text assigns a word to a shell variable.
    pub(super) fn give(&mut self, name: &str, word: Option<&ShellWord>, functions: &BTreeSet<String>) {
        let value = word.and_then(|word| word.literal().or_else(|| temporary(word, functions)));
        self.add(name, value.map(VariableValue::Text));
    }

    /// Records the values that a loop gives to its variable. `words` is None for a loop over the shell's own arguments
    /// (`for x; do`).
    pub(super) fn loop_over(&mut self, name: &str, words: Option<Vec<LoopWord<'_>>>) {
        let Some(words) = words.filter(|words| !words.is_empty()) else { return self.lose(name) };
        for word in words {
            let choices = |word: &ShellWord| word.choices().or_else(|| range(word));
            let value = word.and_then(|(word, spot)| match (word.literal(), choices(word), spot) {
                (Some(text), _, _) => Some(vec![VariableValue::Text(text)]),
                (None, Some(texts), _) => Some(texts.into_iter().map(VariableValue::Text).collect()),
                (None, None, Some(spot @ PathSpot::Matching { .. })) => Some(vec![VariableValue::Entry(spot)]),
                (None, None, _) => None,
            });
            match value {
                Some(values) => {
                    *self.looped.entry(name.to_owned()).or_default() += values.len();
                    values.into_iter().for_each(|value| self.add(name, Some(value)));
                }
                None => self.lose(name),
            }
        }
    }

    fn of(&self, name: &str) -> Option<&[VariableValue]> {
        if self.lost || BY_ITSELF.split(' ').any(|own| own == name) {
            return None;
        }
        self.given.get(name)?.as_deref().filter(|values| !values.is_empty())
    }
}

impl CommandWalk {
    /// Reads the body of a loop once for every value of the loop's variable. If anything else sets the variable too,
    /// the body is read only once.
    pub(super) fn each_round(&mut self, name: &str, scope: &mut WalkScope, body: &dyn Fn(&mut Self, &mut WalkScope)) {
        let values = self.constants.of(name).map(<[VariableValue]>::to_vec).unwrap_or_default();
        let alone = self.constants.looped.get(name) == Some(&values.len());
        self.rounds += values.len();
        if !alone || values.len() < 2 || self.rounds > ROUNDS_MAX {
            return body(self, scope);
        }
        for value in values {
            self.bound.insert(name.to_owned(), value);
            body(self, scope);
        }
        self.bound.remove(name);
    }

    /// Returns the facts about a word of a command that are known before the command runs. Known values of variables in
    /// the word are inserted first.
    pub(super) fn arg(&self, word: &ShellWord, scope: &WalkScope) -> Arg {
        let mut arg = Arg::of(self.filled(word, scope).as_ref().unwrap_or(word));
        if arg.text.is_none() && arg.spot.is_none() {
            arg.spot = self.spot(word, scope);
        }
        arg
    }

    /// Returns a word in which each variable with exactly one value is replaced by that value. A variable at the start
    /// of the word stays unknown, because it may be an option or a command.
    fn filled(&self, word: &ShellWord, scope: &WalkScope) -> Option<ShellWord> {
        let mut changed = false;
        let mut fill = |(at, piece): (usize, &WordPiece)| {
            let WordPiece::Variable { name, quoted } = piece else { return piece.clone() };
            let values = self.values_of(name, at, word, scope).filter(|_| !is_first(word, at));
            match values.as_deref() {
                Some([value]) => match text_of(value, *quoted, false) {
                    Some(text) => {
                        changed = true;
                        WordPiece::Quoted(text.clone())
                    }
                    None => piece.clone(),
                },
                Some(_) | None => piece.clone(),
            }
        };
        let pieces = word.pieces.iter().enumerate().map(&mut fill).collect();
        changed.then_some(ShellWord { pieces, inner: Vec::new() })
    }

    /// Returns the paths that a word names after the values of its variables are inserted.
    pub(super) fn spot(&self, word: &ShellWord, scope: &WalkScope) -> Option<PathSpot> {
        let mut open: Vec<Vec<WordPiece>> = vec![Vec::new()];
        let mut entry: Option<(usize, PathSpot)> = None;
        for (at, piece) in word.pieces.iter().enumerate() {
            let WordPiece::Variable { name, quoted } = piece else {
                open.iter_mut().for_each(|pieces| pieces.push(piece.clone()));
                continue;
            };
            let values = self.values_of(name, at, word, scope)?;
            if let [VariableValue::Entry(spot)] = values.as_slice() {
                entry = quoted.then(|| (at, spot.clone()));
                entry.as_ref()?;
                open.iter_mut().for_each(|pieces| pieces.push(WordPiece::Unknown));
                continue;
            }
            let texts: Option<Vec<&String>> =
                values.iter().map(|value| text_of(value, *quoted, is_first(word, at))).collect();
            let texts = texts?;
            if open.len() * texts.len() > VALUES_MAX {
                return None;
            }
            let with = |pieces: &Vec<WordPiece>| {
                texts
                    .iter()
                    .map(|text| [pieces.as_slice(), &[WordPiece::Quoted((*text).clone())]].concat())
                    .collect::<Vec<_>>()
            };
            open = open.iter().flat_map(with).collect();
        }
        if let Some((at, spot)) = entry {
            return with_entry(word, at, spot);
        }
        let words: Vec<ShellWord> = open.into_iter().map(|pieces| ShellWord { pieces, inner: Vec::new() }).collect();
        let spots: Option<Vec<PathSpot>> = words.iter().map(|word| Arg::of(word).spot).collect();
        match spots?.as_slice() {
            [only] => Some(only.clone()),
            many => together(many),
        }
    }

    fn values_of(&self, name: &str, at: usize, word: &ShellWord, scope: &WalkScope) -> Option<Vec<VariableValue>> {
        let first = is_first(word, at);
        // `$PWD` is the current folder of the shell, and `$HOME` is the home folder. Both are known, because a command
        // text that sets them needs a person's approval.
        let ends = word.pieces.get(at + 1).is_none_or(
            |next| matches!(next, WordPiece::Plain(text) | WordPiece::Quoted(text) if text.starts_with('/')),
        );
        match name {
            "PWD" if first && ends => return Some(vec![VariableValue::Text(".".to_owned())]),
            "HOME" if first && ends => return home().map(|home| vec![VariableValue::Text(home)]),
            _ => {}
        }
        if let Some(value) = self.bound.get(name).filter(|_| scope.set.contains(name)) {
            return Some(vec![value.clone()]);
        }
        self.constants.of(name).filter(|_| scope.set.contains(name)).map(<[VariableValue]>::to_vec)
    }
}

/// Tells whether the piece at this index is the first piece of its word that is not empty.
fn is_first(word: &ShellWord, at: usize) -> bool {
    let empty =
        |piece: &WordPiece| matches!(piece, WordPiece::Plain(text) | WordPiece::Quoted(text) if text.is_empty());
    word.pieces.iter().take(at).all(empty)
}

/// Returns the numbers of a range such as `{1..9}`. Returns None when the range has more than 16 numbers.
fn range(word: &ShellWord) -> Option<Vec<String>> {
    let (from, to) = word.bare()?.strip_prefix('{')?.strip_suffix('}')?.split_once("..")?;
    let (from, to): (u32, u32) = (from.parse().ok()?, to.parse().ok()?);
    (from <= to && to - from < 16).then(|| (from..=to).map(|number| number.to_string()).collect())
}

/// Returns the text that the value of a variable inserts into a word. Returns None if the variable is not quoted and
/// bash would split the value or expand patterns in it.
fn text_of(value: &VariableValue, quoted: bool, first: bool) -> Option<&String> {
    let VariableValue::Text(text) = value else { return None };
    let plain = |letter: char| letter.is_alphanumeric() || "_./@+:,=-".contains(letter);
    let safe = !text.is_empty() && (quoted || text.chars().all(plain));
    (safe && !(first && text.starts_with(['-', '~']))).then_some(text)
}

/// Returns the paths that a word names when it contains the variable of a loop over files, such as `$f` or `/tmp/$f`.
fn with_entry(word: &ShellWord, at: usize, spot: PathSpot) -> Option<PathSpot> {
    let PathSpot::Matching { folder, pattern } = spot else { return None };
    let before = ShellWord { pieces: word.pieces.get(..at)?.to_vec(), inner: Vec::new() }.literal()?;
    let behind = ShellWord { pieces: word.pieces.get(at + 1..)?.to_vec(), inner: Vec::new() }.literal()?;
    let folder = match before.as_str() {
        "" => folder,
        before if before.ends_with('/') => format!("{before}{folder}"),
        _ => return None,
    };
    // With more text after the variable (`$f.bak`, `$f/x`), the path is in the folder of the files or below it.
    Some(if behind.is_empty() { PathSpot::Matching { folder, pattern } } else { PathSpot::Inside(folder) })
}

/// Returns the innermost folder that contains all of the given paths.
fn together(spots: &[PathSpot]) -> Option<PathSpot> {
    let mut common: Option<Vec<String>> = None;
    for spot in spots {
        let PathSpot::At(path) = spot else { return None };
        if path.split('/').any(|part| part == "..") {
            return None;
        }
        let mut parts: Vec<String> = path.split('/').map(str::to_owned).collect();
        parts.pop();
        common = Some(match common {
            None => parts,
            Some(known) => {
                known.into_iter().zip(parts).take_while(|(one, other)| one == other).map(|(one, _)| one).collect()
            }
        });
    }
    let folder = common?.join("/");
    let rooted = spots.first().is_some_and(|spot| spot.path().starts_with('/'));
    Some(PathSpot::Inside(match (folder.is_empty(), rooted) {
        (false, _) => folder,
        (true, true) => "/".to_owned(),
        (true, false) => ".".to_owned(),
    }))
}

/// Returns the path that `$(mktemp)` prints, as far as it is known.
fn temporary(word: &ShellWord, functions: &BTreeSet<String>) -> Option<String> {
    let ([WordPiece::Unknown], [script]) = (word.pieces.as_slice(), word.inner.as_slice()) else { return None };
    let words = words_of(script)?;
    let (program, rest) = words.split_first()?;
    if program != "mktemp" || functions.contains("mktemp") {
        return None;
    }
    let (options, operands): (Vec<&String>, Vec<&String>) = rest.iter().partition(|word| word.starts_with('-'));
    if !options.iter().all(|option| matches!(option.as_str(), "-d" | "-q" | "-t" | "-dt" | "-td" | "--directory")) {
        return None;
    }
    let apart = options.iter().any(|option| option.starts_with("-t") || *option == "-dt");
    match operands.as_slice() {
        [] => Some(format!("{}/tmp.new", folder()?)),
        [template] if apart && !template.contains('/') => Some(format!("{}/{template}", folder()?)),
        [template] if !apart => Some((*template).clone()),
        _ => None,
    }
}

/// Returns the folder in which `mktemp` creates files.
fn folder() -> Option<String> {
    let named = std::env::var("TMPDIR").unwrap_or_else(|_| "/tmp".to_owned());
    named.starts_with('/').then_some(named)
}

/// Returns the words of a script, if it is one simple command of literal words. Otherwise returns None.
fn words_of(script: &ProgramText) -> Option<Vec<String>> {
    script.plain.split_whitespace().map(|name| script.words.get(name)?.literal()).collect()
}
