//! Compares the gate with the real bash: the gate must not allow a command that writes below a denied folder.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use gate::GateDecision;

use super::{Scratch, bash_call};
use chance::SeededRandom;

const RULES: &str = "[gates]\ndefault = \"allow\"\n[[gate]]\nwrite = \"infra/**\"\ndecision = \"deny\"\n";

/// Returns everything below a folder: the paths with their contents or link targets.
fn below(folder: &Path) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        found.insert(folder.clone(), String::new());
        for entry in fs::read_dir(&folder).into_iter().flatten() {
            let path = entry.unwrap().path();
            let kind = fs::symlink_metadata(&path).unwrap();
            if kind.is_dir() {
                folders.push(path);
            } else if kind.is_symlink() {
                found.insert(path.clone(), fs::read_link(&path).unwrap().display().to_string());
            } else {
                found.insert(path.clone(), fs::read_to_string(&path).unwrap_or_default());
            }
        }
    }
    found
}

const PATHS: &[&str] = &[
    "infra/x",
    "./infra/x",
    "x",
    "docs/x",
    "docs/../infra/x",
    "link/x",
    "chain/x",
    "docs/linked.md",
    "../infra/x",
    "../x",
    "./x",
    "in\"fra\"/x",
    "infra",
    "infra/main.tf",
    "main.tf",
    "docs",
    "none/x",
    "../docs/../infra/x",
    "src/deep/../../infra/x",
    "a.txt",
    "$PWD/x",
    "infra/*",
    "*/x",
    "*.txt",
    "{infra,docs}/x",
    "linked.md",
    "../link/x",
    "link",
    "prod/x",
];
const FOLDERS: &[&str] = &[
    "infra",
    "docs",
    "link",
    "..",
    "src/deep",
    "../infra",
    "none",
    ".",
    "chain",
    "docs/..",
    "link/..",
    "-",
    "infra/prod",
];

fn write(chance: &mut SeededRandom) -> String {
    let (one, two) = (*chance.one_of(PATHS), *chance.one_of(PATHS));
    match chance.below(22) {
        0 => format!("echo new > {one}"),
        1 => format!("echo new >> {one}"),
        2 => format!("echo new &> {one}"),
        3 => format!("echo new >| {one}"),
        4 => format!("echo new <> {one} >&0"),
        5 => format!("> {one}"),
        6 => format!("echo new | tee {one} {two}"),
        7 => format!("touch {one}"),
        8 => format!("cp a.txt {one}"),
        9 => format!("cp -r docs {one}"),
        10 => format!("mv {one} {two}"),
        11 => format!("rm -rf {one}"),
        12 => format!("ln -s /tmp {one}"),
        13 => format!("mkdir -p {one}"),
        14 => format!("dd if=/dev/null of={one}"),
        15 => format!("sed -i s/x/y/ {one}"),
        16 => format!("truncate -s 3 {one}"),
        17 => format!("cp -t {one} a.txt"),
        18 => format!("find {one} -delete"),
        19 => format!("echo new | (cat > {one})"),
        20 => format!("ln -sfn {one} {two}"),
        _ => format!("cat > {one} <<E\nnew\nE\n"),
    }
}

fn generated(chance: &mut SeededRandom, depth: usize) -> String {
    let Some(depth) = depth.checked_sub(1) else { return write(chance) };
    let folder = *chance.one_of(FOLDERS);
    let (one, two) = (generated(chance, depth), generated(chance, depth));
    match chance.below(20) {
        0 => format!("cd {folder} && {one}"),
        1 => format!("cd {folder}; {one}"),
        2 => format!("cd {folder} || {one}"),
        3 => format!("(cd {folder} && {one}\n); {two}"),
        4 => format!("pushd {folder}; {one}"),
        5 => format!("pushd {folder}; popd; {one}"),
        6 => format!("if cd {folder}; then {one}\nelse {two}\nfi"),
        7 => format!("for d in {folder} docs; do cd $d; {one}\ndone"),
        8 => format!("for i in 1 2; do {one}\ncd {folder}; done; {two}"),
        9 => format!("f() {{ cd {folder}; }}; f; {one}"),
        10 => format!("f() {{ {one}\n}}; cd {folder}; f"),
        11 => format!("{{ cd {folder}; }} ; {one}"),
        12 => format!("cd {folder} | {one}"),
        13 => format!("cd {folder} & wait; {one}"),
        14 => format!("echo $(cd {folder}; {one}\n); {two}"),
        15 => format!("{one}\n{two}"),
        16 => format!("! cd {folder} || {one}"),
        17 => format!("while cd {folder}; do {one}\nbreak; done; {two}"),
        18 => format!("case a in a) cd {folder};; esac; {one}"),
        _ => format!("command cd {folder} && {one}"),
    }
}

#[test]
fn bash_writes_nothing_that_was_not_seen() {
    let seed = std::env::var("FUZZ_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(6);
    let rounds = std::env::var("FUZZ_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(150);
    let mut chance = SeededRandom::new(seed);
    let (mut allowed, mut changed, mut wrong) = (0, 0, Vec::new());
    for _ in 0..rounds {
        let scratch = Scratch::new();
        let gates = scratch.gates(RULES);
        let depth = chance.below(4);
        let text = generated(&mut chance, depth);
        let (decision, _) = bash_call(&gates, &text, &scratch.root());
        let infra = scratch.root().join("infra");
        let before = below(&infra);
        let mut bash = Command::new("timeout");
        bash.args(["-s", "KILL", "2", "/bin/bash", "-c", "--", &text])
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", scratch.root());
        bash.current_dir(scratch.root()).stdin(Stdio::null());
        bash.output().unwrap();
        allowed += usize::from(decision == GateDecision::Allow);
        let touched = below(&infra) != before;
        changed += usize::from(touched);
        if touched && decision == GateDecision::Allow {
            wrong.push(text);
        }
    }
    assert!(wrong.is_empty(), "{} texts\n{}", wrong.len(), wrong.join("\n----\n"));
    assert!(
        allowed > rounds / 10 && changed > rounds / 10,
        "of {rounds} texts {allowed} were allowed and {changed} wrote"
    );
}
