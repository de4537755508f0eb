//! Tests which environment variables each kind of program inherits, and that the documentation has the same list.

use std::fmt::Write as _;

use super::*;
use crate::project::settings::parse;

/// The variables that are set in all tests of this file.
const SET: &[&str] = &[
    "PATH",
    "TERM",
    "CARGO_HOME",
    "SSH_AUTH_SOCK",
    "HTTPS_PROXY",
    "DISPLAY",
    "ANTHROPIC_API_KEY",
    "OPENAI_API_KEY",
    "GEMINI_API_KEY",
    "GROQ_API_KEY",
    "AWS_PROFILE",
    "GOOGLE_CLOUD_PROJECT",
    "DATABASE_URL",
    "MY_SECRET",
    "HANDOVER_TURN",
    "CLAUDECODE",
    "GIT_DIR",
];

fn seen(kind: ProgramKind<'_>, env: &str, more: &[&str]) -> String {
    let settings = parse(&format!("[env]\n{env}")).unwrap().team.environment;
    inherited(kind, &settings, SET.iter().chain(more).copied()).join(" ")
}

fn agent(text: &str) -> AgentSettings {
    let agent = format!("[[agent]]\nslug = \"a\"\ncommand = [\"x\"]\n{text}");
    parse(&agent).unwrap().team.agents.remove(0)
}

#[test]
fn each_adapter_inherits_the_keys_of_its_vendors() {
    const COMMON: &str = "CARGO_HOME HTTPS_PROXY PATH SSH_AUTH_SOCK TERM";
    let rows: [(&str, &[&str], &str); 12] = [
        ("adapter = \"claude\"", &[], "ANTHROPIC_API_KEY"),
        ("adapter = \"codex\"", &[], "OPENAI_API_KEY"),
        ("adapter = \"gemini\"", &[], "GEMINI_API_KEY GOOGLE_CLOUD_PROJECT"),
        (
            "adapter = \"opencode\"",
            &[],
            "ANTHROPIC_API_KEY AWS_PROFILE GEMINI_API_KEY GOOGLE_CLOUD_PROJECT GROQ_API_KEY OPENAI_API_KEY",
        ),
        (
            "adapter = \"acp\"",
            &[],
            "ANTHROPIC_API_KEY AWS_PROFILE GEMINI_API_KEY GOOGLE_CLOUD_PROJECT GROQ_API_KEY OPENAI_API_KEY",
        ),
        ("adapter = \"exec\"", &[], "ANTHROPIC_API_KEY GEMINI_API_KEY GROQ_API_KEY OPENAI_API_KEY"),
        ("adapter = \"exec\"\nkeys = []", &[], ""),
        ("adapter = \"exec\"\nkeys = [\"openai\"]", &[], "OPENAI_API_KEY"),
        ("adapter = \"exec\"\nkeys = [\"bedrock\"]", &[], "AWS_PROFILE"),
        ("adapter = \"acp\"\nkeys = [\"GROQ_API_KEY\", \"MY_SECRET\"]", &[], "GROQ_API_KEY MY_SECRET"),
        ("adapter = \"claude\"", &["CLAUDE_CODE_USE_BEDROCK"], "ANTHROPIC_API_KEY AWS_PROFILE CLAUDE_CODE_USE_BEDROCK"),
        (
            "adapter = \"claude\"",
            &["CLAUDE_CODE_USE_VERTEX", "CLOUD_ML_REGION", "ANTHROPIC_VERTEX_PROJECT_ID"],
            "ANTHROPIC_API_KEY ANTHROPIC_VERTEX_PROJECT_ID CLAUDE_CODE_USE_VERTEX CLOUD_ML_REGION GOOGLE_CLOUD_PROJECT",
        ),
    ];
    for (text, more, expected) in rows {
        let found = seen(ProgramKind::Agent(&agent(text)), "", more);
        let keys: Vec<&str> =
            found.split(' ').filter(|name| !COMMON.split(' ').any(|common| common == *name)).collect();
        assert_eq!(keys.join(" "), expected, "{text} {more:?}");
        assert!(COMMON.split(' ').all(|name| found.split(' ').any(|found| found == name)), "{text}: {found}");
    }
}

