//! Compares the gate's option parser with the real programs. Every spelling of every option that writes or runs
//! something is run in a scratch folder, and the files that change are compared with the decision of the gate.

#![expect(clippy::disallowed_methods, reason = "it starts real programs in a folder of its own")]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use wire::json::{Value, object};

use super::{Basics, GateCall, GateDecision, GateRule, Gates};
use crate::programs::table::{self, KnownOption, OptionEffect, ProgramTable, ValueNeed};

const TEMPLATES: &str = include_str!("../tests/gates/real.list");
/// Options that are not tried, because the program would wait for something or leave a process running.
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
    let rule = |text: &str| toml::from_str::<GateRule>(text).unwrap();
    let basics = toml::from_str::<Basics>("default = \"allow\"").unwrap();
    Gates::new(basics, vec![rule("write = \"infra/**\"\ndecision = \"deny\"")]).unwrap()
}

/// A repository with several commits, in which the gate denies writes below the folder `infra`.
struct RealFolder {
    folder: tempfile::TempDir,
}

fn run(folder: &Path, text: &str) {
    let mut bash = Command::new("timeout");
    bash.args(["-s", "KILL", "10", "/bin/bash", "-c", "--", text]).current_dir(folder).env_clear();
    bash.env("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin")
        .env("HOME", folder)
        .env("GIT_CONFIG_NOSYSTEM", "1");
    bash.env("LC_ALL", "C.UTF-8").env("GIT_TERMINAL_PROMPT", "0");
    bash.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    bash.status().unwrap();
}

impl RealFolder {
    /// Copies the prepared folder `first`, so that each program starts from the same files. Only a copy for git has the
    /// git history.
    fn copy_of(first: &Self, program: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let from = first.root().display().to_string();
        let files = if program == "git" { format!("{from}/.") } else { format!("{from}/in* .; mkdir .git; :") };
        run(folder.path(), &format!("cp -a {files} ."));
        Self { folder }
    }

    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let made = "mkdir -p infra/d infra/w; for f in in.txt infra/out infra/d/x; do echo a > $f; done; \
                    printf 'all:\\n\\ttouch new\\n' > infra/w/Makefile; \
                    echo '{\"name\":\"w\",\"scripts\":{\"build\":\"touch new\"}}' > infra/w/package.json; \
                    printf 'rule r\\n command = touch new\\nbuild new: r\\n' > infra/w/build.ninja; \
                    git init -q .; git config user.name x; git config user.email x@y; git add -A; git commit -qm one; \
                    echo b >> infra/out; echo b >> in.txt; git diff > infra.diff; git commit -qam two; \
                    diff -u in.txt infra/out > in.txt.diff; tar cf in.txt.tar in.txt; zip -q in.txt.zip in.txt; \
                    git checkout -q HEAD~1 -- in.txt infra; git commit -qm three; \
                    git checkout -qb other; echo c > infra/out; git commit -qam four; git checkout -q -; \
                    echo d > infra/d/x; git stash -q; echo e > infra/d/new; true";
        run(folder.path(), made);
        Self { folder }
    }

    fn root(&self) -> PathBuf {
        fs::canonicalize(self.folder.path()).unwrap()
    }

    /// Returns everything below the denied folder `infra`, with its kind, content and permissions.
    fn state(&self) -> BTreeMap<PathBuf, String> {
        use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
        let (mut found, mut open) = (BTreeMap::new(), vec![self.root().join("infra")]);
        while let Some(path) = open.pop() {
            let Ok(kind) = fs::symlink_metadata(&path) else { continue };
            let text = if kind.is_dir() {
                open.extend(fs::read_dir(&path).into_iter().flatten().map(|entry| entry.unwrap().path()));
                String::new()
            } else if !kind.is_file() && !kind.is_symlink() {
                // A named pipe is not read, because the read would wait for a writer.
                "neither a file nor a folder".to_owned()
            } else {
                format!("{:?} {:?} {}", fs::read(&path).ok(), fs::read_link(&path).ok(), kind.mtime_nsec())
            };
            found.insert(path, format!("{:o} {text}", kind.permissions().mode()));
        }
        found
    }
}

