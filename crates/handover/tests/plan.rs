//! Tests `handover plan`: an agent drafts a plan, an invalid draft is sent back, and a person starts, edits or saves
//! it. Also tests that every command that reads a plan file names the lines of its problems.
#![expect(clippy::disallowed_methods, reason = "starts the program it tests, and git")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "support/agent_client.rs"]
#[expect(dead_code, reason = "of a client only some of its acts are needed here")]
mod agent_client;

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use agent_client::AgentClient;
use base::project::plan_file::{DocumentFormat, PlanFile};
use serde_json::{Value, json};

/// A valid plan, as an agent writes it into its answer.
const GOOD: &str = r#"name: Greeting
summary: People are greeted by name.
tasks:
  - name: Add the function
    touches: [src/greet.sh]
    brief:
      goal: A function greets a person by name.
      acceptance_criteria: ["An empty name is refused."]
      output_contract: {type: message, output_ref_required: false}
  - name: Write the guide
    depends_on: [Add the function]
    touches: [README.md]
    brief:
      goal: The guide explains the function.
      acceptance_criteria: ["It has an example."]
      output_contract: {type: message, output_ref_required: false}
"#;

/// The script of an agent that drafts plans. Its first draft has a misspelt key. When it gets the error message, it
/// prints a valid plan. It records each start in a file, and tries to change a file of the project. When it gets a task
/// instead of a goal, it reports success.
const PLANNER: &str = r#"#!/bin/sh
input=$(cat)
case $input in
'{'*) echo '{"success": true, "summary": "done", "notes": [], "recommendation": "proceed", "artifacts": []}'; exit 0;;
esac
pwd >> "$SIM/starts"
printf '%s' "$input" > "$SIM/asked-$(wc -l < "$SIM/starts" | tr -d ' ')"
echo changed > file.txt
case $input in
*'unknown key touch'*) printf 'Better:\n```yaml\n'; cat "$SIM/good.yaml"; printf '```\n';;
*) printf '```yaml\n'; sed 's/touches:/touch:/' "$SIM/good.yaml"; printf '```\n';;
esac
"#;

/// The script of a program that has the command line and the events of Claude Code. When its arguments name a
/// conversation, it resumes that conversation.
const CLAUDE: &str = r#"#!/bin/sh
cat > "$SIM/message"
printf '%s\n' "$*" >> "$SIM/arguments"
case "$*" in
*'--resume c-1'*) plan=$(sed 's/$/\\n/' "$SIM/good.yaml" | sed 's/"/\\"/g' | tr -d '\n');;
*) plan='name: w\ntasks: []\n';;
esac
echo '{"type":"system","subtype":"init","session_id":"c-1","tools":[],"mcp_servers":[]}'
printf '{"type":"result","subtype":"success","is_error":false,"duration_ms":5,"num_turns":1,"result":"```yaml\\n%s```","session_id":"c-1","total_cost_usd":0.06,"usage":{"input_tokens":10,"output_tokens":5}}\n' "$plan"
"#;

struct Site {
    folder: tempfile::TempDir,
}

impl Site {
    /// Creates a repository with one commit, and settings with one agent. A person has accepted these settings.
    fn new(adapter: &str, program: &str) -> Self {
        let site = Self { folder: tempfile::tempdir().unwrap() };
        fs::create_dir_all(site.root().join(".handover")).unwrap();
        fs::create_dir_all(site.sim()).unwrap();
        fs::write(site.sim().join("good.yaml"), GOOD).unwrap();
        let script = site.sim().join("agent");
        fs::write(&script, program).unwrap();
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
        fs::write(site.root().join("file.txt"), "first\n").unwrap();
        let config = format!(
            "[[agent]]\nslug = \"quinn\"\nadapter = \"{adapter}\"\npersona = \"You plan.\"\ncommand = [\"{}\"]\n\
             env = {{ SIM = \"{}\" }}\n",
            script.display(),
            site.sim().display()
        );
        fs::write(site.root().join(".handover/config.toml"), config).unwrap();
        site.git(&["init", "--quiet", "--initial-branch=main"]);
        site.git(&["add", "file.txt"]);
        site.git(&["commit", "--quiet", "-m", "start"]);
        let offered: Value = serde_json::from_str(&site.run(&["trust", "--json"]).1).unwrap();
        assert_eq!(site.run(&["trust", "--sha256", offered["sha256"].as_str().unwrap()]).0, 0);
        site
    }

