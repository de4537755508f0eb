//! The files that each agent client reads, and the entries that Handover needs in them.
//!
//! Each layout was tested with the real client. If a client asks its user for something, a note in the layout says so.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::client::{ClientFile, ClientProgram, Form, Layout, SERVER};
use super::entry::{HttpEntry, keys};
use super::plan::{SetupReach, SetupSurroundings};
use super::problem::SetupProblem;
use super::section::Marks;
use super::want::Want;
use super::{disk, hooks, json as jsonc};

const SERVERS: &str = "the server";
const ALLOWED: &str = "the server and its permissions";
const PERMISSIONS: &str = "permissions for Handover's tools";
const WIRED: &str = "permissions for Handover's tools, and hooks";
const HOOKS: &str = "hooks";
const INSTRUCTIONS: &str = "instructions for the model";

pub(super) fn layout(
    client: ClientProgram,
    reach: SetupReach,
    around: &SetupSurroundings,
) -> Result<Layout, SetupProblem> {
    match client {
        ClientProgram::ClaudeCode => claude_code(reach, around),
        ClientProgram::Opencode => opencode(reach, around),
        ClientProgram::Codex => codex(reach, around),
        ClientProgram::Gemini => gemini(reach, around),
        ClientProgram::Copilot => copilot(reach, around),
        ClientProgram::Goose => goose(reach, around),
        ClientProgram::Qwen => qwen(reach, around),
    }
}

/// Returns all entries that Handover can have in a client's files: those of a setup with `--http` and of one without.
/// Entries of the same file are joined into one `ClientFile`.
pub(super) fn whole(
    client: ClientProgram,
    reach: SetupReach,
    around: &SetupSurroundings,
) -> Result<Layout, SetupProblem> {
    let with = |http| layout(client, reach, &SetupSurroundings { http, ..around.clone() });
    let mut all = with(None)?;
    for piece in with(Some(HttpEntry::new("")))?.pieces {
        let Some(same) = all.pieces.iter_mut().find(|same| same.path == piece.path) else {
            all.pieces.push(piece);
            continue;
        };
        same.private |= piece.private;
        if let (Form::Json(all), Form::Json(more))
        | (Form::Toml(all), Form::Toml(more))
        | (Form::Yaml(all), Form::Yaml(more)) = (&mut same.form, piece.form)
        {
            let new = more.into_iter().filter(|want| !all.contains(want)).collect::<Vec<_>>();
            all.extend(new);
        }
    }
    Ok(all)
}

fn claude_code(reach: SetupReach, around: &SetupSurroundings) -> Result<Layout, SetupProblem> {
    let allow = item(&["permissions", "allow"], json!("mcp__handover"));
    let hooks = if around.hooks { hooks::claude_code(&around.program) } else { Vec::new() };
    let permissions = if around.hooks { WIRED } else { PERMISSIONS };
    let own = around.set("CLAUDE_CONFIG_DIR");
    let of_user = || own.clone().map_or_else(|| around.in_home(".claude.json"), |own| Ok(own.join(".claude.json")));
    let entry =
        |above: &[&str]| table(&[above, &["mcpServers", SERVER]].concat(), keys(ClientProgram::ClaudeCode, around));
    Ok(match reach {
        SetupReach::Project => {
            let here = around.root.display().to_string();
            let (servers, wants, note) = if around.http.is_some() {
                // With HTTP, the entry is for one user in one project. Claude Code calls this the local scope.
                (
                    of_user()?,
                    vec![entry(&["projects", &here])],
                    "Claude Code uses the project's permissions only after you trust the folder: start `claude` in \
                     it and accept",
                )
            } else {
                let note = "Claude Code uses the project's server only after you trust the folder: start `claude` in it and \
                     accept";
                (around.root.join(".mcp.json"), vec![entry(&[])], note)
            };
            let enabled = around.http.is_none().then(|| item(&["enabledMcpjsonServers"], json!(SERVER)));
            let settings = [allow].into_iter().chain(enabled).chain(hooks).collect();
            Layout {
                pieces: vec![
                    server_file(servers, SERVERS, wants, around),
                    json_file(around.root.join(".claude/settings.json"), permissions, settings),
                    markdown(around.root.join("CLAUDE.md")),
                ],
                wide: None,
                notes: vec![note],
            }
        }
        SetupReach::User => {
            let folder = own.clone().map_or_else(|| around.in_home(".claude"), Ok)?;
            Layout {
                pieces: vec![
                    server_file(of_user()?, SERVERS, vec![entry(&[])], around),
                    json_file(folder.join("settings.json"), permissions, [allow].into_iter().chain(hooks).collect()),
                    markdown(folder.join("CLAUDE.md")),
                ],
                wide: None,
                notes: vec!["Claude Code reads its settings when it starts: restart it if it is running"],
            }
        }
    })
}

