//! Reads globs of paths: `*` and `?` stay inside one part of a path, `**` is any number of parts, `{a,b}` is a choice,
//! `[…]` is one character. A glob that names a folder includes everything below the folder.
//!
//! Two parts of Handover use this module. The module `touches` checks whether two tasks can change the same file, by
//! asking whether one path can fit the globs of both tasks. The gates of clients' hooks check whether a path fits a
//! glob. These two parts treat a mistake in a glob, such as a bracket that is not closed, differently. A gate refuses
//! the rule with the wrong glob, because a person wrote the rule and can correct it. `touches` reads the wrong part of
//! the glob as plain letters, because stored plans contain such globs.

pub mod braces;

use braces::{BraceProblem, LoneBrace};

/// A glob that was read: the alternatives that its braces stand for, each as the list of its path parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathGlob {
    pub alternatives: Vec<Vec<GlobPart>>,
    /// The first mistake in the glob, for example a bracket that is not closed. `None` when the glob has no mistake.
    pub flaw: Option<GlobFlaw>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GlobPart {
    /// Any number of path parts: `**`.
    Any,
    One(Vec<GlobSymbol>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GlobSymbol {
    Exactly(char),
    /// Any one character: `?`.
    Single,
    /// Any number of characters: `*`.
    Many,
    /// One character that is in the brackets, as in `[a-z]`, or that is not in them, as in `[!a-z]`.
    Class {
        negated: bool,
        ranges: Vec<(char, char)>,
    },
}

/// A mistake in a glob: a part that its author meant as a wildcard, but that is read in another way. A bracket that is
/// not closed and a backslash at the end are read as plain characters. A named class matches any character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GlobFlaw {
    OpenBracket,
    LastBackslash,
    /// A named character class, such as `[[:alpha:]]`. It matches any character.
    NamedClass,
}

impl std::fmt::Display for GlobFlaw {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::OpenBracket => write!(to, "a `[` is not closed"),
            Self::LastBackslash => write!(to, "the glob ends with a backslash"),
            Self::NamedClass => write!(
                to,
                "the glob names a character class, such as `[[:alpha:]]`; write the \
                characters instead"
            ),
        }
    }
}

/// Reads a glob into its alternatives and their path parts. Fails when the braces of the glob cannot be expanded.
pub fn read(glob: &str) -> Result<PathGlob, BraceProblem> {
    let mut flaw = None;
    let mut alternatives = Vec::new();
    for path in braces::expand(glob, LoneBrace::Expand)? {
        let mut parts = Vec::new();
        for part in path.split('/').filter(|part| !part.is_empty() && *part != ".") {
            if part == "**" {
                parts.push(GlobPart::Any);
            } else {
                let (symbols, found) = symbols(part);
                flaw = flaw.or(found);
                parts.push(GlobPart::One(symbols));
            }
        }
        if parts.last() != Some(&GlobPart::Any) {
            parts.push(GlobPart::Any);
        }
        alternatives.push(parts);
    }
    Ok(PathGlob { alternatives, flaw })
}

/// Reads the pattern of one path part. Braces and slashes have no special meaning in it. Also returns the first mistake
/// in the pattern.
pub fn symbols(pattern: &str) -> (Vec<GlobSymbol>, Option<GlobFlaw>) {
    let (mut symbols, mut flaw) = (Vec::new(), None);
    let mut rest = pattern;
    while let Some(letter) = rest.chars().next() {
        rest = &rest[letter.len_utf8()..];
        symbols.push(match letter {
            '*' => GlobSymbol::Many,
            '?' => GlobSymbol::Single,
            '\\' => match rest.chars().next() {
                Some(escaped) => {
                    rest = &rest[escaped.len_utf8()..];
                    GlobSymbol::Exactly(escaped)
                }
                None => {
                    flaw = flaw.or(Some(GlobFlaw::LastBackslash));
                    GlobSymbol::Exactly('\\')
                }
            },
            '[' => match class(rest) {
                Some((symbol, behind)) => {
                    if symbol == GlobSymbol::Single {
                        flaw = flaw.or(Some(GlobFlaw::NamedClass));
                    }
                    rest = behind;
                    symbol
                }
                None => {
                    flaw = flaw.or(Some(GlobFlaw::OpenBracket));
                    GlobSymbol::Exactly('[')
                }
            },
            other => GlobSymbol::Exactly(other),
        });
    }
    (symbols, flaw)
}

/// Reads a character class such as `[a-z]`. `text` begins after the opening bracket. Returns the class and the text
/// after it, or `None` when the bracket is not closed.
fn class(text: &str) -> Option<(GlobSymbol, &str)> {
    let mut letters = text.chars().peekable();
    let negated = letters.next_if(|next| matches!(next, '!' | '^')).is_some();
    let (mut ranges, mut named) = (Vec::new(), false);
    loop {
        let from = letters.next()?;
        if from == ']' && (named || !ranges.is_empty()) {
            break;
        }
        // A named character class begins with a bracket and one of the signs `:`, `=` and `.`. It ends with the same
        // sign and a bracket: `[:alpha:]`, `[=a=]`, `[.a.]`.
        if from == '[' && letters.peek().is_some_and(|next| ":=.".contains(*next)) {
            let mark = letters.next()?;
            let mut last = None;
            loop {
                let letter = letters.next()?;
                if letter == ']' && last == Some(mark) {
                    break;
                }
                last = Some(letter);
            }
            named = true;
            continue;
        }
        let mut to = from;
        let mut ahead = letters.clone();
        if ahead.next() == Some('-') && ahead.peek().is_some_and(|next| *next != ']') {
            letters.next();
            to = letters.next()?;
        }
        ranges.push((from, to));
    }
    let behind = letters.collect::<String>().len();
    let symbol = if named { GlobSymbol::Single } else { GlobSymbol::Class { negated, ranges } };
    Some((symbol, &text[text.len() - behind..]))
}

