//! Tests `handover task verify`, called by an agent in a terminal and by a person.
#![expect(clippy::disallowed_methods, reason = "starts the program it tests, and git")]

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use runner::complete::{CompletionOrder, Finished, finish};
use runner::verify::{EvaluatorQuestion, judge};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::agent_client::AgentClient;

const SETTINGS: &str = "[contract.code]\nschema = \"contracts/report.json\"\n\
                        checks = [{ command = [\"sh\", \"-c\", \"echo checked; test -e pass\"], seconds = 60 }]\n";

/// A repository with a contract (the requirements for a task's output) that a person accepted, and a task that the
/// agent `quinn` holds.
struct Site {
    folder: TempDir,
    task: String,
}

impl Site {
    fn new(contract: &Value) -> Self {
        let mut site = Self { folder: TempDir::new().unwrap(), task: String::new() };
        let contracts = site.root().join(".handover/contracts");
        fs::create_dir_all(&contracts).unwrap();
        fs::write(site.root().join(".handover/config.toml"), SETTINGS).unwrap();
        fs::write(contracts.join("report.json"), r#"{"required": ["summary"]}"#).unwrap();
        fs::write(site.root().join("out.json"), r#"{"summary": "done"}"#).unwrap();
        site.git(&["init", "-q"]);
        site.git(&["add", "-A"]);
        site.git(&["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", "x"]);
        site.trust();
        let created = site.json(&["workflow", "create", "w"]);
        let workflow = created["id"].as_str().unwrap();
        let brief = json!({"goal": "It is done.", "acceptance_criteria": ["yes"], "output_contract": contract});
        let plan = json!({"summary": "s", "tasks": [{"name": "t", "brief": brief}]}).to_string();
        site.json(&["workflow", "plan", workflow, &plan]);
        for name in ["quinn", "other"] {
            site.json(&["agent", "register", name, "exec"]);
        }
        let task = site.json(&["task", "next", "quinn"]);
        site.task = task["task"]["id"].as_str().unwrap_or_else(|| panic!("{task}")).to_owned();
        site
    }

    fn root(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join("repo")
    }

    fn git(&self, arguments: &[&str]) {
        let done = Command::new("git").current_dir(self.root()).args(arguments).status().unwrap();
        assert!(done.success());
    }

    fn trust(&self) {
        let offered = self.json(&["trust"]);
        let accepted = self.run(&["trust", "--sha256", offered["sha256"].as_str().unwrap()], None);
        assert!(accepted.status.success(), "{accepted:?}");
    }

    fn run(&self, arguments: &[&str], mark: Option<&str>) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_handover"));
        self.surround(&mut command);
        command.envs(mark.map(|mark| (mark, "1")));
        command.args(arguments).output().unwrap()
    }

    fn surround(&self, command: &mut Command) {
        command.current_dir(self.root()).env_clear().env("PATH", std::env::var_os("PATH").unwrap());
        command.env("HOME", self.folder.path()).env("XDG_DATA_HOME", self.folder.path().join("data"));
    }

    fn json(&self, arguments: &[&str]) -> Value {
        let output = self.run(&[arguments, &["--json"]].concat(), None);
        reply(&output).unwrap_or_else(|| panic!("{arguments:?} {output:?}"))
    }

    /// Runs `handover task verify`. Returns the exit code and the reply.
    fn verify(&self, arguments: &[&str]) -> (i32, Value) {
        self.verify_below(arguments, None)
    }

    fn verify_below(&self, arguments: &[&str], mark: Option<&str>) -> (i32, Value) {
        let all = [&["task", "verify", self.task.as_str(), "--json", "--output-ref"], arguments].concat();
        let output = self.run(&all, mark);
        let reply = reply(&output).unwrap_or_else(|| panic!("{arguments:?} {output:?}"));
        (output.status.code().unwrap(), reply)
    }

    fn task(&self) -> Value {
        self.json(&["task", "show", &self.task])
    }
}

/// Returns the reply of a command as JSON. If the command failed, returns the error that it printed on standard error.
fn reply(output: &Output) -> Option<Value> {
    if output.status.success() {
        return serde_json::from_slice(&output.stdout).ok();
    }
    let printed: Value = serde_json::from_slice(&output.stderr).ok()?;
    printed.get("error").cloned()
}

fn code(found: &(i32, Value)) -> (i32, &str) {
    (found.0, found.1["code"].as_str().unwrap_or_default())
}

fn held_to_code() -> Value {
    json!({"type": "json", "schema_ref": "code", "output_ref_required": true})
}

#[test]
fn a_failure_goes_back_once_and_a_pass_completes() {
    let site = Site::new(&held_to_code());
    let refused = site.json(&["task", "status", &site.task, "completed", "--outcome", "done"]);
    assert_eq!(refused["code"], "VERIFICATION_REQUIRED", "{refused}");
    let failed = site.verify(&["out.json", "--agent-id", "quinn"]);
    assert_eq!(code(&failed), (1, "VERIFICATION_FAILED"), "{failed:?}");
    assert_eq!(failed.1["details"]["blocked"], false);
    let problem = &failed.1["details"]["problems"][0];
    assert_eq!(problem["code"], "CHECK_FAILED");
    assert!(problem["message"].as_str().unwrap().contains("exited with 1"), "{problem}");
    assert!(problem["message"].as_str().unwrap().contains("checked"), "{problem}");
    fs::write(site.root().join("pass"), "").unwrap();
    let passed = site.verify(&["out.json", "--agent-id", "quinn", "--outcome", "All is done."]);
    let verification = json!({"mechanical": "pass", "semantic": "skipped", "attempts": 2});
    let expected =
        json!({"success": true, "status": "completed", "output_ref": "out.json", "verification": verification});
    assert_eq!(passed, (0, expected));
    let task = site.task();
    assert_eq!(task["status"], "completed", "{task}");
    assert!(task.to_string().contains("All is done."), "{task}");
    assert_eq!(fs::read_dir(site.root().join(".handover/state/verify")).unwrap().count(), 0);
    assert_eq!(code(&site.verify(&["out.json"])), (1, "CLAIM_LOST"));
}

#[test]
fn the_second_failure_blocks() {
    let site = Site::new(&held_to_code());
    assert_eq!(site.verify(&["nothing.json"]).1["details"]["blocked"], false);
    let second = site.verify(&["../out.json"]);
    assert_eq!((code(&second), &second.1["details"]["blocked"]), ((1, "VERIFICATION_FAILED"), &json!(true)));
    let task = site.task();
    assert_eq!(task["status"], "blocked", "{task}");
    assert!(task.to_string().contains("PATH_OUTSIDE_ROOT, CHECK_FAILED"), "{task}");
}

#[test]
fn who_may_not_verify_is_told_why() {
    let site = Site::new(&held_to_code());
    fs::write(site.root().join("pass"), "").unwrap();
    let verify = |arguments: &[&str], mark: Option<&str>| {
        let found = site.verify_below(&[&["out.json"], arguments].concat(), mark);
        format!("{} {}", found.0, found.1["code"].as_str().unwrap_or_default())
    };
    assert_eq!(verify(&["--agent-id", "other"], None), "1 CLAIM_LOST");
    assert_eq!(verify(&["--agent-id", "nobody"], None), "1 AGENT_NOT_FOUND");
    assert_eq!(verify(&[], Some("CLAUDECODE")), "1 AGENT_REQUIRED");
    assert_eq!(verify(&["--agent-id", "quinn"], Some("CLAUDECODE")), "1 AGENT_ELSEWHERE");
    assert_eq!(verify(&["--agent-id", "quinn"], Some("HANDOVER_TURN")), "1 NOT_PERMITTED");
    assert_eq!(verify(&["--worktree", ".."], None), "1 NOT_TRUSTED");
    fs::remove_dir_all(site.folder.path().join("data/handover/trust")).unwrap();
    assert_eq!(verify(&["--agent-id", "quinn"], None), "1 NOT_TRUSTED");
    assert_eq!(site.task()["status"], "pending", "nothing happened");
    site.trust();
    // Replace the check in the settings file. No person has accepted the new check, so the old check still decides.
    let other = "[contract.code]\nchecks = [{ command = [\"touch\", \"owned\"] }]\n";
    fs::write(site.root().join(".handover/config.toml"), other).unwrap();
    fs::remove_file(site.root().join("pass")).unwrap();
    let found = site.verify_below(&["out.json", "--agent-id", "quinn"], None);
    assert!(found.1["message"].as_str().unwrap().contains("CHECK_FAILED"), "{found:?}");
    assert!(!site.root().join("owned").exists());
    fs::write(site.root().join("pass"), "").unwrap();
    assert_eq!(verify(&["--agent-id", "quinn"], None), "0 ", "a script of a person may");
}

/// Tests `task verify` in a command that an agent's client started. Such a command can verify a task only for the agent
/// that this client registered.
#[test]
fn an_agent_verifies_what_it_holds() {
    let site = Site::new(&held_to_code());
    fs::write(site.root().join("pass"), "").unwrap();
    let mut shell = Command::new("sh");
    site.surround(&mut shell);
    let mut client = AgentClient::start(shell);
    client.must("agent_register", &json!({"name": "zoe", "runtime": "t"}));
    let mut verify = |arguments: &[&str]| {
        let all = [&["task", "verify", site.task.as_str(), "--json", "--output-ref", "out.json"], arguments].concat();
        let ran = client.shell(&all, None);
        let printed = if ran.code == 0 { &ran.out } else { &ran.err };
        let reply: Value = serde_json::from_str(printed).unwrap_or_else(|_| panic!("{ran:?}"));
        format!("{} {}", ran.code, reply["error"]["code"].as_str().unwrap_or_default())
    };
    assert_eq!(verify(&[]), "1 CLAIM_LOST");
    assert_eq!(verify(&["--agent-id", "quinn"]), "1 AGENT_ELSEWHERE");
    site.json(&["task", "release", &site.task]);
    client.must("task_next", &json!({}));
    let mut verify = |arguments: &[&str]| {
        let all = [&["task", "verify", site.task.as_str(), "--output-ref", "out.json"], arguments].concat();
        client.shell(&all, None).code
    };
    assert_eq!(verify(&["--agent-id", "other"]), 1);
    assert_eq!(verify(&[]), 0);
    assert_eq!(site.task()["status"], "completed");
}

/// Tests `task verify` in a command that no agent started. Such a command cannot verify a task for an agent that is
/// connected elsewhere. It can verify only for agents that were registered on the command line.
#[test]
fn a_script_verifies_for_no_agent_that_is_at_home_elsewhere() {
    let site = Site::new(&held_to_code());
    fs::write(site.root().join("pass"), "").unwrap();
    site.json(&["task", "release", &site.task]);
    let mut shell = Command::new("sh");
    site.surround(&mut shell);
    let mut client = AgentClient::start(shell);
    let zoe = client.must("agent_register", &json!({"name": "zoe", "runtime": "t"}));
    client.must("task_next", &json!({}));
    assert_eq!(code(&site.verify(&["out.json", "--agent-id", "zoe"])), (1, "AGENT_ELSEWHERE"));
    assert_eq!(code(&site.verify(&["out.json", "--agent-id", "nobody"])), (1, "AGENT_NOT_FOUND"));
    assert_eq!(code(&site.verify(&["out.json", "--agent-id", "ag_0123456789ab"])), (1, "AGENT_NOT_FOUND"));
    let task = site.task();
    assert_eq!((&task["status"], &task["assigned_agent_id"]), (&json!("pending"), &zoe["id"]), "{task}");
}

/// Tests a check that is a target of `make`: a Makefile that the agent changed counts as a changed check.
#[test]
fn a_makefile_that_was_changed_counts_after_a_person_saw_it() {
    let site = Site::new(&held_to_code());
    let makefile = |text: &str| fs::write(site.root().join("Makefile"), text).unwrap();
    makefile("test:\n\tfalse\n");
    let settings = "[contract.code]\nchecks = [{ command = [\"make\", \"test\"] }]\n";
    fs::write(site.root().join(".handover/config.toml"), settings).unwrap();
    site.trust();
    makefile("test:\n\ttrue\n");
    let asked = site.verify(&["out.json", "--agent-id", "quinn"]);
    assert_eq!(code(&asked), (1, "CHECK_CHANGED"), "{asked:?}");
    let id = site.json(&["approval", "list"])["approvals"][0]["id"].as_str().unwrap().to_owned();
    let shown = site.json(&["approval", "show", &id]).to_string();
    for words in ["use a check that this task changed: Makefile", "+\\ttrue", "-\\tfalse", "make test"] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    assert_eq!(site.task()["status"], "pending");
}

/// Tests an agent that changed the script that checks its work. A person must look at the change before the result
/// counts.
#[test]
fn a_check_that_was_changed_counts_after_a_person_saw_it() {
    let site = Site::new(&held_to_code());
    let script = |text: &str| {
        fs::create_dir_all(site.root().join("ci")).unwrap();
        fs::write(site.root().join("ci/check.sh"), text).unwrap();
    };
    script("exit 1\n");
    let settings = "[contract.code]\nchecks = [{ command = [\"sh\", \"./ci/../ci/check.sh\"] }]\n";
    fs::write(site.root().join(".handover/config.toml"), settings).unwrap();
    site.trust();
    script("exit 0\n");
    let asked = site.verify(&["out.json", "--agent-id", "quinn"]);
    assert_eq!(code(&asked), (1, "CHECK_CHANGED"), "{asked:?}");
    let message = asked.1["message"].as_str().unwrap();
    assert!(message.starts_with("this task changed a check"), "{message}");
    let again = site.verify(&["out.json", "--agent-id", "quinn"]);
    assert_eq!(again, asked, "one question, however often it is tried");
    let waits = site.json(&["approval", "list"]);
    let id = waits["approvals"][0]["id"].as_str().unwrap().to_owned();
    assert!(message.contains(&id) && site.json(&["approval", "show", &id]).to_string().contains("+exit 0"), "{waits}");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let file = site.root().join(".handover/state/handover.db");
        let store = store::open(file.to_str().unwrap(), 1).await.unwrap();
        let service = base::Service::new(store, std::sync::Arc::new(base::ground::clock::SystemClock));
        let approve = engine::approval::ApprovalDecision::Approve;
        base::people::approvals::decide(&service, engine::Rights::Person, id.parse().unwrap(), approve).await.unwrap();
    });
    let passed = site.verify(&["out.json", "--agent-id", "quinn"]);
    assert_eq!((passed.0, &passed.1["status"]), (0, &json!("completed")), "{passed:?}");
}

