//! Types the commands of a documentation page in new projects, as a person does, and compares the screen with the page.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::compare::difference;
use crate::page::{PageBlock, PageCommand, blocks};
use crate::terminal::run_typed;

/// The programs of agents' clients. The test hides the clients that are installed on this machine, so that the output
/// of commands is the same on every machine.
const CLIENTS: &[&str] = &["claude", "codex", "opencode", "gemini", "copilot", "goose", "qwen"];

/// An example project in the new home folder of a simulated person.
struct PageProject {
    home: TempDir,
    name: String,
}

/// One command that the test typed: its output, and the numbers of its questions and new files.
#[derive(Debug)]
pub(crate) struct PlayedCommand {
    pub(crate) typed: String,
    pub(crate) lines: Vec<String>,
    pub(crate) questions: usize,
    /// The files that the command made in the project, except the files of git and of the store.
    pub(crate) new_files: Vec<String>,
}

/// Types the commands of a documentation page that belong to one example project. Panics at the first command whose
/// output differs from the page. With `UPDATE=1` in the environment, writes the real output into the page instead.
pub(crate) fn play(page: &str, project: &str) -> Vec<PlayedCommand> {
    let text = fs::read_to_string(root().join(page)).unwrap();
    let mut renewed = RenewedPage { lines: text.lines().map(str::to_owned).collect(), shift: 0 };
    let place = PageProject::new(project);
    let mut played = Vec::new();
    for block in blocks(&text) {
        match block {
            PageBlock::File { path, text } => {
                let (owner, path) = path.split_once('/').unwrap();
                if owner == project {
                    place.write(&place.folder().join(path), &text);
                }
            }
            PageBlock::Played { project: owner, commands } if owner == project => {
                for command in &commands {
                    let done = place.type_command(command);
                    match difference(&command.shown, &done.lines) {
                        None => {}
                        Some(_) if std::env::var_os("UPDATE").is_some() => renewed.replace(command, &done.lines),
                        Some(found) => panic!("{page}:{}: {}\n{found}", command.line, command.typed),
                    }
                    played.push(done);
                }
            }
            PageBlock::Played { .. } | PageBlock::Skipped { .. } => {}
        }
    }
    let renewed = format!("{}\n", renewed.lines.join("\n"));
    if renewed != text {
        fs::write(root().join(page), renewed).unwrap();
    }
    played
}

/// The lines of a documentation page. An update replaces the old output of commands in these lines by their new output.
struct RenewedPage {
    lines: Vec<String>,
    /// The number of lines by which the updates so far have made the page longer (negative when it became shorter).
    shift: isize,
}

impl RenewedPage {
    fn replace(&mut self, command: &PageCommand, seen: &[String]) {
        let start = command.line.checked_add_signed(self.shift).unwrap();
        let indent = " ".repeat(self.lines[start - 1].find('$').unwrap());
        let mut new: Vec<String> = seen.to_vec();
        while new.last().is_some_and(String::is_empty) {
            new.pop();
        }
        // Keep the empty line that separates the output from the next command on the page.
        if command.shown.last().is_some_and(String::is_empty) {
            new.push(String::new());
        }
        let new: Vec<String> = new.iter().map(|line| format!("{indent}{line}").trim_end().to_owned()).collect();
        self.shift += new.len().cast_signed() - command.shown.len().cast_signed();
        self.lines.splice(start..start + command.shown.len(), new);
    }
}

/// Returns the root of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

