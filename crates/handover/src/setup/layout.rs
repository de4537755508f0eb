//! Which files each client reads, and what has to be in them.
//!
//! Each was tried with the real program; where a client has something of its own to ask, a note says so.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::client::{Client, Form, Layout, Piece, SERVER};
use super::plan::{Reach, Surroundings};
use super::problem::Problem;
use super::section::Marks;
use super::want::Want;
use super::{disk, hooks, json as jsonc};

const SERVERS: &str = "the server";
const ALLOWED: &str = "the server and its permissions";
const PERMISSIONS: &str = "permissions for our tools";
const WIRED: &str = "permissions for our tools, and hooks";
const HOOKS: &str = "hooks";
const INSTRUCTIONS: &str = "instructions for the model";

pub(super) fn layout(client: Client, reach: Reach, around: &Surroundings) -> Result<Layout, Problem> {
    match client {
        Client::ClaudeCode => claude_code(reach, around),
        Client::Opencode => opencode(reach, around),
        Client::Codex => codex(reach, around),
        Client::Gemini => gemini(reach, around),
        Client::Copilot => copilot(reach, around),
        Client::Goose => goose(reach, around),
        Client::Qwen => qwen(reach, around),
    }
}

fn claude_code(reach: Reach, around: &Surroundings) -> Result<Layout, Problem> {
    let server = table(
        &["mcpServers", SERVER],
        vec![("type", json!("stdio")), ("command", json!(around.program)), ("args", json!(["mcp"]))],
    );
    let allow = item(&["permissions", "allow"], json!("mcp__handover"));
    let hooks = if around.hooks { hooks::claude_code(&around.program) } else { Vec::new() };
    let permissions = if around.hooks { WIRED } else { PERMISSIONS };
    Ok(match reach {
        Reach::Project => Layout {
            pieces: vec![
                json_file(around.root.join(".mcp.json"), SERVERS, vec![server]),
                json_file(
                    around.root.join(".claude/settings.json"),
                    permissions,
                    [allow, item(&["enabledMcpjsonServers"], json!(SERVER))].into_iter().chain(hooks).collect(),
                ),
                markdown(around.root.join("CLAUDE.md")),
            ],
            wide: None,
            notes: vec![
                "Claude Code takes the project's server once you trust the folder: start `claude` in it and accept",
            ],
        },
        Reach::User => {
            let own = around.set("CLAUDE_CONFIG_DIR");
            let folder = own.clone().map_or_else(|| around.in_home(".claude"), Ok)?;
            let servers = own.map_or_else(|| around.in_home(".claude.json"), |own| Ok(own.join(".claude.json")))?;
            Layout {
                pieces: vec![
                    json_file(servers, SERVERS, vec![server]),
                    json_file(folder.join("settings.json"), permissions, [allow].into_iter().chain(hooks).collect()),
                    markdown(folder.join("CLAUDE.md")),
                ],
                wide: None,
                notes: vec!["a Claude Code that is running keeps its old settings: start it again"],
            }
        }
    })
}

fn opencode(reach: Reach, around: &Surroundings) -> Result<Layout, Problem> {
    let (folder, names): (_, &[&str]) = match reach {
        Reach::Project => {
            let names = &["opencode.json", "opencode.jsonc", ".opencode/opencode.json", ".opencode/opencode.jsonc"];
            (around.root.clone(), names)
        }
        Reach::User => (around.config("opencode")?, &["opencode.json", "opencode.jsonc", "config.json"]),
    };
    let config = first(&folder, names);
    let wants = vec![
        Want::Seed { at: at(&["$schema"]), value: json!("https://opencode.ai/config.json") },
        table(
            &["mcp", SERVER],
            vec![("type", json!("local")), ("command", json!([around.program, "mcp"])), ("enabled", json!(true))],
        ),
    ];
    let mut layout = Layout { pieces: Vec::new(), wide: None, notes: Vec::new() };
    let one_word = disk::peek(&config)?.and_then(|text| jsonc::value(&text, &["permission"])).filter(Value::is_string);
    let rule = Want::Key { at: at(&["permission", "handover_*"]), value: json!("allow") };
    let wants = match one_word {
        None => wants.into_iter().chain([rule]).collect(),
        // One word is a rule for everything. It stays the owner's decision.
        Some(word) => {
            if word != "allow" {
                layout.notes.push("`permission` is one word here, so opencode asks for our tools as for all others");
            }
            wants
        }
    };
    layout.pieces = vec![json_file(config, ALLOWED, wants), markdown(folder.join("AGENTS.md"))];
    Ok(layout)
}

