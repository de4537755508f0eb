//! Tests with a worker that tries to hide its real work from its reviewer, in real repositories.
#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test fails where something unforeseen happens, and runs git as a person does"
)]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::ground::clock::SystemClock;
use base::project::trust;
use base::service::Service;
use handover::desk::{Desk, DeskSurroundings, ToolOutcome, Visitor};
use handover::reception::new_session;
use serde_json::{Value, json};

/// The script of a reviewer that saves each request and reports no problem.
const CRITIC: &str = r#"read -r r; n=1; case $r in *'"iteration":2'*) n=2;; *'"iteration":3'*) n=3;; esac
    printf '%s' "$r" > "$1/request"
    k=; [ $n = 1 ] || k=',"applied_feedback_ack":{"items":[]}'
    printf '{"protocol_version":"1.2","iteration":%s,"status":"success","feedback":{"confidence":{"level":"high","justification":"I looked."},"positive_points":[],"areas_for_improvement":[],"general_summary":"Fine."}%s}' "$n" "$k""#;

struct Scene {
    folder: tempfile::TempDir,
    runtime: tokio::runtime::Runtime,
    desk: Desk,
    worker: Visitor,
    workflow: String,
}

fn git(folder: &Path, words: &[&str]) -> String {
    let mut command = std::process::Command::new("git");
    for (name, value) in
        [("AUTHOR_NAME", "t"), ("AUTHOR_EMAIL", "t@t"), ("COMMITTER_NAME", "t"), ("COMMITTER_EMAIL", "t@t")]
    {
        command.env(format!("GIT_{name}"), value);
    }
    let output = command.current_dir(folder).env("GIT_CONFIG_GLOBAL", "/dev/null").args(words).output().unwrap();
    assert!(output.status.success(), "git {words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

impl Scene {
    /// Creates a project with one worker and one reviewer. The project is a repository with a commit, or no repository.
    fn new(is_repository: bool) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("project");
        std::fs::create_dir_all(root.join(".handover/state")).unwrap();
        let critic = toml::Value::String(CRITIC.to_owned());
        let config = format!(
            "[[agent]]\nslug = \"critic\"\nadapter = \"exec\"\npersona = \"You review.\"\ncommand = [\"sh\", \"-c\", {critic}, \
             \"sh\", {:?}]\n",
            folder.path().display().to_string()
        );
        std::fs::write(root.join(".handover/config.toml"), config).unwrap();
        if is_repository {
            std::fs::write(root.join(".gitignore"), ".handover/\n").unwrap();
            std::fs::write(root.join("old.txt"), "old\n").unwrap();
            git(&root, &["init", "-q", "-b", "main"]);
            git(&root, &["add", "-A"]);
            git(&root, &["commit", "-q", "-m", "first"]);
        }
        let data = folder.path().join("data");
        trust::accept(&data, &trust::view(&root, Some(&data)).unwrap()).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let store = format!("{}/handover.db", root.join(".handover/state").display());
        let surroundings = DeskSurroundings {
            root: Some(root.clone()),
            worktrees: Some(folder.path().join("worktrees")),
            state: Some(root.join(".handover/state")),
            data: Some(data),
            store: Some(store.clone()),
            binary: Some(env!("CARGO_BIN_EXE_handover").into()),
        };
        let store = runtime.block_on(store::open(&store, 7)).unwrap();
        let desk = Desk::new(Service::new(store, Arc::new(SystemClock)), surroundings);
        let worker = Visitor::on_session(new_session().unwrap(), engine::Rights::Agent);
        let mut scene = Self { folder, runtime, desk, worker, workflow: String::new() };
        scene.worker("agent_register", &json!({"name": "mallory", "runtime": "exec"}));
        scene.workflow = text(&scene.person("workflow_create", &json!({"name": "w"})), "id");
        scene
    }

    fn root(&self) -> PathBuf {
        self.folder.path().join("project")
    }

    fn call(&self, visitor: &Visitor, tool: &str, arguments: &Value) -> Result<Value, Value> {
        let read = |value: &wire::json::Value| serde_json::from_str(&value.to_string()).unwrap();
        match self.runtime.block_on(self.desk.call(visitor, tool, arguments.to_string().as_bytes(), None)) {
            ToolOutcome::Done(value) => Ok(read(&value)),
            ToolOutcome::Refused(said) => Err(read(&said.render())),
            ToolOutcome::Failed(said) => panic!("{tool} failed: {}", said.message),
            ToolOutcome::UnknownTool => panic!("there is no tool {tool}"),
        }
    }

    fn person(&self, tool: &str, arguments: &Value) -> Value {
        self.call(&Visitor::person(), tool, arguments).unwrap_or_else(|said| panic!("{tool}: {said}"))
    }

    fn worker(&self, tool: &str, arguments: &Value) -> Value {
        self.call(&self.worker, tool, arguments).unwrap_or_else(|said| panic!("{tool}: {said}"))
    }

    fn refused(&self, tool: &str, arguments: &Value) -> Value {
        self.call(&self.worker, tool, arguments).unwrap_err()
    }

    /// Adds tasks that the agent `critic` reviews. Returns their ids.
    fn tasks(&self, names: &[&str]) -> Vec<String> {
        let tasks: Vec<Value> = names.iter().map(|name| json!({"name": name, "review": "critic"})).collect();
        let plan = json!({"id": self.workflow, "plan": {"summary": "s", "tasks": tasks}});
        let planned = self.person("workflow_set_plan", &plan);
        names.iter().map(|name| text(&planned["task_ids"], name)).collect()
    }

    /// Adds one task that the agent `critic` reviews, and lets the worker claim it. Returns the task's id.
    fn claimed(&self) -> String {
        let task = self.tasks(&["one"]).remove(0);
        self.worker("task_claim", &json!({"task_id": task}));
        task
    }

    fn write(&self, name: &str, content: &str) {
        std::fs::write(self.root().join(name), content).unwrap();
    }

    /// Lets the worker request a review with the text "All is well." as the description of its work. Returns the work
    /// as the reviewer got it.
    fn reviewed(&self, task: &str) -> Value {
        let ask = json!({"task_id": task, "content": "All is well.", "wait_seconds": 50});
        let answer = self.worker("review_request", &ask);
        assert_eq!((&answer["status"], &answer["open"]), (&json!("answered"), &json!(0)), "{answer}");
        let request = std::fs::read_to_string(self.folder.path().join("request")).unwrap();
        let mut shown: Value = serde_json::from_str(&request).unwrap();
        shown["artifact"].take()
    }

    fn complete(&self, task: &str) -> Result<Value, Value> {
        let done = json!({"id": task, "status": "completed", "outcome": "it is done"});
        self.call(&self.worker, "task_update_status", &done)
    }

    fn is_refused_as_changed(&self, task: &str) {
        let said = self.complete(task).unwrap_err();
        assert_eq!(said["code"], "REVIEW_REQUIRED", "{said}");
        assert!(text(&said, "message").contains("was changed after"), "{said}");
    }
}

fn text(value: &Value, name: &str) -> String {
    value[name].as_str().unwrap_or_else(|| panic!("no {name} in {value}")).to_owned()
}

fn assert_shows(shown: &Value, words: &[&str], not: &[&str]) {
    let content = text(shown, "content");
    assert!(words.iter().all(|word| content.contains(word)), "{words:?} in {shown:#}");
    assert!(!not.iter().any(|word| content.contains(word)), "not {not:?} in {shown:#}");
}

#[test]
fn work_without_a_workspace_is_gathered_from_the_main_worktree_since_the_claim() {
    let scene = Scene::new(true);
    let task = scene.claimed();
    scene.write("committed.txt", "one\n");
    git(&scene.root(), &["add", "-A"]);
    git(&scene.root(), &["commit", "-q", "-m", "work"]);
    scene.write("left.txt", "two\n");
    let shown = scene.reviewed(&task);
    assert_shows(&shown, &["committed.txt", "left.txt"], &["All is well", "old.txt"]);
    assert!(text(&shown, "x-source").starts_with("Handover gathered it from the main worktree"), "{shown:#}");
    // The worker changes the file after the review, and tells git's index to hide the change.
    scene.write("old.txt", "new\n");
    git(&scene.root(), &["update-index", "--assume-unchanged", "old.txt"]);
    scene.is_refused_as_changed(&task);
    assert_shows(&scene.reviewed(&task), &["old.txt"], &[]);
    scene.complete(&task).unwrap();
}

#[test]
fn a_configured_worktree_elsewhere_hides_nothing() {
    let scene = Scene::new(true);
    let task = scene.claimed();
    scene.write("work.txt", "work\n");
    let decoy = scene.folder.path().join("decoy");
    std::fs::create_dir(&decoy).unwrap();
    std::fs::write(decoy.join("decoy.txt"), "decoy\n").unwrap();
    git(&scene.root(), &["config", "core.worktree", decoy.to_str().unwrap()]);
    assert_shows(&scene.reviewed(&task), &["work.txt"], &["decoy"]);
    scene.complete(&task).unwrap();
}

#[test]
fn a_decoy_workspace_hides_no_work() {
    let scene = Scene::new(true);
    let task = scene.claimed();
    // The worker tries to hide its work: it records a new worktree without changes as its workspace, and works in the
    // main worktree.
    let make = json!({"workflow_id": scene.workflow, "branch": "empty", "create_worktree": true, "task_ids": [task]});
    scene.worker("workspace_create", &make);
    scene.write("work.txt", "work\n");
    let shown = scene.reviewed(&task);
    assert_shows(&shown, &["work.txt"], &["All is well"]);
    // The worker tries to hide its first commit: it makes two commits on a branch and records the first of them as the
    // base of the branch.
    let side = scene.folder.path().join("side");
    git(&scene.root(), &["worktree", "add", "-q", "-b", "side", side.to_str().unwrap()]);
    for name in ["first.txt", "second.txt"] {
        std::fs::write(side.join(name), "x\n").unwrap();
        git(&side, &["add", "-A"]);
        git(&side, &["commit", "-q", "-m", name]);
    }
    git(&scene.root(), &["branch", "fake-base", "side~1"]);
    let make = json!({
        "workflow_id": scene.workflow, "branch": "side", "path": side, "base_branch": "fake-base", "task_ids": [task],
    });
    scene.worker("workspace_create", &make);
    let shown = scene.reviewed(&task);
    assert_shows(&shown, &["first.txt", "second.txt"], &["work.txt"]);
    // The change in the main worktree is not shown to the reviewer, but the review request names the changed file.
    assert!(text(&shown, "x-source").contains("these changes are not shown: \"work.txt\""), "{shown:#}");
    std::fs::write(side.join("third.txt"), "x\n").unwrap();
    scene.is_refused_as_changed(&task);
}

#[test]
fn a_record_that_git_contradicts_is_refused_with_what_to_do() {
    let scene = Scene::new(true);
    let task = scene.claimed();
    let side = scene.folder.path().join("side");
    git(&scene.root(), &["worktree", "add", "-q", "-b", "side", side.to_str().unwrap()]);
    let make = json!({"workflow_id": scene.workflow, "branch": "main", "path": side, "task_ids": [task]});
    scene.worker("workspace_create", &make);
    let said = scene.refused("review_request", &json!({"task_id": task, "content": "All is well."}));
    assert_eq!(said["code"], "INVALID_STATE", "{said}");
    assert!(text(&said, "message").contains("that folder has side checked out"), "{said}");
    // The worker follows the advice in the refusal: it works in a worktree of its own.
    let make = json!({"workflow_id": scene.workflow, "branch": "own", "create_worktree": true, "task_ids": [task]});
    let made = scene.worker("workspace_create", &make);
    std::fs::write(Path::new(&text(&made, "path")).join("work.txt"), "work\n").unwrap();
    assert_shows(&scene.reviewed(&task), &["work.txt"], &[]);
    scene.complete(&task).unwrap();
}

#[test]
fn the_worktree_of_another_task_shows_nothing_of_it() {
    let scene = Scene::new(true);
    let tasks = scene.tasks(&["one", "two"]);
    let amy = Visitor::on_session(new_session().unwrap(), engine::Rights::Agent);
    let as_amy = |tool: &str, arguments: &Value| scene.call(&amy, tool, arguments).unwrap();
    as_amy("agent_register", &json!({"name": "amy", "runtime": "exec"}));
    as_amy("task_claim", &json!({"task_id": tasks[0]}));
    let make = json!({"workflow_id": scene.workflow, "branch": "one", "create_worktree": true, "task_ids": [tasks[0]]});
    let made = as_amy("workspace_create", &make);
    let tree = PathBuf::from(text(&made, "path"));
    std::fs::write(tree.join("good.txt"), "good\n").unwrap();
    git(&tree, &["add", "-A"]);
    git(&tree, &["commit", "-q", "-m", "good"]);
    scene.worker("task_claim", &json!({"task_id": tasks[1]}));
    let borrow = json!({"task_id": tasks[1], "workspace_id": text(&made, "id")});
    scene.worker("task_assign_workspace", &borrow);
    let said = scene.refused("review_request", &json!({"task_id": tasks[1], "content": "All is well."}));
    let message = text(&said, "message");
    assert!(message.starts_with(&format!("{}, which", tasks[0])) && message.contains("uses the workspace"), "{said}");
    // Two agents work in one worktree. After the first task is completed, Handover shows the changes since the claim of
    // the second task. So the file of the first task is not shown.
    let done = json!({"id": tasks[0], "status": "completed", "outcome": "good"});
    scene.call(&Visitor::person(), "task_update_status", &done).unwrap();
    let shown = scene.reviewed(&tasks[1]);
    assert_shows(&shown, &["All is well."], &["good.txt"]);
    assert!(text(&shown, "x-source").starts_with("The worker gave it: Handover did not gather it."), "{shown:#}");
}

#[test]
fn given_content_is_said_to_be_given_and_counts_while_nothing_is_changed() {
    let scene = Scene::new(true);
    let task = scene.claimed();
    let shown = scene.reviewed(&task);
    assert_eq!(
        (&shown["content"], &shown["artifact_ref"]),
        (&json!("All is well."), &json!("given: no changes in the repository"))
    );
    scene.write("work.txt", "work\n");
    scene.is_refused_as_changed(&task);
    std::fs::remove_file(scene.root().join("work.txt")).unwrap();
    scene.complete(&task).unwrap();

    let scene = Scene::new(false);
    let task = scene.claimed();
    let shown = scene.reviewed(&task);
    assert_eq!((&shown["content"], &shown["artifact_ref"]), (&json!("All is well."), &json!("given: no repository")));
    scene.complete(&task).unwrap();
}

#[test]
fn a_second_attempt_is_reviewed_with_the_work_of_the_first() {
    let scene = Scene::new(true);
    let task = scene.claimed();
    scene.write("first.txt", "one\n");
    git(&scene.root(), &["add", "-A"]);
    git(&scene.root(), &["commit", "-q", "-m", "first attempt"]);
    scene.worker("task_release", &json!({"task_id": task}));
    scene.worker("task_claim", &json!({"task_id": task}));
    scene.write("second.txt", "two\n");
    assert_shows(&scene.reviewed(&task), &["first.txt", "second.txt"], &[]);
    scene.complete(&task).unwrap();
}
