//! Changes the settings files for commands such as `handover check set`. A person who types such a command also accepts
//! the change, but no other change of the settings.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use base::project::effective;
use base::project::files::edit::EditProblem;
use base::project::files::ignore_own_files;
use base::project::place;
use base::project::settings::{DetectedDefaults, SettingsFiles};
use base::project::trust::{self, TrustView};
use git::FOLDER;
use handover::person;

use super::failure::CommandFailure;
use super::{say, trust as trust_command};

/// A function that changes the texts of the settings files.
type SettingsEdit<'a> = &'a dyn Fn(&SettingsFiles) -> Result<SettingsFiles, EditProblem>;

/// The settings of a project that a person is about to change.
pub(super) struct EditSite {
    pub(super) root: PathBuf,
    data: PathBuf,
    detected: DetectedDefaults,
    files: SettingsFiles,
    before: TrustView,
}

/// The result of a change of the settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EditResult {
    Changed,
    /// The settings files had the wanted value before.
    Same,
}

impl EditSite {
    /// Reads the settings files of the project that contains the current folder.
    pub(super) fn open() -> anyhow::Result<Self> {
        let root = crate::begin::root()?;
        let data = place::data_folder().context("there is no folder for this user's data; set HOME")?;
        let detected = effective::find_here(&root);
        let known = SettingsFiles::read(&root).context("read the settings")?;
        let files = SettingsFiles { detected: detected.clone(), ..known };
        let before = trust::view_of(&root, Some(&data), files.clone()).context("read the settings")?;
        Ok(Self { root, data, detected, files, before })
    }

    /// Returns the settings as they are before the change.
    pub(super) fn before(&self) -> &TrustView {
        &self.before
    }

    /// Makes the change in the file of this name and records that the person accepted it. `tell` prints the result. If
    /// other changes of the settings are not accepted yet, shows them, and asks the person at the terminal about them.
    pub(super) fn change(
        &self,
        file: &str,
        edit: SettingsEdit<'_>,
        tell: &dyn Fn(EditResult) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let refused = |problem: EditProblem| CommandFailure::needed(&problem.to_string());
        let files = edit(&self.files).map_err(refused)?;
        let after = trust::view_of(&self.root, Some(&self.data), files.clone()).context("read the settings")?;
        let path = self.root.join(FOLDER).join(file);
        let text = if file == "local.toml" { &files.local } else { &files.config };
        let is_same = files == self.files;
        if !is_same {
            write(&path, text).with_context(|| format!("write {}", path.display()))?;
            ignore_own_files(&self.root).context("write .handover/.gitignore")?;
        }
        tell(if is_same { EditResult::Same } else { EditResult::Changed })?;
        if self.before.waiting().is_empty() {
            // All settings were accepted before the change. So accepting the new settings accepts only the change that
            // was typed.
            trust::accept(&self.data, &after).context("save what was accepted")?;
            return Ok(());
        }
        let is_accepted = trust::accept_edit(&self.root, &self.data, edit).context("save what was accepted")?;
        let view = trust::view_with(&self.root, Some(&self.data), &self.detected).context("read the settings")?;
        if view.is_trusted() {
            return Ok(());
        }
        say("")?;
        say(match is_accepted {
            true => "Other settings changed, and you have not accepted them yet:",
            false => "You have accepted no commands of this project yet:",
        })?;
        if person::at_a_terminal().is_ok() {
            trust_command::ask(&view, &self.data)?;
        } else {
            view.waiting().iter().try_for_each(|line| say(&format!("  {}", super::show::plain(line))))?;
            say("Read and accept them in a terminal: handover trust")?;
        }
        Ok(())
    }
}

/// Replaces a file as a whole, so that a killed process never leaves half of a person's text.
fn write(path: &Path, text: &str) -> std::io::Result<()> {
    // If the path is a symbolic link, replace the file to which it points. The link stays.
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let folder = path.parent().ok_or_else(|| std::io::Error::other("the path has no folder"))?;
    std::fs::create_dir_all(folder)?;
    let permissions = std::fs::metadata(&path).map(|known| known.permissions());
    let mut fresh = tempfile::NamedTempFile::new_in(folder)?;
    fresh.write_all(text.as_bytes())?;
    let usual = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    fresh.as_file().set_permissions(permissions.unwrap_or(usual))?;
    fresh.as_file().sync_all()?;
    fresh.persist(&path).map_err(|late| late.error)?;
    Ok(())
}
