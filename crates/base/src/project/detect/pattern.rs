//! Matches whole paths with patterns. `*`, `?` and `[…]` match inside one part of a path, and `**` matches any number
//! of parts.
//!
//! The engine's glob parser reads the patterns. It is also used for the globs of tasks, which match everything below a
//! path. A pattern of this module matches only the path itself.

use wire::glob::{self, GlobFlaw, GlobPart, GlobSymbol};

/// A pattern for whole paths.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PathPattern {
    parts: Vec<GlobPart>,
}

impl PathPattern {
    /// Reads a pattern. Returns an error that describes the flaw when a part of the pattern cannot be understood.
    pub(super) fn read(pattern: &str) -> Result<Self, GlobFlaw> {
        let mut parts = Vec::new();
        for part in pattern.split('/').filter(|part| !part.is_empty() && *part != ".") {
            if part == "**" {
                parts.push(GlobPart::Any);
            } else {
                let (symbols, flaw) = glob::symbols(part);
                flaw.map_or(Ok(()), Err)?;
                parts.push(GlobPart::One(symbols));
            }
        }
        // A `**` at the end stands for at least one part: `a/**` means everything inside of `a`, and not `a` itself.
        if parts.last() == Some(&GlobPart::Any) {
            parts.insert(parts.len() - 1, GlobPart::One(vec![GlobSymbol::Many]));
        }
        Ok(Self { parts })
    }

    /// Makes the pattern match in every folder, and not only from the root.
    pub(super) fn at_any_depth(mut self) -> Self {
        self.parts.insert(0, GlobPart::Any);
        self
    }

    /// Returns true when the pattern matches a path, which is given as its parts.
    pub(super) fn matches(&self, path: &[&str]) -> bool {
        // The loop follows all possible positions in the pattern at the same time, so that `**` needs no recursion.
        let mut here = self.reach(vec![0]);
        for name in path {
            let next = here.iter().filter_map(|at| match self.parts.get(*at) {
                Some(GlobPart::Any) => Some(*at),
                Some(GlobPart::One(symbols)) => glob::matches(symbols, name).then_some(at + 1),
                None => None,
            });
            here = self.reach(next.collect());
        }
        here.contains(&self.parts.len())
    }

    /// Returns the given positions in the pattern. For the position of a `**`, also returns the position after it,
    /// because a `**` may stand for no part of a path.
    fn reach(&self, from: Vec<usize>) -> Vec<usize> {
        let mut all: Vec<usize> = Vec::new();
        for mut at in from {
            while !all.contains(&at) {
                all.push(at);
                if self.parts.get(at) == Some(&GlobPart::Any) {
                    at += 1;
                }
            }
        }
        all
    }
}

/// Splits a path at its slashes.
pub(super) fn parts(path: &str) -> Vec<&str> {
    path.split('/').filter(|part| !part.is_empty()).collect()
}
