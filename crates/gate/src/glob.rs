//! Matches paths with globs: `*` and `?` stay inside one part, `**` is any number of parts, `{a,b}` is a choice, `[…]`
//! is one character.
//!
//! A glob without a wildcard at its end also covers everything below it, as `touches` of a task does.

use std::path::PathBuf;

/// The longest glob, in bytes. A longer glob is refused. Paths that a person writes by hand are shorter.
const BYTES_MAX: usize = 1_024;
/// The largest number of alternatives of one glob. A glob with more is refused, because choices in braces multiply.
const ALTERNATIVES_MAX: usize = 64;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Glob {
    pub(super) text: String,
    root: GlobRoot,
    /// The alternatives that the braces of the glob stand for. Each alternative is a list of path parts.
    alternatives: Vec<Vec<GlobPart>>,
}

/// The folder at which a glob starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GlobRoot {
    Repository,
    /// The root of the file system, for globs like `/etc/**`.
    Filesystem,
    /// The home folder, for globs like `~/.ssh/**`.
    Home,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum GlobPart {
    /// Any number of path parts: `**`.
    Any,
    One(Vec<GlobSymbol>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum GlobSymbol {
    Exactly(char),
    /// One character: `?`.
    Single,
    /// Any number of characters: `*`.
    Many,
    /// One character of a class: `[a-z]`, `[!a-z]`.
    Class {
        negated: bool,
        ranges: Vec<(char, char)>,
    },
}

/// The relation of a path to a glob.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PathFit {
    No,
    /// The glob does not match the path, but may match something below it. `certain` is true if the glob names such a
    /// place without a wildcard.
    Below {
        certain: bool,
    },
    Yes,
}

impl Glob {
    pub(super) fn new(text: &str) -> Result<Self, String> {
        if text.trim().is_empty() {
            return Err("it is blank".to_owned());
        }
        if text.len() > BYTES_MAX {
            return Err(format!("it is longer than {BYTES_MAX} bytes"));
        }
        if text.contains('\0') {
            return Err("it contains a zero byte".to_owned());
        }
        let (root, rest) = match text {
            "~" => (GlobRoot::Home, ""),
            _ if text.starts_with("~/") => (GlobRoot::Home, &text[2..]),
            _ if text.starts_with('/') => (GlobRoot::Filesystem, text),
            _ => (GlobRoot::Repository, text),
        };
        let alternatives = expand(rest)?.iter().map(|path| parts(path)).collect::<Result<Vec<_>, _>>()?;
        Ok(Self { text: text.to_owned(), root, alternatives })
    }

    pub(super) fn root(&self) -> GlobRoot {
        self.root
    }

    /// Returns how a path fits the glob. The parts of the path are relative to the folder at which the glob starts.
    pub(super) fn fit(&self, path: &[&str]) -> PathFit {
        let mut best = PathFit::No;
        for parts in &self.alternatives {
            match fit(parts, path) {
                PathFit::Yes => return PathFit::Yes,
                PathFit::Below { certain } => {
                    best = PathFit::Below { certain: certain || best == PathFit::Below { certain: true } };
                }
                PathFit::No => {}
            }
        }
        best
    }
}

impl Glob {
    /// Returns the folder that holds everything that the glob matches: its parts before the first wildcard. Returns
    /// None when the glob has several alternatives, or starts with a wildcard.
    pub(super) fn literal_start(&self) -> Option<PathBuf> {
        let [parts] = self.alternatives.as_slice() else { return None };
        let mut path = PathBuf::new();
        for part in parts {
            let GlobPart::One(symbols) = part else { break };
            let name: Option<String> = symbols
                .iter()
                .map(|symbol| match symbol {
                    GlobSymbol::Exactly(letter) => Some(*letter),
                    GlobSymbol::Single | GlobSymbol::Many | GlobSymbol::Class { .. } => None,
                })
                .collect();
            let Some(name) = name else { break };
            path.push(name);
        }
        (path != PathBuf::new()).then_some(path)
    }

    /// Returns how some entries of a folder fit the glob: the entries whose names match a shell pattern. With `tree`,
    /// everything below these entries is included.
    pub(super) fn fit_entries(&self, folder: &[&str], pattern: &str, tree: bool) -> PathFit {
        let Ok(pattern) = symbols(pattern) else { return PathFit::Below { certain: false } };
        let mut best = PathFit::No;
        for parts in &self.alternatives {
            let here = walk(parts, folder);
            if here.contains(&parts.len()) {
                return PathFit::Yes;
            }
            let reached = here.iter().any(|at| match parts.get(*at) {
                Some(GlobPart::One(symbols)) => {
                    let last = parts[at + 1..].iter().all(|part| *part == GlobPart::Any);
                    (last || tree) && meet(symbols, &pattern)
                }
                Some(GlobPart::Any) => tree,
                None => false,
            });
            if reached {
                best = PathFit::Below { certain: false };
            }
        }
        best
    }
}

/// Tells whether a name fits a pattern of `find -name`, in which a star also matches hidden names.
pub(super) fn is_named(pattern: &str, name: &str) -> bool {
    symbols(pattern).map_or(true, |symbols| matches(&symbols, name))
}

/// Tells whether some name matches both patterns. A shell pattern matches hidden names only if it begins with a dot.
fn meet(one: &[GlobSymbol], shell: &[GlobSymbol]) -> bool {
    if one.first() == Some(&GlobSymbol::Exactly('.')) && shell.first() != Some(&GlobSymbol::Exactly('.')) {
        return false;
    }
    // `open` holds pairs of positions, one in each pattern, that the same start of a name can reach.
    let (mut seen, mut open) = (vec![(0, 0)], vec![(0, 0)]);
    while let Some((left, right)) = open.pop() {
        let (first, second) = (one.get(left), shell.get(right));
        let next: Vec<(usize, usize)> = match (first, second) {
            (None, None) => return true,
            (Some(GlobSymbol::Many), Some(GlobSymbol::Many)) => vec![(left + 1, right), (left, right + 1)],
            (Some(GlobSymbol::Many), Some(_)) => vec![(left + 1, right), (left, right + 1)],
            (Some(_), Some(GlobSymbol::Many)) => vec![(left, right + 1), (left + 1, right)],
            (Some(GlobSymbol::Many), None) => vec![(left + 1, right)],
            (None, Some(GlobSymbol::Many)) => vec![(left, right + 1)],
            (Some(one), Some(other)) if one.may_be(other) => vec![(left + 1, right + 1)],
            (Some(_), Some(_)) | (Some(_), None) | (None, Some(_)) => Vec::new(),
        };
        for pair in next {
            if !seen.contains(&pair) {
                seen.push(pair);
                open.push(pair);
            }
        }
    }
    false
}

/// Returns the positions in the glob that can be reached after this path. All positions are followed at once, so `**`
/// needs no recursion.
fn walk(parts: &[GlobPart], path: &[&str]) -> Vec<usize> {
    let mut here = reach(parts, [0].into_iter());
    for name in path {
        let next = here.iter().filter_map(|at| match parts.get(*at) {
            Some(GlobPart::Any) => Some(*at),
            Some(GlobPart::One(symbols)) if matches(symbols, name) => Some(at + 1),
            Some(GlobPart::One(_)) | None => None,
        });
        here = reach(parts, next);
    }
    here
}

fn fit(parts: &[GlobPart], path: &[&str]) -> PathFit {
    let here = walk(parts, path);
    if here.contains(&parts.len()) {
        return PathFit::Yes;
    }
    if here.is_empty() {
        return PathFit::No;
    }
    // If the glob has no wildcard in its parts up to the end of the path, it names a place below the path.
    let literal = parts.iter().take_while(|part| match part {
        GlobPart::Any => false,
        GlobPart::One(symbols) => symbols.iter().all(|symbol| matches!(symbol, GlobSymbol::Exactly(_))),
    });
    PathFit::Below { certain: literal.count() >= path.len() }
}

/// Returns the given positions. A `**` may stand for nothing, so the positions after it are returned as well.
fn reach(parts: &[GlobPart], from: impl Iterator<Item = usize>) -> Vec<usize> {
    let mut all: Vec<usize> = Vec::new();
    for mut at in from {
        loop {
            if all.contains(&at) {
                break;
            }
            all.push(at);
            if parts.get(at) != Some(&GlobPart::Any) {
                break;
            }
            at += 1;
        }
    }
    all
}

/// Tells whether a name matches the symbols of one part. If the symbols after the last `*` do not fit, that `*` takes
/// one more character and the match is tried again.
fn matches(symbols: &[GlobSymbol], name: &str) -> bool {
    let name: Vec<char> = name.chars().collect();
    let (mut at, mut from) = (0, 0);
    let mut again: Option<(usize, usize)> = None;
    while from < name.len() || at < symbols.len() {
        let fits = match (symbols.get(at), name.get(from)) {
            (Some(GlobSymbol::Many), _) => {
                again = Some((at, from));
                at += 1;
                continue;
            }
            (Some(symbol), Some(letter)) => symbol.is(*letter),
            (None, _) | (_, None) => false,
        };
        if fits {
            at += 1;
            from += 1;
            continue;
        }
        match again {
            Some((star, taken)) if taken < name.len() => {
                again = Some((star, taken + 1));
                at = star + 1;
                from = taken + 1;
            }
            Some(_) | None => return false,
        }
    }
    true
}

impl GlobSymbol {
    /// Tells whether one letter can match both symbols.
    fn may_be(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Exactly(letter), symbol) | (symbol, Self::Exactly(letter)) => symbol.is(*letter),
            // Two classes are not compared, and count as having a letter in common.
            (Self::Single | Self::Many | Self::Class { .. }, Self::Single | Self::Many | Self::Class { .. }) => true,
        }
    }

    fn is(&self, letter: char) -> bool {
        match self {
            Self::Exactly(wanted) => *wanted == letter,
            Self::Single | Self::Many => true,
            Self::Class { negated, ranges } => {
                ranges.iter().any(|(from, to)| (*from..=*to).contains(&letter)) != *negated
            }
        }
    }
}