#[test]
fn setup_checks_and_notices_inherit_no_keys() {
    assert_eq!(seen(ProgramKind::Setup, "", &[]), "CARGO_HOME HTTPS_PROXY PATH");
    assert_eq!(seen(ProgramKind::Check, "", &[]), "CARGO_HOME PATH");
    assert_eq!(seen(ProgramKind::Notify, "", &[]), "DISPLAY PATH TERM");
}

#[test]
fn settings_pass_and_drop_variables_by_pattern() {
    let check = |env: &str| seen(ProgramKind::Check, env, &["DATABASE_PORT"]);
    assert_eq!(check("pass = [\"DATABASE_*\"]"), "CARGO_HOME DATABASE_PORT DATABASE_URL PATH");
    assert_eq!(check("pass = [\"*_URL\", \"MY*E*T\"]"), "CARGO_HOME DATABASE_URL MY_SECRET PATH");
    assert_eq!(check("pass = [\"AWS_*\"]\ndrop = [\"AWS_PROFILE\", \"CARGO_*\"]"), "PATH");
    assert_eq!(
        check("pass = [\"CLAUDE*\", \"GIT_*\", \"H*\"]"),
        "CARGO_HOME HTTPS_PROXY PATH",
        "marks of agents stay away"
    );
    assert_eq!(
        seen(ProgramKind::Agent(&agent("adapter = \"claude\"")), "drop = [\"ANTHROPIC_API_KEY\"]", &[]),
        "CARGO_HOME HTTPS_PROXY PATH SSH_AUTH_SOCK TERM"
    );
}

#[test]
fn commands_in_a_worktree_know_their_place_and_ask_nothing() {
    let place = CommandPlace { root: Path::new("/code/shop"), slot: 3, port: 20_030 };
    let found: Vec<String> = command_variables(place).iter().map(|(name, value)| format!("{name}={value}")).collect();
    assert_eq!(found, ["CI=1", "HANDOVER_PORT=20030", "HANDOVER_ROOT=/code/shop", "HANDOVER_SLOT=3"]);
}

#[test]
fn the_table_is_read_and_names_only_known_programs_and_adapters() {
    assert!(!groups().is_empty() && !never().is_empty());
    let adapters = agents::adapter::AdapterKind::ALL.map(agents::adapter::AdapterKind::name);
    for group in groups() {
        let kinds = ["agent", "setup", "check", "notify"];
        assert!(group.programs.iter().all(|program| kinds.contains(&program.as_str())), "{group:?}");
        assert!(group.clients.iter().flatten().all(|client| adapters.contains(&client.as_str())), "{group:?}");
        assert!(group.names.iter().all(|name| !any(never(), name)), "{group:?}");
    }
}

/// Compares the documentation with the groups of variables. With `UPDATE=1` in the environment, writes the
/// documentation instead.
#[test]
fn the_page_has_the_table() {
    let mut table = String::from("| group | variables | programs |\n|---|---|---|\n");
    let code = |names: &[String]| names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    for group in groups() {
        let programs = match (&group.clients, &group.when) {
            (Some(clients), Some(when)) => format!("agents: {}, if `{when}` is set", clients.join(", ")),
            (Some(clients), None) => format!("agents: {}", clients.join(", ")),
            (None, _) => group.programs.join(", "),
        };
        writeln!(table, "| {} | {} | {programs} |", group.name, code(&group.names)).unwrap();
    }
    writeln!(table, "| (never) | {} | none |", code(never())).unwrap();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/environment.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let (begin, end) = ("<!-- table -->\n", "<!-- end -->");
    let (head, rest) = page.split_once(begin).unwrap();
    let (found, tail) = rest.split_once(end).unwrap();
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, format!("{head}{begin}{table}{end}{tail}")).unwrap();
    } else {
        assert_eq!(found, table, "renew docs/environment.md with UPDATE=1");
    }
}
