//! Checks that no commit contains files below `.handover/state`, the state of the project on this machine. Checking out
//! a commit with such files would overwrite the token and the database in this folder.

use crate::GitProblem;
use crate::program::{Git, GitCall};
use crate::repository::GitRepository;
use crate::{FOLDER, STATE};

/// Returns the path of `.handover/state` in a commit, if the commit contains it. Also returns `.handover` if it is not
/// a folder in the commit, because a link there would move the state to another place. Upper and lower case count as
/// equal, because some file systems do not distinguish them.
pub(crate) async fn in_tree(git: &Git, repository: &GitRepository, commit: &str) -> Result<Option<String>, GitProblem> {
    for (kind, own) in entries(git, repository, commit).await? {
        if !own.eq_ignore_ascii_case(FOLDER) {
            continue;
        }
        if kind != "tree" {
            return Ok(Some(own));
        }
        let below = entries(git, repository, &format!("{commit}:{own}")).await?;
        if let Some((_, name)) = below.into_iter().find(|(_, name)| is_state(&own, name)) {
            return Ok(Some(format!("{own}/{name}")));
        }
    }
    Ok(None)
}

fn is_state(own: &str, name: &str) -> bool {
    format!("{own}/{name}").eq_ignore_ascii_case(STATE)
}

/// Returns the kind and name of each entry of a git tree. `git ls-tree` prints an entry as `mode kind hash\tname`.
async fn entries(git: &Git, repository: &GitRepository, tree: &str) -> Result<Vec<(String, String)>, GitProblem> {
    let call = GitCall::read(&repository.home, &["ls-tree", "-z", "--full-tree", "--end-of-options"]).and(tree);
    let output = call.run(git).await?.whole()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let entry = |line: &str| {
        let (head, name) = line.split_once('\t')?;
        Some((head.split(' ').nth(1)?.to_owned(), name.to_owned()))
    };
    Ok(text.split_terminator('\0').filter_map(entry).collect())
}