    fn root(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join("clone")
    }

    fn sim(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join("sim")
    }

    fn noted(&self, name: &str) -> String {
        fs::read_to_string(self.sim().join(name)).unwrap_or_default()
    }

    fn git(&self, words: &[&str]) -> String {
        let mut git = Command::new("git");
        git.current_dir(self.root()).env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
        let done = git.args(["-c", "user.name=t", "-c", "user.email=t@example.org"]).args(words).output().unwrap();
        assert!(done.status.success(), "{words:?} {done:?}");
        String::from_utf8(done.stdout).unwrap()
    }

    fn clean(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.root()).env_clear().env("PATH", std::env::var_os("PATH").unwrap());
        command.env("HOME", self.folder.path()).env("XDG_DATA_HOME", self.folder.path().join("data"));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn run(&self, words: &[&str]) -> (i32, String, String) {
        said(self.clean(env!("CARGO_BIN_EXE_handover")).args(words).output().unwrap())
    }

    /// Runs `handover` as a person at a terminal who types this text.
    fn at_a_terminal(&self, words: &str, typed: &str, editor: &str) -> (i32, String) {
        let line = format!("{} {words}", env!("CARGO_BIN_EXE_handover"));
        let mut script = self.clean("script");
        script.args(["-qec", &line, "/dev/null"]).env("EDITOR", editor).stdin(Stdio::piped());
        let mut child = script.spawn().unwrap();
        child.stdin.take().unwrap().write_all(typed.as_bytes()).unwrap();
        let (code, out, _) = said(child.wait_with_output().unwrap());
        (code, out.replace('\r', ""))
    }

    fn workflows(&self) -> Vec<Value> {
        let listed: Value = serde_json::from_str(&self.run(&["workflow", "list", "--json"]).1).unwrap();
        listed["workflows"].as_array().unwrap().clone()
    }
}

fn said(output: Output) -> (i32, String, String) {
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    (output.status.code().unwrap_or(-1), text(output.stdout), text(output.stderr))
}

#[test]
fn a_bad_draft_is_sent_back_and_the_good_one_is_printed_without_a_terminal() {
    let site = Site::new("exec", PLANNER);
    let (code, out, errors) = site.run(&["plan", "Greet people"]);
    assert_eq!((code, out.as_str()), (0, GOOD), "{errors}");
    assert!(errors.contains("quinn drafted this plan in") && errors.contains("cost unknown, 1 repair"), "{errors}");
    let starts = site.noted("starts");
    let rooms: Vec<&str> = starts.lines().collect();
    assert_eq!(rooms.len(), 2, "{starts}");
    assert!(rooms.iter().all(|room| room.ends_with("/plan") && !room.starts_with(site.root().to_str().unwrap())));
    assert_eq!(site.git(&["worktree", "list"]).lines().count(), 1, "the worktree is removed");
    assert_eq!(fs::read_to_string(site.root().join("file.txt")).unwrap(), "first\n");
    let asked = site.noted("asked-1");
    assert!(asked.contains("At most 12 tasks") && asked.contains("Greet people"), "{asked}");
    let again = site.noted("asked-2");
    assert!(again.contains("line 5: unknown key touch; did you mean touches?"), "{again}");
    assert!(again.contains("untrusted from your last answer"), "{again}");
    assert_eq!(site.workflows().len(), 0, "a printed plan is not stored");
}

#[test]
fn a_draft_of_claude_is_repaired_in_its_conversation_and_its_cost_is_shown() {
    let site = Site::new("claude", CLAUDE);
    let path = site.root().join("plan.yaml");
    let (code, out, errors) = site.run(&["plan", "Greet people", "--tasks", "3", "--output", "plan.yaml"]);
    assert_eq!(code, 0, "{out}{errors}");
    assert_eq!(fs::read_to_string(path).unwrap(), GOOD);
    assert!(out.contains("1 repair") && out.contains('$') && out.contains("handover run --plan plan.yaml"), "{out}");
    let arguments = site.noted("arguments");
    let lines: Vec<&str> = arguments.lines().collect();
    assert!(lines.len() == 2 && !lines[0].contains("--resume") && lines[1].contains("--resume c-1"), "{arguments}");
    assert!(lines[0].contains("--permission-mode dontAsk") && lines[0].contains("--disallowedTools Bash,Edit,Write"));
    assert!(site.noted("message").contains("the plan has no task"), "{}", site.noted("message"));
}

