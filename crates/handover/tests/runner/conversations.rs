//! Tests that the agent of a task resumes its conversation in the folder in which the conversation began. When the task
//! has lost its worktree, the agent begins a new conversation, and its prompt repeats the earlier question.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::Value;

use crate::listed::add;
use crate::scene::{Ran, Scene};

/// Eight days in milliseconds.
const EIGHT_DAYS_MS: i64 = 8 * 24 * 60 * 60 * 1_000;

/// Makes a project with the agent `bot`. Its program has the command line of Claude Code, and writes into a file how it
/// was started.
pub(crate) fn scene(settings: &str) -> Scene {
    let mut scene = Scene::new();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/runner/claude.sh");
    scene.settings.push_str(&settings.replace("SIM", scene.sim().to_str().unwrap()));
    scene.settings.push_str(&format!(
        "\n[[agent]]\nslug = \"bot\"\nadapter = \"claude\"\noutput = \"envelope\"\npersona = \"You are bot.\"\n\
         command = [\"{}\"]\nenv = {{ SIM = \"{}\" }}\nmax_parallel = 1\n",
        script.display(),
        scene.sim().display(),
    ));
    scene.settle();
    scene
}

/// One start of the agent's program: the conversation that it resumed (or "new"), its folder, and the message that it
/// got.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProgramNote {
    pub(crate) resumed: String,
    pub(crate) folder: PathBuf,
    pub(crate) message: String,
}

pub(crate) fn starts(scene: &Scene) -> Vec<ProgramNote> {
    let text = fs::read_to_string(scene.sim().join("starts")).unwrap_or_default();
    let note = |(line, number): (&str, usize)| {
        let (resumed, folder) = line.split_once(' ').unwrap();
        let message = fs::read_to_string(scene.sim().join(format!("message.{number}"))).unwrap();
        ProgramNote { resumed: resumed.to_owned(), folder: folder.into(), message }
    };
    text.lines().zip(1..).map(note).collect()
}

pub(crate) fn run(scene: &Scene) -> Ran {
    scene.run(&["--once"])
}

fn worktrees(scene: &Scene) -> Vec<Value> {
    scene.json(&["worktree", "list"])["worktrees"].as_array().unwrap().clone()
}

/// Changes the record of the waiting task, as if the task had waited for eight days already. Then a run takes the
/// worktree away from the task.
fn age(scene: &Scene) {
    let waiting: Vec<Value> = worktrees(scene).into_iter().filter(|row| row["status"] == "waiting").collect();
    assert_eq!(waiting.len(), 1, "{waiting:?}");
    let record = PathBuf::from(waiting[0]["path"].as_str().unwrap()).with_extension("json");
    let mut value: Value = serde_json::from_str(&fs::read_to_string(&record).unwrap()).unwrap();
    value["since_ms"] = (value["since_ms"].as_i64().unwrap() - EIGHT_DAYS_MS).into();
    fs::write(&record, value.to_string()).unwrap();
    run(scene);
    assert_eq!(worktrees(scene).iter().filter(|row| row["status"] == "waiting").count(), 0);
}

/// Completes two other tasks. Their work needs worktrees, so the task with the question loses its worktree.
fn crowd(scene: &Scene) {
    add(scene, &["two", "three"]);
    let ran = run(scene);
    assert_eq!(ran.events.iter().filter(|event| event["event"] == "completed").count(), 2, "{}", ran.stderr);
}

/// The conversation in which the agent gets the answer to its question: the one in which it asked, or a new one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AnswerConversation {
    Same,
    New,
}

fn play(settings: &str, meanwhile: fn(&Scene), expected: AnswerConversation) {
    let scene = scene(settings);
    add(&scene, &["port"]);
    let ran = run(&scene);
    let asked: Vec<&Value> = ran.events.iter().filter(|event| event["event"] == "asks").collect();
    assert_eq!(asked.len(), 1, "{}\n{:#?}", ran.stderr, ran.events);
    meanwhile(&scene);
    let before = starts(&scene);
    scene.decide(&["answer", "1", "Use 8080"]);
    let ran = run(&scene);
    assert_eq!(ran.code, 0, "{}\n{:#?}", ran.stderr, ran.events);
    let last = starts(&scene)[before.len()].clone();
    assert!(last.message.contains("Use 8080"), "{}", last.message);
    match expected {
        AnswerConversation::Same => {
            assert_eq!((last.resumed.as_str(), &last.folder), ("c-1", &before[0].folder));
            assert!(!last.message.contains("Which port"), "the program remembers its question: {}", last.message);
        }
        AnswerConversation::New => {
            assert_eq!(last.resumed, "new");
            assert!(last.message.contains("Which port shall I use?"), "{}", last.message);
        }
    }
    // The result contains the file that the agent wrote before its question, even if the task has lost its worktree.
    let files = scene.ask(&["diff", "1", "--name-only"]);
    let files = String::from_utf8(files.stdout).unwrap();
    let made = format!("made-{}.txt", before.len() + 1);
    assert!(files.contains("half.txt") && files.contains(&made), "{files}");
}

#[test]
fn an_answer_resumes_the_conversation_in_the_same_folder() {
    play("", |_| {}, AnswerConversation::Same);
}

#[test]
fn after_seven_days_the_worktree_is_free_and_a_new_conversation_knows_what_was_said() {
    play("", age, AnswerConversation::New);
}

