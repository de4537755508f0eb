//! Computes how a setup or an undo would change the client's files. It reads files and writes none.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::client::{ClientFile, ClientProgram, Form, Layout};
use super::disk;
use super::entry::{self, HttpEntry};
use super::layout::{layout, whole};
use super::problem::SetupProblem;
use super::receipt::Receipt;
use super::want::{FileError, RecordedPlaces, RemainingText, Want, WantedText, is_entry, is_over_http, place};
use super::{json, section, toml, yaml};

/// The users and projects to which a setup of a client applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetupReach {
    /// The setup applies to everyone who works in the project.
    Project,
    /// The setup applies to one user, in all projects.
    User,
}

impl SetupReach {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Project => "project",
            Self::User => "user",
        }
    }
}

/// The facts about this machine and the user's options that decide how a setup changes a client's files.
#[derive(Debug, Clone)]
pub struct SetupSurroundings {
    /// The root folder of the project that the client is configured for.
    pub root: PathBuf,
    pub home: Option<PathBuf>,
    /// The environment variables. Some of them, such as `CLAUDE_CONFIG_DIR`, name the folder of a client's files.
    pub environment: BTreeMap<String, String>,
    /// The name or path of the program that a client starts as its server.
    pub program: String,
    /// The folder with the receipts. A receipt records which entries earlier setups added to a file, for `--undo`.
    pub receipts: PathBuf,
    /// `true` if the client's hooks are configured, too (`--hooks`).
    pub hooks: bool,
    /// The HTTP server that the client uses. `None` if the client starts a server itself.
    pub http: Option<HttpEntry>,
}

impl SetupSurroundings {
    /// Returns the users to which the entry for Handover's server applies. An entry with a token always applies to one
    /// user, so it is never written into the project's files.
    pub(super) fn entry_reach(&self, reach: SetupReach) -> SetupReach {
        if self.http.is_some() { SetupReach::User } else { reach }
    }

    /// Returns the note for the user when the server's entry applies to all projects, although the user asked for one
    /// project.
    pub(super) fn wide(&self, reach: SetupReach) -> Option<&'static str> {
        (self.entry_reach(reach) != reach).then_some(
            "the token belongs to you, so it is in your own configuration and not in the project's: the client uses \
             this server in all projects",
        )
    }

    /// Returns the folder that an environment variable names. A relative path starts at the root of the project.
    pub(super) fn set(&self, name: &str) -> Option<PathBuf> {
        self.environment.get(name).filter(|value| !value.is_empty()).map(|value| self.root.join(value))
    }

    pub(super) fn in_home(&self, name: &str) -> Result<PathBuf, SetupProblem> {
        self.home.as_ref().map(|home| home.join(name)).ok_or(SetupProblem::Homeless)
    }

    /// Returns the folder that an environment variable names. Without the variable, returns a folder in the home
    /// folder.
    pub(super) fn folder(&self, name: &str, otherwise: &str) -> Result<PathBuf, SetupProblem> {
        self.set(name).map_or_else(|| self.in_home(otherwise), Ok)
    }

    /// Returns the folder of a client inside the user's configuration folder, which is usually `~/.config`.
    pub(super) fn config(&self, name: &str) -> Result<PathBuf, SetupProblem> {
        Ok(self.folder("XDG_CONFIG_HOME", ".config")?.join(name))
    }
}

/// The change that setup makes to one file of a client. `before` or `after` is `None` when the file does not exist
/// before or after the change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// The path under which the client reads its file. It may be a symbolic link.
    pub path: PathBuf,
    /// The path of the real file, after following all links of `path`.
    pub target: PathBuf,
    pub before: Option<String>,
    pub after: Option<String>,
    /// A short description of Handover's entries in the file, for the person who reads the planned changes.
    pub about: &'static str,
    /// `true` if the edited file holds a token. Then only its owner may read it, and git must not track it.
    pub private: bool,
    pub(super) trace: Trace,
}

/// The change to a file's receipt, which records the entries that setup added to the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Trace {
    Keep(Receipt),
    /// Deletes the receipt, the record of what setup wrote. Also deletes these folders, which an earlier setup created,
    /// if they are empty.
    Drop(Vec<PathBuf>),
    Leave,
}

