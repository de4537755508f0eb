//! Compares the gate with the real bash: the gate must find every command that bash runs, or ask for a person's
//! approval.

use std::cell::Cell;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::Scratch;
use super::hostile::{BITS, mutated};
use chance::SeededRandom;

/// Names of fake programs. Each of them only records that it ran, and with which words.
const CANARIES: &[&str] = &["git", "alpha", "beta", "ls"];
/// Real programs, most of which run other programs. The test puts them into the same folder as the fake programs.
const REAL: &[&str] =
    &["env", "nohup", "timeout", "nice", "xargs", "find", "stdbuf", "setsid", "sh", "bash", "cat", "true"];

struct Stage {
    scratch: Scratch,
    runs: Cell<usize>,
}

fn program(name: &str) -> Command {
    Command::new(name)
}

impl Stage {
    fn new() -> Self {
        let scratch = Scratch::new();
        // Each fake program writes one file into the folder `log` of the run that started it.
        let text =
            "#!/bin/bash\nt=${0##*/}; for w; do t+=$'\\x1f'$w; done; printf '%s' \"$t\" > \"${0%/*}/../log/$$\"\n";
        let canary = scratch.root().join("canary");
        fs::write(&canary, text).unwrap();
        fs::set_permissions(&canary, fs::Permissions::from_mode(0o755)).unwrap();
        Self { scratch, runs: Cell::new(0) }
    }

    /// Runs a command text with bash. Returns the commands that really ran, as lists of words.
    fn run(&self, text: &str) -> Vec<Vec<String>> {
        self.runs.set(self.runs.get() + 1);
        let folder = self.scratch.root().join(format!("run/{}", self.runs.get()));
        let (bin, log) = (folder.join("bin"), folder.join("log"));
        fs::create_dir_all(&bin).unwrap();
        fs::create_dir_all(&log).unwrap();
        for name in CANARIES {
            std::os::unix::fs::symlink(self.scratch.root().join("canary"), bin.join(name)).unwrap();
        }
        for name in REAL {
            std::os::unix::fs::symlink(Path::new("/usr/bin").join(name), bin.join(name)).unwrap();
        }
        let mut bash = program("timeout");
        bash.args(["-s", "KILL", "2", "/bin/bash", "-c", "--", text])
            .env_clear()
            .env("PATH", &bin)
            .env("FUNCNEST", "4");
        bash.current_dir(self.scratch.root()).stdin(Stdio::null());
        // `output` waits until the last process that bash started has ended.
        bash.output().unwrap();
        let files = fs::read_dir(&log).unwrap();
        let ran = files.map(|file| String::from_utf8_lossy(&fs::read(file.unwrap().path()).unwrap()).into_owned());
        let ran: Vec<Vec<String>> =
            ran.filter(|text| !text.is_empty()).map(|text| text.split('\u{1f}').map(str::to_owned).collect()).collect();
        fs::remove_dir_all(&bin).unwrap();
        ran
    }
}

/// Tells whether the gate found the command `ran`: one of the commands in `seen` must have the same name, and the same
/// words as far as the gate knows them.
fn was_seen(ran: &[String], seen: &[Vec<Option<String>>]) -> bool {
    seen.iter().any(|command| {
        let Some(Some(program)) = command.first() else { return false };
        let sure = command.iter().take_while(|word| word.is_some()).count();
        let known = || command[1..sure].iter().flatten();
        program.rsplit('/').next() == ran.first().map(String::as_str)
            && known().eq(ran[1..].iter().take(sure - 1))
            && (sure < command.len() || ran.len() == command.len())
    })
}

/// Runs a text with bash. Returns a message if bash ran a command that the gate did not find in the text. Returns
/// `None` otherwise, and for a text that the gate cannot read.
fn unseen(stage: &Stage, text: &str) -> Option<String> {
    let read = gate::commands(text, &stage.scratch.root());
    let Ok(seen) = read else { return None };
    let ran = stage.run(text);
    let missed: Vec<Vec<String>> = ran.into_iter().filter(|words| !was_seen(words, &seen)).collect();
    (!missed.is_empty()).then(|| format!("bash ran {missed:?} of {text:?}, and only {seen:?} was seen"))
}

