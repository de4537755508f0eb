//! Tells how a path fits the glob of a gate rule. The syntax is that of the globs in a task's field `touches`. A glob
//! of a rule may also start at `/` or `~/`.

use std::path::PathBuf;

use wire::glob::{self, GlobPart, GlobSymbol, PathGlob};

/// The longest glob that a gate rule may have, in bytes. A longer glob is refused. Globs that a person writes are
/// shorter.
const BYTES_MAX: usize = 1_024;
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Glob {
    pub(super) text: String,
    root: GlobRoot,
    /// The alternatives for which the braces of the glob stand: two for `{a,b}/*.rs`. Each alternative is a list of
    /// path parts.
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

/// The relation of a path to a glob.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PathFit {
    No,
    /// The glob does not match the path, but may match something below the path. `certain` is true if the glob begins
    /// with the path itself, without a wildcard. Example: for the path `src` it is true for `src/*.rs` and false for
    /// `*/a.rs`.
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
        let PathGlob { alternatives, flaw } = glob::read(rest).map_err(|problem| problem.to_string())?;
        if let Some(flaw) = flaw {
            return Err(flaw.to_string());
        }
        let upwards = GlobPart::One(vec![GlobSymbol::Exactly('.'), GlobSymbol::Exactly('.')]);
        if alternatives.iter().flatten().any(|part| *part == upwards) {
            return Err("it leads out with `..`; begin it with `/` or `~/`".to_owned());
        }
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
    /// Returns the folder that holds everything that the glob matches: the parts of the glob before its first wildcard.
    /// Returns None when the glob has several alternatives, or starts with a wildcard.
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

    /// Returns how the entries of a folder fit the glob. Only entries whose names match the shell pattern count. With
    /// `tree`, everything below these entries counts too.
    pub(super) fn fit_entries(&self, folder: &[&str], pattern: &str, tree: bool) -> PathFit {
        let (pattern, None) = glob::symbols(pattern) else { return PathFit::Below { certain: false } };
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
    let (symbols, flaw) = glob::symbols(pattern);
    flaw.is_some() || glob::matches(&symbols, name)
}

/// Tells whether some file name matches both patterns. A shell pattern matches a hidden name (a name with a dot at its
/// start) only if the pattern itself begins with a dot.
fn meet(one: &[GlobSymbol], shell: &[GlobSymbol]) -> bool {
    if one.first() == Some(&GlobSymbol::Exactly('.')) && shell.first() != Some(&GlobSymbol::Exactly('.')) {
        return false;
    }
    glob::names_meet(one, shell)
}

/// Matches the names of a path against the parts of a glob. Returns every position in `parts` at which the match may
/// continue after the last name. The loop keeps all possible positions in one list, so `**` needs no recursion.
fn walk(parts: &[GlobPart], path: &[&str]) -> Vec<usize> {
    let mut here = reach(parts, [0].into_iter());
    for name in path {
        let next = here.iter().filter_map(|at| match parts.get(*at) {
            Some(GlobPart::Any) => Some(*at),
            Some(GlobPart::One(symbols)) if glob::matches(symbols, name) => Some(at + 1),
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
    // If the glob begins with at least as many literal parts as the path has parts, all files that it matches are below
    // the path.
    let literal = parts.iter().take_while(|part| match part {
        GlobPart::Any => false,
        GlobPart::One(symbols) => symbols.iter().all(|symbol| matches!(symbol, GlobSymbol::Exactly(_))),
    });
    PathFit::Below { certain: literal.count() >= path.len() }
}

/// Returns the given positions in a glob. If the part at a position is `**`, which may stand for no folder at all, the
/// position after it is returned as well.
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
        for glob in ["", " ", "a{b", "a[b", "../x", "a/../b", "{..,a}/x", "a\\", "a\0b", "[[:alpha:]]"] {
            assert!(Glob::new(glob).is_err(), "{glob}");
        }
        assert!(Glob::new(&"{a,b}".repeat(7)).is_err());
        assert!(Glob::new(&"a".repeat(2_000)).is_err());
    }
}
