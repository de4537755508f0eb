//! Loads the agents that the settings name, with their cards (descriptions), skills (texts for the prompt) and
//! programs. Reports a missing card or program before any task is claimed.

use std::path::{Path, PathBuf};

use wire::prompt::{PromptAgent, Skill};

use crate::project::detect::clients::is_program;
use crate::project::files;
use crate::project::place::FOLDER;
use crate::project::settings::TeamSettings as Settings;
use crate::project::settings::team::AgentSettings;
use crate::project::trust;

/// The maximum size of a skill file (a text for agents' prompts) in bytes; a larger file is an error.
const SKILL_BYTES_MAX: u64 = 1 << 20;

/// An agent that the settings name, with the card (description) and the program that were found for it.
#[derive(Debug, Clone)]
pub struct TeamMember {
    pub settings: AgentSettings,
    pub who: PromptAgent,
    /// The skills (texts for the prompt) that only this agent has, from `skills/<slug>/`.
    pub skills: Vec<Skill>,
    /// The path at which the program was found.
    pub program: PathBuf,
}

/// All agents that the settings name, and the skills (texts for the prompt) that they share, from `skills/`.
#[derive(Debug, Clone)]
pub struct Team {
    pub members: Vec<TeamMember>,
    pub shared_skills: Vec<Skill>,
    /// A text for each agent that was left out, because its program is not installed on this machine.
    pub notices: Vec<String>,
}

/// The reasons why no agent can work.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotReady {
    #[error("No agent here. Install Claude Code, Codex, … or: handover agent add NAME -- PROGRAM")]
    NoAgent,
    /// The problems with the agents' cards, skills and programs. Each text describes one problem.
    #[error("{}", .0.join("\n"))]
    Problems(Vec<String>),
}

/// The description of an agent that has neither a card nor a `persona`.
const BUILT_IN_PERSONA: &str = include_str!("team/persona.md");

/// Returns the identity of one agent for its prompt: its card (description file), its persona (description in the
/// settings), or the built-in description. Returns `None` when its card is invalid.
pub fn identity(root: &Path, agent: &AgentSettings) -> Option<PromptAgent> {
    who(&files::cards(root).ok()?, agent).ok()
}

impl TeamMember {
    /// Returns a copy of the agent that has only this role, with the role appended to its slug (short name).
    pub fn in_role(&self, role: &str) -> Self {
        let mut other = self.clone();
        other.settings.slug = format!("{}-{role}", self.settings.slug);
        other.settings.roles = vec![role.to_owned()];
        other
    }

    /// Returns the command that starts the agent: the program that was found, and the first arguments from the
    /// settings. Scripts of the repository are taken from the main worktree, where a person accepted them. The agent's
    /// own worktree may have other versions of them.
    pub fn command(&self) -> Vec<String> {
        let program = self.program.display().to_string();
        std::iter::once(program).chain(self.settings.command.iter().skip(1).cloned()).collect()
    }
}

impl Team {
    /// Loads the agents that the settings name. `path` is the value of `PATH`, with the folders in which programs are
    /// looked up.
    pub fn gather(root: &Path, settings: &Settings, path: Option<&std::ffi::OsStr>) -> Result<Self, NotReady> {
        let (mut problems, mut notices) = (Vec::new(), Vec::new());
        let unreadable = |error| NotReady::Problems(vec![format!("read the cards: {error}")]);
        let cards = files::cards(root).map_err(unreadable)?;
        let shared_skills = skills(&root.join(FOLDER).join("skills"), &mut problems);
        let mut members = Vec::new();
        for agent in &settings.agents {
            let slug = &agent.slug;
            let own = root.join(FOLDER).join("skills").join(slug);
            let program = find_agent_program(root, &agent.command[0], path);
            let who = who(&cards, agent);
            if let Err(problem) = &who {
                problems.push(problem.clone());
            }
            if program.is_none() {
                notices.push(format!(
                    "agent {slug}: there is no program `{}`; install it, or correct `command` in \
                     .handover/config.toml or .handover/local.toml",
                    agent.command[0]
                ));
            }
            if let (Ok(who), Some(program)) = (who, program) {
                let skills = skills(&own, &mut problems);
                let settings = trust::from_main_worktree(root, agent);
                members.push(TeamMember { settings, who, skills, program });
            }
        }
        if settings.agents.is_empty() {
            return Err(NotReady::NoAgent);
        }
        // A missing program is an error only when no agent is left. Team members share the settings, and not every
        // machine has all programs.
        if members.is_empty() {
            problems.append(&mut notices);
        }
        if problems.is_empty() {
            Ok(Self { members, shared_skills, notices })
        } else {
            Err(NotReady::Problems(problems))
        }
    }

