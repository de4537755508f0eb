//! Tests the tools of agents' clients, such as `Bash` and `Edit`, with the inputs that the clients send.

use std::path::Path;

use gate::{GateCall, GateDecision, Gates};
use wire::json::Value;

use super::Scratch;

const RULES: &str = "[gates]\ndefault = \"allow\"\n\
                     [[gate]]\ncommand = [\"git\", \"push\"]\ndecision = \"deny\"\n\
                     [[gate]]\nwrite = \"infra/**\"\ndecision = \"deny\"\n";

fn judge(gates: &Gates, tool: &str, input: &str, directory: &Path) -> GateDecision {
    let input: Value = wire::json::parse(input).unwrap().to_value();
    gates.judge(&GateCall { tool, input: &input, directory }).decision
}

#[test]
fn tools_are_taken_for_what_they_do() {
    let scratch = Scratch::new();
    let gates = scratch.gates(RULES);
    let patch = |path: &str| format!(r#""*** Begin Patch\n*** Update File: {path}\n@@\n-a\n+b\n*** End Patch""#);
    let (bad, good) = (patch("infra/x"), patch("src/x"));
    for (tool, input, wanted) in [
        ("Bash", r#"{"command":"git push","description":"d"}"#.to_owned(), GateDecision::Deny),
        ("Bash", r#"{"command":"git status"}"#.to_owned(), GateDecision::Allow),
        ("Bash", r#"{"command":"git push","run_in_background":true}"#.to_owned(), GateDecision::Deny),
        ("Bash", r#"{"command":17}"#.to_owned(), GateDecision::Ask),
        ("Bash", r"{}".to_owned(), GateDecision::Ask),
        ("Bash", r#""git push""#.to_owned(), GateDecision::Ask),
        ("bash", r#"{"command":"git push"}"#.to_owned(), GateDecision::Deny),
        ("shell", r#"{"command":["bash","-lc","git push"]}"#.to_owned(), GateDecision::Deny),
        ("shell", r#"{"command":["git","push"]}"#.to_owned(), GateDecision::Deny),
        ("shell", r#"{"command":["git","status"]}"#.to_owned(), GateDecision::Allow),
        ("shell", r#"{"command":["ls","; git push"]}"#.to_owned(), GateDecision::Allow),
        ("shell", r#"{"command":[]}"#.to_owned(), GateDecision::Ask),
        ("shell", r#"{"command":["ls",1]}"#.to_owned(), GateDecision::Ask),
        ("shell", r#"{"command":["bash","-lc","ls > x"],"workdir":"infra"}"#.to_owned(), GateDecision::Deny),
        ("shell", format!(r#"{{"command":["apply_patch",{bad}]}}"#), GateDecision::Deny),
        ("shell", format!(r#"{{"command":["apply_patch",{good}]}}"#), GateDecision::Allow),
        ("exec_command", r#"{"cmd":"git push"}"#.to_owned(), GateDecision::Deny),
        ("write_stdin", r#"{"session_id":1,"chars":"git push\n"}"#.to_owned(), GateDecision::Ask),
        ("run_shell_command", r#"{"command":"git push"}"#.to_owned(), GateDecision::Deny),
        ("Write", r#"{"file_path":"infra/x","content":"a"}"#.to_owned(), GateDecision::Deny),
        ("Write", r#"{"file_path":"src/x","content":"a"}"#.to_owned(), GateDecision::Allow),
        ("Write", r#"{"file_path":"link/x","content":"a"}"#.to_owned(), GateDecision::Deny),
        ("Write", r#"{"file_path":"src/../infra/x","content":"a"}"#.to_owned(), GateDecision::Deny),
        ("Write", r#"{"file_path":"docs/linked.md","content":"a"}"#.to_owned(), GateDecision::Deny),
        ("Write", r#"{"path":"a"}"#.to_owned(), GateDecision::Allow),
        ("Write", r#"{"content":"a"}"#.to_owned(), GateDecision::Ask),
        ("Write", r#"{"file_path":".handover/config.toml","content":"a"}"#.to_owned(), GateDecision::Ask),
        ("Edit", r#"{"file_path":"infra/x","old_string":"a","new_string":"b"}"#.to_owned(), GateDecision::Deny),
        ("MultiEdit", r#"{"file_path":"infra/x","edits":[]}"#.to_owned(), GateDecision::Deny),
        ("NotebookEdit", r#"{"notebook_path":"infra/x.ipynb","new_source":""}"#.to_owned(), GateDecision::Deny),
        ("apply_patch", format!(r#"{{"input":{bad}}}"#), GateDecision::Deny),
        ("apply_patch", format!(r#"{{"input":{good}}}"#), GateDecision::Allow),
        ("apply_patch", format!(r#"{{"command":{bad}}}"#), GateDecision::Deny),
        ("apply_patch", bad, GateDecision::Deny),
        ("apply_patch", r#"{"input":"--- a\n+++ b"}"#.to_owned(), GateDecision::Ask),
        ("apply_patch", r"{}".to_owned(), GateDecision::Ask),
        ("Read", r#"{"file_path":"infra/x"}"#.to_owned(), GateDecision::Allow),
        ("Grep", r#"{"pattern":"git push","path":"infra"}"#.to_owned(), GateDecision::Allow),
        ("Glob", r#"{"pattern":"**"}"#.to_owned(), GateDecision::Allow),
        ("Task", r#"{"prompt":"git push"}"#.to_owned(), GateDecision::Allow),
        ("TodoWrite", r#"{"todos":[]}"#.to_owned(), GateDecision::Allow),
        ("mcp__handover__task_claim", r#"{"command":"git push"}"#.to_owned(), GateDecision::Allow),
        ("SomethingNew", r#"{"command":"git push"}"#.to_owned(), GateDecision::Deny),
        ("SomethingNew", r#"{"file_path":"infra/x","content":"a"}"#.to_owned(), GateDecision::Deny),
        ("SomethingNew", r#"{"question":"git push"}"#.to_owned(), GateDecision::Allow),
        ("PowerShell", r#"{"command":"git push"}"#.to_owned(), GateDecision::Ask),
    ] {
        assert_eq!(judge(&gates, tool, &input, &scratch.root()), wanted, "{tool} {input}");
    }
    let inside = scratch.root().join("infra");
    assert_eq!(judge(&gates, "Write", r#"{"file_path":"x","content":"a"}"#, &inside), GateDecision::Deny);
}

/// Checks that every input field that looks like a command or a path is judged, not only the first.
#[test]
fn all_fields_of_a_payload_are_judged() {
    let scratch = Scratch::new();
    let gates = scratch.gates(RULES);
    for (tool, input, wanted) in [
        ("Bash", r#"{"command":"ls","cmd":"git push"}"#, GateDecision::Deny),
        ("Bash", r#"{"script":"git push","command":"ls"}"#, GateDecision::Deny),
        ("Bash", r#"{"command":"ls","then":{"command":"git push"}}"#, GateDecision::Deny),
        ("Bash", r#"{"command":"ls","env":{"LD_PRELOAD":"x"}}"#, GateDecision::Ask),
        ("Bash", r#"{"command":"ls","env":{"CI":"1"}}"#, GateDecision::Allow),
        ("Bash", r#"{"command":"ls","description":"git push"}"#, GateDecision::Allow),
        ("SomethingNew", r#"{"command":"git","args":["push"]}"#, GateDecision::Deny),
        ("SomethingNew", r#"{"command":"git","args":["status"]}"#, GateDecision::Allow),
        ("SomethingNew", r#"{"commands":["ls","git push"]}"#, GateDecision::Deny),
        (
            "SomethingNew",
            r#"{"files":[{"path":"src/x","content":"a"},{"path":"infra/x","content":"a"}]}"#,
            GateDecision::Deny,
        ),
        ("SomethingNew", r#"{"paths":["src/x","infra/x"],"content":"a"}"#, GateDecision::Deny),
        ("SomethingNew", r#"{"path":"infra/x","pattern":"a"}"#, GateDecision::Allow),
        ("Write", r#"{"file_path":"src/x","path":"infra/x","content":"a"}"#, GateDecision::Deny),
        ("MultiEdit", r#"{"file_path":"a","edits":[{"file_path":"infra/x","new_string":"b"}]}"#, GateDecision::Deny),
        ("delete_file", r#"{"target_file":"infra/x"}"#, GateDecision::Deny),
        ("move_file", r#"{"source":"a.txt","destination":"infra/x"}"#, GateDecision::Deny),
        ("Write", r#"{"file_path":".claude/settings.local.json","content":"a"}"#, GateDecision::Ask),
        ("Edit", r#"{"file_path":".git/hooks/pre-push","old_string":"a","new_string":"b"}"#, GateDecision::Ask),
        ("Write", r#"{"file_path":"~/.codex/config.toml","content":"a"}"#, GateDecision::Ask),
        ("Write", r#"{"file_path":"/proc/self/cwd/infra/x","content":"a"}"#, GateDecision::Ask),
    ] {
        assert_eq!(judge(&gates, tool, input, &scratch.root()), wanted, "{tool} {input}");
    }
}

/// Checks that commands and paths in a tool's own name, and in input fields of any name, are judged. Texts for people
/// are not judged.
#[test]
fn names_and_fields_of_any_tool_are_judged() {
    let scratch = Scratch::new();
    let gates = scratch.gates(RULES);
    for (tool, input, wanted) in [
        ("mcp__git__git_push", r#"{"remote":"origin"}"#, GateDecision::Ask),
        ("mcp__git__push", r"{}", GateDecision::Ask),
        ("mcp__github__push_files", r#"{"branch":"main"}"#, GateDecision::Ask),
        ("git_push", r"{}", GateDecision::Ask),
        ("gitPush", r"{}", GateDecision::Ask),
        ("mcp__git__run", r#"{"operation":"push"}"#, GateDecision::Ask),
        ("mcp__git__git", r#"{"args":["push","origin"]}"#, GateDecision::Deny),
        ("mcp__vcs__git", r#"{"subcommand":"push"}"#, GateDecision::Ask),
        ("mcp__shell__execute", r#"{"command":"git push"}"#, GateDecision::Deny),
        ("mcp__shell__execute", r#"{"command":"$x"}"#, GateDecision::Ask),
        ("mcp__shell__execute", r#"{"todo":["ls","git push origin"]}"#, GateDecision::Ask),
        ("mcp__shell__execute", r#"{"command":"ls"}"#, GateDecision::Allow),
        ("mcp__filesystem__write_file", r#"{"path":"infra/x","content":"a"}"#, GateDecision::Deny),
        ("mcp__filesystem__write_file", r#"{"path":"src/x","content":"a"}"#, GateDecision::Allow),
        ("mcp__filesystem__write_file", r#"{"path":"src/x","backup":"infra/x","content":"a"}"#, GateDecision::Deny),
        ("mcp__filesystem__move_file", r#"{"source":"infra/main.tf","destination":"x"}"#, GateDecision::Deny),
        ("mcp__filesystem__read_file", r#"{"path":"infra/x"}"#, GateDecision::Allow),
        ("mcp__filesystem__edit_file", r#"{"path":".claude/settings.json","edits":[]}"#, GateDecision::Ask),
        ("Skill", r#"{"skill":"deploy","args":"git push origin"}"#, GateDecision::Ask),
        ("Skill", r#"{"skill":"git-push"}"#, GateDecision::Ask),
        ("Skill", r#"{"skill":"pdf","args":"read docs/a.pdf"}"#, GateDecision::Allow),
        ("SlashCommand", r#"{"command":"/git:push"}"#, GateDecision::Ask),
        ("Bash", r#"{"command":"ls","after":"git push"}"#, GateDecision::Ask),
        ("SomethingNew", r#"{"anything":"git push origin main"}"#, GateDecision::Ask),
        ("SomethingNew", r#"{"a":{"b":[{"c":"cd x && git push"}]}}"#, GateDecision::Ask),
        ("SomethingNew", r#"{"step":"rm -rf infra"}"#, GateDecision::Ask),
        ("save_report", r#"{"whatever":"infra/x","content":"a"}"#, GateDecision::Allow),
        ("save_report", r#"{"path":"out","whatever":"infra/x","content":"a"}"#, GateDecision::Deny),
        ("mcp__git__git_status", r#"{"repo_path":"."}"#, GateDecision::Allow),
        ("mcp__git__git_commit", r#"{"message":"git push later"}"#, GateDecision::Allow),
        ("mcp__git__git_diff", r#"{"target":"push"}"#, GateDecision::Allow),
        ("mcp__git__git_checkout", r#"{"branch_name":"git-push-fix"}"#, GateDecision::Allow),
        ("mcp__github__create_issue", r#"{"title":"git push fails","body":"git push x"}"#, GateDecision::Allow),
        ("mcp__github__get_file_contents", r#"{"path":"infra/main.tf"}"#, GateDecision::Allow),
        ("mcp__db__query", r#"{"sql":"select (a) from b where c > 1"}"#, GateDecision::Allow),
        ("mcp__db__query", r#"{"command":"select (a) from b"}"#, GateDecision::Allow),
        ("mcp__slack__post", r##"{"channel":"#x","text":"git push is done"}"##, GateDecision::Allow),
        ("Agent", r#"{"description":"git push","prompt":"run git push"}"#, GateDecision::Allow),
        ("WebSearch", r#"{"query":"git push force"}"#, GateDecision::Allow),
        ("AskUserQuestion", r#"{"questions":[{"question":"git push now?","header":"git push"}]}"#, GateDecision::Allow),
        ("TodoWrite", r#"{"todos":[{"content":"git push","status":"pending"}]}"#, GateDecision::Allow),
    ] {
        assert_eq!(judge(&gates, tool, input, &scratch.root()), wanted, "{tool} {input}");
    }
}

/// Checks that a command or a write that no gate rule names needs a person's approval by default. A tool call that
/// neither runs a command nor writes is allowed.
#[test]
fn the_default_is_for_commands_and_writes() {
    let scratch = Scratch::new();
    let gates = scratch.gates("[[gate]]\nwrite = \"docs/**\"\ndecision = \"allow\"\n");
    for (tool, input, wanted) in [
        ("Write", r#"{"file_path":"docs/x","content":"a"}"#, GateDecision::Allow),
        ("Write", r#"{"file_path":"src/x","content":"a"}"#, GateDecision::Ask),
        ("Edit", r#"{"file_path":"/etc/passwd","old_string":"a","new_string":"b"}"#, GateDecision::Ask),
        ("Bash", r#"{"command":"ls"}"#, GateDecision::Ask),
        ("Read", r#"{"file_path":"src/x"}"#, GateDecision::Allow),
        ("mcp__other__x", r"{}", GateDecision::Allow),
        ("mcp__other__write_file", r#"{"path":"src/x","content":"a"}"#, GateDecision::Allow),
        ("mcp__other__run", r#"{"command":"ls"}"#, GateDecision::Allow),
    ] {
        assert_eq!(judge(&gates, tool, input, &scratch.root()), wanted, "{tool} {input}");
    }
}
