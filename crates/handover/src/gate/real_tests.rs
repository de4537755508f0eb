//! The option parser against the real programs: every spelling of every option that writes or runs something is run in a
//! scratch folder, and what it did is compared with what the gate said.

#![expect(clippy::disallowed_methods, reason = "it starts real programs in a folder of its own")]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use wire::json::{Value, object};

use super::table::{self, KnownOption, OptionEffect, ProgramTable, ValueNeed};
use super::{Basics, Call, Decision, Gates, Rule};

const TEMPLATES: &str = include_str!("../../tests/gates/real.list");
/// Options that would wait for something, or go on after the program has ended.
const LEFT_OUT: &[&str] = &[
    "-b",
    "--background",
    "--daemon",
    "--help",
    "-h",
    "--version",
    "-V",
    "-w",
    "--interactive",
    "-i",
    "-e",
    "--manual",
];

fn gates() -> Gates {
    let rule = |text: &str| toml::from_str::<Rule>(text).unwrap();
    let basics = toml::from_str::<Basics>("default = \"allow\"").unwrap();
    Gates::new(basics, vec![rule("write = \"infra/**\"\ndecision = \"deny\"")]).unwrap()
}

/// A repository with two commits, of which the gate denies the folder `infra`.
struct RealFolder {
    folder: tempfile::TempDir,
}

fn run(folder: &Path, text: &str) {
    let mut bash = Command::new("timeout");
    bash.args(["-s", "KILL", "10", "/bin/bash", "-c", "--", text]).current_dir(folder).env_clear();
    bash.env("PATH", "/usr/local/bin:/usr/bin:/bin").env("HOME", folder).env("GIT_CONFIG_NOSYSTEM", "1");
    bash.env("LC_ALL", "C.UTF-8").env("GIT_TERMINAL_PROMPT", "0");
    bash.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    bash.status().unwrap();
}

impl RealFolder {
    /// A copy of a folder that was made once.
    fn copy_of(first: &Self) -> Self {
        let folder = tempfile::tempdir().unwrap();
        run(folder.path(), &format!("cp -a {}/. .", first.root().display()));
        Self { folder }
    }

    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let made = "mkdir -p infra/d; for f in in.txt infra/out infra/d/x; do echo a > $f; done; \
                    git init -q .; git config user.name x; git config user.email x@y; git add -A; git commit -qm one; \
                    echo b >> infra/out; echo b >> in.txt; git diff > infra.diff; git commit -qam two; \
                    diff -u in.txt infra/out > in.txt.diff; tar cf in.txt.tar in.txt; zip -q in.txt.zip in.txt; \
                    git checkout -q HEAD~1 -- in.txt infra; git commit -qm three; true";
        run(folder.path(), made);
        Self { folder }
    }

    fn root(&self) -> PathBuf {
        fs::canonicalize(self.folder.path()).unwrap()
    }

    /// Everything below the denied folder: what kind it is, what is in it and who may read it.
    fn state(&self) -> BTreeMap<PathBuf, String> {
        use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
        let (mut found, mut open) = (BTreeMap::new(), vec![self.root().join("infra")]);
        while let Some(path) = open.pop() {
            let Ok(kind) = fs::symlink_metadata(&path) else { continue };
            let text = if kind.is_dir() {
                open.extend(fs::read_dir(&path).into_iter().flatten().map(|entry| entry.unwrap().path()));
                String::new()
            } else {
                format!("{:?} {:?} {}", fs::read(&path).ok(), fs::read_link(&path).ok(), kind.mtime_nsec())
            };
            found.insert(path, format!("{:o} {text}", kind.permissions().mode()));
        }
        found
    }
}

