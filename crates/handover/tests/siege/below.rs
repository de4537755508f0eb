//! Tests commands that an agent's program started: some are refused, and the others run with the rights of the agent. A
//! person in the terminal of an editor, or in a shell with environment variables that configure agents, still counts as
//! a person.

use std::path::PathBuf;
use std::process::Command;

use serde_json::json;

use crate::agent_client::{AgentClient, ShellRan};
use crate::place::Place;
use crate::security::{Team, word};
use crate::terminal::Terminal;

/// Returns a shell in the repository that acts as an agent's client. With `name` it is a copy of the shell under that
/// name, such as `claude`.
fn shell(place: &Place, name: Option<&str>) -> Command {
    let program = match name {
        None => PathBuf::from("/bin/sh"),
        Some(name) => {
            let copy = place.outside().join("bin").join(name);
            std::fs::create_dir_all(copy.parent().unwrap()).unwrap();
            std::fs::copy("/bin/sh", &copy).unwrap();
            copy
        }
    };
    place.program_of(&program)
}

/// Commands that only a person may give. They are refused when an agent's program started them.
const PEOPLES: &[&[&str]] = &[
    &["approval", "approve", "ap_000000000000"],
    &["approval", "reject", "ap_000000000000", "--reason", "x"],
    &["approval", "revoke", "ap_000000000000"],
    &["inbox", "reply", "msg_000000000000", "x"],
    &["token", "create", "p", "--scope", "person"],
    &["token", "create", "p", "--scope", "coordinator"],
    &["token", "create", "p", "--scope", "admin"],
    &["token", "create", "p"],
    &["token", "create", "p", "--shared"],
    &["token", "revoke", "tok_000000000000"],
    &["trust"],
    &["trust", "--sha256", "00"],
    &["open"],
    &["open", "--print"],
    &["export"],
    &["import", "/nothing"],
    &["init"],
    &["agent", "add", "bot", "--", "true"],
    &["check", "set", "true"],
    &["run", "--once"],
    &["serve", "--port", "0"],
    &["setup", "codex", "--yes"],
    &["review", "ask", "--agent", "critic", "README.md"],
    &["review", "again", "README.md"],
];

/// Commands that are allowed when an agent's program started them.
const AGENTS: &[&[&str]] = &[
    &["approval", "list"],
    &["status"],
    &["doctor"],
    &["trust", "--json"],
    &["token", "list"],
    &["task", "list"],
    &["workflow", "list"],
    &["agent", "list"],
    &["log", "tail"],
    &["log", "verify"],
    &["setup", "codex", "--print"],
    &["turn", "list"],
    &["project", "show"],
    &["review", "list"],
    &["completions", "bash"],
];

/// Runs every command of `PEOPLES` with and without a terminal. Each must be refused, and the refusal must contain
/// `seen`, the words that say how Handover recognized the agent. The commands of `AGENTS` must work.
fn refuses_peoples_commands(client: &mut AgentClient, seen: &str) {
    let terminal = Terminal::new();
    for words in PEOPLES {
        for input in [None, Some(terminal.path.as_path())] {
            let ran = client.shell(words, input);
            let told = ran.code == 1 && ran.err.contains("NOT_A_PERSON") && ran.err.contains(seen);
            assert!(told, "{words:?} at {input:?} below {seen}: {ran:?}");
        }
    }
    for words in AGENTS {
        let ran = client.shell(words, None);
        assert!(!ran.err.contains("NOT_A_PERSON") && ran.code != 2, "{words:?} below {seen}: {ran:?}");
    }
}

#[test]
fn the_client_of_a_living_server_gives_no_commands_of_people() {
    let place = Place::new();
    let mut client = AgentClient::start(shell(&place, None));
    let before = place.export();
    refuses_peoples_commands(&mut client, "which also started a `handover mcp` that still runs");
    assert_eq!(place.export(), before, "something was changed");
    assert!(!place.root().join(".codex").exists() && !place.root().join(".handover/config.toml").exists());
    // After its `handover mcp` server has ended, the shell no longer counts as an agent's client.
    client.end_server();
    let terminal = Terminal::new();
    let ran = client.shell(&["approval", "approve", "ap_000000000000"], Some(&terminal.path));
    assert!(ran.code == 1 && ran.err.contains("APPROVAL_NOT_FOUND"), "{ran:?}");
}

#[test]
fn a_known_client_gives_no_commands_of_people() {
    for name in ["claude", "codex", "opencode", "goose"] {
        let place = Place::new();
        let mut client = AgentClient::start(shell(&place, Some(name)));
        client.end_server();
        // The client's `handover mcp` server has ended, so only the name of the client's program can cause the refusal.
        refuses_peoples_commands(&mut client, &format!("this command was started by {name} (pid "));
    }
}