impl GlobSymbol {
    /// Returns true when a character fits this symbol of a glob. The symbol `Many` (`*`) fits every character.
    pub fn is(&self, letter: char) -> bool {
        match self {
            Self::Exactly(wanted) => *wanted == letter,
            Self::Single | Self::Many => true,
            Self::Class { negated, ranges } => {
                ranges.iter().any(|(from, to)| (*from..=*to).contains(&letter)) != *negated
            }
        }
    }

    /// Returns true when some character can fit this symbol and also the symbol `other`, which belongs to another glob.
    fn may_be(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Exactly(letter), symbol) | (symbol, Self::Exactly(letter)) => symbol.is(*letter),
            // Assume that two character classes, such as `[a-c]` and `[b-d]`, have a character in common. Comparing
            // them exactly is not worth the cost.
            (Self::Single | Self::Many | Self::Class { .. }, Self::Single | Self::Many | Self::Class { .. }) => true,
        }
    }
}

/// Returns true when a name fits the symbols of one path part. When the symbols after a `*` do not fit, the last `*`
/// takes one more character of the name, and the symbols after it are compared again.
pub fn matches(symbols: &[GlobSymbol], name: &str) -> bool {
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

/// Returns true when a path exists that fits both lists of path parts.
pub fn paths_meet(left: &[GlobPart], right: &[GlobPart]) -> bool {
    table(left.len(), right.len(), |reach, row, column| match (left.get(row), right.get(column)) {
        (Some(GlobPart::Any), _) if reach(row + 1, column) => true,
        (_, Some(GlobPart::Any)) if reach(row, column + 1) => true,
        (Some(GlobPart::One(one)), Some(GlobPart::One(other))) => names_meet(one, other) && reach(row + 1, column + 1),
        (Some(GlobPart::Any), Some(_)) => reach(row, column + 1),
        (Some(_), Some(GlobPart::Any)) => reach(row + 1, column),
        (None, None) => true,
        (None, Some(_)) | (Some(_), None) => false,
    })
}

/// Returns true when a name exists that fits both patterns.
pub fn names_meet(left: &[GlobSymbol], right: &[GlobSymbol]) -> bool {
    table(left.len(), right.len(), |reach, row, column| match (left.get(row), right.get(column)) {
        (Some(GlobSymbol::Many), _) if reach(row + 1, column) => true,
        (_, Some(GlobSymbol::Many)) if reach(row, column + 1) => true,
        (Some(GlobSymbol::Many), Some(_)) if reach(row, column + 1) => true,
        (Some(_), Some(GlobSymbol::Many)) if reach(row + 1, column) => true,
        (Some(one), Some(other)) => one.may_be(other) && reach(row + 1, column + 1),
        (None, None) => true,
        (None, Some(_)) | (Some(_), None) => false,
    })
}

/// Fills a table of truth values and returns the value of its first cell. `step` computes the value of the cell at a
/// row and a column. It reads the values of later cells with its first argument, `reach`. The loop starts at the last
/// cell, so these later values are already computed and no recursion is needed.
fn table(rows: usize, columns: usize, step: impl Fn(&dyn Fn(usize, usize) -> bool, usize, usize) -> bool) -> bool {
    let width = columns + 1;
    let mut cells = vec![false; (rows + 1) * width];
    for row in (0..=rows).rev() {
        for column in (0..=columns).rev() {
            let reach = |row: usize, column: usize| row <= rows && column <= columns && cells[row * width + column];
            let value = step(&reach, row, column);
            cells[row * width + column] = value;
        }
    }
    cells[0]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_patterns_or_not() {
        for (pattern, name, wanted) in [
            ("a*b*c", "axxbyyc", true),
            ("a*b*c", "axxbyy", false),
            ("a?c", "abc", true),
            ("a?c", "ac", false),
            ("[a-c]x", "bx", true),
            ("[!a-c]x", "bx", false),
            ("[]]x", "]x", true),
            ("[[:alpha:]]x", "bx", true),
            (r"\*", "*", true),
            (r"\*", "a", false),
            ("a[b", "a[b", true),
            ("ä*", "äß", true),
        ] {
            assert_eq!(matches(&symbols(pattern).0, name), wanted, "{pattern} {name}");
        }
    }

    #[test]
    fn flaws_are_told() {
        for (pattern, wanted) in [
            ("a[b", Some(GlobFlaw::OpenBracket)),
            (r"a\", Some(GlobFlaw::LastBackslash)),
            ("[[:alpha:]]", Some(GlobFlaw::NamedClass)),
            ("[a-c]", None),
            ("a*", None),
        ] {
            assert_eq!(symbols(pattern).1, wanted, "{pattern}");
        }
    }
}