    pub fn member(&self, slug: &str) -> Option<&TeamMember> {
        self.members.iter().find(|member| member.settings.slug == slug)
    }
}

/// Returns the identity of an agent for its prompt: from its card (description file), else from its persona
/// (description in the settings), else the built-in description. An invalid card is an error, even when there is a
/// persona.
fn who(cards: &[files::JudgedCard], agent: &AgentSettings) -> Result<PromptAgent, String> {
    let slug = &agent.slug;
    let stem = |judged: &&files::JudgedCard| judged.path.file_stem().is_some_and(|stem| stem == slug.as_str());
    match cards.iter().find(stem) {
        Some(judged) => match &judged.card {
            Some(card) if card.identity.slug.as_str() == slug => Ok(PromptAgent::Card(Box::new(card.clone()))),
            Some(card) => Err(format!(
                "agent {slug}: the card of this agent has another slug, {}; make them equal",
                card.identity.slug
            )),
            None => Err(format!(
                "agent {slug}: .handover/cards/{slug}.json has {} errors; `handover check card \
                .handover/cards/{slug}.json` shows them",
                judged.errors
            )),
        },
        None => {
            let written = agent.persona.as_deref().filter(|persona| !persona.trim().is_empty());
            Ok(PromptAgent::Persona(written.unwrap_or(BUILT_IN_PERSONA).to_owned()))
        }
    }
}

/// Returns the skills (texts for agents' prompts) in a folder, sorted by name. Adds a text to `problems` for each file
/// that cannot be read.
fn skills(folder: &Path, problems: &mut Vec<String>) -> Vec<Skill> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut found = Vec::new();
    for path in
        entries.flatten().map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|end| end == "md"))
    {
        let Some(name) = path.file_stem().and_then(|stem| stem.to_str()).map(str::to_owned) else { continue };
        let read = match std::fs::metadata(&path) {
            Ok(size) if size.len() > SKILL_BYTES_MAX => Err(format!("is larger than {SKILL_BYTES_MAX} bytes")),
            Ok(_) => std::fs::read_to_string(&path).map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        };
        match read {
            Ok(markdown) => found.push(Skill { name, markdown }),
            Err(problem) => problems.push(format!("{}: {problem}", path.display())),
        }
    }
    found.sort_by(|left, right| left.name.cmp(&right.name));
    found
}

