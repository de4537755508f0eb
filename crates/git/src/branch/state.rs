//! The state of a project is never part of a branch: checked out, it would write over the token and the store.

use crate::Problem;
use crate::program::{Call, Git};
use crate::repository::Repository;
use crate::{FOLDER, STATE};

/// Returns the path below `.handover/state` that a commit has, if it has one. `.handover` itself must be a folder: a link in its
/// place would lead the state elsewhere. Letters of another case count, because on some disks they are the same.
pub(super) async fn in_tree(git: &Git, repository: &Repository, commit: &str) -> Result<Option<String>, Problem> {
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

/// The kinds and names of what is in a tree: `mode kind hash\tname`.
async fn entries(git: &Git, repository: &Repository, tree: &str) -> Result<Vec<(String, String)>, Problem> {
    let call = Call::read(&repository.home, &["ls-tree", "-z", "--full-tree", "--end-of-options"]).and(tree);
    let output = call.run(git).await?.whole()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let entry = |line: &str| {
        let (head, name) = line.split_once('\t')?;
        Some((head.split(' ').nth(1)?.to_owned(), name.to_owned()))
    };
    Ok(text.split_terminator('\0').filter_map(entry).collect())
}
