//! Checks the names of branches, of bases (the commit or branch to start from) and of commits, and makes the folder
//! name of a branch.
//!
//! Handover checks a name before git does, so that the error says what is wrong with it. Git makes the final decision.

use super::problem::GitProblem;
use wire::visible::is_hidden;

/// The maximum length of a branch name in bytes; a longer name is refused. A file name has at most 255 bytes. The other
/// 55 are for `.lock`, which git appends, and for the escapes in the folder name.
const NAME_BYTES_MAX: usize = 200;
const FOLDER_BYTES_MAX: usize = 240;
/// The minimum number of digits that git accepts for an abbreviated commit hash.
const HEX_MIN: usize = 4;
/// The numbers of digits in a full commit hash: 40 for SHA-1 and 64 for SHA-256.
const HEX_WHOLE: [usize; 2] = [40, 64];

/// Checks a name for a new branch.
pub fn check_branch(name: &str) -> Result<(), GitProblem> {
    let wrong = |problem: &str| Err(GitProblem::input("branch", problem));
    check("branch", name)?;
    if name.eq_ignore_ascii_case("HEAD") {
        return wrong("must not be HEAD, which means the current commit");
    }
    if name.starts_with("refs/") {
        return wrong("must be a short name, without refs/heads/");
    }
    if HEX_WHOLE.contains(&name.len()) && name.bytes().all(|b| b.is_ascii_hexdigit()) {
        return wrong("looks like a commit; choose a name that says what the branch is for");
    }
    if folder(name).len() > FOLDER_BYTES_MAX {
        return wrong("is too long for a folder name; choose a shorter one");
    }
    Ok(())
}

/// Checks the name of a base, that is, of the branch, tag or commit to start from. Refuses git expressions such as
/// `main~2`, so that the name has only one meaning.
pub fn check_base(name: &str) -> Result<(), GitProblem> {
    check("base_branch", name)
}

pub fn check_commit(name: &str) -> Result<(), GitProblem> {
    let hex = name.bytes().all(|b| b.is_ascii_hexdigit());
    if hex && (HEX_MIN..=HEX_WHOLE[1]).contains(&name.len()) {
        return Ok(());
    }
    Err(GitProblem::input("merge_commit", format!("must be a commit: {HEX_MIN} to {} hex digits", HEX_WHOLE[1])))
}

/// Returns the folder name of a branch: `/` becomes `--`, and different branches get different folders.
///
/// A hyphen next to another hyphen or a slash would look like a slash (`a--b` and `a/b`). Such a hyphen becomes `~-`,
/// because no branch name contains `~`. Names without such hyphens keep the simple form.
pub fn folder(branch: &str) -> String {
    let marks = |b: Option<&u8>| matches!(b, Some(b'-' | b'/'));
    let bytes = branch.as_bytes();
    let mut folder = String::with_capacity(branch.len() + 8);
    for (at, c) in branch.char_indices() {
        match c {
            '/' => folder.push_str("--"),
            '-' if marks(bytes.get(at + 1)) || marks(at.checked_sub(1).and_then(|before| bytes.get(before))) => {
                folder.push_str("~-");
            }
            c => folder.push(c),
        }
    }
    folder
}

/// Checks that a name follows git's rules for the name of a reference, and refuses invisible characters.
fn check(field: &'static str, name: &str) -> Result<(), GitProblem> {
    let problem = if name.is_empty() {
        "must not be empty".to_owned()
    } else if name.len() > NAME_BYTES_MAX {
        format!("must not be longer than {NAME_BYTES_MAX} bytes")
    } else if let Some(c) = name.chars().find(|c| is_hidden(*c)) {
        format!("must not contain the invisible character U+{:04X}", u32::from(c))
    } else if let Some(c) = name.chars().find(|c| " ~^:?*[\\".contains(*c)) {
        format!("must not contain `{c}`")
    } else if let Some(text) = ["..", "@{", "//"].into_iter().find(|text| name.contains(text)) {
        format!("must not contain `{text}`")
    } else if name.starts_with(['-', '/']) {
        "must not begin with `-` or `/`".to_owned()
    } else if name.ends_with(['/', '.']) {
        "must not end with `/` or `.`".to_owned()
    } else if name == "@" {
        "must not be `@`".to_owned()
    } else if name.split('/').any(|part| part.starts_with('.')) {
        "must not have a part that begins with `.`".to_owned()
    } else if name.split('/').any(|part| part.ends_with(".lock")) {
        "must not have a part that ends with `.lock`".to_owned()
    } else {
        return Ok(());
    };
    Err(GitProblem::input(field, problem))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn ordinary_names_keep_the_simple_form() {
        let table = [
            ("main", "main"),
            ("feat/login-page", "feat--login-page"),
            ("a/b/c", "a--b--c"),
            ("a-b", "a-b"),
            ("ä/ü", "ä--ü"),
            ("a--b", "a~-~-b"),
            ("a/-b", "a--~-b"),
            ("a-/b", "a~---b"),
            ("a-", "a-"),
        ];
        for (branch, expected) in table {
            assert_eq!(folder(branch), expected, "{branch}");
        }
    }

    #[test]
    fn no_two_branches_share_a_folder() {
        let mut seen = BTreeMap::new();
        for number in 0..3_usize.pow(9) {
            let mut rest = number;
            let mut name = String::new();
            for _ in 0..9 {
                name.push(['a', '-', '/'][rest % 3]);
                rest /= 3;
            }
            // Replace all letters `a` at the end with a single `a`, so that shorter names are tested too.
            let name = name.trim_end_matches('a').to_owned() + "a";
            if check_branch(&name).is_err() {
                continue;
            }
            let folder = folder(&name);
            assert!(!folder.contains('/'));
            if let Some(other) = seen.insert(folder.clone(), name.clone()) {
                assert_eq!(other, name, "both are {folder}");
            }
        }
        assert!(seen.len() > 1_000);
    }
}
