//! A repository in a temporary folder, for tests. The tests do not see the git configuration of the user.

use std::fs;
use std::path::{Path, PathBuf};

use git::{Git, GitProblem, MadeWorktree, Removal, Removed, WorktreeRequest, create, remove};
use tempfile::TempDir;

pub(crate) use crate::git::{git, program, script};

/// The environment variable that marks the separate process in which a test really runs.
const INSIDE: &str = "HANDOVER_TEST_INSIDE";

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
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        return runtime.block_on(async { body(Scene::new()).await });
    }
    let name = name.split_once("::").unwrap().1;
    let mut command = program(&std::env::current_exe().unwrap());
    command.args(["--exact", name, "--nocapture"]).env(INSIDE, "1");
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    let output = command.envs(environment.iter().copied()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("1 passed"), "{said}");
}

/// The time of every removal in these tests, in Unix milliseconds.
pub(crate) const NOW: i64 = 1_800_000_000_000;

pub(crate) struct Scene {
    folder: TempDir,
    pub(crate) git: Git,
    /// The folder of the main worktree. It is on the branch `main`, which has one commit.
    pub(crate) home: PathBuf,
}

impl Scene {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let home = folder.path().canonicalize().unwrap().join("home");
        let scene = Self { folder, git: Git::default(), home };
        scene.init("home");
        scene.commit("a.txt", "one");
        scene
    }

    /// Returns the path of another folder next to the main worktree.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    pub(crate) fn init(&self, name: &str) -> PathBuf {
        let path = self.beside(name);
        fs::create_dir(&path).unwrap();
        git(&path, &["init", "--quiet", "--initial-branch=main"]);
        path
    }

    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        git(&self.home, arguments)
    }

    pub(crate) fn commit(&self, file: &str, text: &str) -> String {
        commit(&self.home, file, text)
    }

    pub(crate) fn request(&self, branch: &str) -> WorktreeRequest {
        WorktreeRequest { repository: self.home.clone(), root: None, branch: branch.to_owned(), base: None }
    }

    pub(crate) async fn create(&self, branch: &str) -> Result<MadeWorktree, GitProblem> {
        create(&self.git, &self.request(branch)).await
    }

    pub(crate) fn removal(&self, made: &MadeWorktree) -> Removal {
        Removal {
            repository: self.home.clone(),
            path: made.path.clone(),
            branch: made.branch.clone(),
            base: Some(made.base_branch.clone()),
            merge_commit: None,
            force: false,
            now_ms: NOW,
        }
    }

    pub(crate) async fn remove(&self, made: &MadeWorktree) -> Result<Removed, GitProblem> {
        remove(&self.git, &self.removal(made)).await
    }

    pub(crate) fn worktrees(&self) -> PathBuf {
        self.home.join(".handover/state/worktrees")
    }

    /// Returns everything that the creation of a worktree could leave behind: branches, registrations and folders.
    pub(crate) fn remains(&self) -> (String, String, Vec<String>) {
        let branches = self.git(&["for-each-ref", "--format=%(refname:short)", "refs/heads"]);
        let registered = names(&self.home.join(".git/worktrees")).join(" ");
        (branches, registered, names(&self.worktrees()))
    }
}

/// Returns the sorted names in a folder; an empty list when the folder does not exist.
pub(crate) fn names(folder: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().to_str().unwrap().to_owned()).collect();
    names.sort();
    names
}

pub(crate) fn commit(folder: &Path, file: &str, text: &str) -> String {
    fs::write(folder.join(file), text).unwrap();
    git(folder, &["add", "--", file]);
    git(folder, &["commit", "--quiet", "-m", &text.replace('\0', " ")]);
    git(folder, &["rev-parse", "HEAD"])
}
