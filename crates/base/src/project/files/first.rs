//! The files that `handover init` writes for a project: the settings of the team, the personal settings, and the list
//! of files that git ignores.

use std::fmt::Write as _;
use std::io;
use std::path::Path;

use super::edit::{self, agents_written};
use super::{InitResult, create};
use crate::project::place::FOLDER;
use crate::project::settings::team::COMMAND_SECONDS_DEFAULT;
use crate::project::settings::{CheckMoment, DetectedDefaults, SettingsFiles, SetupCommand, Unreadable, VerifyCheck};

/// The files in `.handover/` that git must ignore.
const IGNORED: &[&str] = &["local.toml", "state/"];

/// The line of `config.toml` that tells how to set a check when none was found.
pub(super) const NO_CHECK_LINE: &str = "# No test command was found. Set one: handover check set \"make test\"\n";

/// The texts of the files that `handover init` writes into `.handover/`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InitTexts {
    /// The text of `config.toml`, at most 20 lines.
    pub config: String,
    pub local: String,
    /// The text of `.gitignore`.
    pub ignore: String,
}

/// Returns the texts for a project that has no settings files yet.
pub fn init_files(found: &DetectedDefaults) -> InitTexts {
    let mut local = "# Your own settings for this clone; they win over config.toml, and git ignores this file.\n\
                     # The agents that `handover run` starts. Add one: handover agent add NAME -- PROGRAM\n"
        .to_owned();
    // Adding the agents cannot fail, because the text above is valid TOML and has no agents.
    if let Ok(text) = agents_written(&local, &found.agents) {
        local = text;
    }
    InitTexts { config: config(found), local, ignore: ignoring("") }
}

/// The settings files that a project will have after `handover init`. Making this value writes no file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InitPlan {
    /// The texts of the existing files, and the texts of the files that `handover init` will write.
    pub files: SettingsFiles,
    /// True when `handover init` writes `config.toml`, because the file does not exist.
    pub has_new_config: bool,
    /// True when `handover init` writes `local.toml`: the file does not exist, no settings file names an agent, and an
    /// installed agent program was found.
    pub has_new_local: bool,
}

impl InitPlan {
    /// Reads the settings files of a project, and adds the texts of the missing files that `handover init` will write.
    pub fn of(root: &Path, found: DetectedDefaults) -> Result<Self, Unreadable> {
        let known = SettingsFiles::read(root)?;
        let is_absent = |name: &str| root.join(FOLDER).join(name).symlink_metadata().is_err();
        let names_agents = !known.settings(root)?.team.agents.is_empty();
        let has_new_config = is_absent("config.toml");
        let has_new_local = is_absent("local.toml") && !names_agents && !found.agents.is_empty();
        let texts = init_files(&found);
        let mut files = SettingsFiles { detected: found, ..known };
        if has_new_config {
            files.config = texts.config;
        }
        if has_new_local {
            files.local = texts.local;
        }
        Ok(Self { files, has_new_config, has_new_local })
    }

    /// Returns a plan in which the slow checks run only once, on the merged result of all tasks. `is_slow` decides for
    /// each check. Returns `None` when no check is slow, and when `config.toml` exists, because a person's text is
    /// never changed.
    #[must_use]
    pub fn with_checks_at_end(&self, is_slow: &dyn Fn(&VerifyCheck) -> bool) -> Option<Self> {
        let mut found = self.files.detected.clone();
        let mut slow = found.checks.iter_mut().filter(|check| is_slow(check)).peekable();
        if !self.has_new_config || slow.peek().is_none() {
            return None;
        }
        slow.for_each(|check| check.when = CheckMoment::End);
        let files = SettingsFiles { config: config(&found), ..self.files.clone() };
        Some(Self { files, ..self.clone() })
    }

    /// Writes the files that are missing. Keeps existing files; only `.gitignore` gets lines that it lacks.
    pub fn write(&self, root: &Path) -> io::Result<Vec<InitResult>> {
        let folder = root.join(FOLDER);
        let mut written = Vec::new();
        let files = [("config.toml", &self.files.config, true), ("local.toml", &self.files.local, self.has_new_local)];
        for (name, text, is_written) in files {
            let path = folder.join(name);
            if is_written || path.symlink_metadata().is_ok() {
                written.push(create(&path, text)?);
            }
        }
        written.push(ignore_own_files(root)?);
        Ok(written)
    }
}

