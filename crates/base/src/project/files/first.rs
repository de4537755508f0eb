//! The files that `handover init` writes for a project: the settings of the team, the personal settings, and the list
//! of files that git ignores.

use std::fmt::Write as _;
use std::io;
use std::path::Path;

use super::edit::{self, agents_written};
use super::{InitResult, create};
use crate::project::place::FOLDER;
use crate::project::settings::team::COMMAND_SECONDS_DEFAULT;
use crate::project::settings::{CheckMoment, DetectedDefaults, SetupCommand, VerifyCheck};

/// The files in `.handover/` that git must ignore.
const IGNORED: &[&str] = &["local.toml", "state/"];

/// The texts of the files that `handover init` writes, all of them in `.handover/`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InitTexts {
    /// `config.toml`, at most 20 lines.
    pub config: String,
    pub local: String,
    /// `.gitignore`
    pub ignore: String,
}

/// Returns the texts for a project in which nothing is written yet.
pub fn init_files(found: &DetectedDefaults) -> InitTexts {
    let mut local = "# Your own settings for this clone; they win over config.toml, and git ignores this file.\n\
                     # The agents that `handover run` starts. Add one: handover agent add NAME -- PROGRAM\n"
        .to_owned();
    // The text above is valid TOML without agents, so the agents are always added.
    if let Ok(text) = agents_written(&local, &found.agents) {
        local = text;
    }
    InitTexts { config: config(found), local, ignore: ignoring("") }
}

/// Writes the files of a new project. Keeps existing files; only `.gitignore` gets lines that it lacks.
pub fn init(root: &Path, found: &DetectedDefaults) -> io::Result<Vec<InitResult>> {
    let InitTexts { config, local, ignore } = init_files(found);
    let folder = root.join(FOLDER);
    let mut written = Vec::new();
    for (name, text) in [("config.toml", config), ("local.toml", local), ("state/.gitignore", "*\n".to_owned())] {
        written.push(create(&folder.join(name), &text)?);
    }
    let path = folder.join(".gitignore");
    let mut result = create(&path, &ignore)?;
    if result.kept {
        let known = std::fs::read_to_string(&path)?;
        let text = ignoring(&known);
        if text != known {
            std::fs::write(&path, text)?;
            result.kept = false;
        }
    }
    written.push(result);
    Ok(written)
}

/// Returns the text of `.gitignore` with the lines that it lacks.
fn ignoring(text: &str) -> String {
    let missing = IGNORED.iter().filter(|name| !text.lines().any(|line| line.trim().trim_start_matches('/') == **name));
    let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    missing.fold(format!("{text}{end}"), |text, name| format!("{text}{name}\n"))
}

fn config(found: &DetectedDefaults) -> String {
    let mut text =
        "# How Handover works on this repository. Commit this file; your own settings are in local.toml.\n".to_owned();
    text.push_str("\n[worktree]\n");
    if found.setup.is_empty() {
        text.push_str("# A command for each worktree: setup = [{ command = [\"npm\", \"ci\"], inputs = [\"package-lock.json\"] }]\n");
    } else {
        text.push_str("# Prepares each worktree, and runs again when one of the inputs changes.\n");
        text.push_str(&rows("setup", &found.setup.iter().map(setup).collect::<Vec<_>>()));
    }
    text.push_str("\n[verify]\n");
    if found.checks.is_empty() {
        text.push_str("# No test command was found. Set one: handover check set \"make test\"\n");
    } else {
        text.push_str("# Work that fails a check is not merged.\n");
        text.push_str(&rows("checks", &found.checks.iter().map(check).collect::<Vec<_>>()));
    }
    text.push_str("\n[limits]\nusd = 5.0    # for one task\n");
    text
}

/// Writes one entry on the line of its key, and several on a line each.
fn rows(key: &str, entries: &[String]) -> String {
    match entries {
        [entry] => format!("{key} = [{entry}]\n"),
        entries => {
            let lines = entries.iter().fold(String::new(), |mut text, entry| {
                // Writing into a text cannot fail.
                let _done = writeln!(text, "    {entry},");
                text
            });
            format!("{key} = [\n{lines}]\n")
        }
    }
}

fn setup(setup: &SetupCommand) -> String {
    let SetupCommand { command, seconds, inputs, folder } = setup;
    let inputs = if inputs.is_empty() { String::new() } else { format!(", inputs = {}", edit::list(inputs)) };
    format!("{{ command = {}{inputs}{} }}", edit::list(command), place(*seconds, folder))
}

