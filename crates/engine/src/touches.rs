//! Finds tasks that change the same files, by checking whether a path exists that two globs both match.
//!
//! `*` and `?` stay inside one part of a path, `**` is any number of parts, `{a,b}` is a choice, `[…]` is one
//! character. A path that names a folder includes everything below the folder. When the exact answer would be costly,
//! the answer is yes. Then one task may wait without need, which is better than two tasks that write one file.

use crate::limits;

/// The maximum number of alternatives of one glob. Choices in braces multiply: `{a,b}{c,d}` has four alternatives. A
/// glob with more is refused.
const ALTERNATIVES_MAX: usize = 64;

/// Checks a glob. The error is the reason why the glob is refused.
pub(crate) fn check(glob: &str) -> Result<(), String> {
    if glob.trim().is_empty() {
        return Err("it is blank".to_owned());
    }
    if glob.len() > limits::PATH_BYTES_MAX {
        return Err("it is too long".to_owned());
    }
    if glob.contains('\0') {
        return Err("it contains a zero byte".to_owned());
    }
    expand(glob).map(|_| ())
}

/// Returns whether there can be a file that matches a glob of both tasks.
pub fn overlap(left: &[String], right: &[String]) -> bool {
    let right: Vec<_> = right.iter().map(|glob| parts(glob)).collect();
    left.iter().map(|glob| parts(glob)).any(|left| right.iter().any(|right| meets(&left, right)))
}

/// Returns the alternatives of a glob, each as the list of its path parts. Returns `None` when the glob cannot be
/// parsed; such a glob counts as overlapping with every other glob.
fn parts(glob: &str) -> Option<Vec<Vec<String>>> {
    let alternatives = expand(glob).ok()?;
    Some(alternatives.iter().map(|path| split(path)).collect())
}

fn meets(left: &Option<Vec<Vec<String>>>, right: &Option<Vec<Vec<String>>>) -> bool {
    match (left, right) {
        (Some(left), Some(right)) => left.iter().any(|left| right.iter().any(|right| paths_meet(left, right))),
        (None, _) | (_, None) => true,
    }
}

fn split(path: &str) -> Vec<String> {
    let mut parts: Vec<String> =
        path.split('/').filter(|part| !part.is_empty() && *part != ".").map(str::to_owned).collect();
    // A glob may name a folder, which includes everything below the folder.
    if parts.last().is_none_or(|last| last != "**") {
        parts.push("**".to_owned());
    }
    parts
}

/// Returns whether there is a path that matches both lists of parts. It fills a table, so that `**` needs no
/// recursion.
fn paths_meet(left: &[String], right: &[String]) -> bool {
    table(left.len(), right.len(), |reach, row, column| {
        let (one, other) = (left.get(row).map(String::as_str), right.get(column).map(String::as_str));
        match (one, other) {
            (Some("**"), _) if reach(row + 1, column) => true,
            (_, Some("**")) if reach(row, column + 1) => true,
            (Some("**"), Some(_)) if reach(row, column + 1) => true,
            (Some(_), Some("**")) if reach(row + 1, column) => true,
            (Some(one), Some(other)) => {
                one != "**" && other != "**" && part_meets(one, other) && reach(row + 1, column + 1)
            }
            (None, None) => true,
            (None, Some(_)) | (Some(_), None) => false,
        }
    })
}

/// Returns whether there is a text that matches both patterns. Each pattern is one part of a path.
fn part_meets(left: &str, right: &str) -> bool {
    let (left, right) = (symbols(left), symbols(right));
    table(left.len(), right.len(), |reach, row, column| match (left.get(row), right.get(column)) {
        (Some(TouchSymbol::Many), _) if reach(row + 1, column) => true,
        (_, Some(TouchSymbol::Many)) if reach(row, column + 1) => true,
        (Some(TouchSymbol::Many), Some(_)) if reach(row, column + 1) => true,
        (Some(_), Some(TouchSymbol::Many)) if reach(row + 1, column) => true,
        (Some(one), Some(other)) => one.meets(other) && reach(row + 1, column + 1),
        (None, None) => true,
        (None, Some(_)) | (Some(_), None) => false,
    })
}

/// Fills a table of yes and no, from its last cell backwards. `step` tells whether the last cell can be reached from a
/// given cell. Returns whether the last cell can be reached from the first cell.
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

#[derive(Debug, Clone, Copy, PartialEq)]
enum TouchSymbol {
    One(char),
    Any,
    Many,
}

