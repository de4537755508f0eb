//! Tests what a person sees over HTTP of a task that an agent works on now: its difference and its transcript; and of
//! ended turns: their list, their transcripts and the outputs of checks.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Stdio};

use serde_json::{Value, json};

use crate::scene::WorkScene;
use crate::server::{WorkServer, wait_for};

/// A run of the agents in the background.
struct BackgroundRun(Child);

impl BackgroundRun {
    fn start(scene: &WorkScene) -> Self {
        Self(scene.handover(&["run"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    }

    fn ended(mut self) {
        self.0.wait().unwrap();
    }
}

impl Drop for BackgroundRun {
    /// Ends the run, so that a failed test leaves no runner.
    fn drop(&mut self) {
        let _over = self.0.kill().and_then(|()| self.0.wait());
    }
}

/// Creates a project with an agent whose program writes a file, prints lines, and waits until the test lets it go on.
fn scene() -> (WorkScene, PathBuf) {
    let scene = WorkScene::new();
    let gate = scene.path("go");
    let script = scene.path("bin").join("bot");
    let text = format!(
        "#!/bin/sh\necho 'I look at it with token=hnd_0123456789abcdef now'\nprintf 'one\\nTWO\\nthree\\n' > src/login.js\n\
         echo new > new.txt\necho 'Half is done.'\nwhile [ ! -e '{}' ]; do sleep 0.05; done\necho 'All is done.'\necho oops >&2\n",
        gate.display()
    );
    fs::write(&script, text).unwrap();
    fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    scene.settings(&format!(
        "[verify]\nchecks = [{{ command = [\"sh\", \"-c\", \"echo begin; seq 1 9000; echo secret token=hnd_0123456789abcdef; echo end\"] }}]\n\n\
         [[agent]]\nslug = \"bot\"\nadapter = \"exec\"\noutput = \"plain\"\ncommand = [\"{}\"]\n",
        script.display()
    ));
    scene.out(&["add", "Go back after login"]);
    (scene, gate)
}

fn texts(lines: &Value) -> Vec<String> {
    lines.as_array().unwrap().iter().map(|line| line["text"].as_str().unwrap().to_owned()).collect()
}

/// Returns git's index of a worktree, which most git commands in the worktree rewrite.
fn index_of(slot: &str) -> Vec<u8> {
    let git = fs::read_to_string(format!("{slot}/.git")).unwrap();
    fs::read(format!("{}/index", git.trim().strip_prefix("gitdir: ").unwrap())).unwrap()
}

#[test]
fn a_running_task_shows_its_files_and_its_transcript_while_it_is_written() {
    let (scene, gate) = scene();
    let server = WorkServer::start(&scene);
    let run = BackgroundRun::start(&scene);
    let turn = wait_for("a running turn", || {
        let turns = server.get("turns?task=1").done();
        let turn = turns["turns"][0].clone();
        (turn["ended_at"].is_null() && turn["id"].is_string()).then_some(turn)
    });
    assert_eq!(
        (&turn["agent"], &turn["task"], &turn["task_name"]),
        (&json!("bot"), &json!(1), &json!("Go back after login"))
    );
    let path = format!("turns/{}/transcript", turn["id"].as_str().unwrap());
    let (mut after, mut seen) = (0, Vec::new());
    while seen.len() < 2 {
        let piece = server.get(&format!("{path}?after={after}&wait=20")).done();
        assert_eq!(piece["ended"], json!(false), "{piece}");
        seen.extend(texts(&piece["lines"]));
        after = piece["next"].as_u64().unwrap();
    }
    assert_eq!(seen, ["I look at it with token=[redacted] now", "Half is done."]);
    let listed: Value = serde_json::from_str(&scene.out(&["worktree", "list", "--json"])).unwrap();
    let slot = listed["worktrees"].as_array().unwrap().iter().find(|row| row["task_number"] == json!(1)).unwrap();
    let slot = slot["path"].as_str().unwrap().to_owned();
    let status = scene.git_in(slot.as_ref(), &["status", "--porcelain"]);
    let index = index_of(&slot);
    let diff = server.get("tasks/1/diff").done();
    let files: Vec<&str> =
        diff["files"].as_array().unwrap().iter().map(|file| file["path"].as_str().unwrap()).collect();
    assert_eq!(files, ["new.txt", "src/login.js"], "{diff}");
    assert_eq!(status, " M src/login.js\n?? new.txt");
    let again = server.get("tasks/1/diff").done();
    assert_eq!(again, diff);
    assert!(index_of(&slot) == index, "looking changes nothing");
    // A long poll returns as soon as the program writes again.
    let waiting = std::thread::scope(|threads| {
        let poll = threads.spawn(|| server.get(&format!("{path}?after={after}&wait=20")).done());
        fs::write(&gate, "").unwrap();
        poll.join().unwrap()
    });
    let (mut lines, mut piece) = (texts(&waiting["lines"]), waiting);
    while piece["ended"] != json!(true) {
        let next = piece["next"].as_u64().unwrap();
        piece = server.get(&format!("{path}?after={next}&wait=20")).done();
        lines.extend(texts(&piece["lines"]));
    }
    assert_eq!(lines, ["All is done.", "oops"]);
    run.ended();
    let tree = server.get("tasks/1/merge").done()["tree"].clone();
    assert_eq!(server.get("tasks/1/diff").done()["tree"], tree);
    assert_eq!(diff["tree"], tree, "the work is what was seen");
    assert_eq!(server.post("tasks/1/merge", &json!({ "tree": tree })).status, 200);
}

#[test]
fn ended_turns_are_listed_in_pages_and_their_outputs_are_whole() {
    let (scene, gate) = scene();
    fs::write(&gate, "").unwrap();
    scene.out(&["add", "Validate the email"]);
    scene.out(&["run"]);
    let server = WorkServer::start(&scene);
    let all = server.get("turns").done();
    let ids = |page: &Value| -> Vec<String> {
        page["turns"].as_array().unwrap().iter().map(|turn| turn["id"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!((ids(&all).len(), &all["next_cursor"]), (2, &json!(null)), "{all}");
    let workflow = scene.task("1").workflow;
    for filter in ["limit=1".to_owned(), format!("workflow={workflow}&limit=1")] {
        let first = server.get(&format!("turns?{filter}")).done();
        let cursor = first["next_cursor"].as_str().unwrap().to_owned();
        let second = server.get(&format!("turns?{filter}&cursor={cursor}")).done();
        assert_eq!([ids(&first), ids(&second)].concat(), ids(&all), "{filter}");
    }
    let (last, first) = (&all["turns"][0]["started"], &all["turns"][1]["started"]);
    for (range, expected) in [
        (format!("from={last}"), 1),
        (format!("to={last}"), 1),
        (format!("from={first}&to={first}"), 0),
        (format!("workflow={workflow}&to={last}"), 1),
        (format!("task=2&from={last}"), usize::from(all["turns"][0]["task"] == json!(2))),
    ] {
        assert_eq!(ids(&server.get(&format!("turns?{range}")).done()).len(), expected, "{range}");
    }
    let id = ids(&all)[0].clone();
    assert_eq!(server.get(&format!("turns/{id}")).done(), all["turns"][0]);
    let whole = server.get(&format!("turns/{id}/transcript")).done();
    assert_eq!(whole["ended"], json!(true), "{whole}");
    let kinds: Vec<&str> =
        whole["lines"].as_array().unwrap().iter().map(|line| line["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["text", "text", "text", "stderr"], "{whole}");
    let output = server.get("tasks/1/checks/1/output").done();
    let text = output["text"].as_str().unwrap();
    assert!(text.starts_with("begin\n1\n2\n") && text.ends_with("9000\nsecret token=[redacted]\nend\n"), "{text:.200}");
    assert_eq!((&output["cut"], server.get("tasks/1/checks/1/output?check=1").done()), (&json!(false), output.clone()));
    assert_eq!(server.get("tasks/1/checks/1/output?check=2").status, 404);
}
