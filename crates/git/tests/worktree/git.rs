//! Runs the real git without the settings of this machine. The tests use it for the git commands of people and agents,
//! who work in the same repository as Handover.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

pub(crate) fn git(folder: &Path, arguments: &[&str]) -> String {
    let mut command = program(Path::new("git"));
    command.current_dir(folder).args(["-c", "user.name=Test", "-c", "user.email=test@example.com"]);
    command.args(["-c", "protocol.file.allow=always"]).args(arguments);
    let foreign =
        |name: &str| name.starts_with("GIT_") && !["GIT_CONFIG_GLOBAL", "GIT_CONFIG_NOSYSTEM"].contains(&name);
    for (name, _) in std::env::vars().filter(|(name, _)| foreign(name)) {
        command.env_remove(name);
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// Writes an executable shell script, which git can start as a hook or filter.
pub(crate) fn script(path: &Path, text: &str) {
    fs::write(path, format!("#!/bin/sh\n{text}\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

pub(crate) fn program(path: &Path) -> Command {
    #[expect(clippy::disallowed_methods, reason = "a test starts itself and git")]
    Command::new(path)
}