impl PageProject {
    /// Makes the example project from its file in the folder `projects`, as a repository with one commit.
    fn new(name: &str) -> Self {
        let project = Self { home: TempDir::new().unwrap(), name: name.to_owned() };
        fs::create_dir_all(project.folder()).unwrap();
        fs::create_dir_all(project.programs()).unwrap();
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_handover"), project.programs().join("handover")).unwrap();
        let file = root().join(format!("crates/handover/tests/pages/projects/{name}.txt"));
        let text = fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        for section in text.split("==> ").skip(1) {
            let (path, text) = section.split_once('\n').unwrap();
            // A file with a path below `PATH/` is an installed program of the person. It is not put into the project.
            let place = path.strip_prefix("PATH/").map(|program| project.programs().join(program));
            project.write(&place.unwrap_or_else(|| project.folder().join(path)), text);
        }
        let start = "git init --quiet --initial-branch=main && git config user.name Ann && \
                     git config user.email ann@example.org && git add --all && git commit --quiet --message start";
        let begun = run_typed(project.command(start), &[]);
        assert_eq!(begun.code, Some(0), "{begun:?}");
        project
    }

    fn home(&self) -> PathBuf {
        self.home.path().canonicalize().unwrap()
    }

    fn folder(&self) -> PathBuf {
        self.home().join("code").join(&self.name)
    }

    fn programs(&self) -> PathBuf {
        self.home().join("bin")
    }

    /// Writes a file. Makes the file executable when its text begins with `#!`.
    fn write(&self, path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        let mode = if text.starts_with("#!") { 0o755 } else { 0o644 };
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    /// Returns the command that runs this shell line in the project, at a terminal with 80 columns.
    fn command(&self, line: &str) -> Command {
        #[expect(clippy::disallowed_methods, reason = "a test types the commands of pages")]
        let mut command = Command::new("setsid");
        command.args(["--ctty", "--wait", "sh", "-c", &format!("stty cols 80 rows 24; {line}")]);
        command.current_dir(self.folder()).env_clear().env("HOME", self.home()).env("PATH", self.search_path());
        command.env("TERM", "xterm").env("LANG", "C.UTF-8").env("PAGER", "cat");
        // Test the project `count` without colours. Then `handover` cannot erase lines of its output.
        if self.name == "count" {
            command.env("NO_COLOR", "1");
        }
        // The tools of Rust are in the developer's home folder, but the tested commands get another home folder.
        let home = std::env::var("HOME").unwrap_or_default();
        for (name, folder) in [("RUSTUP_HOME", ".rustup"), ("CARGO_HOME", ".cargo")] {
            command.env(name, std::env::var_os(name).unwrap_or_else(|| Path::new(&home).join(folder).into()));
        }
        // All tests share one cache of compiled packages. Otherwise go would compile its standard library again in each
        // test.
        command.env("XDG_CACHE_HOME", Path::new(env!("CARGO_TARGET_TMPDIR")).join("ecosystem-cache"));
        command
    }

    fn search_path(&self) -> String {
        let path = std::env::var("PATH").unwrap_or_default();
        let has = |folder: &str, name: &&str| Path::new(folder).join(name).exists();
        let is_plain = |folder: &&str| has(folder, &"sh") || !CLIENTS.iter().any(|client| has(folder, client));
        let folders: Vec<&str> = path.split(':').filter(is_plain).collect();
        format!("{}:{}", self.programs().display(), folders.join(":"))
    }

    fn type_command(&self, command: &PageCommand) -> PlayedCommand {
        let before = self.files();
        let answers = command.answers();
        let screen = run_typed(self.command(&command.typed), &answers);
        // The documentation shows `~` in place of the path of the person's home folder.
        let home = self.home().display().to_string();
        let lines = screen.lines.iter().map(|line| line.replace(&home, "~")).collect();
        let new_files = self.files().into_iter().filter(|file| !before.contains(file)).collect();
        PlayedCommand { typed: command.typed.clone(), lines, questions: answers.len(), new_files }
    }

    fn files(&self) -> Vec<String> {
        let (root, mut found) = (self.folder(), Vec::new());
        let mut folders = vec![root.clone()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap().flatten() {
                let (path, kind) = (entry.path(), entry.file_type().unwrap());
                let name = path.strip_prefix(&root).unwrap().display().to_string();
                match kind.is_dir() {
                    true if [".git", ".handover/state"].contains(&name.as_str()) => {}
                    true => folders.push(path),
                    false => found.push(name),
                }
            }
        }
        found
    }
}