fn parts(path: &str) -> Result<Vec<GlobPart>, String> {
    let mut parts = Vec::new();
    for part in path.split('/').filter(|part| !part.is_empty() && *part != ".") {
        match part {
            ".." => return Err("it leads out with `..`; begin it with `/` or `~/`".to_owned()),
            "**" => parts.push(GlobPart::Any),
            _ => parts.push(GlobPart::One(symbols(part)?)),
        }
    }
    if parts.last() != Some(&GlobPart::Any) {
        parts.push(GlobPart::Any);
    }
    Ok(parts)
}

fn symbols(part: &str) -> Result<Vec<GlobSymbol>, String> {
    let mut symbols = Vec::new();
    let mut letters = part.chars().peekable();
    while let Some(letter) = letters.next() {
        symbols.push(match letter {
            '*' => GlobSymbol::Many,
            '?' => GlobSymbol::Single,
            '\\' => GlobSymbol::Exactly(letters.next().ok_or("it ends with a backslash")?),
            '[' => {
                let negated = letters.next_if(|next| matches!(next, '!' | '^')).is_some();
                let mut ranges = Vec::new();
                loop {
                    let from = letters.next().ok_or("a `[` is not closed")?;
                    if from == ']' && !ranges.is_empty() {
                        break;
                    }
                    let mut to = from;
                    let mut ahead = letters.clone();
                    if ahead.next() == Some('-') && ahead.peek().is_some_and(|next| *next != ']') {
                        letters.next();
                        to = letters.next().ok_or("a `[` is not closed")?;
                    }
                    ranges.push((from, to));
                }
                GlobSymbol::Class { negated, ranges }
            }
            other => GlobSymbol::Exactly(other),
        });
    }
    Ok(symbols)
}

