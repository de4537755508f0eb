//! Tests which ignored files are copied, with the cases of `crates/base/tests/detect/copy/` and with the real git.

use std::io::Write as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use super::*;

const CASES: &str = include_str!("../../../../tests/detect/copy/patterns.txt");

/// One test case: the patterns, and the files with their expected results. A result is `+` for copied, `-` for not
/// matched, or `!` for matched but never copied.
#[derive(Debug, Default)]
struct CopyCase {
    name: String,
    patterns: String,
    files: Vec<(char, String)>,
}

fn cases() -> Vec<CopyCase> {
    let mut found: Vec<CopyCase> = Vec::new();
    for line in CASES.lines() {
        if let Some(name) = line.strip_prefix("== ") {
            found.push(CopyCase { name: name.to_owned(), ..CopyCase::default() });
            continue;
        }
        let Some(case) = found.last_mut() else { continue };
        match line.split_at_checked(2) {
            Some(("| ", pattern)) => case.patterns.push_str(&format!("{pattern}\n")),
            Some(("+ ", path)) => case.files.push(('+', path.to_owned())),
            Some(("- ", path)) => case.files.push(('-', path.to_owned())),
            Some(("! ", path)) => case.files.push(('!', path.to_owned())),
            Some(_) | None => assert!(line.is_empty() || line == "|", "`{line}` is no line of a case"),
        }
    }
    assert!(found.len() > 10);
    found
}

/// A repository in which the tests ask the real git which paths it ignores.
struct AskedGit(tempfile::TempDir);

impl AskedGit {
    fn new() -> Self {
        let git = Self(tempfile::tempdir().unwrap());
        git.start(&["init", "-q"]).wait().unwrap();
        git
    }

    fn start(&self, arguments: &[&str]) -> Child {
        #[expect(clippy::disallowed_methods, reason = "asks git how it reads the patterns")]
        let mut command = Command::new("git");
        command.arg("-C").arg(self.0.path()).args(arguments);
        command.env_remove("GIT_DIR").env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        command.spawn().unwrap()
    }

    /// Returns the paths that git ignores with these patterns.
    fn ignored(&self, patterns: &str, paths: &[String]) -> Vec<String> {
        let excludes = self.0.path().join(".git/info");
        std::fs::create_dir_all(&excludes).unwrap();
        std::fs::write(excludes.join("exclude"), patterns).unwrap();
        let mut asked = self.start(&["check-ignore", "--no-index", "-z", "--stdin"]);
        // Write all paths before reading the answer. The answer is short and fits into the pipe, so git is never
        // blocked.
        asked.stdin.take().unwrap().write_all(paths.join("\0").as_bytes()).unwrap();
        let answer = asked.wait_with_output().unwrap();
        String::from_utf8(answer.stdout).unwrap().split_terminator('\0').map(str::to_owned).collect()
    }
}

fn copied(patterns: &CopyPatterns, paths: &[String]) -> Vec<String> {
    files_to_copy(patterns, paths.iter().map(String::as_str), &|_| Some(1)).unwrap()
}

#[test]
fn cases_copy_the_files_that_they_state() {
    for case in cases() {
        let patterns = CopyPatterns::read(&case.patterns, &[]);
        assert_eq!(patterns.problems, Vec::<String>::new(), "{}", case.name);
        for (sign, path) in &case.files {
            let found = copied(&patterns, std::slice::from_ref(path));
            assert_eq!(found.contains(path), *sign == '+', "{}: {path}", case.name);
        }
    }
}

#[test]
fn cases_mean_the_same_for_git() {
    let git = AskedGit::new();
    for case in cases() {
        let paths: Vec<String> = case.files.iter().map(|(_, path)| path.clone()).collect();
        let ignored = git.ignored(&case.patterns, &paths);
        for (sign, path) in &case.files {
            assert_eq!(ignored.contains(path), *sign != '-', "{}: {path}", case.name);
        }
    }
}

#[test]
fn pairs_of_patterns_mean_the_same_for_git() {
    let git = AskedGit::new();
    let first = ["*", "a", "/a", "a/", "/a/b", "**/b", "a/**", "a/*", "**", "a/**/c", "*.x", "[ab]/"];
    let second = ["!a", "!/a/b", "!b/", "!a/**", "!**/c", "!*.x", "b", "!/*", "!a/*/"];
    let names = ["a", "b", "c", "d.x"];
    let mut paths: Vec<String> = names.map(str::to_owned).to_vec();
    for one in names {
        for two in names {
            paths.push(format!("{one}/{two}"));
            paths.extend(names.map(|three| format!("{one}/{two}/{three}")));
        }
    }
    for one in first {
        for two in second {
            let text = format!("{one}\n{two}\n");
            let mut ignored = git.ignored(&text, &paths);
            ignored.sort();
            assert_eq!(copied(&CopyPatterns::read(&text, &[]), &paths), ignored, "{text}");
        }
    }
}

