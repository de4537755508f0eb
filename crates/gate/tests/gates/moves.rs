//! Tests git commands that change files without naming them. Git lists the files. The command needs a person's approval
//! only if a gate rule covers one of the files, or if one of the files controls agents or git.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use gate::GateDecision;

use super::{Scratch, bash_call};

const RULES: &str = "[gates]\ndefault = \"allow\"\n[[gate]]\nwrite = \"infra/**\"\ndecision = \"deny\"\n";

/// A script that makes a repository. Its branch `infra-new` changes a file that a gate rule covers, `settings` changes
/// a guarded file (one that controls agents or git), and `plain` changes neither. The newer of its two stashes changes
/// the folder `infra`.
const MADE: &str = "\
    rm -rf .git tree; git init -q -b main .; git config user.name x; git config user.email x@y; \
    git add -A; git commit -qm one; \
    git switch -qc plain; echo b > src/a.rs; git commit -qam two; \
    git switch -q main; git switch -qc infra-new; echo b > infra/main.tf; git commit -qam three; \
    git switch -q main; git switch -qc settings; mkdir .claude; echo {} > .claude/settings.json; git add -f .claude; \
    git commit -qm four; git switch -q main; \
    echo c > src/a.rs; git stash -q; echo c > infra/main.tf; git stash -q; \
    git update-ref refs/remotes/origin/far infra-new; true";

/// Git commands that move between the branches of [`MADE`], with the decision that the gate must give for each.
const MOVES: &[(&str, GateDecision)] = &[
    ("git switch plain", GateDecision::Allow),
    ("git checkout plain", GateDecision::Allow),
    ("git checkout -b next plain", GateDecision::Allow),
    ("git switch -c next", GateDecision::Allow),
    ("git merge plain", GateDecision::Allow),
    ("git rebase plain", GateDecision::Allow),
    ("git cherry-pick plain", GateDecision::Allow),
    ("git reset --hard plain", GateDecision::Allow),
    ("git reset --hard", GateDecision::Allow),
    ("git stash", GateDecision::Allow),
    ("git stash pop 1", GateDecision::Allow),
    ("git pull", GateDecision::Allow),
    ("git pull . plain", GateDecision::Allow),
    ("git pull origin main", GateDecision::Allow),
    ("git pull . infra-new", GateDecision::Ask),
    ("git pull --rebase origin far", GateDecision::Ask),
    ("git switch not-there", GateDecision::Allow),
    ("git -C src switch plain", GateDecision::Allow),
    ("git switch infra-new", GateDecision::Ask),
    ("git switch -c next infra-new", GateDecision::Ask),
    ("git switch --detach infra-new", GateDecision::Ask),
    ("git switch far", GateDecision::Ask),
    ("git checkout infra-new", GateDecision::Ask),
    ("git checkout -qB main infra-new", GateDecision::Ask),
    ("git checkout origin/far", GateDecision::Ask),
    ("git merge infra-new", GateDecision::Ask),
    ("git merge --no-ff -m x plain infra-new", GateDecision::Ask),
    ("git rebase infra-new", GateDecision::Ask),
    ("git rebase --onto infra-new main", GateDecision::Ask),
    ("git cherry-pick infra-new", GateDecision::Ask),
    ("git cherry-pick main..infra-new", GateDecision::Ask),
    ("git revert infra-new", GateDecision::Ask),
    ("git reset --hard infra-new", GateDecision::Ask),
    ("git reset --keep infra-new", GateDecision::Ask),
    ("git stash pop", GateDecision::Ask),
    ("git stash apply 'stash@{0}'", GateDecision::Ask),
    ("git stash branch next", GateDecision::Ask),
    ("git -C src switch infra-new", GateDecision::Ask),
    ("cd src && git switch infra-new", GateDecision::Ask),
    ("git branch next infra-new && git switch next", GateDecision::Ask),
    ("git switch $branch", GateDecision::Ask),
    ("git switch settings", GateDecision::Ask),
    ("git merge settings", GateDecision::Ask),
];

fn run(folder: &Path, text: &str) {
    let mut bash = Command::new("bash");
    bash.args(["-c", text]).current_dir(folder).env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin");
    bash.env("HOME", folder).env("GIT_CONFIG_NOSYSTEM", "1");
    assert!(bash.stdin(Stdio::null()).stdout(Stdio::null()).status().unwrap().success(), "{text}");
}

#[test]
fn moves_ask_only_when_they_change_what_a_rule_is_for() {
    let scratch = Scratch::new();
    let root = scratch.root();
    let gates = scratch.gates(RULES);
    run(&root, MADE);
    let check = |cases: &[(&str, GateDecision)]| {
        for (command, wanted) in cases {
            let (found, reason) = bash_call(&gates, command, &root);
            assert_eq!(found, *wanted, "{command}: {reason}");
        }
    };
    check(MOVES);
    fs::write(root.join("infra/new.tf"), "x\n").unwrap();
    check(&[
        ("git stash", GateDecision::Allow),
        ("git stash -u", GateDecision::Ask),
        ("git stash push -au", GateDecision::Ask),
    ]);
    fs::write(root.join("infra/main.tf"), "changed\n").unwrap();
    check(&[
        ("git stash", GateDecision::Ask),
        ("git stash push", GateDecision::Ask),
        ("git reset --hard", GateDecision::Ask),
        ("git checkout -f", GateDecision::Ask),
        ("git switch -f main", GateDecision::Ask),
        ("git stash push -- src", GateDecision::Allow),
    ]);
    // A git command that changes a guarded file (one that controls agents or git) needs a person's approval even if no
    // gate rule is about writes.
    let gates = scratch.gates("[gates]\ndefault = \"allow\"\n[[gate]]\ncommand = [\"x\"]\ndecision = \"deny\"\n");
    assert_eq!(bash_call(&gates, "git switch settings", &root).0, GateDecision::Ask);
    assert_eq!(bash_call(&gates, "git switch infra-new", &root).0, GateDecision::Allow);
}