#[test]
fn a_person_quits_and_uses_the_saved_draft_later() {
    let site = Site::new("exec", PLANNER);
    let (code, out) = site.at_a_terminal("plan 'Greet people'", "q\n", "true");
    assert_eq!(code, 0, "{out}");
    for part in ["Greeting: 2 tasks, 2 waves", "  2  2     Write the guide", "wave 1: 1", "[S/e/q]", "cost unknown"] {
        assert!(out.contains(part), "{part}: {out}");
    }
    let saved = site.root().join(".handover/state/plans/greeting.yaml");
    assert_eq!(fs::read_to_string(&saved).unwrap(), GOOD);
    assert!(out.contains(&format!("Use it: handover plan --file {}", saved.display())), "{out}");
    assert_eq!(site.workflows().len(), 0, "nothing was started");
    let (code, out, errors) = site.run(&["plan", "--file", saved.to_str().unwrap()]);
    assert!(code == 0 && out.contains("Greeting with 2 tasks") && out.contains("handover run wf_"), "{out}{errors}");
    assert_eq!(site.workflows()[0]["name"], "Greeting");
}

#[test]
fn a_person_edits_the_draft_and_starts_it() {
    let site = Site::new("exec", PLANNER);
    let editor = site.sim().join("editor");
    // The first edit breaks the plan, the second one repairs it.
    let script = "#!/bin/sh\nif grep -q colour \"$1\"; then sed -i '/colour/d' \"$1\"; else sed -i \
                  's/^name: Greeting/name: Hello\\ncolour: red/' \"$1\"; fi\n";
    fs::write(&editor, script).unwrap();
    fs::set_permissions(&editor, fs::Permissions::from_mode(0o755)).unwrap();
    let (code, out) = site.at_a_terminal("plan 'Greet people'", "e\ne\ns\n", editor.to_str().unwrap());
    for part in ["line 2: unknown key colour; remove it", "Edit again or quit? [E/q]", "Hello: 2 tasks", "workflow wf_"]
    {
        assert!(out.contains(part), "{part}: {out}");
    }
    assert_eq!(code, 0, "{out}");
    let workflows = site.workflows();
    assert_eq!((&workflows[0]["name"], &workflows[0]["status"]), (&"Hello".into(), &"completed".into()), "{out}");
}

#[test]
fn below_an_agent_only_a_file_is_taken() {
    let site = Site::new("exec", PLANNER);
    fs::write(site.root().join("draft.yaml"), GOOD).unwrap();
    let marked = |words: &[&str]| {
        let mut command = site.clean(env!("CARGO_BIN_EXE_handover"));
        said(command.args(words).env("CLAUDECODE", "1").output().unwrap())
    };
    let (code, _, errors) = marked(&["plan", "Greet people"]);
    assert!(code == 1 && errors.contains("NOT_A_PERSON"), "{errors}");
    let (code, _, errors) = marked(&["plan", "--file", "draft.yaml"]);
    assert!(code == 1 && errors.contains("AGENT_REQUIRED"), "{errors}");
    assert_eq!(site.workflows().len(), 0);
    // The client has registered only one agent, so this agent counts as the author of the plan.
    let mut client = AgentClient::start(site.clean("sh"));
    client.must("agent_register", &json!({"name": "amy", "runtime": "custom"}));
    let ran = client.shell(&["plan", "--file", "draft.yaml"], None);
    assert!(ran.code == 0 && ran.out.contains("Greeting with 2 tasks"), "{ran:?}");
    let shown = site.run(&["workflow", "next", site.workflows()[0]["id"].as_str().unwrap(), "--json"]).1;
    let next: Value = serde_json::from_str(&shown).unwrap();
    let task = site.run(&["task", "show", next["tasks"][0]["id"].as_str().unwrap(), "--json"]).1;
    assert!(task.contains("amy"), "the author is recorded: {task}");
    assert_eq!(site.noted("starts"), "", "no agent was started");
}

