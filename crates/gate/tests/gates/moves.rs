//! Tests git commands that change files without naming them: git says which files, and only files that a rule covers
//! need approval.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use gate::Decision;

use super::{Scratch, bash_call};

const RULES: &str = "[gates]\ndefault = \"allow\"\n[[gate]]\nwrite = \"infra/**\"\ndecision = \"deny\"\n";

/// `infra-new` changes a file that a rule covers, `settings` changes a guarded file, and `plain` changes neither. Two
/// stashes are kept: the newest changes `infra`.
const MADE: &str = "\
    rm -rf .git tree; git init -q -b main .; git config user.name x; git config user.email x@y; \
    git add -A; git commit -qm one; \
    git switch -qc plain; echo b > src/a.rs; git commit -qam two; \
    git switch -q main; git switch -qc infra-new; echo b > infra/main.tf; git commit -qam three; \
    git switch -q main; git switch -qc settings; mkdir .claude; echo {} > .claude/settings.json; git add -f .claude; \
    git commit -qm four; git switch -q main; \
    echo c > src/a.rs; git stash -q; echo c > infra/main.tf; git stash -q; \
    git update-ref refs/remotes/origin/far infra-new; true";

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
    let check = |cases: &[(&str, Decision)]| {
        for (command, wanted) in cases {
            let (found, reason) = bash_call(&gates, command, &root);
            assert_eq!(found, *wanted, "{command}: {reason}");
        }
    };
    check(&[
        ("git switch plain", Decision::Allow),
        ("git checkout plain", Decision::Allow),
        ("git checkout -b next plain", Decision::Allow),
        ("git switch -c next", Decision::Allow),
        ("git merge plain", Decision::Allow),
        ("git rebase plain", Decision::Allow),
        ("git cherry-pick plain", Decision::Allow),
        ("git reset --hard plain", Decision::Allow),
        ("git reset --hard", Decision::Allow),
        ("git stash", Decision::Allow),
        ("git stash pop 1", Decision::Allow),
        ("git pull", Decision::Allow),
        ("git pull . plain", Decision::Allow),
        ("git pull origin main", Decision::Allow),
        ("git pull . infra-new", Decision::Ask),
        ("git pull --rebase origin far", Decision::Ask),
        ("git switch not-there", Decision::Allow),
        ("git -C src switch plain", Decision::Allow),
        ("git switch infra-new", Decision::Ask),
        ("git switch -c next infra-new", Decision::Ask),
        ("git switch --detach infra-new", Decision::Ask),
        ("git switch far", Decision::Ask),
        ("git checkout infra-new", Decision::Ask),
        ("git checkout -qB main infra-new", Decision::Ask),
        ("git checkout origin/far", Decision::Ask),
        ("git merge infra-new", Decision::Ask),
        ("git merge --no-ff -m x plain infra-new", Decision::Ask),
        ("git rebase infra-new", Decision::Ask),
        ("git rebase --onto infra-new main", Decision::Ask),
        ("git cherry-pick infra-new", Decision::Ask),
        ("git cherry-pick main..infra-new", Decision::Ask),
        ("git revert infra-new", Decision::Ask),
        ("git reset --hard infra-new", Decision::Ask),
        ("git reset --keep infra-new", Decision::Ask),
        ("git stash pop", Decision::Ask),
        ("git stash apply 'stash@{0}'", Decision::Ask),
        ("git stash branch next", Decision::Ask),
        ("git -C src switch infra-new", Decision::Ask),
        ("cd src && git switch infra-new", Decision::Ask),
        ("git branch next infra-new && git switch next", Decision::Ask),
        ("git switch $branch", Decision::Ask),
        ("git switch settings", Decision::Ask),
        ("git merge settings", Decision::Ask),
    ]);
    fs::write(root.join("infra/new.tf"), "x\n").unwrap();
    check(&[("git stash", Decision::Allow), ("git stash -u", Decision::Ask), ("git stash push -au", Decision::Ask)]);
    fs::write(root.join("infra/main.tf"), "changed\n").unwrap();
    check(&[
        ("git stash", Decision::Ask),
        ("git stash push", Decision::Ask),
        ("git reset --hard", Decision::Ask),
        ("git checkout -f", Decision::Ask),
        ("git switch -f main", Decision::Ask),
        ("git stash push -- src", Decision::Allow),
    ]);
    // A guarded file needs approval even if no rule is about writes.
    let gates = scratch.gates("[gates]\ndefault = \"allow\"\n[[gate]]\ncommand = [\"x\"]\ndecision = \"deny\"\n");
    assert_eq!(bash_call(&gates, "git switch settings", &root).0, Decision::Ask);
    assert_eq!(bash_call(&gates, "git switch infra-new", &root).0, Decision::Allow);
}