fn opencode(reach: SetupReach, around: &SetupSurroundings) -> Result<Layout, SetupProblem> {
    let (folder, names): (_, &[&str]) = match around.entry_reach(reach) {
        SetupReach::Project => {
            let names = &["opencode.json", "opencode.jsonc", ".opencode/opencode.json", ".opencode/opencode.jsonc"];
            (around.root.clone(), names)
        }
        SetupReach::User => (around.config("opencode")?, &["opencode.json", "opencode.jsonc", "config.json"]),
    };
    let config = first(&folder, names);
    let wants = vec![
        Want::Seed { at: at(&["$schema"]), value: json!("https://opencode.ai/config.json") },
        table(&["mcp", SERVER], keys(ClientProgram::Opencode, around)),
    ];
    let mut layout = Layout { pieces: Vec::new(), wide: around.wide(reach), notes: Vec::new() };
    let one_word = disk::peek(&config)?.and_then(|text| jsonc::value(&text, &["permission"])).filter(Value::is_string);
    let rule = Want::Key { at: at(&["permission", "handover_*"]), value: json!("allow") };
    let wants = match one_word {
        None => wants.into_iter().chain([rule]).collect(),
        // If `permission` in the opencode configuration is a single word, such as `ask`, that word applies to all
        // tools. Leave it: this is the decision of the file's owner.
        Some(word) => {
            if word != "allow" {
                layout.notes.push(
                    "`permission` in this file is a single word, so opencode asks for Handover's tools \
                    as for all others",
                );
            }
            wants
        }
    };
    let instructions = match reach {
        SetupReach::Project => around.root.join("AGENTS.md"),
        SetupReach::User => folder.join("AGENTS.md"),
    };
    layout.pieces = vec![server_file(config, ALLOWED, wants, around), markdown(instructions)];
    Ok(layout)
}

fn codex(reach: SetupReach, around: &SetupSurroundings) -> Result<Layout, SetupProblem> {
    let server = table(&["mcp_servers", SERVER], keys(ClientProgram::Codex, around));
    let mut notes = Vec::new();
    let folder_of = |reach| match reach {
        SetupReach::Project => Ok(around.root.join(".codex")),
        SetupReach::User => around.folder("CODEX_HOME", ".codex"),
    };
    let instructions = match reach {
        SetupReach::Project => around.root.join("AGENTS.md"),
        SetupReach::User => folder_of(reach)?.join("AGENTS.md"),
    };
    if around.entry_reach(reach) == SetupReach::Project {
        notes.push("Codex reads .codex/config.toml only after you trust the project: start `codex` in it and accept");
    }
    let config = ClientFile {
        path: folder_of(around.entry_reach(reach))?.join("config.toml"),
        about: ALLOWED,
        form: Form::Toml(vec![server]),
        private: around.http.is_some(),
    };
    let mut pieces = vec![config, markdown(instructions)];
    if around.hooks {
        pieces.push(json_file(folder_of(reach)?.join("hooks.json"), HOOKS, hooks::codex(&around.program)));
        notes.push(
            "Codex runs a new hook only after you trust it: start `codex`, type /hooks and trust Handover's \
            hooks",
        );
    }
    Ok(Layout { pieces, wide: around.wide(reach), notes })
}