/// Shell commands that contain no other commands. Larger commands are made from them.
const SIMPLE: &[&str] = &[
    "git push",
    "git \"push\" 'origin main'",
    "g\"\"it pu''sh",
    "\\git push",
    "alpha a\\ b",
    "alpha $'a\\tb'",
    "beta",
    "ls -l *.txt",
    "git push > out",
    "git push 2>&1",
    "> out git push",
    "A=1 git push",
    "alpha \"a b\" c#d",
    "alpha ~ x",
    "alpha {a,b}",
    "alpha a=b",
    "alpha \"$HOME\" x",
    "beta $((1+2))",
    "alpha 'it'\\''s'",
    "alpha -- \"-x\"",
    "beta a=(b",
    "alpha if then",
    "alpha \"#\" x # git push",
    "alpha '#' \"\\\"\" '\\'",
    "beta 2>/dev/null 3>&1",
    "alpha \"a\nb\"",
    "alpha a\\\nb",
    "git push &>> out",
];

/// Generates a command text that runs some of the fake programs in `CANARIES`. With a larger `depth`, commands are
/// nested in other commands.
fn generated(chance: &mut SeededRandom, depth: usize) -> String {
    let Some(depth) = depth.checked_sub(1) else { return (*chance.one_of(SIMPLE)).to_owned() };
    let mut inner = || generated(chance, depth);
    let (one, two) = (inner(), inner());
    let quoted = one.replace('\'', "'\\''");
    match chance.below(54) {
        0 => format!("{one}; {two}"),
        1 => format!("{one} && {two}"),
        2 => format!("{one} || {two}"),
        3 => format!("{one} | {two}"),
        4 => format!("{one}\n{two}"),
        5 => format!("( {one}\n)"),
        6 => format!("{{ {one}\n}}"),
        7 => format!("if {one}\nthen {two}\nfi"),
        8 => format!("if false; then {one}\nelse {two}\nfi"),
        9 => format!("for x in a b; do {one}\ndone"),
        10 => format!("case a in b) {one}\n;; a) {two}\n;; esac"),
        11 => format!("alpha $({one}\n)"),
        12 => format!("alpha \"$({one}\n)\" {two}"),
        13 => format!("x=$({one}\n); {two}"),
        14 => format!("alpha ${{x:-$({one}\n)}}"),
        15 => format!("cat <<E\n$({one}\n)\nE\n{two}"),
        16 => format!("cat <<'E'\n$({one}\n)\nE\n{two}"),
        17 => format!("cat <({one}\n)"),
        18 => format!("f() {{ {one}\n}}; f"),
        19 => format!("env {one}"),
        20 => format!("env -i A=b {one}"),
        21 => format!("nohup {one}"),
        22 => format!("timeout 2 {one}"),
        23 => format!("nice -n 1 {one}"),
        24 => format!("echo x | xargs {one}"),
        25 => format!("find . -maxdepth 0 -exec {one} \\;"),
        26 => format!("sh -c '{quoted}'"),
        27 => format!("bash -c '{quoted}'"),
        28 => format!("command {one}"),
        29 => format!("builtin command {one}"),
        30 => format!("exec {one}"),
        31 => format!("! {one}"),
        32 => format!("time {one}"),
        33 => format!("[[ -n $({one}\n) ]]"),
        34 => format!("(( $({one}\n) + 1 ))"),
        35 => format!("alpha $(( $({one}\n) + 1 ))"),
        36 => format!("a=(x $({one}\n) y)"),
        37 => format!("while {one}\ndo {two}\nbreak; done"),
        38 => format!("until {one}\ndo {two}\nbreak; done"),
        39 => format!("{one} &\nwait"),
        40 => format!("alpha `beta a` ; {one}"),
        41 => format!("{one} # {two}"),
        42 => format!("( ( {one}\n) )"),
        43 => format!("cat <<-E | {one}\n\tx\n\tE\n{two}"),
        44 => format!("stdbuf -oL {one}"),
        45 => format!("alpha \"${{x:-$({one}\n)}}\" {two}"),
        46 => format!("{{ {one}\n}} | {{ {two}\n}}"),
        47 => format!("for ((i=0;i<1;i++)); do {one}\ndone"),
        48 => format!("alpha <<< \"$({one}\n)\""),
        49 => format!("export B=$({one}\n)"),
        50 => format!("git commit -m \"$(cat <<'E'\nit's (a) \"title\" :) #1\nE\n)\" && {one}"),
        51 => format!("alpha $(cat <<'E'\nx\nE; {one}\n)\n( {two}\nE\n)"),
        52 => format!("coproc alpha {{ {one}\n}}; wait"),
        _ => format!("case $({one}\n) in $({two}\n)) beta;; *) alpha;; esac"),
    }
}

