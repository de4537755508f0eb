//! Checks that a caller can follow the advice in every refusal. The calls in `scripts/advice.txt` follow the advice as
//! an agent, and the commands in `TYPED` follow it as a person at a terminal. The advice must not lead to the same
//! refusal again.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use wire::lifecycle::{Set, TOOLS, Tool};

use super::cover::{UNREACHABLE, codes};
use super::door::{Place, program};
use super::script::{self, Answer, Step, What};
use super::suggestion;
use super::terminal::Terminal;

/// Refusal codes that are missing in `advice.txt` although another script causes them, each with the reason.
const LEFT_OUT: &[(&str, &str)] = &[
    ("INBOX_FULL", "it takes a thousand messages; bounds.txt has it"),
    ("VERIFICATION_REQUIRED", "its advice is a command that checks a folder; the tests of verification give it"),
    ("ROUNDS_USED_UP", "reviews.txt follows its advice"),
];

/// Commands that are refused at a person's terminal. Each row: the code of the refusal, the command, and the words that
/// complete the first command of the advice. The completed command must succeed.
const TYPED: &[(&str, &str, &str)] = &[
    ("APPROVAL_NOT_FOUND", "approval show ap_000000000000", ""),
    ("TURN_NOT_FOUND", "turn show tn_000000000000", ""),
    ("TOKEN_NOT_FOUND", "token revoke tok_000000000000", ""),
    ("SECTION_NOT_FOUND", "project show nothing", ""),
    ("WORKFLOW_NOT_FOUND", "workflow show wf_000000000000", ""),
    ("TASK_NOT_FOUND", "task show tk_000000000000", "$workflow"),
    ("AGENT_NOT_FOUND", "agent show ag_000000000000", ""),
    ("AGENT_NOT_FOUND", "agent heartbeat", "quinn exec"),
    ("TEMPLATE_NOT_FOUND", "template apply tmpl_000000000000 x", ""),
    ("REPOSITORY_NOT_FOUND", "repository show /nowhere", ""),
    ("MESSAGE_NOT_FOUND", "inbox show msg_000000000000", ""),
    ("RECIPIENT_NOT_FOUND", "inbox send nobody query hello", ""),
    ("NOT_SUSPENDED", "workflow resume $workflow", "$workflow"),
    ("INVALID_STATE", "workflow start $workflow", "$workflow"),
];

/// A refused call, with the suggestion that its caller got.
struct RefusedCall<'a> {
    step: &'a Step,
    tool: &'a str,
    code: String,
    suggestion: String,
}

fn refused(step: &Step) -> Option<RefusedCall<'_>> {
    let What::Call { tool, .. } = &step.what else { return None };
    let Some(Answer::Refused(value)) = &step.answer else { return None };
    let text = |name: &str| value[name].as_str().unwrap().to_owned();
    Some(RefusedCall { step, tool, code: text("code"), suggestion: text("suggestion") })
}

/// Returns the tools of Handover whose names appear in a text.
fn tools(text: &str) -> Vec<&'static Tool> {
    text.split(|letter: char| !letter.is_ascii_lowercase() && letter != '_').filter_map(Tool::find).collect()
}

/// Returns the Handover commands in backquotes that a text contains, without the word `handover`.
fn commands(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).filter_map(|quoted| quoted.strip_prefix("handover ")).collect()
}

#[test]
fn the_next_call_follows_the_advice_and_is_not_refused_for_the_same_reason() {
    let script = script::all().into_iter().find(|script| script.name == "advice").unwrap();
    let mut met = BTreeSet::new();
    for world in &script.worlds {
        let mut open: BTreeMap<&str, RefusedCall<'_>> = BTreeMap::new();
        for step in &world.steps {
            let What::Call { who, tool, .. } = &step.what else { continue };
            let now = refused(step);
            if let Some(before) = open.remove(who.as_str()) {
                let RefusedCall { tool: refused, code, suggestion, .. } = &before;
                let place = format!("advice.txt:{} after {code} of line {}: {suggestion}", step.line, before.step.line);
                let named = tools(suggestion).iter().any(|named| named.name == tool);
                assert!(named || tool == refused, "{place}: it does not name {tool}");
                assert_ne!(now.as_ref().map(|now| &now.code), Some(code), "{place}: a circle");
            }
            if let Some(now) = now {
                met.insert(now.code.clone());
                open.insert(who, now);
            }
        }
        let left: Vec<String> = open.values().map(|call| format!("{} in line {}", call.code, call.step.line)).collect();
        assert_eq!(left, Vec::<String>::new(), "{}: no call follows the advice", world.title);
    }
    let idle: Vec<_> = LEFT_OUT.iter().filter(|(code, _)| met.contains(*code)).collect();
    assert!(idle.is_empty(), "these have a row: {idle:?}");
    let excused = |code: &&&str| UNREACHABLE.iter().chain(LEFT_OUT).any(|(other, _)| other == *code);
    let codes = codes();
    let missing: Vec<_> = codes.iter().filter(|code| !met.contains(**code)).filter(|code| !excused(code)).collect();
    assert_eq!(missing, Vec::<&&str>::new(), "codes without a row in advice.txt");
}