fn gemini(reach: SetupReach, around: &SetupSurroundings) -> Result<Layout, SetupProblem> {
    let user = match around.set("GEMINI_CLI_HOME") {
        Some(home) => home.join(".gemini"),
        None if around.entry_reach(reach) == SetupReach::User => around.in_home(".gemini")?,
        None => PathBuf::new(),
    };
    let mut layout = trusting(ClientProgram::Gemini, reach, around, (".gemini", &user))?;
    if around.entry_reach(reach) == SetupReach::Project {
        layout.notes.push(
            "Gemini CLI starts servers only in trusted folders: start `gemini` in this folder and \
            trust it",
        );
    }
    Ok(layout)
}

fn qwen(reach: SetupReach, around: &SetupSurroundings) -> Result<Layout, SetupProblem> {
    let user = match around.entry_reach(reach) {
        SetupReach::User => around.folder("QWEN_HOME", ".qwen")?,
        SetupReach::Project => PathBuf::new(),
    };
    let mut layout = trusting(ClientProgram::Qwen, reach, around, (".qwen", &user))?;
    if around.entry_reach(reach) == SetupReach::Project {
        layout.notes.push("Qwen Code asks once for a project's server: run `qwen mcp approve handover`");
    }
    Ok(layout)
}

/// Returns the files and entries for Gemini CLI and its forks. Setup marks Handover's server as trusted, so these
/// clients do not ask before they use its tools.
fn trusting(
    client: ClientProgram,
    reach: SetupReach,
    around: &SetupSurroundings,
    (hidden, user): (&str, &Path),
) -> Result<Layout, SetupProblem> {
    let server = table(&["mcpServers", SERVER], keys(client, around));
    let settings_of = |reach| match reach {
        SetupReach::Project => around.root.join(hidden).join("settings.json"),
        SetupReach::User => user.join("settings.json"),
    };
    let beside = match reach {
        SetupReach::Project => around.root.as_path(),
        SetupReach::User => user,
    };
    // The client's setting `context.fileName` names the file of instructions. Many projects set it to a file that
    // several clients share.
    let named = disk::peek(&settings_of(reach))?.and_then(|text| jsonc::value(&text, &["context", "fileName"]));
    let named = named.map(|name| name.get(0).cloned().unwrap_or(name));
    let plain = |name: &&str| !name.is_empty() && !name.contains(['/', '\\']) && *name != "..";
    let usual = if client == ClientProgram::Qwen { "QWEN.md" } else { "GEMINI.md" };
    let name = named.as_ref().and_then(Value::as_str).filter(plain).unwrap_or(usual);
    let settings = settings_of(around.entry_reach(reach));
    let pieces = vec![server_file(settings, ALLOWED, vec![server], around), markdown(beside.join(name))];
    Ok(Layout { pieces, wide: around.wide(reach), notes: Vec::new() })
}