fn codex(reach: Reach, around: &Surroundings) -> Result<Layout, Problem> {
    let server = table(
        &["mcp_servers", SERVER],
        vec![
            ("command", json!(around.program)),
            ("args", json!(["mcp"])),
            ("default_tools_approval_mode", json!("approve")),
        ],
    );
    let (config, instructions, mut notes) = match reach {
        Reach::Project => {
            let note = "Codex reads .codex/config.toml once you trust the project: start `codex` in it and accept";
            (around.root.join(".codex/config.toml"), around.root.join("AGENTS.md"), vec![note])
        }
        Reach::User => {
            let folder = around.folder("CODEX_HOME", ".codex")?;
            (folder.join("config.toml"), folder.join("AGENTS.md"), Vec::new())
        }
    };
    let wired = config.with_file_name("hooks.json");
    let config = Piece { path: config, about: ALLOWED, form: Form::Toml(vec![server]) };
    let mut pieces = vec![config, markdown(instructions)];
    if around.hooks {
        pieces.push(json_file(wired, HOOKS, hooks::codex(&around.program)));
        notes.push("Codex runs a new hook only after you looked at it: start `codex`, type /hooks and trust ours");
    }
    Ok(Layout { pieces, wide: None, notes })
}

fn gemini(reach: Reach, around: &Surroundings) -> Result<Layout, Problem> {
    let user = match around.set("GEMINI_CLI_HOME") {
        Some(home) => home.join(".gemini"),
        None if reach == Reach::User => around.in_home(".gemini")?,
        None => PathBuf::new(),
    };
    let mut layout = trusting(reach, around, (".gemini", &user), "GEMINI.md")?;
    if reach == Reach::Project {
        layout.notes.push("Gemini CLI starts servers in trusted folders only: start `gemini` in this one and trust it");
    }
    Ok(layout)
}

fn qwen(reach: Reach, around: &Surroundings) -> Result<Layout, Problem> {
    let user = match reach {
        Reach::User => around.folder("QWEN_HOME", ".qwen")?,
        Reach::Project => PathBuf::new(),
    };
    let mut layout = trusting(reach, around, (".qwen", &user), "QWEN.md")?;
    if reach == Reach::Project {
        layout.notes.push("Qwen Code asks once for a project's server: run `qwen mcp approve handover`");
    }
    Ok(layout)
}

/// Gemini CLI and what descends from it: a server that is trusted is not asked about.
fn trusting(
    reach: Reach,
    around: &Surroundings,
    (hidden, user): (&str, &Path),
    instructions: &str,
) -> Result<Layout, Problem> {
    let mut entry = vec![("command", json!(around.program)), ("args", json!(["mcp"])), ("trust", json!(true))];
    if hidden == ".qwen" {
        // It would keep every tool back until its model looks for it.
        entry.push(("alwaysLoadTools", json!(true)));
    }
    let server = table(&["mcpServers", SERVER], entry);
    let (folder, beside) = match reach {
        Reach::Project => (around.root.join(hidden), around.root.clone()),
        Reach::User => (user.to_owned(), user.to_owned()),
    };
    let settings = folder.join("settings.json");
    // The name of the file is a setting, and many projects set it to the one they share among clients.
    let named = disk::peek(&settings)?.and_then(|text| jsonc::value(&text, &["context", "fileName"]));
    let named = named.map(|name| name.get(0).cloned().unwrap_or(name));
    let plain = |name: &&str| !name.is_empty() && !name.contains(['/', '\\']) && *name != "..";
    let name = named.as_ref().and_then(Value::as_str).filter(plain).unwrap_or(instructions);
    let pieces = vec![json_file(settings, ALLOWED, vec![server]), markdown(beside.join(name))];
    Ok(Layout { pieces, wide: None, notes: Vec::new() })
}

