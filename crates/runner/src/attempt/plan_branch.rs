//! Gives a plan its branch. The branch is created in git first, because only git can make sure that no other process has
//! the name. The store then keeps the name, so that the plan has the same branch in every later run.

use std::collections::BTreeSet;

use base::Error;
use engine::workflow::Workflow;
use engine::{Caller, Command, Reply, Rights};
use git::GitProblem;
use git::branch::{self, BranchStart, BranchSubject, BranchTip};
use git::repository::GitRepository;

use super::AttemptError;
use super::place::WorktreeGround;
use super::shared::RunnerShared;

impl RunnerShared {
    /// Returns the branch of a plan. Creates and stores one when the plan has none yet.
    pub(crate) async fn plan_branch(&self, workflow: &Workflow) -> Result<String, AttemptError> {
        if let Some(branch) = &workflow.branch {
            return Ok(branch.clone());
        }
        let old = branch::workflow_branch(&workflow.id.to_string());
        if self.ground.branch_tip(&old).await?.is_some() {
            // A run of version 0.1.0 began the plan and already created its branch, with the name `old`.
            return Ok(self.take_branch(workflow, &old).await?.unwrap_or(old));
        }
        let mut taken = BTreeSet::new();
        loop {
            let (started, base) = self.ground.start_plan_branch(workflow, &taken).await?;
            let stored = self.take_branch(workflow, &started.branch).await?;
            if stored.as_ref() == Some(&started.branch) {
                return Ok(started.branch);
            }
            // Another runner gave the plan a branch first, or another plan of this store has a branch with this name.
            // So the branch that was just created is not used. It is deleted unless it has commits of its own.
            if started.tip == base {
                self.ground.discard_branch(&started).await?;
            }
            match stored {
                Some(branch) => return Ok(branch),
                None => taken.insert(started.branch),
            };
        }
    }

    /// Stores the branch of a plan. Returns the branch that the plan has now, or `None` when another plan has this branch.
    async fn take_branch(&self, workflow: &Workflow, branch: &str) -> Result<Option<String>, Error> {
        let command = Command::TakeBranch { workflow: workflow.id, branch: branch.to_owned() };
        let reply = self.service.execute(Caller::with_rights(Rights::Runner), command).await?;
        if let Reply::BranchTaken { branch } = reply {
            return Ok(Some(branch));
        }
        let Reply::BranchOfOther { .. } = reply else { return Err(Error::unexpected(&reply)) };
        Ok(None)
    }
}

impl WorktreeGround {
    /// Returns the commit of a branch, or `None` when the branch does not exist.
    pub(crate) async fn branch_tip(&self, branch: &str) -> Result<Option<String>, GitProblem> {
        let _turn = self.turn.acquire().await;
        branch::tip(&self.git, &self.root, branch).await
    }

    /// Creates a branch named after the plan, at the commit that the person has checked out. Returns the branch and this
    /// commit.
    async fn start_plan_branch(
        &self,
        workflow: &Workflow,
        taken: &BTreeSet<String>,
    ) -> Result<(BranchTip, String), GitProblem> {
        let _turn = self.turn.acquire().await;
        let base = GitRepository::find(&self.git, &self.root).await?.base(&self.git, None).await?;
        let (subject, owner) = (BranchSubject::Plan { name: &workflow.name }, workflow.id.to_string());
        let start = BranchStart { subject, commit: &base.commit, owner: &owner, taken };
        Ok((branch::start_branch(&self.git, &self.root, start).await?, base.commit))
    }

    async fn discard_branch(&self, started: &BranchTip) -> Result<(), GitProblem> {
        let _turn = self.turn.acquire().await;
        branch::discard(&self.git, &self.root, started).await
    }
}