fn copilot(reach: SetupReach, around: &SetupSurroundings) -> Result<Layout, SetupProblem> {
    let server = table(&["mcpServers", SERVER], keys(ClientProgram::Copilot, around));
    let folder = around.folder("COPILOT_HOME", ".copilot")?;
    let servers = match around.entry_reach(reach) {
        SetupReach::Project => around.root.join(".github/mcp.json"),
        SetupReach::User => folder.join("mcp-config.json"),
    };
    let servers = server_file(servers, SERVERS, vec![server], around);
    Ok(match reach {
        SetupReach::Project => {
            let here = around.root.display().to_string();
            let allow = item(
                &["locations", &here, "tool_approvals"],
                json!({"kind": "mcp", "serverName": SERVER, "toolName": null}),
            );
            let trust = "Copilot reads a project's servers only after you trust the folder: start `copilot` in it \
                and accept";
            let own = "Copilot keeps permissions in your own folder, for each project: everyone else who uses this \
                project must run this command, too";
            Layout {
                pieces: vec![
                    servers,
                    json_file(folder.join("permissions-config.json"), PERMISSIONS, vec![allow]),
                    markdown(around.root.join("AGENTS.md")),
                ],
                wide: around.wide(reach),
                notes: if around.http.is_some() { Vec::new() } else { vec![trust, own] },
            }
        }
        SetupReach::User => Layout {
            pieces: vec![servers, markdown(folder.join("copilot-instructions.md"))],
            wide: None,
            notes: vec![
                "Copilot keeps permissions for each project: in another project it asks once for each tool, unless \
                 you run this command there",
            ],
        },
    })
}

fn goose(reach: SetupReach, around: &SetupSurroundings) -> Result<Layout, SetupProblem> {
    let server = table(&["extensions", SERVER], keys(ClientProgram::Goose, around));
    let folder = match around.set("GOOSE_PATH_ROOT") {
        Some(root) => root.join("config"),
        None => around.config("goose")?,
    };
    let notes = vec!["goose asks for Handover's tools only in its approve modes; `goose configure` allows them there"];
    let (hints, wide) = match reach {
        SetupReach::Project => {
            let wide = "goose has no configuration for a single project: the server is in your own configuration, \
                for all projects";
            (around.root.join(".goosehints"), Some(wide))
        }
        SetupReach::User => (folder.join(".goosehints"), None),
    };
    let config = ClientFile {
        path: folder.join("config.yaml"),
        about: SERVERS,
        form: Form::Yaml(vec![server]),
        private: around.http.is_some(),
    };
    let hints = ClientFile { path: hints, about: INSTRUCTIONS, form: Form::Section(Marks::Sign), private: false };
    Ok(Layout { pieces: vec![config, hints], wide, notes })
}

/// Returns the path of the first of these files that exists. If none exists, returns the path of the first name.
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

fn json_file(path: PathBuf, about: &'static str, wants: Vec<Want>) -> ClientFile {
    ClientFile { path, about, form: Form::Json(wants), private: false }
}

/// Returns the file with the entry for Handover's server. If the client uses HTTP, the file contains a token and is
/// private.
fn server_file(path: PathBuf, about: &'static str, wants: Vec<Want>, around: &SetupSurroundings) -> ClientFile {
    ClientFile { path, about, form: Form::Json(wants), private: around.http.is_some() }
}

fn markdown(path: PathBuf) -> ClientFile {
    ClientFile { path, about: INSTRUCTIONS, form: Form::Section(Marks::Comment), private: false }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that the list of guarded files contains every settings file that `setup` configures. Before a tool call
    /// writes to a guarded file, the gates ask a person.
    #[test]
    fn every_settings_file_is_guarded_by_gates() {
        let root = PathBuf::from("/repository");
        let home = std::env::var_os("HOME").map(PathBuf::from);
        let around = SetupSurroundings {
            root: root.clone(),
            home,
            environment: std::env::vars().collect(),
            program: "handover".to_owned(),
            receipts: root.join("receipts"),
            hooks: true,
            http: None,
        };
        let mut seen = 0;
        for client in ClientProgram::ALL {
            for reach in [SetupReach::Project, SetupReach::User] {
                let pieces = whole(*client, reach, &around).expect("a layout").pieces;
                for piece in pieces.iter().filter(|piece| !matches!(piece.form, Form::Section(_))) {
                    assert!(gate::is_guarded(&piece.path, &root), "{}", piece.path.display());
                    seen += 1;
                }
            }
        }
        assert!(seen > 14, "only {seen} files");
    }
}