#[test]
fn what_needs_an_evaluator_is_left_to_the_runner() {
    let site = Site::new(&json!({"type": "file", "output_ref_required": true, "evaluate": "Is it good?"}));
    assert_eq!(code(&site.verify(&["out.json"])), (1, "EVALUATOR_NEEDED"));
    let lost = Site::new(&json!({"type": "file", "schema_ref": "lost", "output_ref_required": true}));
    let found = lost.verify(&["out.json"]);
    assert_eq!(code(&found), (1, "CONTRACT_UNUSABLE"), "{found:?}");
}

/// Tests a verification with an evaluator, an agent that judges the output of another agent: only the evaluator's clear
/// yes or no is recorded.
#[tokio::test]
async fn an_evaluator_decides_or_nothing_is_recorded() {
    let site = Site::new(&json!({"type": "file", "output_ref_required": true, "evaluate": "Is it good?"}));
    let file = site.root().join(".handover/state/handover.db");
    let store = store::open(file.to_str().unwrap(), 1).await.unwrap();
    let service = base::Service::new(store, std::sync::Arc::new(base::ground::clock::SystemClock));
    let (root, folder) = (site.root(), site.folder.path().join("hosts"));
    let state = root.join(".handover/state");
    let order = CompletionOrder {
        task: site.task.parse().unwrap(),
        agent: None,
        output_ref: Some("out.json"),
        said: None,
        outcome: None,
        worktree: &root,
        root: &root,
        state: &state,
        folder: &folder,
        mark: "verify_test",
    };
    let team = base::project::settings::TeamSettings::default();
    let said = |success: bool, recommendation: &str| {
        json!({"success": success, "summary": "S", "artifacts": [], "notes": ["n"], "recommendation": recommendation})
            .to_string()
    };
    let mut found = Vec::new();
    for answer in [said(true, "escalate"), "away".to_owned(), said(false, "retry"), said(true, "proceed")] {
        let evaluate = async |asked: EvaluatorQuestion| {
            assert!(asked.message.contains("Is it good?") && asked.message.contains(r#"{"summary": "done"}"#));
            if answer == "away" { Err("it did not start".to_owned()) } else { Ok(judge(&answer)) }
        };
        let finished = finish(&service, &team, order, Some(evaluate), &mut |_| ()).await;
        found.push(match finished {
            Ok(Finished::Completed(completed)) => completed.to_value().to_string(),
            Ok(Finished::Failed { complaints, is_blocked }) => format!("{is_blocked} {complaints:?}"),
            Err(unfinished) => unfinished.to_string(),
        });
    }
    let expected = [
        "the evaluator gave no judgement: EVALUATION_UNDECIDED",
        "the evaluator gave no judgement: it did not start",
        r#"false [("EVALUATION_FAILED", "```untrusted from the evaluator\nS\n- n\n```")]"#,
        r#"{"output_ref":"out.json","verification":{"mechanical":"pass","semantic":"pass","attempts":2}}"#,
    ];
    assert_eq!(found, expected);
}

/// Tests that `task verify` works in a linked worktree, with a commit for a pull request, and with output for a person.
#[test]
fn it_works_where_it_is_called() {
    let site = Site::new(&json!({"type": "pr", "schema_ref": "code", "output_ref_required": true}));
    site.git(&["worktree", "add", "-q", "../linked"]);
    let linked = site.folder.path().canonicalize().unwrap().join("linked");
    fs::write(linked.join("pass"), "").unwrap();
    let head = Command::new("git").current_dir(&linked).args(["rev-parse", "HEAD"]).output().unwrap().stdout;
    let head = String::from_utf8(head).unwrap().trim().to_owned();
    let output = site.run(&["task", "verify", &site.task, "--output-ref", "feature"], None);
    let told = String::from_utf8(output.stderr).unwrap();
    for words in ["check 1/1: sh -c echo checked", "OUTPUT_REF_INVALID `feature` must be", "VERIFICATION_FAILED"] {
        assert!(told.contains(words), "{told}");
    }
    let passed = site.verify(&[&head[..12], "--worktree", linked.to_str().unwrap()]);
    assert_eq!((passed.0, &passed.1["output_ref"]), (0, &json!(head)), "{passed:?}");
}