impl TouchSymbol {
    fn meets(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::One(left), Self::One(right)) => left == right,
            (Self::Any | Self::Many, _) | (_, Self::Any | Self::Many) => true,
        }
    }
}

fn symbols(part: &str) -> Vec<TouchSymbol> {
    let mut symbols = Vec::new();
    let mut characters = part.chars();
    while let Some(character) = characters.next() {
        symbols.push(match character {
            '*' => TouchSymbol::Many,
            '?' => TouchSymbol::Any,
            '\\' => TouchSymbol::One(characters.next().unwrap_or('\\')),
            // A character class such as `[abc]` is treated as any character. This can report an overlap that does not
            // exist, but never misses one.
            '[' if characters.as_str().contains(']') => {
                let _: Option<char> = characters.find(|character| *character == ']');
                TouchSymbol::Any
            }
            other => TouchSymbol::One(other),
        });
    }
    symbols
}

/// Expands choices in braces: `a{b,c}d` becomes `abd` and `acd`.
fn expand(glob: &str) -> Result<Vec<String>, String> {
    let mut done = Vec::new();
    let mut open = vec![glob.to_owned()];
    while let Some(text) = open.pop() {
        match first_choice(&text)? {
            None => done.push(text),
            Some(BraceChoice { before, choices, after }) => {
                open.extend(choices.iter().map(|choice| format!("{before}{choice}{after}")));
            }
        }
        if done.len() + open.len() > ALTERNATIVES_MAX {
            return Err(format!("its braces stand for more than {ALTERNATIVES_MAX} paths"));
        }
    }
    Ok(done)
}

/// The first choice in braces of a glob: the text before the braces, the alternatives in them, and the text after
/// them.
struct BraceChoice<'t> {
    before: &'t str,
    choices: Vec<&'t str>,
    after: &'t str,
}

fn first_choice(text: &str) -> Result<Option<BraceChoice<'_>>, String> {
    let mut depth = 0_u32;
    let mut start = 0;
    let mut from = 0;
    let mut choices = Vec::new();
    let mut escaped = false;
    for (at, character) in text.char_indices() {
        if escaped {
            escaped = false;
            continue;
        }
        match character {
            '\\' => escaped = true,
            '{' => {
                depth += 1;
                if depth == 1 {
                    (start, from) = (at, at + 1);
                }
            }
            ',' if depth == 1 => {
                choices.push(&text[from..at]);
                from = at + 1;
            }
            '}' if depth == 1 => {
                choices.push(&text[from..at]);
                return Ok(Some(BraceChoice { before: &text[..start], choices, after: &text[at + 1..] }));
            }
            '}' if depth > 1 => depth -= 1,
            _ => {}
        }
    }
    if depth > 0 { Err("a brace is not closed".to_owned()) } else { Ok(None) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_meet_or_not() {
        let cases = [
            ("src/a.rs", "src/a.rs", true),
            ("src/a.rs", "src/b.rs", false),
            ("src", "src/a.rs", true),
            ("src/", "./src/a/b.rs", true),
            ("src", "srcs/a.rs", false),
            ("src/*.rs", "src/a.rs", true),
            ("src/*.rs", "src/a.ts", false),
            ("src/**", "src/a/b/c.rs", true),
            ("**/*.md", "docs/a.md", true),
            ("**/*.md", "docs/**", true),
            ("**/test/*.rs", "src/*/a.rs", true),
            ("**/test/*.rs", "src/lib/*.rs", true),
            ("*.toml", "Cargo.lock", false),
            ("a?c", "abc", true),
            ("a?c", "abbc", false),
            ("a[0-9]c", "a5c", true),
            ("{src,docs}/a", "docs/a", true),
            ("{src,docs}/a", "test/a", false),
            ("x/{a,b{c,d}}", "x/bd", true),
            ("a*b*c", "aXbYc", true),
            ("a*b", "b*a", false),
            ("**", "anything/at/all", true),
            (r"a\*b", "axb", false),
            (r"a\*b", r"a\*b", true),
        ];
        for (left, right, expected) in cases {
            let one = |glob: &str| vec![glob.to_owned()];
            assert_eq!(overlap(&one(left), &one(right)), expected, "{left} {right}");
            assert_eq!(overlap(&one(right), &one(left)), expected, "{right} {left}");
        }
    }

    #[test]
    fn a_glob_that_grows_without_bound_is_refused() {
        assert!(check(&"{a,b}".repeat(20)).is_err());
        assert!(check("{a,b").is_err());
        assert!(check("src/**").is_ok());
    }
}
