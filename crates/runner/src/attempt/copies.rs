//! Copies ignored files of the person's checkout, such as `.env`, into the worktree of an attempt.

use std::path::Path;

use base::project::detect::copy::{CopyPatterns, INCLUDE_FILE, files_to_copy, folders_to_list, regular_file_bytes};
use git::branch::{CopyMode, CopySkip, copy_into};
use git::program::GitCall;

use super::AttemptError;
use super::place::{WorkPlace, WorktreeGround};

impl WorktreeGround {
    /// Copies the ignored files that `.worktreeinclude` and the settings choose into a worktree. Returns warnings about
    /// files that were not copied.
    pub(crate) async fn copy_files(
        &self,
        place: &WorkPlace,
        copy: &[String],
        mode: CopyMode,
    ) -> Result<Vec<String>, AttemptError> {
        let WorkPlace::Worktree { workspace, slot: Some(_), .. } = place else { return Ok(Vec::new()) };
        let include = std::fs::read_to_string(self.root.join(INCLUDE_FILE)).unwrap_or_default();
        if include.trim().is_empty() && copy.is_empty() {
            return Ok(Vec::new());
        }
        let patterns = CopyPatterns::read(&include, copy);
        let files = match self.chosen_files(&patterns).await? {
            Ok(files) => files,
            Err(problem) => return Ok(vec![problem]),
        };
        let _turn = self.turn.acquire().await;
        let report = copy_into(&self.git, (&self.root, &workspace.path), &files, mode).await?;
        let skipped = report.skipped.iter().map(|(path, why)| format!("{path} was not copied: {}", reason(*why)));
        Ok(patterns.problems.iter().cloned().chain(skipped).collect())
    }

    async fn chosen_files(&self, patterns: &CopyPatterns) -> Result<Result<Vec<String>, String>, AttemptError> {
        // With `--directory`, git names an ignored folder such as `node_modules` and does not list its files.
        let listed = self.ignored(&["--directory"], &[]).await?;
        let folders: Vec<&str> = folders_to_list(listed.iter().map(String::as_str));
        let inside = if folders.is_empty() { Vec::new() } else { self.ignored(&[], &folders).await? };
        let ignored = listed.iter().chain(&inside).map(String::as_str);
        let bytes = |path: &str| regular_file_bytes(Path::new(&self.root), path);
        Ok(files_to_copy(patterns, ignored, &bytes).map_err(|problem| problem.to_string()))
    }

    /// Returns the files that git ignores in the person's checkout. Returns only files below `folders`, unless
    /// `folders` is empty.
    async fn ignored(&self, options: &[&str], folders: &[&str]) -> Result<Vec<String>, AttemptError> {
        let arguments = ["ls-files", "--others", "--ignored", "--exclude-standard", "-z"];
        let mut call = GitCall::read(&self.root, &[&arguments, options, &["--"]].concat());
        for folder in folders {
            call = call.and(format!(":(top,literal){folder}"));
        }
        let listed = call.run(&self.git).await?.whole()?;
        let text = String::from_utf8_lossy(&listed.stdout);
        Ok(text.split('\0').filter(|path| !path.is_empty()).map(str::to_owned).collect())
    }
}

fn reason(why: CopySkip) -> &'static str {
    match why {
        CopySkip::NotIgnored => "git does not ignore it in the worktree, so it could be committed",
        CopySkip::Outside => "it is not a file of the checkout",
        CopySkip::Link => "it is reached through a link",
        CopySkip::NoFile => "it is not a regular file",
    }
}