#[test]
fn a_task_that_lost_its_worktree_to_others_begins_a_new_conversation() {
    play("[worktree]\nslots_per_turn = 1\n", crowd, AnswerConversation::New);
}

/// Returns the output of a command that must succeed.
fn out(scene: &Scene, arguments: &[&str]) -> String {
    let output = scene.ask(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn events<'r>(ran: &'r Ran, name: &str) -> Vec<&'r Value> {
    ran.events.iter().filter(|event| event["event"] == name).collect()
}

#[test]
fn work_that_is_sent_back_continues_in_its_conversation_and_folder_and_is_checked_again() {
    let check = "[verify]\nchecks = [{ command = [\"sh\", \"-c\", \"echo run >>SIM/runs\"], seconds = 60 }]\n";
    let scene = scene(check);
    out(&scene, &["add", "greet"]);
    let ran = run(&scene);
    assert_eq!((ran.code, events(&ran, "checked").len()), (0, 1), "{}\n{:#?}", ran.stderr, ran.events);
    out(&scene, &["send-back", "1", "Use the check in src/valid.js"]);
    let again = run(&scene);
    assert_eq!((again.code, events(&again, "checked").len()), (0, 1), "{}\n{:#?}", again.stderr, again.events);
    let starts = starts(&scene);
    assert_eq!(starts.len(), 2);
    assert_eq!((starts[0].resumed.as_str(), starts[1].resumed.as_str()), ("new", "c-1"));
    assert_eq!(starts[0].folder, starts[1].folder, "both turns work in the same folder");
    assert!(starts[1].message.contains("Use the check in src/valid.js"), "{}", starts[1].message);
    let files = out(&scene, &["diff", "1", "--name-only"]);
    assert!(files.contains("made-1.txt") && files.contains("made-2.txt"), "{files}");
    let turns = scene.json(&["turn", "list"])["turns"].as_array().unwrap().clone();
    let attempts: Vec<&Value> = turns.iter().map(|turn| &turn["attempt"]).collect();
    assert_eq!(attempts, [1, 1], "sending back uses up no attempt");
}

#[test]
fn logs_show_words_and_tools_and_raw_output_byte_for_byte() {
    let scene = scene("");
    out(&scene, &["add", "greet"]);
    assert_eq!(run(&scene).code, 0);
    let shown = out(&scene, &["logs", "1"]);
    for wanted in ["bot", "thinking in turn 1", "Bash"] {
        assert!(shown.contains(wanted), "{wanted}: {shown}");
    }
    assert!(!shown.contains("\"type\""), "{shown}");
    let raw = out(&scene, &["logs", "1", "--raw"]);
    let lines: Vec<Value> = raw.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let kinds: Vec<&str> = lines.iter().map(|line| line["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["system", "assistant", "result"], "{raw}");
    out(&scene, &["send-back", "1", "again"]);
    assert_eq!(run(&scene).code, 0);
    let second = out(&scene, &["logs", "1", "--turn", "2"]);
    assert!(second.contains("thinking in turn 2") && !second.contains("thinking in turn 1"), "{second}");
}

#[test]
fn logs_follow_a_running_turn_to_its_end() {
    let scene = scene("");
    out(&scene, &["add", "slow"]);
    let mut runner = scene.handover(&["run", "--once", "--json"]);
    let mut runner = runner.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut told = BufReader::new(runner.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert!(told.any(|event| event.contains("turn_started")), "the run ended before its first turn");
    let mut logs = scene.handover(&["logs", "1", "-f"]);
    let mut logs = logs.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(logs.stdout.take().unwrap()).lines();
    let before: Vec<String> =
        lines.by_ref().map(Result::unwrap).take_while(|line| !line.contains("thinking in turn 1")).collect();
    // `handover logs -f` has shown the agent's words while its turn still runs. Now let the turn end.
    fs::write(scene.sim().join("go"), "").unwrap();
    let after: Vec<String> = lines.map(Result::unwrap).collect();
    let left = told.count();
    assert!(logs.wait().unwrap().success() && runner.wait().unwrap().success(), "{left} more events");
    assert!(after.iter().any(|line| line.contains("Bash")), "{before:?} {after:?}");
}

#[test]
fn a_person_approves_one_task_and_rejects_another_by_number() {
    let mut scene = Scene::new();
    scene.agent("speaker", "output = \"handoff\"");
    scene.settle();
    // The two words of a task's description are what its agent does in its first turn and in its second turn.
    out(&scene, &["add", "h-approval h-done", "h-approval h-done"]);
    let ran = run(&scene);
    assert_eq!(events(&ran, "wants_approval").len(), 2, "{}\n{:#?}", ran.stderr, ran.events);
    let refused = scene.ask(&["approve", "1"]);
    assert!(!refused.status.success(), "only a person at a terminal approves");
    scene.decide(&["approve", "1"]);
    scene.decide(&["reject", "2", "Use the staging database"]);
    let again = run(&scene);
    assert_eq!((again.code, events(&again, "completed").len()), (0, 2), "{}\n{:#?}", again.stderr, again.events);
    let told = |number: &str| {
        let id = scene.json(&["task", "show", number])["id"].as_str().unwrap().to_owned();
        fs::read_to_string(scene.sim().join(format!("{id}.2.envelope"))).unwrap()
    };
    assert!(told("1").contains(r#""answer":"approved""#), "{}", told("1"));
    assert!(told("2").contains("Use the staging database"), "{}", told("2"));
}
