//! Accepts one change of the settings that a person made by typing a command, such as a command that adds an agent. All
//! other changes still wait until a person accepts them.

use std::path::Path;

use super::list::TrustList;
use super::script::ScriptMarks;
use super::{Untrusted, key, record, store};
use crate::project::files::edit::EditProblem;
use crate::project::settings::SettingsFiles;

/// Makes a change to the settings that a person accepted before, and records the result as accepted. The change is made
/// to the accepted texts and not to the files, so that nothing else in the files is accepted.
///
/// Returns `false` and records nothing when no person accepted settings of this clone before, or when the change cannot
/// be made to the accepted texts. Then the person must see the whole list.
pub fn accept_edit(
    root: &Path,
    data: &Path,
    edit: &dyn Fn(&SettingsFiles) -> Result<SettingsFiles, EditProblem>,
) -> Result<bool, Untrusted> {
    let path = key(root)?;
    let file = record::file(data, &path);
    let Some(copy) = record::read(&file)? else { return Ok(false) };
    let Ok(files) = edit(&copy.files()) else { return Ok(false) };
    let Ok(settings) = files.settings(root) else { return Ok(false) };
    let mut scripts = copy.scripts.clone();
    // The content of a script that was accepted before stays the accepted one, even if the script changed since.
    for (name, found) in ScriptMarks::look(root, &settings).0 {
        let starts_something = found.starts_something;
        scripts.0.entry(name).or_insert(found).starts_something |= starts_something;
    }
    let list = TrustList::of(&settings, store::asks(root, &settings).as_deref(), &scripts);
    let contracts = copy.contracts;
    record::change(&file, |_| record::AcceptedCopy {
        path,
        sha256: list.sha256(),
        config: files.config,
        local: files.local,
        detected: files.detected,
        contracts,
        scripts,
    })?;
    Ok(true)
}