/// Returns every spelling of an option with its value, such as `-o file`, `-ofile` and `--output=file`.
fn spellings(table: &ProgramTable, option: KnownOption, value: &str) -> Vec<String> {
    let name = option.name;
    let mut found = Vec::new();
    if let Some(long) = name.strip_prefix("--") {
        found.push(format!("{name}={value}"));
        if option.takes == ValueNeed::Always {
            found.push(format!("{name} {value}"));
        }
        // All abbreviations are tried, because the test does not know the shortest one that the program accepts.
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

/// Returns the texts to put into a command template: each option of the program's option table that writes or runs
/// something, in every spelling, and an empty text for no option.
fn slots(table: &ProgramTable, root: &Path) -> Vec<String> {
    let mut found = vec![String::new()];
    let out = root.join("infra/out");
    let folder = root.join("infra/d");
    for option in table.options() {
        let value = match option.effect {
            OptionEffect::Write => out.display().to_string(),
            OptionEffect::Tree => folder.display().to_string(),
            OptionEffect::Run | OptionEffect::Asks => format!("'touch {}'", out.display()),
            OptionEffect::Folder
            | OptionEffect::Place
            | OptionEffect::Setting
            | OptionEffect::Nothing
            | OptionEffect::Doubt => continue,
        };
        found.extend(spellings(table, *option, &value));
    }
    // Each flag without a value is tried, too. If a template writes a file, the gate must find the write with every
    // flag.
    let flags = table.options().iter().filter(|option| option.takes == ValueNeed::Never);
    found.extend(flags.map(|flag| flag.name.to_owned()).filter(|name| !LEFT_OUT.contains(&name.as_str())));
    found
}

/// Returns the command templates of the list `real.list`, and the programs that the list marks as `untried`.
fn rows() -> (Vec<&'static str>, Vec<&'static str>) {
    let lines = TEMPLATES.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    let (untried, rows): (Vec<&str>, Vec<&str>) = lines.partition(|line| line.starts_with("untried "));
    let name = |line: &&'static str| line.strip_prefix("untried ").and_then(|rest| rest.split(':').next());
    (rows, untried.iter().filter_map(name).collect())
}

/// Returns the name of the option table that a command template is about: `git-diff` for `git diff --output OUT`.
fn subject(row: &str) -> String {
    let mut words = row.split(' ').filter(|word| !word.starts_with('-') && *word != "infra");
    match (words.next(), words.next()) {
        (Some("git"), Some(command)) => format!("git-{command}"),
        (program, _) => program.unwrap_or_default().to_owned(),
    }
}

/// Checks that every program whose option table has options that write or run something has a command template in
/// `real.list`, or is listed there as `untried` with the reason.
#[test]
fn every_table_with_outputs_has_rows() {
    let (rows, untried) = rows();
    let outputs =
        |option: &&KnownOption| matches!(option.effect, OptionEffect::Write | OptionEffect::Tree | OptionEffect::Run);
    let mut missing = Vec::new();
    for (names, _) in table::all().iter().filter(|(_, table)| table.options().iter().any(|one| outputs(&one))) {
        let tried = rows.iter().any(|row| names.contains(&subject(row).as_str()));
        if !tried && !names.iter().any(|name| untried.contains(name)) {
            missing.push(names.join(" "));
        }
    }
    assert!(missing.is_empty(), "tests/gates/real.list has no row for: {}", missing.join("; "));
    let is_unknown = |name: &&str| table::find(name).is_none();
    assert_eq!(untried.iter().find(|name| is_unknown(name)), None, "a program without a table is said not to be tried");
    assert!(rows.len() > 200, "{}", rows.len());
}

/// The counts and the problems that were found by running some command templates.
#[derive(Default)]
struct Tally {
    ran: usize,
    wrote: usize,
    wrong: String,
    missing: Vec<&'static str>,
}

const THREADS: usize = 4;

fn try_rows(rows: &[&'static str], rounds: usize, gates: &Gates, first: &RealFolder) -> Tally {
    let mut tally = Tally::default();
    for &template in rows {
        let program = template.split(' ').next().unwrap_or_default();
        let installed = ["/usr/bin", "/bin", "/usr/local/bin", "/usr/sbin", "/sbin"]
            .iter()
            .any(|folder| Path::new(folder).join(program).exists());
        if !installed {
            tally.missing.push(program);
            continue;
        }
        let table = table::find(&subject(template)).filter(|_| template.contains("{}"));
        let slots = |root: &Path| table.map_or_else(|| vec![String::new()], |table| slots(table, root));
        let count = slots(Path::new("/")).len();
        let step = (count / rounds).max(1);
        for number in (0..count).step_by(step) {
            let scratch = RealFolder::copy_of(first, program);
            let root = scratch.root();
            let slot = &slots(&root)[number];
            let text = template
                .replace("{}", slot)
                .replace("OUTDIR", "infra/d")
                .replace("OUT", "infra/out")
                .replace("IN", "in.txt")
                .replace("ROOT", &root.display().to_string());
            let input = object([("command", Value::Text(text.clone()))]);
            let verdict = gates.judge(&GateCall { tool: "Bash", input: &input, directory: &root });
            let before = scratch.state();
            run(&root, &text);
            let changed = scratch.state() != before;
            tally.ran += 1;
            tally.wrote += usize::from(changed);
            if changed && verdict.decision == GateDecision::Allow {
                let _: Result<(), _> = writeln!(tally.wrong, "{text}");
            }
        }
    }
    tally
}

/// Fails if a program changed the denied folder although the gate allowed its command. About `FUZZ_ROUNDS` (4 by
/// default) option spellings of each command template are run; a large number runs all of them.
#[test]
fn real_programs_write_nothing_that_was_allowed() {
    let rounds = std::env::var("FUZZ_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(4);
    let (gates, first) = (gates(), RealFolder::new());
    let rows: &'static [&'static str] = Vec::leak(rows().0);
    // Several threads run the commands, because most of the time is spent waiting for programs to end.
    let tallies: Vec<Tally> = std::thread::scope(|scope| {
        let (gates, first) = (&gates, &first);
        let part = |rows: &'static [&'static str]| scope.spawn(move || try_rows(rows, rounds, gates, first));
        let parts: Vec<_> = rows.chunks(rows.len() / THREADS + 1).map(part).collect();
        parts.into_iter().map(|part| part.join().unwrap()).collect()
    });
    let (ran, wrote) = tallies.iter().fold((0, 0), |(ran, wrote), one| (ran + one.ran, wrote + one.wrote));
    let wrong: String = tallies.iter().map(|one| one.wrong.as_str()).collect();
    let mut missing: Vec<&str> = tallies.iter().flat_map(|one| one.missing.iter().copied()).collect();
    missing.sort_unstable();
    missing.dedup();
    if !missing.is_empty() {
        // Programs that are not installed are printed, so that a run without them is not mistaken for a complete run.
        println!("not installed, so not tried: {}", missing.join(", "));
    }
    println!("{ran} commands were run, and {wrote} of them wrote below the denied folder");
    assert!(wrong.is_empty(), "allowed, and yet the denied folder changed:\n{wrong}");
    assert!(wrote * 4 > ran, "of {ran} commands only {wrote} wrote, so the comparison means little");
}
