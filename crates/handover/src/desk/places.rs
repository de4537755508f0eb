//! Creates and removes workspaces, the git worktrees in which agents work. Git creates or removes the worktree first.
//! The store records the change only after git succeeded.

use std::path::{Path, PathBuf};

use engine::command::UpdateWorkspace;
use engine::workspace::{Cleaned, Workspace};
use engine::{Command, Refusal, Reply};
use wire::json::object;
use wire::lifecycle::{
    AgentRegister, ReplyPart, ToolError, WorkspaceCreate, WorkspaceReply, WorkspaceUpdate, WorkspaceUpdated,
};

use super::{Desk, Stopped, ToolAnswer, ToolRequest, unexpected};
use git::removed::restore_command;
use git::{Branch, Dirt, Git, GitProblem, KeptBranch};

impl Desk {
    pub(super) async fn create_workspace(&self, request: &ToolRequest<'_>, asked: &WorkspaceCreate) -> ToolAnswer {
        if let Some(first) = self.service.kept(&request.caller, "create_workspace").await? {
            return self.created(&first?).await;
        }
        if !asked.create_worktree.unwrap_or(false) {
            let path = asked.path.as_ref().ok_or(Refusal::MissingPath)?;
            let create = Command::CreateWorkspace(asked.create(path.as_str(), false));
            self.service.would(without_key(request), create.clone()).await?;
            self.may_record_in(request, Path::new(path.as_str())).await?;
            let reply = self.service.execute(request.caller.clone(), create).await?;
            let Reply::WorkspaceCreated { workspace } = reply else { return Err(unexpected("workspace_create")) };
            return Ok(WorkspaceReply { id: workspace, path: None, branch: None }.render());
        }
        let repository = asked.repo_path.as_ref().map(|path| PathBuf::from(path.as_str()));
        let repository = repository.or_else(|| self.surroundings.root.clone()).ok_or(Refusal::MissingRepoPath)?;
        self.may_place(request, asked).await?;
        self.may_work_in(request, &repository).await?;
        let wanted = git::WorktreeRequest {
            repository,
            root: self.surroundings.worktrees.clone(),
            branch: asked.branch.to_string(),
            base: asked.base_branch.as_ref().map(ToString::to_string),
        };
        let made = git::create(&Git::default(), &wanted).await.map_err(|problem| refused(&problem))?;
        let mut create = asked.create(&made.path.display().to_string(), true);
        create.base_branch = Some(made.base_branch.clone());
        create.repository_path = Some(wanted.repository.display().to_string());
        let recorded = self.service.execute(request.caller.clone(), Command::CreateWorkspace(create)).await;
        match recorded {
            Ok(reply) => self.created(&reply).await,
            Err(error) => {
                // If the store refuses the new workspace, remove the worktree that git made for it. Nothing is lost: no
                // agent has worked in it yet.
                let named = (made.branch.as_str(), Some(made.base_commit.as_str()));
                let removal = removal(&wanted.repository, &made.path, named, self.now_ms());
                let _left = git::remove(&Git::default(), &removal).await;
                Err(error.into())
            }
        }
    }

    /// Asks the engine (the code that accepts or refuses commands) whether it would accept the workspace, a worktree
    /// for an agent. Refuses the call if the engine would not accept it. This runs before git creates anything.
    async fn may_place(&self, request: &ToolRequest<'_>, asked: &WorkspaceCreate) -> Result<(), Stopped> {
        let create = Command::CreateWorkspace(asked.create("worktree", true));
        self.service.would(without_key(request), create).await?;
        Ok(())
    }

    async fn created(&self, reply: &Reply) -> ToolAnswer {
        let Reply::WorkspaceCreated { workspace } = reply else { return Err(unexpected("workspace_create")) };
        let id = *workspace;
        let row = self.service.view(move |world| world.workspace(id).cloned()).await?;
        let made = row.created_by_us;
        let reply =
            WorkspaceReply { id, path: made.then(|| row.path.clone()), branch: made.then(|| row.branch.clone()) };
        Ok(reply.render())
    }