fn copilot(reach: Reach, around: &Surroundings) -> Result<Layout, Problem> {
    let server = table(
        &["mcpServers", SERVER],
        vec![
            ("type", json!("local")),
            ("command", json!(around.program)),
            ("args", json!(["mcp"])),
            ("tools", json!(["*"])),
        ],
    );
    let folder = around.folder("COPILOT_HOME", ".copilot")?;
    Ok(match reach {
        Reach::Project => {
            let here = around.root.display().to_string();
            let allow = item(
                &["locations", &here, "tool_approvals"],
                json!({"kind": "mcp", "serverName": SERVER, "toolName": null}),
            );
            Layout {
                pieces: vec![
                    json_file(around.root.join(".github/mcp.json"), SERVERS, vec![server]),
                    json_file(folder.join("permissions-config.json"), PERMISSIONS, vec![allow]),
                    markdown(around.root.join("AGENTS.md")),
                ],
                wide: None,
                notes: vec![
                    "Copilot reads a project's servers once you trust the folder: start `copilot` in it and accept",
                    "Copilot keeps permissions in your own folder, by project: others who use this one run this, too",
                ],
            }
        }
        Reach::User => Layout {
            pieces: vec![
                json_file(folder.join("mcp-config.json"), SERVERS, vec![server]),
                markdown(folder.join("copilot-instructions.md")),
            ],
            wide: None,
            notes: vec![
                "Copilot keeps permissions by project only: in a project it asks once for each tool, or run this there",
            ],
        },
    })
}

fn goose(reach: Reach, around: &Surroundings) -> Result<Layout, Problem> {
    let server = table(
        &["extensions", SERVER],
        vec![
            ("enabled", json!(true)),
            ("type", json!("stdio")),
            ("name", json!(SERVER)),
            ("description", json!("Hands work between agents")),
            ("cmd", json!(around.program)),
            ("args", json!(["mcp"])),
            ("timeout", json!(300)),
        ],
    );
    let folder = match around.set("GOOSE_PATH_ROOT") {
        Some(root) => root.join("config"),
        None => around.config("goose")?,
    };
    let notes = vec!["goose asks for our tools only in its approve modes; `goose configure` allows them there"];
    let (hints, wide) = match reach {
        Reach::Project => {
            let wide = "goose has no configuration for a project: the server is in yours, for all projects";
            (around.root.join(".goosehints"), Some(wide))
        }
        Reach::User => (folder.join(".goosehints"), None),
    };
    let config = Piece { path: folder.join("config.yaml"), about: SERVERS, form: Form::Yaml(vec![server]) };
    let hints = Piece { path: hints, about: INSTRUCTIONS, form: Form::Section(Marks::Sign) };
    Ok(Layout { pieces: vec![config, hints], wide, notes })
}

/// The first file that is there, or else the first.
fn first(folder: &Path, names: &[&str]) -> PathBuf {
    let mut paths = names.iter().map(|name| folder.join(name));
    let fallback = paths.clone().next().unwrap_or_else(|| folder.to_owned());
    paths.find(|path| path.is_file()).unwrap_or(fallback)
}

fn at(keys: &[&str]) -> Vec<String> {
    keys.iter().map(|key| (*key).to_owned()).collect()
}

fn table(keys: &[&str], values: Vec<(&'static str, Value)>) -> Want {
    Want::Table { at: at(keys), keys: values }
}

fn item(keys: &[&str], item: Value) -> Want {
    Want::Item { at: at(keys), item }
}

fn json_file(path: PathBuf, about: &'static str, wants: Vec<Want>) -> Piece {
    Piece { path, about, form: Form::Json(wants) }
}

fn markdown(path: PathBuf) -> Piece {
    Piece { path, about: INSTRUCTIONS, form: Form::Section(Marks::Comment) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gates ask before anything writes there: the list of what is guarded knows every file that `setup` configures.
    #[test]
    fn every_settings_file_is_guarded_by_gates() {
        let root = PathBuf::from("/repository");
        let home = std::env::var_os("HOME").map(PathBuf::from);
        let around = Surroundings {
            root: root.clone(),
            home,
            environment: std::env::vars().collect(),
            program: "handover".to_owned(),
            receipts: root.join("receipts"),
            hooks: true,
        };
        let mut seen = 0;
        for client in Client::ALL {
            for reach in [Reach::Project, Reach::User] {
                let pieces = layout(*client, reach, &around).expect("a layout").pieces;
                for piece in pieces.iter().filter(|piece| !matches!(piece.form, Form::Section(_))) {
                    assert!(crate::gate::is_guarded(&piece.path, &root), "{}", piece.path.display());
                    seen += 1;
                }
            }
        }
        assert!(seen > 14, "only {seen} files");
    }
}
