//! Converts workspaces, repositories and attachments (repositories of a workflow) to database columns and back.

use engine::workspace::{Attachment, Repository, Workspace, WorkspaceStatus};

use crate::fault::Fault;
use crate::value::{Columns, SqlValue, optional, text};

pub(crate) fn workspace(row: &Workspace) -> Vec<SqlValue> {
    vec![
        text(row.id),
        text(row.workflow),
        optional(row.repository),
        (&row.path).into(),
        (&row.branch).into(),
        row.base_branch.as_ref().into(),
        row.status.as_str().into(),
        row.merge_commit.as_ref().into(),
        row.pr_url.as_ref().into(),
        row.config.as_ref().into(),
        row.created_by_us.into(),
        row.created.into(),
        row.updated.into(),
    ]
}

pub(crate) fn read_workspace(row: Vec<SqlValue>) -> Result<Workspace, Fault> {
    let mut columns = Columns::new("workspace", row);
    let row = &mut columns;
    Ok(Workspace {
        id: row.parsed()?,
        workflow: row.parsed()?,
        repository: row.maybe_parsed()?,
        path: row.text()?,
        branch: row.text()?,
        base_branch: row.maybe_text()?,
        status: row.word(WorkspaceStatus::parse)?,
        merge_commit: row.maybe_text()?,
        pr_url: row.maybe_text()?,
        config: row.json()?,
        created_by_us: row.flag()?,
        created: row.time()?,
        updated: row.time()?,
    })
}

pub(crate) fn repository(row: &Repository) -> Vec<SqlValue> {
    vec![text(row.id), (&row.path).into(), row.name.as_ref().into(), row.created.into(), optional(row.by)]
}

pub(crate) fn read_repository(row: Vec<SqlValue>) -> Result<Repository, Fault> {
    let mut row = Columns::new("repository", row);
    let (id, path, name, created) = (row.parsed()?, row.text()?, row.maybe_text()?, row.time()?);
    Ok(Repository { id, path, name, created, by: row.maybe_parsed()? })
}

pub(crate) fn attachment(row: &Attachment) -> Vec<SqlValue> {
    vec![text(row.workflow), text(row.repository), row.added.into()]
}

#[cfg(feature = "testing")]
pub(crate) fn read_attachment(row: Vec<SqlValue>) -> Result<Attachment, Fault> {
    let mut row = Columns::new("attachment", row);
    Ok(Attachment { workflow: row.parsed()?, repository: row.parsed()?, added: row.time()? })
}