/// Ways to leave an agent's shell while the agent's program stays an ancestor: a new session, a new environment, a new
/// terminal, a new namespace of process ids, another name of the program, an editor, another path of the store.
const WAYS_OUT: &[&str] = &[
    "setsid -w HANDOVER approval approve ap_000000000000",
    "env -i HANDOVER approval approve ap_000000000000",
    "env -i setsid -w script -qec 'HANDOVER approval approve ap_000000000000' FILE",
    "env -i bash -c \"exec -a vim script -qec 'HANDOVER approval approve ap_000000000000' FILE\"",
    "env -i unshare -Urpf script -qec 'HANDOVER approval approve ap_000000000000' FILE",
    "cp HANDOVER FILE.copy; env -i script -qec 'FILE.copy approval approve ap_000000000000' FILE",
    "cd /; env -i script -qec 'HANDOVER --store STORE approval approve ap_000000000000' FILE",
    "env -i HANDOVER_TOKEN=$(cat STATE/token) HANDOVER approval approve ap_000000000000",
    "env -i timeout 60 vim -Nu NONE -n -i NONE -es -c 'silent !HANDOVER approval approve ap_000000000000 >FILE.out 2>&1' -c qa; \
     cat FILE.out",
];

#[test]
fn an_agents_way_out_that_leaves_its_program_above_is_refused() {
    let team = Team::new();
    let scratch = tempfile::tempdir().unwrap();
    let state = team.place.state();
    for (number, way) in WAYS_OUT.iter().enumerate() {
        let file = scratch.path().join(number.to_string());
        let line = way
            .replace("HANDOVER ", &format!("{} ", env!("CARGO_BIN_EXE_handover")))
            .replace("FILE", &file.display().to_string())
            .replace("STORE", &state.join("handover.db").display().to_string())
            .replace("STATE", &state.display().to_string());
        // With a single command, `sh -c` would replace itself by that command, and the process named `claude` would be
        // gone.
        let output = shell(&team.place, Some("claude")).args(["-c", &format!("{line}; true")]).output().unwrap();
        let told = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        // On a kernel that forbids namespaces `unshare` itself fails, which is fine here.
        let is_closed = way.contains("unshare") && told.contains("unshare failed");
        assert!(is_closed || told.contains("NOT_A_PERSON this command was started by claude (pid "), "{line}: {told}");
    }
    team.server.stop();
}

/// Tests a person who decides about an approval in the terminal of an editor that also runs an agent's server.
#[test]
fn a_person_in_an_editor_decides() {
    let terminal = Terminal::new();
    for name in ["zed", "code", "idea", "tmux", "systemd"] {
        let place = Place::new();
        let mut editor = AgentClient::start(shell(&place, Some(name)));
        let ran = editor.shell(&["approval", "approve", "ap_000000000000"], Some(&terminal.path));
        assert!(ran.code == 1 && ran.err.contains("APPROVAL_NOT_FOUND"), "{name}: {ran:?}");
    }
}

#[test]
fn a_person_with_agents_settings_decides() {
    let place = Place::new();
    let settings = [
        ("AGENT_SESSION_ID", "20261117_1"),
        ("GOOSE_PROVIDER", "openai"),
        ("GOOSE_MODEL", "m"),
        ("OPENCODE_CONFIG", "/home/a/opencode.json"),
        ("OPENCODE_DISABLE_AUTOUPDATE", "1"),
        ("CLAUDE_CONFIG_DIR", "/home/a/.claude"),
        ("CODEX_HOME", "/home/a/.codex"),
        ("GEMINI_API_KEY", "x"),
        ("TERM_PROGRAM", "vscode"),
        ("TMUX", "/tmp/tmux-0/default,1,0"),
        ("SSH_CONNECTION", "127.0.0.1 1 127.0.0.1 22"),
    ];
    let terminal = Terminal::new();
    let mut program = place.program();
    terminal.seat(&mut program);
    let output = program.envs(settings).args(["approval", "approve", "ap_000000000000"]).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(told.contains("APPROVAL_NOT_FOUND"), "{told}");
}

/// A person's script has no terminal. It may operate Handover, but it needs a person's token to decide about approvals.
#[test]
fn a_persons_script_operates_and_decides_by_token_only() {
    let place = Place::new();
    for words in [&["token", "create", "p"][..], &["export"], &["run", "--once"], &["init"]] {
        let ran = place.run(words);
        assert!(!ran.err.contains("NOT_A_PERSON"), "{words:?}: {}", ran.err);
    }
    let (_, person) = place.token(&["me", "--scope", "person"]);
    let (_, agent) = place.token(&["amy"]);
    for (secret, code) in
        [(None, "NOT_A_PERSON"), (Some(&agent), "NOT_A_PERSON"), (Some(&person), "APPROVAL_NOT_FOUND")]
    {
        let mut program = place.program();
        program.envs(secret.map(|secret| ("HANDOVER_TOKEN", secret)));
        let output = program.args(["approval", "approve", "ap_000000000000"]).output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(told.contains(code), "{told}");
    }
}

