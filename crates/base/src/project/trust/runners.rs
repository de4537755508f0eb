//! Programs that run the content of a repository file although the command does not name the file: `make test`,
//! `npm test`, `just check`.
//!
//! The table `RUNNERS` has a row per program: the files that the program reads by convention, and its options for
//! another folder or file. In a manifest such as `package.json` only the part that lists commands counts, because the
//! other parts (dependencies) change often and for good reasons.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// The maximum number of makefiles that are examined for one command, including the makefiles that they include.
/// Further makefiles are not compared with the content that a person accepted.
const INCLUDES_MAX: usize = 64;

/// One program that runs files of the repository by convention, or several programs that read the same files.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct CheckRunner {
    programs: &'static [&'static str],
    /// The files that the programs read, as paths relative to the folder in which the program runs.
    files: &'static [&'static str],
    /// Options whose value is the folder in which the program runs.
    pub(super) folder_options: &'static [&'static str],
    /// Options whose value is a file that the program reads instead of `files`.
    pub(super) file_options: &'static [&'static str],
}

const RUNNERS: &[CheckRunner] = &[
    CheckRunner {
        programs: &["make", "gmake"],
        files: MAKEFILES,
        folder_options: &["-C", "--directory"],
        file_options: &["-f", "--file", "--makefile"],
    },
    CheckRunner {
        programs: &["npm", "pnpm"],
        files: &["package.json", ".npmrc"],
        folder_options: &["--prefix", "-C", "--dir"],
        file_options: &[],
    },
    CheckRunner {
        programs: &["yarn"],
        files: &["package.json", ".npmrc", ".yarnrc", ".yarnrc.yml"],
        folder_options: &["--cwd"],
        file_options: &[],
    },
    CheckRunner {
        programs: &["bun"],
        files: &["package.json", "bunfig.toml"],
        folder_options: &["--cwd"],
        file_options: &["-c", "--config"],
    },
    CheckRunner {
        programs: &["deno"],
        files: &["deno.json", "deno.jsonc", "package.json"],
        folder_options: &["--cwd"],
        file_options: &["-c", "--config"],
    },
    CheckRunner {
        programs: &["just"],
        files: &["justfile", "Justfile", ".justfile"],
        folder_options: &["-d", "--working-directory"],
        file_options: &["-f", "--justfile"],
    },
    CheckRunner {
        programs: &["task", "go-task"],
        files: &[
            "Taskfile.yml",
            "taskfile.yml",
            "Taskfile.yaml",
            "taskfile.yaml",
            "Taskfile.dist.yml",
            "taskfile.dist.yml",
            "Taskfile.dist.yaml",
            "taskfile.dist.yaml",
        ],
        folder_options: &["-d", "--dir"],
        file_options: &["-t", "--taskfile"],
    },
    CheckRunner { programs: &["tox"], files: &["tox.ini"], folder_options: &[], file_options: &["-c", "--conf"] },
    CheckRunner { programs: &["nox"], files: &["noxfile.py"], folder_options: &[], file_options: &["-f", "--noxfile"] },
    CheckRunner {
        programs: &["rake"],
        files: &["rakefile", "Rakefile", "rakefile.rb", "Rakefile.rb"],
        folder_options: &[],
        file_options: &["-f", "--rakefile"],
    },
    CheckRunner {
        programs: &["composer"],
        files: &["composer.json"],
        folder_options: &["-d", "--working-dir"],
        file_options: &[],
    },
    // An alias, a runner or a wrapper in these files decides which program `cargo test` starts.
    CheckRunner {
        programs: &["cargo", "cargo-nextest"],
        files: &[".cargo/config.toml", ".cargo/config", ".config/nextest.toml"],
        folder_options: &["-C"],
        file_options: &["--config", "--config-file"],
    },
];
const MAKEFILES: &[&str] = &["GNUmakefile", "makefile", "Makefile"];

/// The manifest files, each with the name of its part that lists commands to run.
const PARTS: &[(&str, &str)] = &[("package.json", "scripts"), ("composer.json", "scripts"), ("deno.json", "tasks")];

/// One call of a program that reads files by convention (such as `make`) within a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RunnerCall {
    pub(super) runner: &'static CheckRunner,
    /// The folder in which the program runs (`sub` in `make -C sub`), relative to the folder in which the command runs.
    pub(super) folder: PathBuf,
}

/// Returns the row of the `RUNNERS` table for a program such as `make`, or `None` when the table has no row for it.
pub(super) fn find(program: &str) -> Option<&'static CheckRunner> {
    RUNNERS.iter().find(|runner| runner.programs.contains(&program))
}

impl RunnerCall {
    /// Returns the files that the program reads by convention, relative to the folder in which the command runs.
    /// Includes files that do not exist, because the task of an agent can create them later.
    pub(super) fn files(&self, runs_in: &Path) -> Vec<PathBuf> {
        let mut found: Vec<PathBuf> = self.runner.files.iter().map(|name| self.folder.join(name)).collect();
        if self.runner.files == MAKEFILES {
            let mut next = 0;
            while let Some(file) = found.get(next).cloned() {
                next += 1;
                for included in includes(&runs_in.join(&file)) {
                    let included = self.folder.join(included);
                    if found.len() < INCLUDES_MAX && !found.contains(&included) {
                        found.push(included);
                    }
                }
            }
        }
        found
    }
}

/// Returns the files that a makefile includes by a plain name, such as `include rules.mk`. Leaves out names that
/// contain variables or wildcards.
fn includes(makefile: &Path) -> Vec<PathBuf> {
    let text = super::script::whole(makefile).unwrap_or_default();
    let names = text.lines().filter_map(|line| {
        let (word, rest) = line.trim_start().split_once(char::is_whitespace)?;
        ["include", "-include", "sinclude"].contains(&word).then_some(rest)
    });
    let names = names.flat_map(|rest| rest.split('#').next().unwrap_or_default().split_whitespace());
    names.filter(|name| !name.contains(['$', '*', '?', '['])).map(PathBuf::from).collect()
}

/// Returns the part of a manifest (such as `package.json`) that lists commands to run, as JSON text. Returns `None` for
/// a file that is not a manifest or not valid JSON; such a file is compared as a whole.
pub(super) fn part(path: &Path, content: &[u8]) -> Option<String> {
    let name = path.file_name()?.to_str()?;
    let (_, part) = PARTS.iter().find(|(manifest, _)| *manifest == name)?;
    let manifest: Value = serde_json::from_slice(content).ok()?;
    let empty = Value::Object(serde_json::Map::new());
    let found = manifest.as_object()?.get(*part).unwrap_or(&empty);
    let Some(entries) = found.as_object() else { return serde_json::to_string_pretty(found).ok() };
    // Sort the commands that the manifest lists, because their order has no meaning.
    let sorted: BTreeMap<&String, &Value> = entries.iter().collect();
    serde_json::to_string_pretty(&BTreeMap::from([(*part, sorted)])).ok().map(|text| text + "\n")
}

/// Returns true when the file is a manifest (such as `package.json`). Of a manifest only the part that lists commands
/// to run is compared.
pub(super) fn is_manifest(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| PARTS.iter().any(|(manifest, _)| *manifest == name))
}