/// Finds the program of an agent. A name with `/` is a path from the root of the project; another name is looked up in
/// the folders of `path`, the value of `PATH`. Relative folders are skipped, because a repository could bring a program
/// there.
pub fn find_agent_program(root: &Path, program: &str, path: Option<&std::ffi::OsStr>) -> Option<PathBuf> {
    if program.contains('/') {
        return Some(root.join(program)).filter(|path| is_program(path));
    }
    let folders = std::env::split_paths(path?).filter(|folder| folder.is_absolute());
    folders.map(|folder| folder.join(program)).find(|path| is_program(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(text: &str) -> Settings {
        let folder = tempfile::tempdir().ok();
        let root = folder.as_ref().map(tempfile::TempDir::path);
        if let Some(root) = root {
            let _made = std::fs::create_dir_all(root.join(FOLDER));
            let _written = std::fs::write(root.join(FOLDER).join("config.toml"), text);
        }
        crate::project::settings::read(root).map(|settings| settings.team).unwrap_or_default()
    }

    #[test]
    fn everything_that_is_missing_is_told_at_once() -> std::io::Result<()> {
        let root = tempfile::tempdir()?;
        files::init_examples(root.path())?;
        std::fs::write(root.path().join(".handover/cards/broken.json"), "{}")?;
        let all = settings(
            "[[agent]]\nslug = \"builder\"\nadapter = \"exec\"\ncommand = [\"sh\"]\n\
             [[agent]]\nslug = \"broken\"\nadapter = \"exec\"\ncommand = [\"sh\"]\n\
             [[agent]]\nslug = \"reviewer\"\nadapter = \"exec\"\ncommand = [\"no-such-program\"]\n\
             [[agent]]\nslug = \"old\"\nadapter = \"exec\"\ncommand = [\"./tool\"]\npersona = \"You work.\"\n",
        );
        let path = Some(std::ffi::OsStr::new("/usr/bin:/bin"));
        let Err(NotReady::Problems(problems)) = Team::gather(root.path(), &all, path) else { panic!("a broken card") };
        let words = ["broken: .handover/cards/broken.json has"];
        assert_eq!(problems.len(), words.len(), "{problems:?}");
        for word in words {
            assert!(problems.iter().any(|problem| problem.contains(word)), "{word}: {problems:?}");
        }
        let one = settings("[[agent]]\nslug = \"builder\"\nadapter = \"exec\"\ncommand = [\"sh\"]\n");
        let team = Team::gather(root.path(), &one, path).map_err(std::io::Error::other)?;
        assert!(team.member("builder").is_some_and(|member| matches!(member.who, PromptAgent::Card(_))));
        let names: Vec<&str> = team.shared_skills.iter().map(|skill| skill.name.as_str()).collect();
        assert_eq!(names, ["inbox-protocol", "platform-env"]);
        Ok(())
    }

    const MISSING: &str = "[[agent]]\nslug = \"reviewer\"\nadapter = \"exec\"\ncommand = [\"no-such-program\"]\n\
                           [[agent]]\nslug = \"old\"\nadapter = \"exec\"\ncommand = [\"./tool\"]\n";

    #[test]
    fn an_agent_without_program_is_skipped_with_a_notice_while_another_remains() {
        let root = tempfile::tempdir().unwrap();
        let path = Some(std::ffi::OsStr::new("/usr/bin:/bin"));
        let two = settings(&format!("{MISSING}[[agent]]\nslug = \"nobody\"\nadapter = \"exec\"\ncommand = [\"sh\"]\n"));
        let team = Team::gather(root.path(), &two, path).unwrap();
        let members: Vec<&str> = team.members.iter().map(|member| member.settings.slug.as_str()).collect();
        assert_eq!(members, ["nobody"]);
        let told = |program: &str| team.notices.iter().any(|notice| notice.contains(program));
        assert!(team.notices.len() == 2 && told("reviewer: there is no program `no-such-program`") && told("`./tool`"));
        let PromptAgent::Persona(persona) = &team.members[0].who else { panic!("no card") };
        assert_eq!(persona, BUILT_IN_PERSONA, "an agent without card and persona has the built-in description");
    }

    #[test]
    fn a_team_without_agents_is_not_ready() {
        let root = tempfile::tempdir().unwrap();
        let path = Some(std::ffi::OsStr::new("/usr/bin:/bin"));
        let Err(NotReady::Problems(problems)) = Team::gather(root.path(), &settings(MISSING), path) else { panic!() };
        assert_eq!(problems.len(), 2, "{problems:?}");
        let none = Team::gather(root.path(), &Settings::default(), path).err().map(|problem| problem.to_string());
        let line = "No agent here. Install Claude Code, Codex, … or: handover agent add NAME -- PROGRAM";
        assert_eq!(none.as_deref(), Some(line));
    }
}
