//! Stores the results of project checks on the commits from which tasks start. Each result is one file. Its name is a
//! hash over the tree, the check and the setup, so all tasks and runners on this machine find it.
//!
//! Each result has a lock file, so that two runners do not run the same check at the same time. The second runner waits
//! and reads the result of the first.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::judgement::BaselineEnd;
use base::ground::digest::hexadecimal;
use base::project::settings::{SetupCommand, VerifyCheck};

/// The time in milliseconds for which a stored failure is used. Afterwards the check runs again, because the reason of
/// the failure may be outside of the repository, such as a database that did not run.
const FAILURE_MS_MAX: i64 = 10 * 60 * 1_000;
const PAUSE: Duration = Duration::from_millis(100);

/// The result of one project check on one git tree (the files of a commit).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BaselineRecord {
    pub command: String,
    pub end: BaselineEnd,
    pub exit_code: Option<i32>,
    /// The last line that the check printed. It is shown to the person when the check fails.
    pub last_line: String,
    pub ms: u64,
    pub at_ms: i64,
}

/// The folder on this machine with the stored check results of one repository.
#[derive(Debug, Clone)]
pub struct BaselineFolder {
    folder: PathBuf,
}

/// The lock for one stored check result. Dropping this value releases the lock.
#[derive(Debug)]
pub struct BaselineLock {
    _file: File,
}

impl BaselineFolder {
    pub fn at(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// Returns the stored check result for a key. Returns `None` when there is none, when it cannot be read, or when it
    /// is a failure that is too old.
    pub fn find(&self, key: &str, now_ms: i64) -> Option<BaselineRecord> {
        let text = fs::read_to_string(self.path(key)).ok()?;
        let record: BaselineRecord = serde_json::from_str(&text).ok()?;
        let is_fresh = now_ms.saturating_sub(record.at_ms) < FAILURE_MS_MAX;
        (record.end == BaselineEnd::Passes || is_fresh).then_some(record)
    }

    /// Stores a check result. Writes a new file and renames it, so that a killed process never leaves half of a result.
    pub fn keep(&self, key: &str, record: &BaselineRecord) -> io::Result<()> {
        fs::create_dir_all(&self.folder)?;
        let path = self.path(key);
        let new = path.with_extension(format!("{}.new", std::process::id()));
        fs::write(&new, serde_json::to_vec(record)?)?;
        fs::rename(&new, &path)
    }

    /// Waits for the lock of a check result. The process that holds the lock may run the check.
    pub async fn lock(&self, key: &str) -> io::Result<BaselineLock> {
        fs::create_dir_all(&self.folder)?;
        let path = self.folder.join(format!("{key}.lock"));
        let file = File::options().create(true).truncate(false).write(true).open(path)?;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(BaselineLock { _file: file }),
                Err(TryLockError::WouldBlock) => tokio::time::sleep(PAUSE).await,
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
    }

    fn path(&self, key: &str) -> PathBuf {
        self.folder.join(format!("{key}.json"))
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }
}

/// Returns the key under which a check result is stored. It covers the tree, the check and the setup commands. It needs
/// no separate part for the files that the setup reads, because they are part of the tree.
pub fn key(tree: &str, check: &VerifyCheck, setup: &[SetupCommand]) -> String {
    let setup = setup.iter().map(|setup| (&setup.command, &setup.folder, &setup.inputs)).collect::<Vec<_>>();
    let parts = (tree, &check.command, &check.folder, setup);
    let text = serde_json::to_string(&parts).unwrap_or_default();
    hexadecimal(&Sha256::digest(text.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::project::settings::CheckMoment;

    fn record(end: BaselineEnd, at_ms: i64) -> BaselineRecord {
        let (command, last_line) = ("npm test".to_owned(), "1 failing".to_owned());
        BaselineRecord { command, end, exit_code: Some(1), last_line, ms: 5, at_ms }
    }

    fn check(words: &[&str], folder: &str) -> VerifyCheck {
        let command = words.iter().map(|&word| word.to_owned()).collect();
        VerifyCheck { command, seconds: 600, folder: folder.into(), when: CheckMoment::Task }
    }

    #[test]
    fn a_result_that_passes_is_used_without_end_and_a_failure_for_ten_minutes() {
        let root = tempfile::tempdir().unwrap();
        let kept = BaselineFolder::at(root.path().join("baseline"));
        assert_eq!(kept.find("k", 0), None);
        for end in [BaselineEnd::Passes, BaselineEnd::Fails, BaselineEnd::TimesOut, BaselineEnd::Unknown] {
            kept.keep("k", &record(end, 1_000)).unwrap();
            assert_eq!(kept.find("k", 1_000 + FAILURE_MS_MAX - 1), Some(record(end, 1_000)), "{end:?}");
            let is_used = kept.find("k", 1_000 + FAILURE_MS_MAX).is_some();
            assert_eq!(is_used, end == BaselineEnd::Passes, "{end:?}");
        }
    }

    #[test]
    fn the_key_depends_on_tree_command_folder_and_setup() {
        let setup = SetupCommand {
            command: vec!["npm".to_owned(), "ci".to_owned()],
            seconds: 1,
            folder: String::new(),
            inputs: vec!["package-lock.json".to_owned()],
        };
        let all = [
            key("t1", &check(&["npm", "test"], ""), &[]),
            key("t2", &check(&["npm", "test"], ""), &[]),
            key("t1", &check(&["npm", "test", "x"], ""), &[]),
            key("t1", &check(&["npm", "test"], "web"), &[]),
            key("t1", &check(&["npm", "test"], ""), &[setup]),
        ];
        let different: std::collections::BTreeSet<&String> = all.iter().collect();
        assert_eq!(different.len(), all.len());
        let later = VerifyCheck { seconds: 1, when: CheckMoment::End, ..check(&["npm", "test"], "") };
        assert_eq!(key("t1", &later, &[]), all[0]);
    }

    #[tokio::test]
    async fn only_one_holder_has_the_lock_of_a_result() {
        let root = tempfile::tempdir().unwrap();
        let kept = BaselineFolder::at(root.path().join("baseline"));
        let first = kept.lock("k").await.unwrap();
        let other = kept.lock("other").await.unwrap();
        let (waiting, begun) = (kept.clone(), tokio::sync::Notify::new());
        let begun = std::sync::Arc::new(begun);
        let signal = std::sync::Arc::clone(&begun);
        let second = tokio::spawn(async move {
            signal.notify_one();
            waiting.lock("k").await.map(drop)
        });
        begun.notified().await;
        kept.keep("k", &record(BaselineEnd::Passes, 1)).unwrap();
        assert!(!second.is_finished());
        drop((first, other));
        second.await.unwrap().unwrap();
        assert!(kept.find("k", 1).is_some());
    }
}
