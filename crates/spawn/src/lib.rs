//! The only function in this workspace that creates commands to start programs. A caller must choose the folder and the
//! environment of the program, because both influence what the program does. The standard library would silently use
//! the folder and the environment of this process.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

/// The folder in which a program starts.
#[derive(Debug, Clone, Copy)]
pub enum StartFolder<'a> {
    At(&'a Path),
    /// The working directory of this process.
    Own,
}

/// The environment variables that a program gets from this process. The caller can add further variables to the
/// command.
#[derive(Debug, Clone, Copy)]
pub enum StartEnvironment<'a> {
    /// All environment variables of this process.
    Whole,
    /// The environment variables with these names, if this process has them.
    Only(&'a [&'a str]),
    /// All environment variables of this process except those for whose names the function returns true.
    Without(fn(&OsStr) -> bool),
}

/// Returns the command that starts a program. The command has the default standard streams of the standard library's
/// `Command`; the caller may change them.
pub fn command(program: impl AsRef<OsStr>, folder: StartFolder<'_>, environment: StartEnvironment<'_>) -> Command {
    #[expect(clippy::disallowed_methods, reason = "the one place; the folder and the environment are chosen")]
    let mut command = Command::new(program);
    match folder {
        StartFolder::At(folder) => {
            command.current_dir(folder);
        }
        StartFolder::Own => {}
    }
    match environment {
        StartEnvironment::Whole => {}
        StartEnvironment::Only(names) => {
            command.env_clear();
            command.envs(names.iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
        }
        StartEnvironment::Without(is_left_out) => {
            for (name, _) in std::env::vars_os().filter(|(name, _)| is_left_out(name)) {
                command.env_remove(name);
            }
        }
    }
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the folder and the names of the environment variables that a started program sees. The shell that runs
    /// as the program adds some variables of its own.
    fn seen(folder: StartFolder<'_>, environment: StartEnvironment<'_>) -> (String, Vec<String>) {
        let output = command("/bin/sh", folder, environment).args(["-c", "/bin/pwd; /usr/bin/env"]).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let mut lines = text.lines().map(str::to_owned);
        let folder = lines.next().unwrap();
        let own = ["PWD", "OLDPWD", "SHLVL", "_"];
        let names = lines.filter_map(|line| Some(line.split_once('=')?.0.to_owned()));
        (folder, names.filter(|name| !own.contains(&name.as_str())).collect())
    }

    #[test]
    fn a_program_sees_the_chosen_folder_and_variables() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap();
        let (here, names) = seen(StartFolder::At(&path), StartEnvironment::Only(&["PATH", "NO_SUCH_VARIABLE"]));
        assert_eq!((Path::new(&here), names), (path.as_path(), vec!["PATH".to_owned()]));
        let (here, whole) = seen(StartFolder::Own, StartEnvironment::Whole);
        assert_eq!(Path::new(&here), std::env::current_dir().unwrap().canonicalize().unwrap());
        let is_cargo = |name: &OsStr| name.to_string_lossy().starts_with("CARGO");
        assert!(whole.iter().any(|name| name.starts_with("CARGO")), "{whole:?}");
        let (_, rest) = seen(StartFolder::Own, StartEnvironment::Without(is_cargo));
        assert!(!rest.is_empty() && !rest.iter().any(|name| name.starts_with("CARGO")), "{rest:?}");
    }
}
