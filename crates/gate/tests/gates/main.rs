//! Tests gates with lists of commands that are allowed, need a person's approval or are denied. Also checks that bash
//! runs no command that the gate did not find.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![expect(
    clippy::disallowed_methods,
    reason = "it starts bash in a place of its own, and bounds what a reader may take"
)]

mod bash;
mod files;
mod hostile;
mod moves;
mod tools;

use std::fs;
use std::path::{Path, PathBuf};

use gate::{GateCall, GateDecision, Gates};
use wire::json::Value;

/// The part of a project's configuration that defines gates.
#[derive(serde::Deserialize)]
struct GateSettings {
    #[serde(default)]
    gates: gate::Basics,
    #[serde(default, rename = "gate")]
    rules: Vec<gate::GateRule>,
}

/// A temporary repository with some folders and links in it.
pub(crate) struct Scratch {
    folder: tempfile::TempDir,
}

impl Scratch {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        for name in [".git", ".handover", "infra/prod", "docs", "src/deep", "tree/.git", "tree/infra"] {
            fs::create_dir_all(root.join(name)).unwrap();
        }
        for name in ["infra/main.tf", "docs/a.md", "src/a.rs", "a.txt"] {
            fs::write(root.join(name), "x\n").unwrap();
        }
        for (target, name) in
            [("infra", "link"), ("../infra/main.tf", "docs/linked.md"), ("link", "chain"), ("round", "round")]
        {
            std::os::unix::fs::symlink(target, root.join(name)).unwrap();
        }
        Self { folder }
    }

    pub(crate) fn root(&self) -> PathBuf {
        fs::canonicalize(self.folder.path()).unwrap()
    }

    pub(crate) fn gates(&self, text: &str) -> Gates {
        fs::write(self.root().join(".handover/config.toml"), text).unwrap();
        let file: GateSettings = toml::from_str(text).unwrap();
        Gates::new(file.gates, file.rules).unwrap()
    }
}

pub(crate) fn bash_call(gates: &Gates, command: &str, directory: &Path) -> (GateDecision, String) {
    let input = wire::json::object([("command", Value::Text(command.to_owned()))]);
    let verdict = gates.judge(&GateCall { tool: "Bash", input: &input, directory });
    (verdict.decision, verdict.reason)
}

/// Checks every list of commands. A list is a file with gate settings, a line `----`, and further lines with a decision
/// and a command each. `⏎` is a newline, `⇥` is a tab, `in <folder>` sets the folder of the following lines, `ROOT` is
/// the repository.
#[test]
fn every_list_holds() {
    let lists = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/gates");
    let (mut played, mut wrong) = (0, Vec::new());
    let mut files: Vec<PathBuf> = fs::read_dir(lists).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    for file in files.iter().filter(|file| file.extension().is_some_and(|end| end == "txt")) {
        let text = fs::read_to_string(file).unwrap();
        let (settings, cases) = text.split_once("\n----\n").unwrap();
        let scratch = Scratch::new();
        let gates = scratch.gates(settings);
        let mut directory = scratch.root();
        for line in cases.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#')) {
            let (word, rest) = line.split_once(' ').unwrap();
            if word == "in" {
                directory = scratch.root().join(rest.trim());
                continue;
            }
            let wanted = match word {
                "allow" => GateDecision::Allow,
                "ask" => GateDecision::Ask,
                "deny" => GateDecision::Deny,
                other => panic!("{}: {other} is no decision", file.display()),
            };
            let root = scratch.root().display().to_string();
            let command = rest.trim_start().replace('⏎', "\n").replace('⇥', "\t").replace("ROOT", &root);
            let (found, reason) = bash_call(&gates, &command, &directory);
            played += 1;
            if found != wanted {
                let name = file.file_name().unwrap().to_string_lossy().into_owned();
                wrong.push(format!("{name}: {line}\n    {found:?}: {reason}"));
            }
            assert_eq!(
                reason.is_empty(),
                found == GateDecision::Allow,
                "a reason is given unless it is allowed: {line}"
            );
        }
    }
    assert!(wrong.is_empty(), "{} of {played} cases\n{}", wrong.len(), wrong.join("\n"));
    assert!(played > 300, "only {played} cases were found");
}

/// Checks that the lists `everyday`, `harmless` and `bypass` use exactly the gates of the example in `docs/gates.md`.
#[test]
fn lists_use_the_example_of_the_documentation() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(folder.join("../../docs/gates.md")).unwrap();
    let example = page.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let scratch = Scratch::new();
    for (name, cases) in [("everyday", 100), ("harmless", 100), ("bypass", 250)] {
        let text = fs::read_to_string(folder.join(format!("tests/gates/{name}.txt"))).unwrap();
        let (settings, lines) = text.split_once("\n----\n").unwrap();
        assert_eq!(scratch.gates(settings), scratch.gates(example), "{name}");
        let played: Vec<&str> = lines.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
        assert!(played.len() > cases, "{name} has only {} cases", played.len());
        let stops = |line: &&&str| line.starts_with("ask ") || line.starts_with("deny ");
        let stopped = played.iter().filter(stops).count();
        assert_eq!(stopped, if name == "bypass" { played.len() } else { 0 }, "{name}");
    }
    let everyday = fs::read_to_string(folder.join("tests/gates/everyday.txt")).unwrap();
    for kind in ["# Python", "# JavaScript", "# Rust", "# Go"] {
        let block = everyday.split(kind).nth(1).and_then(|rest| rest.split("\n\n").next()).unwrap();
        assert!(block.lines().count() > 25, "{kind}");
    }
}

#[test]
fn without_gates_nothing_is_looked_at() {
    let scratch = Scratch::new();
    for text in ["", "[gates]\n", "[gates]\ndefault = \"allow\"\n"] {
        let gates = scratch.gates(text);
        assert!(gates.is_empty(), "{text}");
        assert_eq!(bash_call(&gates, "((((", &scratch.root()), (GateDecision::Allow, String::new()), "{text}");
    }
    let gates = scratch.gates("[gates]\ndefault = \"ask\"\n");
    assert!(!gates.is_empty());
    assert_eq!(bash_call(&gates, "ls", &scratch.root()).0, GateDecision::Ask);
}

#[test]
fn a_reason_names_the_rule_and_what_to_do() {
    let scratch = Scratch::new();
    let gates = scratch.gates(
        "[[gate]]\ncommand = [\"ls\"]\ndecision = \"allow\"\n\
         [[gate]]\ncommand = [\"git\", \"push\"]\ndecision = \"deny\"\n\
         [[gate]]\nwrite = \"infra/**\"\ndecision = \"deny\"\n",
    );
    for (command, words) in [
        ("ls && env git push origin", ["gate 2", "git push", "config.toml"]),
        ("ls > infra/x", ["gate 3", "infra/**", "infra/x"]),
        ("cargo test", ["no rule allows", "cargo test", "config.toml"]),
        ("$x", ["not one literal", "ask", "config.toml"]),
    ] {
        let (_, reason) = bash_call(&gates, command, &scratch.root());
        for word in words {
            assert!(reason.contains(word), "{command}: {reason}");
        }
    }
    let long = format!("{}; ", "x".repeat(3_000)).repeat(5);
    let (decision, reason) = bash_call(&gates, &long, &scratch.root());
    assert_eq!(decision, GateDecision::Ask);
    assert!(reason.len() < 1_000, "{reason}");
}