/// Expands the braces of a glob: `a{b,c}d` becomes `abd` and `acd`.
fn expand(glob: &str) -> Result<Vec<String>, String> {
    let mut done = Vec::new();
    let mut open = vec![glob.to_owned()];
    while let Some(text) = open.pop() {
        let Some(start) = text.find('{') else {
            done.push(text);
            continue;
        };
        let (mut depth, mut from, mut choices, mut end) = (0_u32, start + 1, Vec::new(), None);
        for (at, letter) in text.char_indices().skip_while(|(at, _)| *at < start) {
            match letter {
                '{' => depth += 1,
                '}' => depth -= 1,
                _ => {}
            }
            if (letter == ',' && depth == 1) || depth == 0 {
                choices.push(&text[from..at]);
                from = at + 1;
            }
            if depth == 0 {
                end = Some(at + 1);
                break;
            }
        }
        let end = end.ok_or("a brace is not closed")?;
        open.extend(choices.iter().map(|choice| format!("{}{choice}{}", &text[..start], &text[end..])));
        if done.len() + open.len() > ALTERNATIVES_MAX {
            return Err(format!("its braces stand for more than {ALTERNATIVES_MAX} paths"));
        }
    }
    Ok(done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_fit_or_not() {
        let below = PathFit::Below { certain: true };
        let perhaps = PathFit::Below { certain: false };
        for (glob, path, wanted) in [
            ("infra/**", "infra/a/b.tf", PathFit::Yes),
            ("infra/**", "infra", PathFit::Yes),
            ("infra", "infra/a", PathFit::Yes),
            ("infra/**", "infrared/a", PathFit::No),
            ("infra/**", "Infra/a", PathFit::No),
            ("infra/**", "a/infra/b", PathFit::No),
            ("**/infra/**", "a/infra/b", PathFit::Yes),
            ("**/*.env", "a.env", PathFit::Yes),
            ("**/*.env", "a/b/.env", PathFit::Yes),
            ("**/*.env", "src/main.rs", perhaps),
            ("*.md", "a/b.md", PathFit::No),
            ("*.md", "b.md", PathFit::Yes),
            ("infra/a", "", below),
            ("infra/*/x", "infra", below),
            ("infra/*/x", "infra/y", perhaps),
            ("{docs,infra}/**", "docs/x", PathFit::Yes),
            ("a/{b,c/{d,e}}", "a/c/e", PathFit::Yes),
            ("a?c", "abc", PathFit::Yes),
            ("a?c", "ac", PathFit::No),
            ("[a-c]x", "bx", PathFit::Yes),
            ("[!a-c]x", "bx", PathFit::No),
            ("[]]x", "]x", PathFit::Yes),
            ("a*b*c", "axxbyyc", PathFit::Yes),
            ("a*b*c", "axxbyy", PathFit::No),
            ("ä*", "äß", PathFit::Yes),
        ] {
            let path: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
            assert_eq!(Glob::new(glob).map(|glob| glob.fit(&path)), Ok(wanted), "{glob} {path:?}");
        }
    }

    #[test]
    fn entries_that_a_pattern_names_fit_or_not() {
        let perhaps = PathFit::Below { certain: false };
        for (glob, folder, pattern, tree, wanted) in [
            ("infra/**", "infra", "*.tf", false, PathFit::Yes),
            ("infra/**", "", "*.log", false, PathFit::No),
            ("infra/**", "", "*", false, perhaps),
            ("infra/**", "", "inf*", true, perhaps),
            ("infra/**", "docs", "*", true, PathFit::No),
            ("infra/prod/x", "", "*", false, PathFit::No),
            ("infra/prod/x", "", "*", true, perhaps),
            ("**/*.env", "", "*.txt", false, PathFit::No),
            ("**/*.env", "", "a*", false, perhaps),
            (".mcp.json", "", "*.json", false, PathFit::No),
            (".mcp.json", "", ".*", false, perhaps),
        ] {
            let folder: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
            let found = Glob::new(glob).map(|glob| glob.fit_entries(&folder, pattern, tree));
            assert_eq!(found, Ok(wanted), "{glob} {folder:?} {pattern}");
        }
    }

    #[test]
    fn a_glob_that_cannot_be_read_is_refused() {
        for glob in ["", " ", "a{b", "a[b", "../x", "a/../b", "a\\", "a\0b"] {
            assert!(Glob::new(glob).is_err(), "{glob}");
        }
        assert!(Glob::new(&"{a,b}".repeat(7)).is_err());
        assert!(Glob::new(&"a".repeat(2_000)).is_err());
    }
}