/// Adds the lines to `.handover/.gitignore` that keep personal files out of git.
pub fn ignore_own_files(root: &Path) -> io::Result<InitResult> {
    let path = root.join(FOLDER).join(".gitignore");
    let mut result = create(&path, &ignoring(""))?;
    if result.kept {
        let known = std::fs::read_to_string(&path)?;
        let text = ignoring(&known);
        if text != known {
            std::fs::write(&path, text)?;
            result.kept = false;
        }
    }
    Ok(result)
}

/// Adds the missing lines to the text of `.gitignore`, so that git ignores the files in `IGNORED`.
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
        text.push_str(NO_CHECK_LINE);
    } else {
        text.push_str("# Work that fails a check is not merged.\n");
        text.push_str(&rows("checks", &found.checks.iter().map(check).collect::<Vec<_>>()));
    }
    text.push_str("\n[limits]\nusd = 5.0    # for one task\n");
    text
}

/// Returns a key with a list as TOML. A list with one entry is on the line of the key; otherwise each entry has a line
/// of its own.
fn rows(key: &str, entries: &[String]) -> String {
    match entries {
        [entry] => format!("{key} = [{entry}]\n"),
        entries => {
            let lines = entries.iter().fold(String::new(), |mut text, entry| {
                // Writing into a string cannot fail.
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

/// Returns the keys `seconds` and `folder` of a command as TOML. A key with its default value is left out.
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

    /// The written files have the same effect as the detected values, so a person need not accept them again.
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

    /// The example templates must not name roles, because detected agents have no roles and could not take such tasks.
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
        let [none, first, second]: [DetectedDefaults; 3] = cases().try_into().unwrap();
        let kept = |found: &DetectedDefaults| {
            let plan = InitPlan::of(place.path(), found.clone()).unwrap();
            plan.write(place.path()).unwrap().iter().map(|file| file.kept).collect::<Vec<_>>()
        };
        assert_eq!(kept(&none), [false; 2], "without an agent there is no personal file");
        assert_eq!(kept(&first), [true, false, true], "an agent was installed later");
        assert_eq!(kept(&second), [true; 3], "nothing is written again");
        let file = |name: &str| place.path().join(FOLDER).join(name);
        std::fs::write(file("config.toml"), "# mine\n").unwrap();
        std::fs::write(file(".gitignore"), "notes\n/state/").unwrap();
        assert_eq!(kept(&second), [true, true, false]);
        let text = |name: &str| std::fs::read_to_string(file(name)).unwrap();
        assert_eq!(text("config.toml"), "# mine\n");
        assert_eq!(text(".gitignore"), "notes\n/state/\nlocal.toml\n");
        assert_eq!(text("local.toml"), init_files(&first).local);
    }

    #[test]
    fn a_team_that_names_its_agents_gets_no_personal_file() {
        let place = tempfile::tempdir().unwrap();
        let config = "[[agent]]\nslug = \"bot\"\nadapter = \"exec\"\ncommand = [\"sh\"]\n";
        std::fs::create_dir_all(place.path().join(FOLDER)).unwrap();
        std::fs::write(place.path().join(FOLDER).join("config.toml"), config).unwrap();
        let plan = InitPlan::of(place.path(), cases()[1].clone()).unwrap();
        assert_eq!((plan.has_new_config, plan.has_new_local), (false, false));
        assert_eq!((plan.files.config.as_str(), plan.files.local.as_str()), (config, ""));
        assert_eq!(plan.with_checks_at_end(&|_| true), None, "a person's text is never changed");
    }

    #[test]
    fn a_slow_check_of_a_new_file_runs_only_at_the_end() {
        let place = tempfile::tempdir().unwrap();
        let plan = InitPlan::of(place.path(), cases()[1].clone()).unwrap();
        assert_eq!(plan.with_checks_at_end(&|_| false), None);
        let slow = plan.with_checks_at_end(&|check| check.command == words("npm test")).unwrap();
        assert!(slow.files.config.contains("when = \"end\""), "{}", slow.files.config);
        assert_eq!(slow.files.local, plan.files.local);
    }
}
