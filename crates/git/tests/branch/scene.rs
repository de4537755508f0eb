//! A repository in a temporary folder with a workflow, for tests. The tests do not see the git configuration of the
//! user.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use git::branch::{
    Author, BranchTip, CommitResult, Merge, MergeResult, TaskWorkspace, bring, commit, line, merge, task_branch,
    workflow_branch,
};
use git::slot::{ExistingBranch, SlotOrder, SlotPool};
use git::{Git, GitProblem};
use tempfile::TempDir;

pub(crate) use crate::git::{git, program, script};

/// The environment variable that marks the separate process in which a test really runs.
const INSIDE: &str = "HANDOVER_TEST_INSIDE";
pub(crate) const WORKFLOW: &str = "wf_0123456789ab";

/// Defines tests, each of which runs in a separate process, because a test's environment variables apply to its whole
/// process.
macro_rules! alone {
    ($(fn $name:ident($scene:ident $(, $key:literal = $value:literal)*) $body:block)*) => {$(
        #[test]
        fn $name() {
            let name = concat!(module_path!(), "::", stringify!($name));
            $crate::scene::run_alone(name, &[$(($key, $value)),*], async |$scene: $crate::scene::Scene| $body);
        }
    )*};
}
pub(crate) use alone;

pub(crate) fn run_alone(name: &str, environment: &[(&str, &str)], body: impl AsyncFnOnce(Scene)) {
    if std::env::var_os(INSIDE).is_some() {
        return runtime().block_on(async { body(Scene::new()).await });
    }
    let mut command = this_test(name.split_once("::").unwrap().1);
    let output = command.envs(environment.iter().copied()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("1 passed"), "{said}");
}

pub(crate) fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

pub(crate) fn this_test(name: &str) -> Command {
    let mut command = program(&std::env::current_exe().unwrap());
    command.args(["--exact", name, "--nocapture"]).env(INSIDE, "1");
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    command
}

pub(crate) struct Scene {
    folder: TempDir,
    pub(crate) git: Git,
    /// The folder of the main worktree. It is on the branch `main`, which has one commit.
    pub(crate) home: PathBuf,
}

impl Scene {
    pub(crate) fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let home = folder.path().canonicalize().unwrap().join("home");
        fs::create_dir(&home).unwrap();
        git(&home, &["init", "--quiet", "--initial-branch=main"]);
        let scene = Self { folder, git: Git::default(), home };
        fs::write(scene.home.join(".gitignore"), "*.log\n").unwrap();
        save(&scene.home, "a.txt", "one\ntwo\nthree\n");
        scene
    }

    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        git(&self.home, arguments)
    }

    pub(crate) async fn line(&self) -> BranchTip {
        line(&self.git, &self.home, &workflow_branch(WORKFLOW), None).await.unwrap()
    }

    /// Returns the slot (a reusable worktree) of a task, with the task's branch checked out.
    pub(crate) async fn workspace(&self, task: &str) -> TaskWorkspace {
        self.slot(task).await.unwrap()
    }

    pub(crate) async fn slot(&self, task: &str) -> Result<TaskWorkspace, GitProblem> {
        let (branch, base) = (task_branch(task, 1), self.line().await);
        let (existing, limit, now_ms) = (ExistingBranch::Refuse, None, 1);
        let order = SlotOrder { owner: task, branch: &branch, base: &base, existing, limit, now_ms };
        let taken = self.pool().take(&self.git, &self.home, order).await?;
        Ok(TaskWorkspace { repository: self.home.clone(), path: taken.path, branch })
    }

    pub(crate) fn pool(&self) -> SlotPool {
        SlotPool::at(self.home.with_file_name("slots"))
    }

    pub(crate) async fn commit(&self, workspace: &TaskWorkspace) -> Result<CommitResult, GitProblem> {
        commit(&self.git, workspace, "what the agent left", &author()).await
    }

    /// Returns a request to merge the commit `head` into the workflow's branch.
    pub(crate) fn request(&self, head: &str) -> Merge {
        let branch = format!("handover/{WORKFLOW}");
        let (head, message) = (head.to_owned(), "merge the task".to_owned());
        Merge { repository: self.home.clone(), branch, head, message, author: author() }
    }

    pub(crate) async fn merge(&self, head: &str) -> Result<MergeResult, GitProblem> {
        merge(&self.git, &self.request(head)).await
    }

    pub(crate) async fn bring(&self, workspace: &TaskWorkspace) -> Result<MergeResult, GitProblem> {
        bring(&self.git, &self.line().await, workspace, "bring the others' work", &author()).await
    }

    /// Returns the content of a file on the workflow's branch.
    pub(crate) fn shown(&self, file: &str) -> String {
        self.git(&["show", &format!("handover/{WORKFLOW}:{file}")])
    }
}

pub(crate) fn author() -> Author {
    Author { name: "Quinn <the> Tester".to_owned(), slug: "quinn".to_owned() }
}

/// Writes a file and commits everything, as a person or an agent does. Returns the hash of the commit.
pub(crate) fn save(folder: &Path, file: &str, text: &str) -> String {
    fs::write(folder.join(file), text).unwrap();
    git(folder, &["add", "--all"]);
    git(folder, &["commit", "--quiet", "-m", file]);
    git(folder, &["rev-parse", "HEAD"])
}
