//! A test machine: folders with a repository and installed programs, and a simulated person at a terminal.

use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use tempfile::TempDir;

/// The programs of the system that the tests need. The search path of the tests has no other programs of the system, so
/// that the tests do not find an agent client of the developer.
const SYSTEM: &[&str] = &["git", "sh", "env", "cat", "sleep", "true", "false", "touch", "rm", "mkdir", "sed", "grep"];
/// The control characters that erase the current line, so that the text after them replaces the line.
const REPLACED: &str = "\r\x1b[2K";

pub(crate) struct BeginScene {
    folder: TempDir,
}

/// The exit code of a command, and the text that it printed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BeginSaid {
    pub(crate) code: i32,
    pub(crate) text: String,
}

/// An act of the person. The person waits until the screen shows the words `after`, and then acts.
#[derive(Debug, Clone, Copy)]
pub(crate) enum PersonAct<'a> {
    /// The person types a text.
    Types { after: &'a str, text: &'a str },
    /// The person presses Ctrl-C.
    Interrupts { after: &'a str },
}

fn program(path: impl AsRef<Path>) -> Command {
    #[expect(clippy::disallowed_methods, reason = "a test starts our program and git")]
    Command::new(path.as_ref())
}

impl BeginScene {
    /// Makes a test machine with an empty project folder of this name.
    pub(crate) fn empty(name: &str) -> Self {
        let scene = Self { folder: TempDir::new().unwrap() };
        for folder in ["bin", "home/code", "system"] {
            fs::create_dir_all(scene.path(folder)).unwrap();
        }
        fs::write(scene.path("name"), name).unwrap();
        fs::create_dir(scene.project()).unwrap();
        let path = std::env::var_os("PATH").unwrap();
        for name in SYSTEM {
            let found =
                std::env::split_paths(&path).map(|folder| folder.join(name)).find(|path| path.is_file()).unwrap();
            std::os::unix::fs::symlink(found, scene.path("system").join(name)).unwrap();
        }
        scene
    }

    /// Makes a test machine with a repository of this name, which has these files in one commit.
    pub(crate) fn new(name: &str, files: &[(&str, &str)]) -> Self {
        let scene = Self::empty(name);
        scene.git(&["init", "--quiet", "--initial-branch=main"]);
        for (name, text) in files {
            scene.write(name, text);
        }
        scene.git(&["add", "--all"]);
        scene.git(&["commit", "--quiet", "--allow-empty", "-m", "start"]);
        scene
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.path("home/code").join(fs::read_to_string(self.path("name")).unwrap())
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.project().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        if text.starts_with("#!") {
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }
    }

