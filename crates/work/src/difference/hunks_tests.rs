//! Tests the reader of unified diffs with texts that git prints.

use super::*;

const DIFF: &str = "\
diff --git a/src/login.js b/src/login.js
index 1..2 100644
--- a/src/login.js
+++ b/src/login.js
@@ -1,3 +1,3 @@ function login() {
 one
-two
+TWO
 three
diff --git a/old name.txt b/new name.txt
similarity index 90%
rename from old name.txt
rename to new name.txt
index 1..2 100644
--- a/old name.txt
+++ b/new name.txt
@@ -4 +4,2 @@
-a
\\ No newline at end of file
+b
+--- c
\\ No newline at end of file
diff --git \"a/d\\303\\251.txt\" \"b/d\\303\\251.txt\"
new file mode 100644
index 0..2
--- /dev/null
+++ \"b/d\\303\\251.txt\"
@@ -0,0 +1 @@
+x
diff --git a/logo.png b/logo.png
deleted file mode 100644
index 1..0
Binary files a/logo.png and /dev/null differ
";

fn line(kind: DiffLineKind, old: Option<u32>, new: Option<u32>, text: &str) -> DiffLine {
    DiffLine { kind, old, new, text: text.to_owned() }
}

#[test]
fn files_have_their_paths_statuses_and_numbered_lines() {
    use DiffLineKind::{Added, Removed, Same};
    let found = patches(DIFF.as_bytes(), 300);
    let heads: Vec<(&str, Option<&str>, FileStatus)> =
        found.iter().map(|file| (file.path.as_str(), file.old_path.as_deref(), file.status)).collect();
    let expected = [
        ("src/login.js", None, FileStatus::Changed),
        ("new name.txt", Some("old name.txt"), FileStatus::Renamed),
        ("dé.txt", None, FileStatus::Added),
        ("logo.png", None, FileStatus::Removed),
    ];
    assert_eq!(heads, expected);
    let [login, renamed, added, binary] = &found[..] else { panic!("{found:?}") };
    assert_eq!(login.hunks[0].heading.as_deref(), Some("function login() {"));
    let lines = [
        line(Same, Some(1), Some(1), "one"),
        line(Removed, Some(2), None, "two"),
        line(Added, None, Some(2), "TWO"),
        line(Same, Some(3), Some(3), "three"),
    ];
    assert_eq!(login.hunks[0].lines, lines);
    let lines =
        [line(Removed, Some(4), None, "a"), line(Added, None, Some(4), "b"), line(Added, None, Some(5), "--- c")];
    assert_eq!((renamed.hunks[0].old_start, &renamed.hunks[0].lines[..]), (4, &lines[..]));
    assert_eq!(added.hunks[0].lines, [line(Added, None, Some(1), "x")]);
    assert!(binary.hunks.is_empty() && found.iter().all(|file| !file.is_cut), "{binary:?}");
}

#[test]
fn a_diff_that_ends_early_and_a_long_file_are_marked_as_cut() {
    let end = DIFF.find("+TWO").unwrap();
    let found = patches(&DIFF.as_bytes()[..end], 300);
    assert_eq!((found.len(), found[0].is_cut, found[0].hunks[0].lines.len()), (1, true, 2));
    let count = FILE_LINES_MAX + 7;
    let long = format!("diff --git a/x b/x\nnew file mode 1\n@@ -0,0 +1,{count} @@\n{}", "+y\n".repeat(count));
    let found = patches(format!("{long}diff --git a/z b/z\n@@ -1 +1 @@\n-1\n+2\n").as_bytes(), 300);
    assert_eq!((found[0].is_cut, found[0].hunks[0].lines.len()), (true, FILE_LINES_MAX));
    assert_eq!((found[1].path.as_str(), found[1].is_cut, found[1].hunks[0].lines.len()), ("z", false, 2));
    let wide = format!("diff --git a/x b/x\n@@ -1 +1 @@\n-1\n+{}\n", "é".repeat(LINE_BYTES_MAX));
    let text = &patches(wide.as_bytes(), 300)[0].hunks[0].lines[1].text;
    assert_eq!(patches(DIFF.as_bytes(), 2).len(), 2);
    let file = |name: usize| format!("diff --git a/{name} b/{name}\n@@ -0,0 +1,5000 @@\n{}", "+y\n".repeat(5_000));
    let many = patches((10..30).map(file).collect::<String>().as_bytes(), 300);
    assert_eq!(many.iter().map(|file| file.lines).sum::<usize>(), LINES_MAX);
    assert_eq!(many.iter().filter(|file| file.is_cut).count(), 8);
    assert!(text.ends_with('…') && text.len() <= LINE_BYTES_MAX + 6, "{}", text.len());
}

#[test]
fn any_bytes_are_read_without_a_panic() {
    for text in ["", "\n\n", "@@ -1 +1 @@\n", "diff --git \n@@ -x +1 @@\n+", "diff --git a b\n@@ -1,9 +1,9 @@\n\\\n"] {
        let _read = patches(text.as_bytes(), 300);
    }
    let bytes: Vec<u8> = (0..=255).cycle().take(9_000).collect();
    let _read = patches(&[b"diff --git \"a/\\3\" \"b/\\3\"\n@@ -1,90 +1,90 @@\n".as_slice(), &bytes].concat(), 300);
}

#[test]
fn a_file_that_became_a_link_is_one_file() {
    let text = "diff --git a/x b/x\ndeleted file mode 100644\n--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\ndiff --git a/x \
                b/x\nnew file mode 120000\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+b\n";
    let found = patches(text.as_bytes(), 300);
    assert_eq!((found.len(), found[0].status, found[0].hunks.len()), (1, FileStatus::Changed, 2));
}