/// The number of command texts in a test run, or its duration, and the seed of its random numbers. `FUZZ_SECONDS` makes
/// a run longer, and `FUZZ_SEED` repeats a run.
struct Rounds {
    seed: u64,
    left: usize,
    until: Option<Instant>,
}

impl Rounds {
    fn new(rounds: usize) -> Self {
        let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
        let until = number("FUZZ_SECONDS").map(|seconds| Instant::now() + Duration::from_secs(seconds));
        Self { seed: number("FUZZ_SEED").unwrap_or(6), left: rounds, until }
    }

    fn goes_on(&mut self) -> bool {
        if let Some(until) = self.until {
            return Instant::now() < until;
        }
        self.left = self.left.saturating_sub(1);
        self.left > 0
    }
}

/// Compares the gate with bash for generated commands. The gate must be able to read most of them, because a command
/// that it cannot read is not compared.
#[test]
fn bash_runs_nothing_unseen() {
    let stage = Stage::new();
    let mut rounds = Rounds::new(200);
    let mut chance = SeededRandom::new(rounds.seed);
    let (mut all, mut read, mut wrong) = (0, 0, Vec::new());
    while rounds.goes_on() {
        let depth = chance.below(4);
        let text = generated(&mut chance, depth);
        all += 1;
        read += usize::from(gate::commands(&text, &stage.scratch.root()).is_ok());
        wrong.extend(unseen(&stage, &text));
    }
    assert!(wrong.is_empty(), "{} of {all} texts\n{}", wrong.len(), wrong.join("\n"));
    assert!(read > all / 2, "only {read} of {all} texts were read");
}

/// Compares the gate with bash for generated commands that are broken by changes in a few places. Readers of commands
/// often fail on such texts.
#[test]
fn bash_runs_nothing_unseen_of_broken_commands() {
    let stage = Stage::new();
    let mut rounds = Rounds::new(400);
    let mut chance = SeededRandom::new(rounds.seed + 1);
    let (mut all, mut wrong) = (0, Vec::new());
    while rounds.goes_on() {
        all += 1;
        let depth = 1 + chance.below(2);
        let text = generated(&mut chance, depth);
        let text = mutated(&text, &mut chance);
        wrong.extend(unseen(&stage, &text));
    }
    assert!(wrong.is_empty(), "{} of {all} texts\n{}", wrong.len(), wrong.join("\n"));
}

/// Compares the gate with bash for bits of shell syntax and commands in random order. The texts are short, so that bash
/// can run some of them.
#[test]
fn bash_runs_nothing_unseen_of_bits() {
    const COMMANDS: &[&str] = &["git push", "alpha", "beta a", "ls", "x", "env ", "sh -c ", "command "];
    let stage = Stage::new();
    let mut rounds = Rounds::new(500);
    let mut chance = SeededRandom::new(rounds.seed + 3);
    let (mut all, mut wrong) = (0, Vec::new());
    while rounds.goes_on() {
        all += 1;
        let mut text = String::new();
        for _ in 0..3 + chance.below(9) {
            let from = if chance.below(3) == 0 { COMMANDS } else { BITS };
            let bit: &&str = chance.one_of(from);
            text.push_str(bit);
        }
        let end: &&str = chance.one_of(&["", "\ngit push", ";alpha", ")", "\nE\nbeta", "'", "\"", "}", "]=1;git push"]);
        text.push_str(end);
        wrong.extend(unseen(&stage, &text));
    }
    assert!(wrong.is_empty(), "{} of {all} texts\n{}", wrong.len(), wrong.join("\n"));
}

/// Checks that bash can parse every text that the gate can read. If bash refuses a text, the gate misread it.
#[test]
fn what_is_read_is_what_bash_parses() {
    let stage = Stage::new();
    let mut rounds = Rounds::new(200);
    let mut chance = SeededRandom::new(rounds.seed + 2);
    let (mut read, mut wrong) = (0, Vec::new());
    while rounds.goes_on() {
        let depth = 1 + chance.below(2);
        let text = generated(&mut chance, depth);
        let text = mutated(&text, &mut chance);
        if gate::commands(&text, &stage.scratch.root()).is_err() {
            continue;
        }
        read += 1;
        let mut bash = program("/bin/bash");
        bash.args(["-n", "-c", "--", &text])
            .env_clear()
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        if !bash.status().unwrap().success() {
            wrong.push(format!("{text:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {read} texts that were read\n{}", wrong.len(), wrong.join("\n"));
}