impl Edit {
    pub fn changes(&self) -> bool {
        self.before != self.after
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetupPlan {
    pub edits: Vec<Edit>,
    /// Notes for the user: facts about the setup, and steps that the user must do in the client.
    pub notes: Vec<String>,
}

/// Returns the changes that configure a client for Handover's server.
pub fn plan(client: ClientProgram, reach: SetupReach, around: &SetupSurroundings) -> Result<SetupPlan, SetupProblem> {
    let Layout { pieces, wide, notes } = layout(client, reach, around)?;
    let notes = wide.into_iter().chain(notes).map(str::to_owned).collect();
    let mut plan = SetupPlan { edits: Vec::new(), notes };
    for piece in pieces {
        let (target, before) = open(&piece, reach, around, &plan)?;
        let trouble = |trouble| SetupProblem::content(piece.path.clone(), trouble);
        let WantedText { text: after, made, kept } = piece.write(before.as_deref()).map_err(trouble)?;
        if kept {
            let path = piece.path.display();
            plan.notes.push(format!(
                "{path} has an entry `handover` for a server on the network; this entry was not \
                changed"
            ));
        }
        let trace = if before.as_deref() == Some(after.as_str()) {
            Trace::Leave
        } else {
            Trace::Keep(receipt(&piece, around, (&target, before.as_deref()), (&after, made))?)
        };
        let (path, about, private) = (piece.path, piece.about, piece.private);
        let edit = Edit { path, target, before, after: Some(after), about, private, trace };
        plan.edits.push(writable(edit)?);
    }
    Ok(plan)
}

/// Returns the changes that remove Handover's entries from a client's files.
pub fn undo(client: ClientProgram, reach: SetupReach, around: &SetupSurroundings) -> Result<SetupPlan, SetupProblem> {
    // Include the hooks, because an earlier setup may have configured them.
    let around = &SetupSurroundings { hooks: true, ..around.clone() };
    let Layout { pieces, wide, .. } = whole(client, reach, around)?;
    let plain = layout(client, reach, &SetupSurroundings { http: None, ..around.clone() })?;
    let within = plain.pieces.into_iter().map(|piece| piece.path).collect::<Vec<_>>();
    let mut plan = SetupPlan { edits: Vec::new(), notes: wide.into_iter().map(str::to_owned).collect() };
    for piece in pieces {
        let (target, before) = open(&piece, reach, around, &plan)?;
        let Some(text) = before else { continue };
        if let Form::Section(_) = piece.form
            && let Some(other) = sharer(client, reach, around, &target)?
        {
            let (path, other) = (piece.path.display(), other.as_str());
            plan.notes.push(format!("{path} keeps Handover's section, because {other} is set up and reads it, too"));
            continue;
        }
        let known = Receipt::find(&around.receipts, &target)?;
        let recorded = |record: &String| known.as_ref().is_some_and(|known| known.made.contains(record));
        let (own, others) = (piece.entries(), piece.others(known.as_ref()));
        // Skip a file that only a setup with `--http` uses, unless the receipt (the record of what setup wrote) lists
        // Handover's HTTP entry in it.
        if piece.private && !within.contains(&piece.path) && !own.iter().any(|own| is_over_http(own) && recorded(own)) {
            continue;
        }
        let after = if others.is_empty() {
            clear(&piece, &text, known.as_ref())?
        } else {
            // If the file also has Handover's entries for other projects, those stay. Restoring the original text would
            // remove them, so remove only the entries of this setup.
            remove(&piece, &text, known.as_ref())?
        };
        let trace = match known {
            _ if after.as_ref() == Some(&text) => Trace::Leave,
            Some(known) if !others.is_empty() => Trace::Keep(known.without(|made| own.iter().any(|own| own == made))),
            Some(known) => Trace::Drop(known.folders),
            None => Trace::Drop(Vec::new()),
        };
        let (path, about, private) = (piece.path, piece.about, piece.private);
        let edit = Edit { path, target, before: Some(text), after, about, private, trace };
        plan.edits.push(writable(edit)?);
    }
    Ok(plan)
}

impl ClientFile {
    /// Adds Handover's entries to the text of the client's file. A byte order mark at the start is kept, although it is
    /// not part of the document.
    fn write(&self, text: Option<&str>) -> Result<WantedText, FileError> {
        match text.and_then(|text| text.strip_prefix(disk::MARK)) {
            Some(text) => self
                .write_plain(Some(text))
                .map(|new| WantedText { text: format!("{}{}", disk::MARK, new.text), ..new }),
            None => self.write_plain(text),
        }
    }

    fn remove(&self, text: &str, made: RecordedPlaces<'_>) -> Result<RemainingText, FileError> {
        match text.strip_prefix(disk::MARK) {
            Some(text) => self
                .remove_plain(text, made)
                .map(|new| RemainingText { text: format!("{}{}", disk::MARK, new.text), ..new }),
            None => self.remove_plain(text, made),
        }
    }

    fn write_plain(&self, text: Option<&str>) -> Result<WantedText, FileError> {
        match &self.form {
            Form::Json(wants) => json::write(text, wants),
            Form::Toml(wants) => toml::write(text, wants),
            Form::Yaml(wants) => yaml::write(text, wants),
            Form::Section(marks) => {
                section::write(text, *marks).map(|text| WantedText { text, made: Vec::new(), kept: false })
            }
        }
    }

    fn remove_plain(&self, text: &str, made: RecordedPlaces<'_>) -> Result<RemainingText, FileError> {
        match &self.form {
            Form::Json(wants) => json::remove(text, wants, made),
            Form::Toml(wants) => toml::remove(text, wants, made),
            Form::Yaml(wants) => yaml::remove(text, wants, made),
            Form::Section(marks) => section::remove(text, *marks),
        }
    }

    fn wants(&self) -> &[Want] {
        match &self.form {
            Form::Json(wants) | Form::Toml(wants) | Form::Yaml(wants) => wants,
            Form::Section(_) => &[],
        }
    }

    /// Returns the value at a path of keys in the text of a client's file.
    fn value(&self, text: &str, at: &[&str]) -> Option<Value> {
        match &self.form {
            Form::Json(_) => json::value(text, at),
            Form::Toml(_) => toml::value(text, at),
            Form::Yaml(_) => yaml::value(text, at),
            Form::Section(_) => None,
        }
    }

    /// Returns the names under which a receipt (the record of what setup wrote) lists this file's entries for
    /// Handover's server.
    fn entries(&self) -> Vec<String> {
        let tables = self.wants().iter().filter(|want| matches!(want, Want::Table { .. }));
        let mut records = tables.flat_map(|want| [place(want.at()), want.record(), want.amended()]).collect::<Vec<_>>();
        records.dedup();
        records
    }

    /// Returns the entries for Handover's server that the receipt (the record of what setup wrote) lists, but that do
    /// not belong to this setup. Such an entry is for another project or for all projects, and an undo keeps it.
    fn others(&self, known: Option<&Receipt>) -> Vec<String> {
        let own = self.entries();
        let made = known.map_or(&[][..], |known| known.made.as_slice());
        made.iter().filter(|made| is_entry(made) && !own.contains(made)).cloned().collect()
    }

    /// Tells whether the client's file has an entry for Handover's server.
    fn names_us(&self) -> Result<bool, SetupProblem> {
        let Some(text) = disk::peek(&self.path)? else { return Ok(false) };
        let held = |wants: &[Want], holds: fn(&str, &[String]) -> bool| {
            wants.iter().any(|want| matches!(want, Want::Table { .. }) && holds(&text, want.at()))
        };
        Ok(match &self.form {
            Form::Json(wants) => held(wants, json::holds),
            Form::Toml(wants) => held(wants, toml::holds),
            Form::Yaml(wants) => held(wants, yaml::holds),
            Form::Section(_) => false,
        })
    }
}

/// Returns the tokens' secrets in a client's HTTP entries for Handover's server.
pub(super) fn secrets(
    client: ClientProgram,
    reach: SetupReach,
    around: &SetupSurroundings,
) -> Result<Vec<String>, SetupProblem> {
    let mut found = Vec::new();
    for piece in whole(client, reach, around)?.pieces.iter().filter(|piece| piece.private) {
        let Some(text) = disk::peek(&piece.path)? else { continue };
        for want in piece.wants().iter().filter(|want| matches!(want, Want::Table { .. })) {
            let keys = want.at().iter().map(String::as_str).chain([entry::headers_key(client)]).collect::<Vec<_>>();
            found.extend(piece.value(&text, &keys).as_ref().and_then(entry::secret_of).map(str::to_owned));
        }
    }
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

/// Returns the real path of a client's file after all links, and its text.
fn open(
    piece: &ClientFile,
    reach: SetupReach,
    around: &SetupSurroundings,
    plan: &SetupPlan,
) -> Result<(PathBuf, Option<String>), SetupProblem> {
    let target = disk::resolve(&piece.path)?;
    // Refuse a link that leads out of the project. The repository may come from a stranger, and its links must not make
    // setup write the user's other files.
    if reach == SetupReach::Project
        && piece.path.starts_with(&around.root)
        && !target.starts_with(disk::resolve(&around.root)?)
    {
        return Err(SetupProblem::Outside { path: piece.path.clone(), target });
    }
    if let Some(other) = plan.edits.iter().find(|edit| edit.target == target) {
        return Err(SetupProblem::Same { path: piece.path.clone(), other: other.path.clone() });
    }
    let text = disk::read(&target)?;
    Ok((target, text))
}

fn writable(edit: Edit) -> Result<Edit, SetupProblem> {
    let refused = edit.changes() && disk::read_only(&edit.target);
    if refused { Err(SetupProblem::ReadOnly { path: edit.path }) } else { Ok(edit) }
}

/// Returns the receipt for a change of a file: the record from which an undo restores the text that the file had before
/// the first setup, even after several setups.
fn receipt(
    piece: &ClientFile,
    around: &SetupSurroundings,
    (target, before): (&Path, Option<&str>),
    (after, made): (&str, Vec<String>),
) -> Result<Receipt, SetupProblem> {
    let Some(known) = before.map_or(Ok(None), |_| Receipt::find(&around.receipts, target))? else {
        let mut new = Receipt::new(target, before, after);
        new.made = made;
        new.folders = disk::missing_folders(target);
        return Ok(new);
    };
    let origin = clear(piece, before.unwrap_or_default(), Some(&known))?;
    let mut new = Receipt::new(target, origin.as_deref(), after);
    new.made = known.made;
    new.made.extend(made);
    new.made.sort_unstable();
    new.made.dedup();
    new.folders = known.folders;
    Ok(new)
}

/// Returns the text of a file without Handover's entries. If the file was not changed since the setup, this is the
/// original text. Otherwise it is the present text without the entries. Returns `None` if the file had no other
/// content, so that the file is deleted.
fn clear(piece: &ClientFile, text: &str, known: Option<&Receipt>) -> Result<Option<String>, SetupProblem> {
    if let Some(known) = known
        && let Some(before) = known.restore(text)
    {
        return Ok(known.existed.then_some(before));
    }
    remove(piece, text, known)
}

/// Removes Handover's entries from the present text of a file. Returns `None` if setup created the file and nothing
/// else is in it, so that the file is deleted.
fn remove(piece: &ClientFile, text: &str, known: Option<&Receipt>) -> Result<Option<String>, SetupProblem> {
    let made = known.map_or(RecordedPlaces::Unknown, |known| RecordedPlaces::Recorded(&known.made));
    let rest = piece.remove(text, made).map_err(|trouble| SetupProblem::content(piece.path.clone(), trouble))?;
    let ours = known.is_none_or(|known| !known.existed) && rest.text != text;
    Ok((!(rest.empty && ours)).then_some(rest.text))
}

/// Returns another client that is configured for Handover and reads the same file of instructions. If there is one,
/// Handover's section stays in that file.
fn sharer(
    client: ClientProgram,
    reach: SetupReach,
    around: &SetupSurroundings,
    target: &Path,
) -> Result<Option<ClientProgram>, SetupProblem> {
    for other in ClientProgram::ALL.iter().copied().filter(|other| *other != client) {
        // If the other client's files cannot be determined, the client counts as not configured.
        let Ok(layout) = whole(other, reach, around) else { continue };
        let mut shared = false;
        for piece in &layout.pieces {
            shared |= matches!(piece.form, Form::Section(_)) && disk::resolve(&piece.path)? == target;
        }
        if shared && layout.pieces.iter().any(|piece| piece.names_us().unwrap_or(false)) {
            return Ok(Some(other));
        }
    }
    Ok(None)
}