#[test]
fn entries_of_the_settings_are_further_patterns() {
    let patterns = CopyPatterns::read(".env*\n", &["!.env.example".to_owned(), "certs/".to_owned()]);
    let paths = [".env", ".env.example", "certs/a"].map(str::to_owned);
    assert_eq!(copied(&patterns, &paths), [".env", "certs/a"]);
}

#[test]
fn a_pattern_that_cannot_be_read_matches_nothing_and_is_told() {
    let patterns = CopyPatterns::read("a[b\n.env\n", &["x\\".to_owned()]);
    assert_eq!(
        patterns.problems,
        [
            "line 1 of .worktreeinclude: `a[b` matches nothing: a `[` is not closed",
            "worktree.copy: `x\\` matches nothing: the glob ends with a backslash",
        ]
    );
    assert_eq!(copied(&patterns, &["a[b".to_owned(), ".env".to_owned()]), [".env"]);
}

#[test]
fn paths_that_leave_the_repository_and_folders_are_left_out() {
    let patterns = CopyPatterns::read("*\n", &[]);
    let paths = ["../a", "/etc/passwd", "a/../b", "./c", "folder/", "", "d"].map(str::to_owned);
    assert_eq!(copied(&patterns, &paths), ["d"]);
}

#[test]
fn too_many_files_are_a_problem_that_names_the_fullest_folder() {
    let patterns = CopyPatterns::read("*\n", &[]);
    let mut paths: Vec<String> = (0..FILES_MAX).map(|number| format!("data/raw/{number}")).collect();
    assert_eq!(copied(&patterns, &paths).len(), FILES_MAX);
    paths.push(".env".to_owned());
    let problem = files_to_copy(&patterns, paths.iter().map(String::as_str), &|_| Some(1)).unwrap_err();
    assert_eq!(
        problem.to_string(),
        "1001 files would be copied into each worktree, at most 1000 are allowed; 1000 of them are in data/raw: \
         narrow the patterns in .worktreeinclude or in `[worktree] copy`"
    );
}

#[test]
fn too_many_bytes_are_a_problem_that_names_the_largest_file() {
    let patterns = CopyPatterns::read("*\n", &[]);
    let sizes = |path: &str| Some(if path == "dump.sql" { BYTES_MAX } else { 1 });
    assert_eq!(files_to_copy(&patterns, ["dump.sql"], &sizes), Ok(vec!["dump.sql".to_owned()]));
    let problem = files_to_copy(&patterns, [".env", "dump.sql"], &sizes).unwrap_err();
    assert_eq!(
        problem.to_string(),
        "65 MiB would be copied into each worktree, at most 64 MiB are allowed; the largest file is dump.sql (64 MiB): \
         narrow the patterns in .worktreeinclude or in `[worktree] copy`"
    );
}

#[test]
fn a_link_and_a_file_behind_a_link_are_never_copied() {
    let above = tempfile::tempdir().unwrap();
    let root = above.path().join("repository");
    std::fs::create_dir_all(root.join("real")).unwrap();
    std::fs::write(above.path().join("secret"), "x").unwrap();
    std::fs::write(root.join("real/key"), "12345").unwrap();
    std::os::unix::fs::symlink("../secret", root.join("link")).unwrap();
    std::os::unix::fs::symlink("real", root.join("folder")).unwrap();
    let patterns = CopyPatterns::read("*\n", &[]);
    let paths = ["link", "folder/key", "folder", "real/key", "real", "gone"];
    let bytes = |path: &str| regular_file_bytes(Path::new(&root), path);
    assert_eq!(files_to_copy(&patterns, paths, &bytes), Ok(vec!["real/key".to_owned()]));
    assert_eq!(bytes("real/key"), Some(5));
}

#[test]
fn ignored_folders_are_listed_unless_their_files_are_never_copied() {
    let ignored = [".env", "local/", "a/b/", "node_modules/", "packages/a/node_modules/", ".venv/", ".handover/state/"];
    assert_eq!(folders_to_list(ignored), ["local", "a/b"]);
}