/// Checks that the advice in a refusal names only tools that the client has. A client with only the default tools must
/// get no advice that names another tool.
#[test]
fn advice_names_only_tools_and_commands_that_the_reader_has() {
    let known: BTreeSet<String> = include_str!("../../src/cli/commands.txt")
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| {
            let words = line.split_whitespace().skip(1).take_while(|word| !word.starts_with('-'));
            words.collect::<Vec<_>>().join(" ")
        })
        .collect();
    let scripts = script::all();
    for step in scripts.iter().flat_map(|script| &script.worlds).flat_map(|world| &world.steps) {
        let Some(call) = refused(step) else { continue };
        let asked = Tool::find(call.tool).unwrap();
        for tool in tools(&call.suggestion) {
            let has = match tool.set {
                Set::Core | Set::Default => true,
                Set::Review => asked.set == Set::Review || ["REVIEW_REQUIRED", "FINDINGS_OPEN"].contains(&&*call.code),
                Set::Full => asked.set == Set::Full,
            };
            assert!(has, "{} says {} to a client without {}", call.tool, call.suggestion, tool.name);
        }
        let typed = suggestion::typed(&call.suggestion);
        assert!(tools(&typed).is_empty(), "a person does not type {typed:?}");
        for command in commands(&typed) {
            let begins = |name: &String| command == name || command.starts_with(&format!("{name} "));
            assert!(known.iter().any(begins), "there is no `handover {command}`: {typed}");
        }
    }
    assert!(TOOLS.iter().all(|tool| known.contains(&suggestion_command(tool))), "{known:?}");
}

/// Returns the command that calls a tool, without the word `handover`.
fn suggestion_command(tool: &Tool) -> String {
    commands(&suggestion::typed(tool.name)).concat()
}

#[test]
fn a_person_types_what_the_advice_says() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let place = Place { store: root.join("handover.db").display().to_string(), folder: root };
    let run = |words: &str| {
        let mut program = program(&place.folder, &place.store);
        let terminal = Terminal::new();
        terminal.seat(&mut program);
        let output = program.args(words.split_whitespace()).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (output.status.code(), text(output.stdout), text(output.stderr))
    };
    let (_, made, error) = run("workflow create w --json");
    let made: Value = serde_json::from_str(&made).unwrap_or_else(|_| panic!("{error}"));
    let workflow = made["id"].as_str().unwrap();
    let mut problems = Vec::new();
    for (code, command, more) in TYPED {
        let [command, more] = [command, more].map(|words| words.replace("$workflow", workflow));
        let (status, _, said) = run(&command);
        let advised = commands(said.lines().last().unwrap_or_default()).first().map(|words| (*words).to_owned());
        let Some(advised) = advised.filter(|_| status == Some(1) && said.starts_with(code)) else {
            problems.push(format!("{command} ({status:?}): {said}"));
            continue;
        };
        let (status, _, next) = run(&format!("{advised} {more}"));
        if status != Some(0) {
            problems.push(format!("{command}: {said}then {advised} {more} ({status:?}): {next}"));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn tools_and_arguments_are_typed_as_commands_and_options() {
    let cases = [
        ("call workflow_list and use an id from there", "run `handover workflow list` and use an id from there"),
        ("get another task (task_next), or wait", "get another task (`handover task next`), or wait"),
        ("give `merge_commit`, or `force: true`", "give `--merge-commit`, or `--force`"),
        ("send `human` a message", "send `human` a message"),
        ("register with the tool agent_register", "register with the tool agent_register"),
        (
            r#"call agent_register {"name": "it's me", "runtime": "exec"}: it resumes that agent here"#,
            r"run `handover agent register 'it'\''s me' exec`: it resumes that agent here",
        ),
    ];
    for (suggested, typed) in cases {
        assert_eq!(suggestion::typed(suggested), typed);
    }
}
