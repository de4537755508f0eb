//! Decides where agents may have workspaces (worktrees): in the project's repository, and in repositories that a person
//! registered.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use engine::{Actor, view};
use wire::lifecycle::{ToolError, WorkspaceUpdate};

use super::places::refused;
use super::{Desk, Stopped, ToolRequest};
use git::name::check_commit;
use git::repository::GitRepository;
use git::{Git, GitProblem};

/// The number of repositories that one query reads from the store. A loop reads the following pages.
const PAGE: u32 = 500;
/// The number of registered paths after which the search for registered repositories stops, because checking a path may
/// take one call of git. Repositories on later pages then count as not registered.
const REGISTERED_MAX: usize = 1_000;

impl Desk {
    /// Refuses a repository unless it is the project's or a person registered it. A person may use every repository.
    pub(super) async fn may_work_in(&self, request: &ToolRequest<'_>, path: &Path) -> Result<(), Stopped> {
        if request.is_persons() {
            return Ok(());
        }
        let git = Git::default();
        let home = GitRepository::find(&git, path).await.map_err(|problem| refused(&problem))?.home;
        if self.is_open_to_agents(&git, &home).await? { Ok(()) } else { Err(self.not_permitted(path)) }
    }

    /// Refuses to record a path unless it is inside the project's repository or inside one that a person registered.
    /// The path need not exist yet. A person may record every path.
    pub(super) async fn may_record_in(&self, request: &ToolRequest<'_>, path: &Path) -> Result<(), Stopped> {
        if request.is_persons() {
            return Ok(());
        }
        let git = Git::default();
        let is_open = match GitRepository::find(&git, path).await {
            Ok(repository) => self.is_open_to_agents(&git, &repository.home).await?,
            Err(GitProblem::NotARepository { .. }) => self.is_below_open(path).await?,
            Err(problem) => return Err(refused(&problem)),
        };
        if is_open { Ok(()) } else { Err(self.not_permitted(path)) }
    }

    async fn is_open_to_agents(&self, git: &Git, home: &Path) -> Result<bool, Stopped> {
        let registered = self.registered_by_people().await?;
        for known in self.surroundings.root.iter().chain(&registered) {
            if known == home {
                return Ok(true);
            }
            // The registered path may be a folder inside the repository, or a link to it. So compare the repositories
            // that git finds.
            if let Ok(found) = GitRepository::find(git, known).await
                && found.home == home
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Tells whether a path that is in no git repository is inside the project, its worktrees or a registered folder.
    /// Returns `false` for a path with `..`, because it could lead out of the folder.
    async fn is_below_open(&self, path: &Path) -> Result<bool, Stopped> {
        if path.components().any(|part| part == std::path::Component::ParentDir) {
            return Ok(false);
        }
        let registered = self.registered_by_people().await?;
        let mut open = self.surroundings.root.iter().chain(&self.surroundings.worktrees).chain(&registered);
        Ok(open.any(|open| path.starts_with(open)))
    }

    /// Returns the paths of repositories that a person registered.
    pub(super) async fn registered_by_people(&self) -> Result<BTreeSet<PathBuf>, Stopped> {
        let mut paths = BTreeSet::new();
        let mut after = None;
        loop {
            let page = self.service.view(move |world| view::repositories(world, after, 0, PAGE)).await?;
            let known = page.rows.iter().map(|(repository, _)| repository);
            let by_people = known.filter(|repository| repository.by == Some(Actor::Person));
            paths.extend(by_people.map(|repository| PathBuf::from(&repository.path)));
            after = page.next;
            if after.is_none() || paths.len() >= REGISTERED_MAX {
                return Ok(paths);
            }
        }
    }

    fn not_permitted(&self, path: &Path) -> Stopped {
        let path = path.display();
        let own = match &self.surroundings.root {
            Some(_) => "leave the path out to work in the project's repository, or ",
            None => "",
        };
        Stopped::Said(ToolError {
            code: "NOT_PERMITTED",
            message: format!(
                "{path} is neither in the project's repository nor in a repository that a person registered, so no \
                 workspace can be there"
            ),
            recoverable: true,
            suggestion: format!(
                "{own}ask a person (message_send to `human`) to run `handover repository register {path}`, then call again"
            ),
            details: None,
        })
    }

    /// Refuses a merge commit that git does not find. If the repository is not on this machine, checks only that the
    /// text has the form of a commit id.
    pub(super) async fn merge_is_found(&self, asked: &WorkspaceUpdate) -> Result<(), Stopped> {
        let Some(commit) = asked.merge_commit.as_ref().map(ToString::to_string) else { return Ok(()) };
        check_commit(&commit).map_err(|problem| refused(&problem))?;
        let id = asked.id;
        let (row, repository) = self
            .service
            .view(move |world| {
                let row = world.workspace(id)?.clone();
                let repository = row.repository.map(|id| world.repository(id).cloned()).transpose()?;
                Ok((row, repository))
            })
            .await?;
        let git = Git::default();
        let places = [repository.map(|known| PathBuf::from(known.path)), Some(PathBuf::from(row.path))];
        for place in places.into_iter().flatten() {
            let Ok(found) = GitRepository::find(&git, &place).await else { continue };
            if found.commit(&git, &commit).await.map_err(|problem| refused(&problem))?.is_some() {
                return Ok(());
            }
            let problem = format!("names a commit that git does not find in {}: {commit}", found.home.display());
            return Err(refused(&GitProblem::InvalidInput { field: "merge_commit", problem }));
        }
        Ok(())
    }
}