#[test]
fn every_command_names_the_line_of_a_problem() {
    let site = Site::new("exec", PLANNER);
    fs::write(site.root().join("bad.yaml"), "name: w\ntasks:\n  - name: a\n    depend_on: [b]\n").unwrap();
    fs::write(site.root().join("bad.json"), "{\"name\": \"w\",\n \"tasks\": [\n  {\"nmae\": \"a\"}]}\n").unwrap();
    let made = site.run(&["workflow", "create", "w", "--json"]).1;
    let workflow: Value = serde_json::from_str(&made).unwrap();
    let workflow = workflow["id"].as_str().unwrap();
    let files = [
        ("bad.yaml", "bad.yaml: line 4: unknown key depend_on; did you mean depends_on?"),
        ("bad.json", "bad.json: line 3: unknown key nmae; did you mean name?"),
    ];
    for (file, expected) in files {
        let given = format!("@{file}");
        let commands: [&[&str]; 4] = [
            &["run", "--plan", file],
            &["plan", "--file", file],
            &["workflow", "plan", workflow, &given],
            &["template", "create", "t", "--template", &given],
        ];
        for words in commands {
            let (code, out, errors) = site.run(words);
            assert!(code == 2 && errors.contains(expected), "{words:?}: {code} {out}{errors}");
        }
    }
}

#[test]
fn one_plan_is_taken_by_every_command() {
    let site = Site::new("exec", PLANNER);
    let text = "name: w\nsummary: s\nmax_parallel_tasks: 2\ntasks:\n  - Build\n  - name: Test\n    after: Build\n";
    fs::write(site.root().join("plan.yaml"), text).unwrap();
    let made = site.run(&["workflow", "create", "other", "--json"]).1;
    let workflow: Value = serde_json::from_str(&made).unwrap();
    let id = workflow["id"].as_str().unwrap();
    for words in [
        &["plan", "--file", "plan.yaml"][..],
        &["workflow", "plan", id, "@plan.yaml"],
        &["template", "create", "t", "--template", "@plan.yaml"],
    ] {
        let (code, out, errors) = site.run(words);
        assert_eq!(code, 0, "{words:?}: {out}{errors}");
    }
    let (code, out, errors) = site.run(&["template", "apply", "t", "from template"]);
    assert_eq!(code, 0, "{out}{errors}");
    for found in site.workflows() {
        let shown = site.run(&["workflow", "show", found["id"].as_str().unwrap(), "--json"]).1;
        let shown: Value = serde_json::from_str(&shown).unwrap();
        assert_eq!(shown["max_parallel_tasks"], 2, "{shown}");
        assert_eq!(found["total_tasks"], 2, "{found}");
    }
    assert_eq!(site.workflows().len(), 3);
}

#[test]
fn the_examples_of_the_document_are_valid_plans() {
    let text = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/plans.md")).unwrap();
    let blocks: Vec<&str> = text.split("```yaml\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert!(blocks.len() >= 2, "{} examples", blocks.len());
    for block in blocks {
        let given = if block.contains("{{page}}") { vec![("page".to_owned(), "login".to_owned())] } else { Vec::new() };
        PlanFile::read(block, DocumentFormat::Yaml, &given).unwrap_or_else(|problems| panic!("{block}\n{problems}"));
    }
    // Every key of the plan format must have a row in the page `docs/plans.md`.
    use wire::shape::Shape as _;
    let schema = wire::lifecycle::PlanDocument::schema(wire::report::Unknown::Strict).to_string();
    let schema: Value = serde_json::from_str(&schema).unwrap();
    let items = &schema["properties"]["tasks"]["items"]["anyOf"][0]["properties"];
    let brief = &items["brief"]["anyOf"][0]["properties"];
    for object in [&schema["properties"], items, brief, &brief["output_contract"]["properties"]] {
        for key in object.as_object().unwrap().keys() {
            assert!(text.contains(&format!("`{key}`")), "docs/plans.md does not explain {key}");
        }
    }
}
