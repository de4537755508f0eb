//! Trust: a repository's configuration names commands, and none of them runs before a person has looked at them.
//!
//! What was accepted is a hash over `config.toml` and the contracts, kept in the user's data folder by the path of the clone.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::place::FOLDER;
use crate::settings::Settings;

/// The file that says what was accepted.
const FILE: &str = "trust.json";
/// A configuration is some kilobytes; larger than this nobody can have looked at it.
const BYTES_MAX: u64 = 4 << 20;

#[derive(Debug, thiserror::Error)]
pub enum Untrusted {
    #[error("NOT_TRUSTED the commands of {path} were not accepted on this machine; look at them with `handover trust`")]
    Never { path: String },
    #[error(
        "NOT_TRUSTED the configuration of {path} has changed since it was accepted; look at it with `handover trust`"
    )]
    Changed { path: String },
    #[error("NOT_TRUSTED there is no folder for this user's data, so nothing can have been accepted; set HOME")]
    Nowhere,
    #[error("read what is trusted")]
    Unreadable(#[from] io::Error),
}

/// What a person accepts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offered {
    /// The clone.
    pub path: String,
    pub sha256: String,
    /// Every command that may be run, one a line.
    pub commands: Vec<String>,
}

/// What was accepted: hashes by the paths of clones.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Accepted {
    #[serde(default)]
    clones: BTreeMap<String, String>,
}

/// Looks at a project: the hash of what it would run, and the commands in it.
pub fn look(root: &Path, settings: &Settings) -> io::Result<Offered> {
    let (team, mut commands) = (&settings.team, settings.notify.shown(|words| shown(words)));
    for agent in &team.agents {
        let words = agent.command.iter().chain(&agent.args);
        commands.push(format!("agent {}: {}", agent.slug, shown(words)));
    }
    for (name, contract) in &team.contracts {
        let check = |check: &crate::settings::team::Check| format!("check of {name}: {}", shown(&check.command));
        commands.extend(contract.checks.iter().map(check));
    }
    Ok(Offered { path: key(root)?, sha256: hash(root)?, commands })
}

fn shown<'a>(words: impl IntoIterator<Item = &'a String>) -> String {
    let quoted = |word: &String| {
        let plain = !word.is_empty()
            && word.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_./=:,@+".contains(letter));
        if plain { word.clone() } else { format!("{word:?}") }
    };
    words.into_iter().map(quoted).collect::<Vec<_>>().join(" ")
}

fn key(root: &Path) -> io::Result<String> {
    Ok(std::fs::canonicalize(root)?.display().to_string())
}

/// Over the names, lengths and bytes of `config.toml` and everything in `contracts/`, in the order of the names.
fn hash(root: &Path) -> io::Result<String> {
    let folder = root.join(FOLDER);
    let mut files = vec![PathBuf::from("config.toml")];
    match std::fs::read_dir(folder.join("contracts")) {
        Ok(entries) => {
            for entry in entries {
                files.push(Path::new("contracts").join(entry?.file_name()));
            }
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    files.sort();
    let mut whole = Sha256::new();
    for name in files {
        let path = folder.join(&name);
        let bytes = match std::fs::metadata(&path) {
            Ok(found) if found.is_file() && found.len() <= BYTES_MAX => std::fs::read(&path)?,
            Ok(found) if found.is_file() => {
                return Err(io::Error::other(format!("{} is larger than {BYTES_MAX} bytes", path.display())));
            }
            Ok(_) => continue,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        let name = name.as_os_str().as_encoded_bytes();
        for part in [name, &bytes] {
            whole.update(u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes());
            whole.update(part);
        }
    }
    Ok(crate::digest::hexadecimal(&whole.finalize()))
}

/// Whether what is there now was accepted.
pub fn check(root: &Path, data: Option<&Path>) -> Result<(), Untrusted> {
    let data = data.ok_or(Untrusted::Nowhere)?;
    let path = key(root)?;
    match read(data)?.clones.get(&path) {
        None => Err(Untrusted::Never { path }),
        Some(known) if *known == hash(root)? => Ok(()),
        Some(_) => Err(Untrusted::Changed { path }),
    }
}

/// Keeps that this was accepted.
pub fn accept(data: &Path, offered: &Offered) -> io::Result<()> {
    let folder = data.join("handover");
    std::fs::create_dir_all(&folder)?;
    let mut accepted = read(data)?;
    accepted.clones.insert(offered.path.clone(), offered.sha256.clone());
    let text = serde_json::to_string_pretty(&accepted).map_err(io::Error::other)?;
    // Another process must find the old file or the new one.
    let fresh = folder.join(format!("{FILE}.{}", std::process::id()));
    std::fs::write(&fresh, text)?;
    std::fs::rename(&fresh, folder.join(FILE))
}

fn read(data: &Path) -> io::Result<Accepted> {
    match std::fs::read_to_string(data.join("handover").join(FILE)) {
        Ok(text) => serde_json::from_str(&text).map_err(|error| io::Error::other(format!("{FILE}: {error}"))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Accepted::default()),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_change_of_what_runs_must_be_accepted_again() -> io::Result<()> {
        let (clone, data) = (tempfile::tempdir()?, tempfile::tempdir()?);
        let folder = clone.path().join(FOLDER);
        std::fs::create_dir_all(folder.join("contracts"))?;
        std::fs::write(folder.join("config.toml"), "")?;
        let check = || check(clone.path(), Some(data.path()));
        assert!(matches!(check(), Err(Untrusted::Never { .. })));
        let accept = || accept(data.path(), &look(clone.path(), &Settings::default())?);
        accept()?;
        assert!(check().is_ok());
        let changes: [(&str, &str); 4] =
            [("config.toml", " "), ("contracts/a.json", "{}"), ("contracts/b.json", ""), ("contracts/b.json", "1")];
        for (name, text) in changes {
            std::fs::write(folder.join(name), text)?;
            assert!(matches!(check(), Err(Untrusted::Changed { .. })), "{name}");
            accept()?;
            assert!(check().is_ok(), "{name}");
        }
        // What is no command may change.
        std::fs::create_dir_all(folder.join("cards"))?;
        std::fs::write(folder.join("cards/a.json"), "{}")?;
        assert!(check().is_ok());
        std::fs::rename(folder.join("contracts/a.json"), folder.join("contracts/c.json"))?;
        assert!(matches!(check(), Err(Untrusted::Changed { .. })), "a name counts, too");
        Ok(())
    }
}