fn code(ran: &ShellRan) -> String {
    let printed = if ran.code == 0 { &ran.out } else { &ran.err };
    let reply: serde_json::Value = serde_json::from_str(printed).unwrap_or_else(|_| panic!("{ran:?}"));
    if ran.code == 0 { "done".to_owned() } else { word(&reply["error"]["code"]) }
}

/// A command that an agent's program started has the agent's rights. If the client of this program registered only one
/// agent, the command acts as that agent.
#[test]
fn tools_commands_act_as_the_agent_of_their_client() {
    let team = Team::new();
    let (amys, spare) = (team.task(None), team.task(None));
    let mut client = AgentClient::start(shell(&team.place, None));
    let send = ["inbox", "send", "amy", "info", "hello", "--json"];
    assert_eq!(code(&client.shell(&send, None)), "AGENT_REQUIRED", "nobody is registered");
    let eve = word(&client.must("agent_register", &json!({"name": "eve", "runtime": "t"}))["id"]);
    assert_eq!(code(&client.shell(&send, None)), "done");
    let mail = team.call("person", "message_list", &json!({"agent_id": "amy"})).json();
    assert_eq!(mail["messages"][0]["sender"], json!(eve), "{mail}");
    let terminal = Terminal::new();
    for words in [
        &["task", "status", &amys, "failed", "--error", "e", "--json"][..],
        &["task", "status", &amys, "completed", "--outcome", "o", "--json"],
        &["task", "release", &amys, "--json"],
        &["task", "checkpoint", &amys, "progress", "s", "--json"],
    ] {
        for input in [None, Some(terminal.path.as_path())] {
            assert_eq!(code(&client.shell(words, input)), "CLAIM_LOST", "{words:?}");
        }
    }
    for words in [&["inbox", "read", "human", "--json"][..], &["inbox", "list", "human", "--json"]] {
        assert_eq!(code(&client.shell(words, Some(&terminal.path))), "NOT_PERMITTED", "{words:?}");
    }
    team.server.must("task_release", &json!({"task_id": spare}));
    assert_eq!(code(&client.shell(&["task", "claim", &spare, &eve, "--json"], None)), "done");
    assert_eq!(code(&client.shell(&["task", "checkpoint", &spare, "progress", "s", "--json"], None)), "done");
    client.must("agent_register", &json!({"name": "eva", "runtime": "t"}));
    let ran = client.shell(&send, None);
    assert!(code(&ran) == "AGENT_REQUIRED" && ran.err.contains("eve") && ran.err.contains("eva"), "{ran:?}");
    drop(client);
    team.server.stop();
}

/// Transcripts of five real clients whose shell tools ran `handover`, with its answers. `clients/try.sh` made them. The
/// transcripts stay as they were recorded, so their answers may differ from the answers of the present version.
const DRIVEN: [(&str, &str); 5] = [
    ("claude", include_str!("clients/claude.txt")),
    ("codex", include_str!("clients/codex.txt")),
    ("copilot", include_str!("clients/copilot.txt")),
    ("gemini", include_str!("clients/gemini.txt")),
    ("opencode", include_str!("clients/opencode.txt")),
];

/// In the transcripts every command was refused, because Handover recognized the agent by an environment variable, or
/// by the client's program when the variables were removed. The variables must be on Handover's list of variables that
/// mark an agent.
#[test]
fn real_clients_were_refused_and_their_marks_are_known() {
    for (name, transcript) in DRIVEN {
        let environment = transcript.lines().find_map(|line| line.strip_prefix("environment: ")).unwrap();
        let known: Vec<&str> =
            environment.split(' ').filter(|set| handover::below::marks().any(|mark| mark == *set)).collect();
        assert!(!known.is_empty(), "{name} sets none of our marks: {environment}");
        let lines: Vec<&str> = transcript.lines().collect();
        let tries: Vec<&[&str]> = lines.windows(3).filter(|three| three[0].contains(": handover ")).collect();
        assert_eq!(tries.len(), 20, "{name}");
        for three in tries {
            let [asked, told, code] = three else { panic!("{name}: {three:?}") };
            let by_program = told.starts_with(&format!("NOT_A_PERSON this runs below {name} (pid N)"));
            let by_mark = known.iter().any(|mark| told.starts_with(&format!("NOT_A_PERSON {mark} is set")));
            let expected = if asked.starts_with("unmarked") { by_program } else { by_mark };
            assert!(expected && *code == "exit 1", "{name} {asked}: {told} {code}");
        }
    }
}
