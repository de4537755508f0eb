//! Checks the subjects of commits: `area: summary`, at most 72 characters, no `wip` and no merges.

use std::path::Path;
use std::process::Command;

/// The last commit before the rule about subjects. The subjects of older commits are not checked.
const SINCE: &str = "410092b0";
const SUBJECT_CHARS_MAX: usize = 72;

/// Returns the reason why the subject of a commit is refused.
fn problem(subject: &str) -> Option<&'static str> {
    let area = subject.split_once(": ").map(|(area, _)| area);
    let is_area = |area: &str| {
        let legal = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || "_-./, ".contains(letter);
        !area.is_empty() && area.len() <= 40 && area.chars().all(legal)
    };
    if subject.chars().count() > SUBJECT_CHARS_MAX {
        Some("longer than 72 characters")
    } else if subject.to_lowercase().starts_with("wip") || subject.starts_with("Merge ") {
        Some("a working commit or a merge")
    } else if !area.is_some_and(is_area) {
        Some("must read `area: summary`")
    } else {
        None
    }
}

#[test]
fn a_subject_names_its_area_in_72_characters() {
    let cases = [
        ("store: keep the heads of topics in one row", None),
        ("engine, store: give every question the type of its answer", None),
        ("Keep the heads", Some("must read `area: summary`")),
        ("wip: heads", Some("a working commit or a merge")),
        ("Merge branch 'needs'", Some("a working commit or a merge")),
        (
            "store: keep the heads of all topics in one row, so that a claim writes only one row",
            Some("longer than 72 characters"),
        ),
    ];
    for (subject, expected) in cases {
        assert_eq!(problem(subject), expected, "{subject}");
    }
}

/// Checks the subjects of all commits since the rule was made. In an archive without the git history there are none to
/// check.
#[test]
fn subjects_of_commits_follow_the_rule() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    #[expect(clippy::disallowed_methods, reason = "asks git for the history")]
    let log = Command::new("git")
        .arg("-C")
        .arg(&root)
        .args(["log", "--format=%h %s", &format!("{SINCE}..HEAD")])
        .output()
        .unwrap();
    let text = String::from_utf8(log.stdout).unwrap();
    let subjects = text.lines().filter_map(|line| line.split_once(' '));
    let wrong = subjects.filter_map(|(hash, subject)| Some(format!("{hash} {subject}: {}", problem(subject)?)));
    let wrong: Vec<String> = wrong.collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
