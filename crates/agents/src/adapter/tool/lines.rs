//! Counts the lines that an edit adds and removes: from the old and the new text, or from a patch.

use super::LineChange;

/// The largest number of lines of a text that are compared. The change of a longer text is unknown, because the
/// comparison would need too much memory.
const LINES_MAX: usize = 20_000;
/// The largest number of pairs of lines that are compared. If there are more, each line between the first and the last
/// difference counts as changed.
const PAIRS_MAX: usize = 1 << 18;

/// Counts the lines that differ between two texts. Returns None when a text is too long to be compared.
pub(in super::super) fn between(old: &str, new: &str) -> Option<LineChange> {
    let lines = |text: &'_ str| text.lines().take(LINES_MAX + 1).count();
    if lines(old) > LINES_MAX || lines(new) > LINES_MAX {
        return None;
    }
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let start = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let (old, new) = (&old[start..], &new[start..]);
    let end = old.iter().rev().zip(new.iter().rev()).take_while(|(old, new)| old == new).count();
    let (old, new) = (&old[..old.len() - end], &new[..new.len() - end]);
    let kept = if old.len() * new.len() <= PAIRS_MAX { common(old, new) } else { 0 };
    Some(LineChange::new(new.len() - kept, old.len() - kept))
}

/// Counts the lines of a new file.
pub(in super::super) fn of_new_file(text: &str) -> LineChange {
    LineChange::new(text.lines().count(), 0)
}

/// Counts the lines of a patch. The patch is a unified diff, or it has the form `*** Begin Patch` of Codex. Returns None
/// when the text is neither.
pub(in super::super) fn of_patch(patch: &str) -> Option<LineChange> {
    let own_form = patch.trim_start().starts_with("*** Begin Patch");
    // The number of old and new lines that the current part of a unified diff still has. Outside of such a part, a line
    // with `+` or `-` is a header, such as `+++ b/file`.
    let (mut old, mut new) = (0_u64, 0_u64);
    let mut is_patch = own_form;
    let mut change = LineChange::default();
    for line in patch.lines() {
        if !own_form && old == 0 && new == 0 {
            if let Some((its_old, its_new)) = hunk(line) {
                (old, new, is_patch) = (its_old, its_new, true);
            }
            continue;
        }
        match line.bytes().next() {
            Some(b'+') => (change.added, new) = (change.added.saturating_add(1), new.saturating_sub(1)),
            Some(b'-') => (change.removed, old) = (change.removed.saturating_add(1), old.saturating_sub(1)),
            Some(b'\\') => {}
            Some(_) | None => (old, new) = (old.saturating_sub(1), new.saturating_sub(1)),
        }
    }
    is_patch.then_some(change)
}

/// Returns the paths that a patch in the form `*** Begin Patch` changes.
pub(in super::super) fn patch_paths(patch: &str) -> impl Iterator<Item = &str> {
    let headers = ["*** Update File: ", "*** Add File: ", "*** Delete File: "];
    patch.lines().filter_map(move |line| headers.iter().find_map(|header| line.strip_prefix(header))).map(str::trim)
}

/// Reads the header of a part of a unified diff, such as `@@ -1,2 +1,4 @@`. Returns the numbers of its old and of its
/// new lines.
fn hunk(line: &str) -> Option<(u64, u64)> {
    let (ranges, _) = line.strip_prefix("@@ -")?.split_once(" @@")?;
    let (old, new) = ranges.split_once(" +")?;
    // A range without a count, such as `-1`, has one line.
    let count = |range: &str| range.split_once(',').map_or(Some(1), |(_, count)| count.parse().ok());
    Some((count(old)?, count(new)?))
}

/// Returns the length of the longest list of lines that both texts have in the same order.
fn common(old: &[&str], new: &[&str]) -> usize {
    let mut above = vec![0_usize; new.len() + 1];
    let mut row = above.clone();
    for old in old {
        for (at, new) in new.iter().enumerate() {
            row[at + 1] = if old == new { above[at] + 1 } else { row[at].max(above[at + 1]) };
        }
        std::mem::swap(&mut above, &mut row);
    }
    above.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(change: Option<LineChange>) -> Option<(u32, u32)> {
        change.map(|change| (change.added, change.removed))
    }

    #[test]
    fn lines_that_both_texts_have_do_not_count() {
        let cases = [
            ("", "", (0, 0)),
            ("", "a\nb\n", (2, 0)),
            ("a\nb", "", (0, 2)),
            ("let x = 1;\n", "let x = 10;\nlet z = 3;\n", (2, 1)),
            ("a\nb\nc\nd\n", "a\nB\nc\nD\n", (2, 2)),
            ("a\nb\nc\n", "a\nc\n", (0, 1)),
            ("a\nb", "a\nb\n", (0, 0)),
            ("x", "y", (1, 1)),
        ];
        for (old, new, expected) in cases {
            assert_eq!(counts(between(old, new)), Some(expected), "{old:?} {new:?}");
        }
    }

    #[test]
    fn very_long_texts_are_counted_roughly_or_not_at_all() {
        let numbered = |from: usize, to: usize| (from..to).map(|line| format!("{line}\n")).collect::<String>();
        assert_eq!(between(&numbered(0, LINES_MAX + 1), "a"), None);
        let (old, new) = (numbered(0, 4_000), numbered(4_000, 8_000));
        assert_eq!(counts(between(&old, &new)), Some((4_000, 4_000)));
    }

    #[test]
    fn headers_of_a_patch_are_no_lines_of_it() {
        let unified = "--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@ fn\n-- a list\n---- rule\n++ plus\n+++ more\n keep\n\\ No newline\n\
                       @@ -9 +9,0 @@\n-last\n--- a/y\n+++ b/y\n@@ -0,0 +1 @@\n+new\n";
        assert_eq!(counts(of_patch(unified)), Some((3, 3)));
        let own = "*** Begin Patch\n*** Update File: src/a.js\n@@\n-old\n+new\n+more\n keep\n*** Add File: b.txt\n+one\n\
                   *** Delete File: c.txt\n*** End Patch\n";
        assert_eq!(counts(of_patch(own)), Some((3, 1)));
        assert_eq!(patch_paths(own).collect::<Vec<_>>(), ["src/a.js", "b.txt", "c.txt"]);
        assert_eq!(of_patch("+ no patch\n- at all\n"), None);
    }
}