    pub(crate) fn read(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.project().join(name)).ok()
    }

    /// Returns the files below `.handover`, sorted.
    pub(crate) fn own_files(&self) -> Vec<String> {
        fn list(folder: &Path, root: &Path, found: &mut Vec<String>) {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                let path = entry.path();
                if path.is_dir() {
                    list(&path, root, found);
                } else {
                    found.push(path.strip_prefix(root).unwrap().display().to_string());
                }
            }
        }
        let (root, mut found) = (self.project().join(".handover"), Vec::new());
        list(&root, &root, &mut found);
        found.sort();
        found
    }

    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        let mut git = program("git");
        git.current_dir(self.project()).args(["-c", "user.name=Ann", "-c", "user.email=ann@example.org"]);
        let output = git.env("GIT_CONFIG_GLOBAL", "/dev/null").args(arguments).output().unwrap();
        assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
    }

    /// Installs a program with this script.
    pub(crate) fn install(&self, name: &str, script: &str) {
        let path = self.path("bin").join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Returns the command that runs `handover` in a folder of the project, without the environment of the user who
    /// runs the tests.
    pub(crate) fn handover(&self, folder: &str, arguments: &[&str]) -> Command {
        let mut command = program(env!("CARGO_BIN_EXE_handover"));
        command.current_dir(self.project().join(folder)).args(arguments).env_clear();
        command.env("PATH", format!("{}:{}", self.path("bin").display(), self.path("system").display()));
        command.env("HOME", self.path("home")).env("GIT_CONFIG_NOSYSTEM", "1").stdin(Stdio::null());
        command
    }

    /// Runs a command without a terminal. The text is the standard output and then the standard error.
    pub(crate) fn script(&self, arguments: &[&str]) -> BeginSaid {
        let output = self.handover("", arguments).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let code = output.status.code().unwrap_or(-1);
        BeginSaid { code, text: format!("{}{}", text(&output.stdout), text(&output.stderr)) }
    }

    /// Runs a command at a terminal. Does each act of the person when the screen shows the words of the act.
    pub(crate) fn person(&self, folder: &str, arguments: &[&str], acts: &[PersonAct<'_>]) -> BeginSaid {
        let outer = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&outer).unwrap();
        unlockpt(&outer).unwrap();
        let name = ptsname(&outer, Vec::new()).unwrap();
        let flags = rustix::fs::OFlags::NOCTTY.bits().cast_signed();
        let mut options = fs::File::options();
        let inner = options.read(true).write(true).custom_flags(flags).open(name.to_str().unwrap()).unwrap();
        let mut command = self.handover(folder, arguments);
        command.stdin(inner.try_clone().unwrap()).stdout(inner.try_clone().unwrap()).stderr(inner);
        let child = command.spawn().unwrap();
        drop(command);
        watched(child, fs::File::from(outer), acts)
    }

    /// Runs a command at a terminal and answers its question.
    pub(crate) fn answers(&self, arguments: &[&str], answer: &str) -> BeginSaid {
        self.person("", arguments, &[PersonAct::Types { after: "/n] ", text: answer }])
    }

    /// Returns the text of a screen, with fixed texts in place of the parts that differ from run to run.
    pub(crate) fn redacted(&self, text: &str) -> String {
        let commit = self.git(&["rev-parse", "--short=7", "HEAD"]);
        let text = text.replace(&commit, "4f2c1aa").replace("one task at a time", "up to 3 tasks at once");
        text.lines().map(|line| format!("{}\n", timeless(line))).collect()
    }
}

/// Reads the terminal until the program ends, and acts when the words of the next act appear.
fn watched(mut child: Child, mut terminal: fs::File, acts: &[PersonAct<'_>]) -> BeginSaid {
    let (mut seen, mut acts, mut at) = (Vec::new(), acts.iter(), 0);
    let mut next = acts.next();
    let mut buffer = [0; 4096];
    // The read ends with an error when no program has the terminal open any more.
    while let Ok(count @ 1..) = terminal.read(&mut buffer) {
        seen.extend_from_slice(&buffer[..count]);
        while let Some(act) = next {
            let (PersonAct::Types { after, .. } | PersonAct::Interrupts { after }) = act;
            let text = String::from_utf8_lossy(&seen[at..]).into_owned();
            let Some(found) = text.find(after) else { break };
            at += found + after.len();
            match act {
                PersonAct::Types { text, .. } => terminal.write_all(text.as_bytes()).unwrap(),
                PersonAct::Interrupts { .. } => {
                    kill_process(Pid::from_raw(child.id().cast_signed()).unwrap(), Signal::INT).unwrap();
                }
            }
            next = acts.next();
        }
    }
    let code = child.wait().unwrap().code().unwrap_or(-1);
    let text = String::from_utf8_lossy(&seen).replace("\r\n", "\n");
    // If a line of the screen was replaced, keep only the last text of the line.
    let stays = |line: &str| line.rsplit(REPLACED).next().unwrap_or(line).to_owned();
    BeginSaid { code, text: text.lines().map(|line| stays(line) + "\n").collect() }
}

/// Replaces the duration in a line, such as `0.3 s`, by a fixed duration of the same width.
fn timeless(line: &str) -> String {
    let words: Vec<&str> = line.split(' ').collect();
    let is_time = |at: usize| words.get(at + 1) == Some(&"s") && words[at].parse::<f64>().is_ok();
    let Some(at) = (0..words.len()).find(|at| is_time(*at)) else { return line.to_owned() };
    let begin: usize = words[..at].iter().map(|word| word.len() + 1).sum();
    let end = begin + words[at].len() + 2;
    let start = line[..begin].trim_end();
    // On the screen, the column with the durations is six characters wide.
    let column = (end - 6).max(start.len() + 1);
    format!("{start}{} 6.2 s{}", " ".repeat(column - start.len()), &line[end..])
}
