//! The proof that a process belongs to a turn. The id of a turn is not secret, so the environment variable
//! `HANDOVER_TURN` alone proves nothing.
//!
//! A process belongs to a turn in two cases: the turn's host process is among its ancestors, or its environment has the
//! random text that the runner wrote into the turn's folder. The second case is for containers, for separate process
//! namespaces, and for systems without `/proc`.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use engine::id::TurnId;

use base::ground::random;

/// The environment variable with the proof, a random text. Every program of a turn gets it together with
/// `HANDOVER_TURN`. Its name must not sound like a secret, because agent clients do not pass on such variables.
pub const PROOF: &str = "HANDOVER_TURN_PROOF";
/// The name of the file with the proof (a random text), in the turn's folder.
const FILE: &str = "proof";
/// The maximum number of bytes that are read from the file with a turn's proof (a random text). A longer file was not
/// written by Handover and never matches.
const BYTES_MAX: u64 = 256;

/// Returns the folder with the files of a turn.
pub fn turn_folder(state: &Path, turn: TurnId) -> PathBuf {
    state.join("turns").join(turn.to_string())
}

/// Writes a new proof (a random text) into the turn's folder and returns it. Only the file's owner can read the file.
pub fn make(folder: &Path) -> io::Result<String> {
    let proof = random::token().map_err(io::Error::other)?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(proof.as_bytes())?;
    file.persist(folder.join(FILE)).map_err(|failed| failed.error)?;
    Ok(proof)
}

/// Returns the environment variables of a turn's program: the variables of the agent's settings, and the variable with
/// the turn's proof (a random text).
pub fn beside(settings: &BTreeMap<String, String>, proof: String) -> Vec<(String, String)> {
    let own = settings.iter().map(|(name, value)| (name.clone(), value.clone()));
    own.chain([(PROOF.to_owned(), proof)]).collect()
}

/// Returns true when the environment of this process has the turn's proof (the random text in the turn's folder).
pub fn is_shown(state: &Path, turn: TurnId) -> bool {
    let folder = turn_folder(state, turn);
    let shown = std::env::var(PROOF).ok().filter(|shown| !shown.is_empty());
    let kept = || -> io::Result<String> {
        let mut text = String::new();
        File::open(folder.join(FILE))?.take(BYTES_MAX).read_to_string(&mut text)?;
        Ok(text)
    };
    shown.is_some_and(|shown| kept().is_ok_and(|kept| kept == shown))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proof_is_in_the_folder_of_its_turn_and_for_its_owner_alone() -> io::Result<()> {
        let state = tempfile::tempdir()?;
        let turn: TurnId = "tn_0123456789ab".parse().map_err(io::Error::other)?;
        assert!(!is_shown(state.path(), turn), "a turn without a folder");
        let folder = turn_folder(state.path(), turn);
        std::fs::create_dir_all(&folder)?;
        let (first, second) = (make(&folder)?, make(&folder)?);
        assert!(first != second && first.len() >= 16, "{first} {second}");
        assert_eq!(std::fs::read_to_string(folder.join(FILE))?, second);
        {
            let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(folder.join(FILE))?.permissions());
            assert_eq!(mode & 0o777, 0o600);
        }
        assert!(!is_shown(state.path(), turn), "this process shows no proof");
        Ok(())
    }
}