/// Every way to write an option with its value.
fn spellings(table: &ProgramTable, option: KnownOption, value: &str) -> Vec<String> {
    let name = option.name;
    let mut found = Vec::new();
    if let Some(long) = name.strip_prefix("--") {
        found.push(format!("{name}={value}"));
        if option.takes == ValueNeed::Always {
            found.push(format!("{name} {value}"));
        }
        // The shortest abbreviation that the program takes is among these.
        for length in 1..long.len() {
            found.push(format!("{}={value}", &name[..2 + length]));
        }
    } else {
        found.push(format!("{name}{value}"));
        if option.takes == ValueNeed::Always {
            found.push(format!("{name} {value}"));
        }
        let letter = |flag: &&KnownOption| {
            flag.takes == ValueNeed::Never && flag.name.len() == 2 && !LEFT_OUT.contains(&flag.name)
        };
        for flag in table.options().iter().filter(letter) {
            found.push(format!("{}{} {value}", flag.name, &name[1..]));
        }
    }
    found
}

/// The options of a template that write or run something, in every spelling; and no option at all.
fn slots(table: &ProgramTable, root: &Path) -> Vec<String> {
    let mut found = vec![String::new()];
    let out = root.join("infra/out");
    let folder = root.join("infra/d");
    for option in table.options() {
        let value = match option.effect {
            OptionEffect::Write => out.display().to_string(),
            OptionEffect::Tree => folder.display().to_string(),
            OptionEffect::Run | OptionEffect::Asks => format!("'touch {}'", out.display()),
            OptionEffect::Folder | OptionEffect::Setting | OptionEffect::Nothing | OptionEffect::Doubt => continue,
        };
        found.extend(spellings(table, *option, &value));
    }
    // Flags in front of what writes anyway: none of them hides it.
    let flags = table.options().iter().filter(|option| option.takes == ValueNeed::Never);
    found.extend(flags.map(|flag| flag.name.to_owned()).filter(|name| !LEFT_OUT.contains(&name.as_str())));
    found
}

/// What was written though the gate allowed it. The number of rounds bounds how many spellings of each template are run;
/// `FUZZ_ROUNDS` sets it, and without a bound all of them are.
#[test]
fn real_programs_write_nothing_that_was_allowed() {
    let rounds = std::env::var("FUZZ_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(4);
    let (mut ran, mut wrote, mut wrong, mut missing) = (0, 0, String::new(), Vec::new());
    let (gates, first) = (gates(), RealFolder::new());
    for template in TEMPLATES.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        let mut words = template.split(' ');
        let program = words.next().unwrap();
        let name = if program == "git" { format!("git-{}", words.next().unwrap()) } else { program.to_owned() };
        let installed =
            ["/usr/bin", "/bin", "/usr/local/bin"].iter().any(|folder| Path::new(folder).join(program).exists());
        if !installed {
            missing.push(program);
            continue;
        }
        let table = table::find(&name).unwrap_or_else(|| panic!("{name} has no table"));
        let count = slots(table, Path::new("/")).len();
        let step = (count / rounds).max(1);
        for number in (0..count).step_by(step) {
            let scratch = RealFolder::copy_of(&first);
            let root = scratch.root();
            let slot = &slots(table, &root)[number];
            let text = template
                .replace("{}", slot)
                .replace("OUTDIR", "infra/d")
                .replace("OUT", "infra/out")
                .replace("IN", "in.txt")
                .replace("ROOT", &root.display().to_string());
            let input = object([("command", Value::Text(text.clone()))]);
            let verdict = gates.judge(&Call { tool: "Bash", input: &input, directory: &root });
            let before = scratch.state();
            run(&root, &text);
            let changed = scratch.state() != before;
            ran += 1;
            wrote += usize::from(changed);
            if changed && verdict.decision == Decision::Allow {
                let _: Result<(), _> = writeln!(wrong, "{text}");
            }
        }
    }
    missing.dedup();
    if !missing.is_empty() {
        // Said, so that a run without them is not taken for one with them.
        println!("not installed, so not tried: {}", missing.join(", "));
    }
    println!("{ran} commands were run, and {wrote} of them wrote below the denied folder");
    assert!(wrong.is_empty(), "allowed, and yet the denied folder changed:\n{wrong}");
    assert!(wrote * 4 > ran, "of {ran} commands only {wrote} wrote, so the comparison means little");
}
