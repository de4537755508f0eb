//! Finds tasks that change the same files, by checking whether a path exists that two globs both match.
//!
//! The module `glob` reads the globs. When the exact answer would be too costly, the tasks count as changing the same
//! files. Then one task may wait without need, which is better than two tasks that write the same file.

use crate::glob::{self, PathGlob};
use crate::limits;

/// Refuses a glob that is blank or too long, contains a zero byte, or has braces that cannot be expanded. The error
/// says why the glob is refused.
pub(crate) fn check(glob: &str) -> Result<(), String> {
    if glob.trim().is_empty() {
        return Err("the glob is blank".to_owned());
    }
    if glob.len() > limits::PATH_BYTES_MAX {
        return Err("the glob is too long".to_owned());
    }
    if glob.contains('\0') {
        return Err("the glob contains a zero byte".to_owned());
    }
    glob::read(glob).map(|_| ()).map_err(|problem| problem.to_string())
}

/// Returns true when there can be a file that matches a glob of `left` and a glob of `right`. A glob that cannot be
/// read counts as overlapping with every other glob.
pub fn overlap(left: &[String], right: &[String]) -> bool {
    let read = |globs: &[String]| globs.iter().map(|text| glob::read(text).ok()).collect::<Vec<Option<PathGlob>>>();
    let right = read(right);
    read(left).iter().any(|left| right.iter().any(|right| meets(left.as_ref(), right.as_ref())))
}

fn meets(left: Option<&PathGlob>, right: Option<&PathGlob>) -> bool {
    match (left, right) {
        (Some(left), Some(right)) => {
            let pairs =
                left.alternatives.iter().flat_map(|one| right.alternatives.iter().map(move |other| (one, other)));
            pairs.into_iter().any(|(one, other)| glob::paths_meet(one, other))
        }
        (None, _) | (_, None) => true,
    }
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
            ("a[0-9]c", "axc", false),
            ("a[[:digit:]]c", "a5c", true),
            ("a[b", "a[b", true),
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