fn check(check: &VerifyCheck) -> String {
    let VerifyCheck { command, seconds, when, folder } = check;
    let when = match when {
        CheckMoment::Task => "",
        CheckMoment::End => ", when = \"end\"",
    };
    format!("{{ command = {}{}{when} }}", edit::list(command), place(*seconds, folder))
}

/// Returns the keys of a command that have other values than the defaults.
fn place(seconds: u32, folder: &str) -> String {
    let seconds = if seconds == COMMAND_SECONDS_DEFAULT { String::new() } else { format!(", seconds = {seconds}") };
    let folder =
        if folder.is_empty() { String::new() } else { format!(", folder = {}", toml_edit::Value::from(folder)) };
    format!("{seconds}{folder}")
}

#[cfg(test)]
mod tests {
    use agents::adapter::AdapterKind;

    use super::*;
    use crate::project::settings::{DetectedAgent, SettingsFiles};

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    fn cases() -> Vec<DetectedDefaults> {
        let setup = |text: &str, folder: &str| SetupCommand {
            command: words(text),
            seconds: 600,
            inputs: vec!["package.json".to_owned(), "package-lock.json".to_owned()],
            folder: folder.to_owned(),
        };
        let check = |text: &str, when| VerifyCheck { command: words(text), seconds: 900, when, folder: String::new() };
        let agent = |slug: &str, adapter| DetectedAgent {
            slug: slug.to_owned(),
            adapter,
            command: words(slug),
            max_parallel: 3,
        };
        vec![
            DetectedDefaults::default(),
            DetectedDefaults {
                agents: vec![agent("claude", AdapterKind::Claude), agent("codex", AdapterKind::Codex)],
                setup: vec![setup("npm ci", "")],
                checks: vec![check("npm test", CheckMoment::Task)],
                copy: Vec::new(),
            },
            DetectedDefaults {
                agents: vec![agent("gemini", AdapterKind::Gemini)],
                setup: vec![setup("python3 -m venv .venv", "web"), setup("pip install \"a b\"", ""), setup("c", "d e")],
                checks: vec![check("make 'test'", CheckMoment::End)],
                copy: Vec::new(),
            },
        ]
    }

    /// Detected values and the written files have the same effect, so a person is not asked again.
    #[test]
    fn written_files_mean_what_was_found() {
        for found in cases() {
            let InitTexts { config, local, ignore } = init_files(&found);
            assert!(config.lines().count() <= 20, "{config}");
            let width = config.lines().chain(local.lines()).map(|line| line.chars().count()).max();
            assert!(width.is_some_and(|width| width <= 130), "{config}{local}");
            assert_eq!(ignore, "local.toml\nstate/\n");
            let files = SettingsFiles { config, local, ..SettingsFiles::default() };
            let mut written = files.settings(Path::new("/x")).unwrap().team;
            let files = SettingsFiles { detected: found.clone(), ..SettingsFiles::default() };
            let detected = files.settings(Path::new("/x")).unwrap().team;
            written.worktree.setup_source = detected.worktree.setup_source;
            written.verify.checks_source = detected.verify.checks_source;
            for (agent, known) in written.agents.iter_mut().zip(&detected.agents) {
                agent.source = known.source;
            }
            assert_eq!(written, detected);
        }
    }

    /// Installed clients have no roles.
    #[test]
    fn example_templates_name_no_role() {
        let place = tempfile::tempdir().unwrap();
        crate::project::files::init_examples(place.path()).unwrap();
        let templates = crate::project::files::templates(place.path()).unwrap();
        assert_eq!(templates.len(), 2);
        for task in templates.iter().flat_map(|template| &template.body.tasks) {
            assert_eq!(task.role, None, "{}", task.name);
        }
    }

    #[test]
    fn init_keeps_what_a_person_wrote() {
        let place = tempfile::tempdir().unwrap();
        let [_, first, second]: [DetectedDefaults; 3] = cases().try_into().unwrap();
        let kept = |found| init(place.path(), found).unwrap().iter().map(|file| file.kept).collect::<Vec<_>>();
        assert_eq!(kept(&first), [false; 4]);
        assert_eq!(kept(&second), [true; 4], "nothing is written again");
        let file = |name: &str| place.path().join(FOLDER).join(name);
        std::fs::write(file("config.toml"), "# mine\n").unwrap();
        std::fs::write(file(".gitignore"), "notes\n/state/").unwrap();
        assert_eq!(kept(&second), [true, true, true, false]);
        let text = |name: &str| std::fs::read_to_string(file(name)).unwrap();
        assert_eq!(text("config.toml"), "# mine\n");
        assert_eq!(text(".gitignore"), "notes\n/state/\nlocal.toml\n");
        assert_eq!(text("local.toml"), init_files(&first).local);
    }
}
