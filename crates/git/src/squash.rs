//! Decides if a squash commit contains everything that a branch changed. A squash commit brings all changes of a branch
//! into another branch as one commit.
//!
//! This module does not use git's own merge, because attributes and configuration could name a merge driver that
//! reports success without merging. Instead it compares the files one by one. A file that differs is merged by `git
//! merge-file`, which reads no attributes.

use std::collections::BTreeMap;
use std::io::Write as _;

use tempfile::NamedTempFile;

use super::problem::GitProblem;
use super::program::{Git, GitCall};
use super::repository::GitRepository;

/// The maximum number of files that are compared by merging them, because each comparison takes four git calls. With
/// more files, the squash commit counts as lacking changes.
const MERGED_FILES_MAX: usize = 200;

/// The result of comparing a branch with a squash commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SquashContent {
    /// The squash commit contains every change of the branch.
    Whole,
    /// The branch changes no file. So a comparison of files cannot show if the squash commit contains the branch.
    NothingToHold,
    Lacks {
        file: String,
    },
}

/// A file in a git tree: its mode and its object id. A mode of zeros means that the tree does not have the file.
#[derive(Debug, Clone, PartialEq, Eq)]
struct TreeFile {
    mode: String,
    object: String,
}

impl TreeFile {
    fn is_plain(&self) -> bool {
        self.mode == "100644" || self.mode == "100755"
    }
}

/// Compares the changes of a branch (between the commits `fork` and `tip`) with the files of the squash commit.
pub(super) async fn content(
    git: &Git,
    repository: &GitRepository,
    fork: &str,
    (tip, squash): (&str, &str),
) -> Result<SquashContent, GitProblem> {
    let changed = differences(git, repository, fork, tip).await?;
    if changed.is_empty() {
        return Ok(SquashContent::NothingToHold);
    }
    let other = differences(git, repository, tip, squash).await?;
    let mut merged = 0;
    for (path, (before, after)) in &changed {
        // `other` has the paths that differ between the tip of the branch and the squash commit. For any other path,
        // the squash commit has exactly the content of the branch.
        let Some((_, squashed)) = other.get(path) else { continue };
        let lacks = || SquashContent::Lacks { file: String::from_utf8_lossy(path).into_owned() };
        merged += 1;
        if merged > MERGED_FILES_MAX || !holds(git, repository, [before, after, squashed]).await? {
            return Ok(lacks());
        }
    }
    Ok(SquashContent::Whole)
}

/// Returns the paths that differ between two trees. Each path comes with its file in the first and in the second tree.
async fn differences(
    git: &Git,
    repository: &GitRepository,
    one: &str,
    other: &str,
) -> Result<BTreeMap<Vec<u8>, (TreeFile, TreeFile)>, GitProblem> {
    let arguments = ["diff-tree", "-r", "-z", "--raw", "--no-abbrev", "--no-renames", "--end-of-options"];
    let output = GitCall::read(&repository.home, &arguments).and(one).and(other).run(git).await?.whole()?;
    let mut found = BTreeMap::new();
    let mut items = output.stdout.split(|byte| *byte == 0);
    while let (Some(head), Some(path)) = (items.next(), items.next()) {
        // Before each path, `git diff-tree` prints an item like this: `:100644 100644 <object> <object> M`
        let head = String::from_utf8_lossy(head);
        let words: Vec<&str> = head.trim_start_matches(':').split(' ').collect();
        let [mode, new_mode, object, new_object, _] = words[..] else {
            return Err(GitProblem::failed("diff-tree", "the output of git cannot be read"));
        };
        let file = |mode: &str, object: &str| TreeFile { mode: mode.to_owned(), object: object.to_owned() };
        found.insert(path.to_owned(), (file(mode, object), file(new_mode, new_object)));
    }
    Ok(found)
}

/// Returns true when the squash commit contains the branch's change of one file. In the squash commit the file may have
/// other changes too.
async fn holds(
    git: &Git,
    repository: &GitRepository,
    [before, after, squashed]: [&TreeFile; 3],
) -> Result<bool, GitProblem> {
    if ![before, after, squashed].iter().all(|file| file.is_plain()) {
        return Ok(false);
    }
    if before.mode != after.mode && squashed.mode != after.mode {
        return Ok(false);
    }
    if before.object == after.object || squashed.object == after.object {
        return Ok(true);
    }
    let mut texts = Vec::new();
    for file in [squashed, before, after] {
        let output = GitCall::read(&repository.home, &["cat-file", "blob"]).and(&file.object).run(git).await?;
        if output.cut {
            return Ok(false);
        }
        texts.push(output.whole()?.stdout);
    }
    let files = texts.iter().map(|text| written(text)).collect::<std::io::Result<Vec<_>>>();
    let files = files.map_err(|error| GitProblem::failed("merge-file", &error.to_string()))?;
    let mut call = GitCall::read(&repository.home, &["merge-file", "--quiet", "--stdout"]);
    for file in &files {
        call = call.and(file.path());
    }
    // Exit code 0 means a merge without conflicts. If merging the branch's change into the file of the squash commit
    // changes nothing, the squash commit already contains the change.
    let output = call.run(git).await?;
    Ok(output.is_success() && !output.cut && texts.first() == Some(&output.stdout))
}

fn written(text: &[u8]) -> std::io::Result<NamedTempFile> {
    let mut file = NamedTempFile::new()?;
    file.write_all(text)?;
    file.flush()?;
    Ok(file)
}
