//! The list of changed files with their numbers of lines, as `git diff --stat` shows it.

use git::changes::{ChangeSummary, ChangedFile};
use unicode_width::UnicodeWidthStr as _;
use wire::visible;

/// The widest path that is shown in full. The beginning of a wider path is cut, because its end has the file's name.
const PATH_WIDTH_MAX: usize = 50;

/// Returns one line for each changed file: its path, its number of changed lines, and a bar that fits the width.
pub(super) fn stat(changes: &ChangeSummary, width: usize) -> String {
    let names: Vec<String> = changes.list.iter().map(path).collect();
    let path_width = names.iter().map(|name| name.width()).max().unwrap_or(0);
    let most = changes.list.iter().map(lines).max().unwrap_or(0);
    let number_width = most.to_string().len().max(if changes.list.iter().any(|file| file.is_binary) { 3 } else { 1 });
    // A line has the form ` PATH | NUMBER BAR`. The 5 counts its blanks and its `|`.
    let bar_width = width.saturating_sub(path_width + number_width + 5).max(10);
    let mut text = String::new();
    for (file, name) in changes.list.iter().zip(&names) {
        let space = " ".repeat(path_width.saturating_sub(name.width()));
        if file.is_binary {
            text.push_str(&format!(" {name}{space} | {:>number_width$}\n", "Bin"));
            continue;
        }
        let (added, removed) = bar(file, most, bar_width);
        let bar = format!("{}{}", "+".repeat(added), "-".repeat(removed));
        let line = format!(" {name}{space} | {:>number_width$} {bar}", lines(file));
        text.push_str(line.trim_end());
        text.push('\n');
    }
    let listed = changes.list.len();
    if changes.files > listed {
        text.push_str(&format!(" … and {} more files\n", changes.files - listed));
    }
    text
}

fn lines(file: &ChangedFile) -> u64 {
    file.added.saturating_add(file.removed)
}

fn path(file: &ChangedFile) -> String {
    let whole = match &file.old_path {
        Some(old) => format!("{old} => {}", file.path),
        None => file.path.clone(),
    };
    let whole = visible::one_line(&whole);
    if whole.width() <= PATH_WIDTH_MAX {
        return whole;
    }
    let mut end = whole.as_str();
    while end.width() >= PATH_WIDTH_MAX {
        let Some(letter) = end.chars().next() else { break };
        end = &end[letter.len_utf8()..];
    }
    format!("…{end}")
}

/// Returns the lengths of the two parts of a file's bar: its added and its removed lines. If the longest bar would not
/// fit the width, all bars are shortened by the same factor.
fn bar(file: &ChangedFile, most: u64, width: usize) -> (usize, usize) {
    let width = u64::try_from(width).unwrap_or(u64::MAX);
    let scaled = |count: u64| {
        if most <= width {
            count
        } else if count == 0 {
            0
        } else {
            // Draw at least one `+` or `-`, so that a change of a single line is visible, too.
            (count.saturating_mul(width) / most).max(1)
        }
    };
    let whole = |count: u64| usize::try_from(scaled(count)).unwrap_or(usize::MAX);
    (whole(file.added), whole(file.removed))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(path: &str, added: u64, removed: u64) -> ChangedFile {
        ChangedFile { path: path.to_owned(), old_path: None, added, removed, is_binary: false }
    }

    fn summary(list: Vec<ChangedFile>) -> ChangeSummary {
        let (added, removed) = (list.iter().map(|file| file.added).sum(), list.iter().map(|file| file.removed).sum());
        ChangeSummary { files: list.len(), added, removed, list }
    }

    #[test]
    fn each_file_has_a_line_with_its_number_and_a_bar() {
        let found =
            summary(vec![changed("src/login.js", 4, 2), changed("test/login.test.js", 11, 0), changed("a", 0, 0)]);
        let expected =
            " src/login.js       |  6 ++++--\n test/login.test.js | 11 +++++++++++\n a                  |  0\n";
        assert_eq!(stat(&found, 80), expected);
    }

    #[test]
    fn long_bars_and_long_paths_fit_the_width_and_small_changes_stay_visible() {
        let long = format!("{}/end.rs", "deep/".repeat(20));
        let found = summary(vec![changed(&long, 1_000, 500), changed("b", 1, 0)]);
        let text = stat(&found, 80);
        assert!(text.lines().all(|line| line.width() <= 80), "{text}");
        assert!(text.contains("/end.rs |"), "{text}");
        assert!(text.lines().nth(1).is_some_and(|line| line.ends_with("1 +")), "{text}");
    }

    #[test]
    fn renamed_and_binary_files_and_more_files_than_listed_are_told() {
        let renamed = ChangedFile { old_path: Some("old.rs".to_owned()), ..changed("new.rs", 1, 1) };
        let binary = ChangedFile { is_binary: true, ..changed("logo.png", 0, 0) };
        let found = ChangeSummary { files: 7, ..summary(vec![renamed, binary]) };
        let expected = " old.rs => new.rs |   2 +-\n logo.png         | Bin\n … and 5 more files\n";
        assert_eq!(stat(&found, 80), expected);
    }
}
