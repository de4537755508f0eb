//! Prepares a worktree with the setup commands of the project, such as `npm ci`. The commands run again when the files
//! that they read (such as a lock file) changed since the worktree was last prepared.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use sha2::{Digest as _, Sha256};

use super::super::VerifyFault;
use super::super::check::{self, CheckPlace};
use super::super::evidence::CheckResult;
use base::ground::digest::hexadecimal;
use base::project::settings::SetupCommand;
use base::project::settings::team::CheckSettings;

/// A setup command that failed in a worktree.
#[derive(Debug, Clone, PartialEq)]
pub struct SetupFailure {
    pub result: CheckResult,
}

/// A step of preparing a worktree. It is shown to the person who waits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SetupStep<'a> {
    Begins(&'a SetupCommand),
    Ended(&'a CheckResult),
}

/// Returns a hash over the setup commands and the content of the files that they read in a worktree. The hash also
/// shows which of these files are missing.
pub fn fingerprint(worktree: &Path, setup: &[SetupCommand]) -> io::Result<String> {
    let mut hash = Sha256::new();
    for command in setup {
        field(&mut hash, b"command");
        command.command.iter().for_each(|word| field(&mut hash, word.as_bytes()));
        field(&mut hash, command.folder.as_bytes());
        for input in &command.inputs {
            field(&mut hash, b"input");
            field(&mut hash, input.as_bytes());
            content(&mut hash, &worktree.join(input))?;
        }
    }
    Ok(hexadecimal(&hash.finalize()))
}

/// Runs the setup commands one after the other, and reports each step to `tell`. Ends at the first command that fails.
pub async fn prepare(
    place: CheckPlace<'_>,
    setup: &[SetupCommand],
    tell: &mut (dyn FnMut(SetupStep<'_>) + Send),
) -> Result<Result<(), SetupFailure>, VerifyFault> {
    for (number, command) in (1..).zip(setup) {
        let place = CheckPlace { subfolder: Path::new(&command.folder), ..place };
        let order = CheckSettings { command: command.command.clone(), seconds: command.seconds };
        tell(SetupStep::Begins(command));
        let result = check::run(place, number, &order, None).await?;
        tell(SetupStep::Ended(&result));
        if !result.has_passed() {
            return Ok(Err(SetupFailure { result }));
        }
    }
    Ok(Ok(()))
}

/// Adds a text to the hash, with its length first. So two different lists of texts never give the same bytes.
fn field(hash: &mut Sha256, bytes: &[u8]) {
    hash.update(u64::try_from(bytes.len()).unwrap_or(u64::MAX).to_le_bytes());
    hash.update(bytes);
}

fn content(hash: &mut Sha256, path: &Path) -> io::Result<()> {
    let mut file = match File::open(path) {
        Ok(file) if file.metadata()?.is_file() => file,
        Ok(_) => {
            field(hash, b"no file");
            return Ok(());
        }
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            field(hash, b"missing");
            return Ok(());
        }
        Err(error) => return Err(error),
    };
    let mut inner = Sha256::new();
    let mut buffer = vec![0; 64 << 10];
    loop {
        match file.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => inner.update(&buffer[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    field(hash, b"file");
    field(hash, &inner.finalize());
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn npm(inputs: &[&str]) -> SetupCommand {
        SetupCommand {
            command: vec!["npm".to_owned(), "ci".to_owned()],
            seconds: 600,
            folder: String::new(),
            inputs: inputs.iter().map(|&name| name.to_owned()).collect(),
        }
    }

    #[test]
    fn the_fingerprint_changes_with_commands_and_contents_of_inputs_only() {
        let root = tempfile::tempdir().unwrap();
        let lock = root.path().join("package-lock.json");
        let now = |setup: &[SetupCommand]| fingerprint(root.path(), setup).unwrap();
        let setup = [npm(&["package-lock.json"])];
        let missing = now(&setup);
        fs::write(&lock, "one").unwrap();
        let one = now(&setup);
        fs::write(root.path().join("index.js"), "code").unwrap();
        assert_eq!(now(&setup), one);
        fs::write(&lock, "two").unwrap();
        let two = now(&setup);
        fs::write(&lock, "one").unwrap();
        assert_eq!(now(&setup), one);
        fs::remove_file(&lock).unwrap();
        fs::create_dir(&lock).unwrap();
        let folder = now(&setup);
        let all = [missing, one, two, folder, now(&[npm(&[])]), now(&[])];
        for (number, left) in all.iter().enumerate() {
            assert!(all.iter().skip(number + 1).all(|right| right != left), "{number}: {all:?}");
        }
    }

    #[test]
    fn the_time_limit_of_a_command_does_not_count() {
        let root = tempfile::tempdir().unwrap();
        let longer = SetupCommand { seconds: 1200, ..npm(&[]) };
        assert_eq!(fingerprint(root.path(), &[npm(&[])]).unwrap(), fingerprint(root.path(), &[longer]).unwrap());
    }
}