    pub(super) async fn update_workspace(&self, request: &ToolRequest<'_>, asked: &WorkspaceUpdate) -> ToolAnswer {
        let id = asked.id;
        let update = Command::UpdateWorkspace(asked.update());
        if !asked.cleanup_worktree.unwrap_or(false) {
            if asked.merge_commit.is_some() {
                self.service.would(without_key(request), update.clone()).await?;
                self.merge_is_found(asked).await?;
            }
            return updated(&self.service.execute(request.caller.clone(), update).await?);
        }
        if let Some(first) = self.service.kept(&request.caller, "update_workspace").await? {
            return updated(&first?);
        }
        self.service.would(without_key(request), update.clone()).await?;
        let (row, repository) = self
            .service
            .view(move |world| {
                let row = world.workspace(id)?.clone();
                let repository = row.repository.map(|id| world.repository(id).cloned()).transpose()?;
                Ok((row, repository))
            })
            .await?;
        if !row.created_by_us {
            let problem = "Handover did not create it, so it does not delete it".to_owned();
            return Err(refused(&GitProblem::WorkspaceNotOurs { path: PathBuf::from(&row.path), problem }));
        }
        let home = repository.map(|repository| PathBuf::from(repository.path));
        let home = home.or_else(|| self.surroundings.root.clone()).ok_or(Refusal::MissingRepoPath)?;
        self.merge_is_found(asked).await?;
        let removal = git::Removal {
            merge_commit: asked.merge_commit.as_ref().map(ToString::to_string).or_else(|| row.merge_commit.clone()),
            force: asked.force.unwrap_or(false),
            ..self.removal_of(&row, &home)
        };
        let removed = git::remove(&Git::default(), &removal).await.map_err(|problem| refused(&problem))?;
        let update = Command::UpdateWorkspace(UpdateWorkspace {
            cleaned: Some(cleaned(&removed, &row.branch)),
            ..asked.update()
        });
        updated(&self.service.execute(request.caller.clone(), update).await?)
    }

    fn now_ms(&self) -> i64 {
        self.service.now().0
    }

    fn removal_of(&self, row: &Workspace, home: &Path) -> git::Removal {
        removal(home, Path::new(&row.path), (&row.branch, row.base_branch.as_deref()), self.now_ms())
    }
}

fn removal(repository: &Path, path: &Path, (branch, base): (&str, Option<&str>), now_ms: i64) -> git::Removal {
    git::Removal {
        repository: repository.to_owned(),
        path: path.to_owned(),
        branch: branch.to_owned(),
        base: base.map(str::to_owned),
        merge_commit: None,
        force: false,
        now_ms,
    }
}

fn without_key(request: &ToolRequest<'_>) -> engine::Caller {
    engine::Caller { key: None, ..request.caller.clone() }
}

fn cleaned(removed: &git::Removed, branch: &str) -> Cleaned {
    Cleaned {
        worktree_removed: removed.worktree_removed,
        branch_deleted: matches!(removed.branch, Branch::Deleted { .. }),
        branch_kept_because: match &removed.branch {
            Branch::Deleted { .. } | Branch::Kept(KeptBranch::Gone) => None,
            Branch::Kept(kept) => Some(why(kept)),
        },
        restore: match &removed.branch {
            Branch::Deleted { kept_as, .. } => Some(restore_command(branch, kept_as)),
            Branch::Kept(_) => None,
        },
    }
}

