//! Names the branches of tasks and plans after the words that a person wrote.

use std::collections::BTreeSet;
use std::path::Path;

use unicode_normalization::UnicodeNormalization as _;

use super::{BranchTip, PREFIX};
use crate::GitProblem;
use crate::name::check_branch;
use crate::program::{Git, GitCall};
use crate::repository::{GitRepository, reference};

/// The maximum number of characters that a task's or plan's name contributes to a branch name. A longer name would be
/// hard to read in a list.
const SLUG_CHARS_MAX: usize = 50;
/// The maximum number of names that are tried when other branches have the same name. After these tries, naming fails.
const NUMBERS_MAX: u32 = 100;

/// The task or the plan that a branch is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BranchSubject<'a> {
    /// A task of the standing list (the workflow for single tasks), with the number that people type.
    Task {
        number: u64,
        name: &'a str,
    },
    Plan {
        name: &'a str,
    },
}

/// Returns the name of the branch for a task or plan, such as `handover/12-fix-the-login-redirect`.
pub fn subject_branch(subject: BranchSubject<'_>) -> String {
    match subject {
        BranchSubject::Task { number, name } => format!("{PREFIX}/{number}-{}", slug(name, "task")),
        BranchSubject::Plan { name } => format!("{PREFIX}/{}", slug(name, "plan")),
    }
}

/// A request to create the branch of a task or plan.
#[derive(Debug, Clone, Copy)]
pub struct BranchStart<'a> {
    pub subject: BranchSubject<'a>,
    /// The commit at which the branch starts.
    pub commit: &'a str,
    /// A text on one line that identifies the work. Git keeps it in the log of the branch, so that a later call for the
    /// same work finds the branch that a killed process created.
    pub owner: &'a str,
    /// Branch names that belong to other work although no branch has them now. They are not used for this branch.
    pub taken: &'a BTreeSet<String>,
}

/// Creates the branch for a task or plan, or returns the branch that an earlier call with the same owner created. When
/// other work has a branch with that name, the name gets the number 2, 3 and so on.
pub async fn start_branch(git: &Git, repository: &Path, start: BranchStart<'_>) -> Result<BranchTip, GitProblem> {
    let repository = GitRepository::find(git, repository).await?;
    let first = subject_branch(start.subject);
    check_branch(&first)?;
    if repository.commit(git, &reference(PREFIX)).await?.is_some() {
        let problem = format!("cannot be {first}, because the branch {PREFIX} exists and git cannot keep both names");
        return Err(GitProblem::input("branch", problem));
    }
    let mark = format!("handover: started for {}", start.owner);
    for number in 1..=NUMBERS_MAX {
        let branch = if number == 1 { first.clone() } else { format!("{first}-{number}") };
        if start.taken.contains(&branch) {
            continue;
        }
        let name = reference(&branch);
        // The last argument of `git update-ref` is the expected old value of the branch. An empty value means that the
        // branch must not exist. So when two processes choose the same name, only one of them gets it.
        let arguments = ["update-ref", "-m", &mark, "--create-reflog", "--end-of-options"];
        let made = GitCall::write(&repository.home, &arguments).and(&name).and(start.commit).and("").run(git).await?;
        if made.is_success() {
            return Ok(BranchTip { branch, tip: start.commit.to_owned() });
        }
        match repository.commit(git, &name).await? {
            Some(tip) if has_mark(git, &repository, &name, &mark).await? => return Ok(BranchTip { branch, tip }),
            Some(_) => {}
            // Git cannot keep this name and a name below it, such as `handover/a` and `handover/a/b`.
            None if has_names_below(git, &repository, &name).await? => {}
            None => return Err(made.failure()),
        }
    }
    Err(GitProblem::BranchExists { branch: format!("{first}-{NUMBERS_MAX}"), checked_out: None })
}

/// Tells whether the first entry in git's log of a branch is `mark`, the message with which the branch of an owner is
/// created.
async fn has_mark(git: &Git, repository: &GitRepository, name: &str, mark: &str) -> Result<bool, GitProblem> {
    let call = GitCall::read(&repository.home, &["log", "--walk-reflogs", "--format=%gs"]).and(name).and("--");
    let output = call.run(git).await?;
    Ok(output.is_success() && output.text().lines().last() == Some(mark))
}

async fn has_names_below(git: &Git, repository: &GitRepository, name: &str) -> Result<bool, GitProblem> {
    let call = GitCall::read(&repository.home, &["for-each-ref", "--count=1", "--"]).and(format!("{name}/"));
    Ok(!call.run(git).await?.whole()?.stdout.is_empty())
}

/// Returns a name as lower case ASCII letters, digits and single dashes. Letters with accents lose the accents, and
/// letters of other scripts are left out.
fn slug(name: &str, empty: &str) -> String {
    let mut slug = String::new();
    for c in name.to_lowercase().nfkd() {
        if c.is_ascii_alphanumeric() {
            slug.push(c.to_ascii_lowercase());
        } else if !c.is_alphanumeric() && !is_mark(c) && !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    if slug.len() > SLUG_CHARS_MAX {
        // Cut the name between two words, if there is a dash before the limit.
        let end = slug[..=SLUG_CHARS_MAX].rfind('-').unwrap_or(SLUG_CHARS_MAX);
        slug.truncate(end);
    }
    let slug = slug.trim_matches('-');
    if slug.is_empty() { empty.to_owned() } else { slug.to_owned() }
}

fn is_mark(c: char) -> bool {
    unicode_normalization::char::is_combining_mark(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branches_are_named_after_the_words() {
        for (name, expected) in [
            ("Fix the login redirect", "handover/12-fix-the-login-redirect"),
            ("  Über-Größe: café №5!  ", "handover/12-uber-groe-cafe-no5"),
            ("don't --break a..b/c.lock", "handover/12-don-t-break-a-b-c-lock"),
            ("ﬁx x² Ａ", "handover/12-fix-x2-a"),
            ("Исправить вход", "handover/12-task"),
            ("修正 login", "handover/12-login"),
            ("", "handover/12-task"),
            ("!!!", "handover/12-task"),
            ("🙂 ok", "handover/12-ok"),
            (
                "After login, go back to the page the user came from and keep the query",
                "handover/12-after-login-go-back-to-the-page-the-user-came-from",
            ),
            (&"x".repeat(80), &format!("handover/12-{}", "x".repeat(50))),
            (&format!("{} y", "x".repeat(50)), &format!("handover/12-{}", "x".repeat(50))),
        ] {
            let branch = subject_branch(BranchSubject::Task { number: 12, name });
            assert_eq!(branch, expected, "{name}");
            check_branch(&branch).unwrap();
        }
        assert_eq!(subject_branch(BranchSubject::Plan { name: "Release 2.0" }), "handover/release-2-0");
        assert_eq!(subject_branch(BranchSubject::Plan { name: "…" }), "handover/plan");
    }
}