fn updated(reply: &Reply) -> ToolAnswer {
    let Reply::WorkspaceUpdated { cleaned } = reply else { return Err(unexpected("workspace_update")) };
    let cleaned = cleaned.as_ref();
    let updated = WorkspaceUpdated {
        success: true,
        worktree_removed: cleaned.map(|cleaned| cleaned.worktree_removed),
        branch_deleted: cleaned.map(|cleaned| cleaned.branch_deleted),
        branch_kept_because: cleaned.and_then(|cleaned| cleaned.branch_kept_because.clone()),
        branch_restore: cleaned.and_then(|cleaned| cleaned.restore.clone()),
    };
    Ok(updated.render())
}

/// Turns a problem that git reported, or that Handover found before it called git, into a refusal.
pub(super) fn refused(problem: &GitProblem) -> Stopped {
    let details = match problem {
        GitProblem::InvalidInput { field, problem } => {
            let entry = object([("field", (*field).into()), ("problem", problem.as_str().into())]);
            Some(object([("fields", vec![entry].into())]))
        }
        GitProblem::WorkspaceDirty { dirt: Dirt::Changes { files, more }, .. } => {
            let files: Vec<&str> = files.iter().map(String::as_str).collect();
            Some(object([("files", files.into()), ("more", (*more).into())]))
        }
        // The message of the refusal already says everything about these problems, so no details are added.
        GitProblem::WorkspaceDirty { dirt: Dirt::Locked { .. } | Dirt::Submodules, .. }
        | GitProblem::BranchExists { .. }
        | GitProblem::NotARepository { .. }
        | GitProblem::BaseNotFound(_)
        | GitProblem::PathTaken { .. }
        | GitProblem::PathUnusable { .. }
        | GitProblem::WorkspaceNotOurs { .. }
        | GitProblem::GitFailed { .. }
        | GitProblem::IdentityMissing
        | GitProblem::SlotsUsed { .. }
        | GitProblem::SlotInUse { .. }
        | GitProblem::GitMissing { .. }
        | GitProblem::GitTimeout { .. } => None,
    };
    Stopped::Said(ToolError {
        code: problem.code(),
        message: problem.to_string(),
        recoverable: problem.is_recoverable(),
        suggestion: problem.suggestion().to_owned(),
        details,
    })
}

impl Desk {
    /// Returns the command that registers an agent. If the project has a card for the agent (a file that describes it),
    /// the agent gets the slug (the short name) that the card gives.
    pub(super) fn with_card(&self, asked: &AgentRegister) -> Command {
        let cards = self.surroundings.root.as_deref().and_then(|root| base::project::files::cards(root).ok());
        let slug = engine::agent::slug_of(asked.name.as_str());
        let own = cards
            .into_iter()
            .flatten()
            .filter_map(|judged| judged.card)
            .find(|card| card.identity.slug.as_str() == slug || card.identity.name.as_str() == asked.name.as_str());
        Command::Register(asked.register(own.map(|card| card.identity.slug.to_string())))
    }
}

/// Returns the reason why git kept a branch when its workspace was removed, in words.
fn why(kept: &KeptBranch) -> String {
    match kept {
        KeptBranch::Gone => "the branch does not exist any more".to_owned(),
        KeptBranch::NotMerged { base } => format!("its commits are not in {base}"),
        KeptBranch::MergeNotFound { base } => format!("the merge commit is not in {base}"),
        KeptBranch::MergeBeforeBranch { merge } => {
            format!("{merge} is older than the branch's own commits; give the commit that merged them")
        }
        KeptBranch::MergeLacks { merge, file: Some(file) } => {
            format!(
                "{merge} does not contain the branch's changes of {file}; merge the branch, or give the commit that \
                 merged it"
            )
        }
        KeptBranch::MergeLacks { merge, file: None } => {
            format!("git cannot tell whether {merge} contains the branch's commits; merge the branch")
        }
        KeptBranch::BaseNotFound => {
            "the base branch does not exist, so git cannot compare the branch with it".to_owned()
        }
        KeptBranch::CheckedOut { path } => format!("it is checked out at {}", path.display()),
        KeptBranch::Failed { problem } => problem.clone(),
    }
}
