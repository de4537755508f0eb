//! Computes the commit of a landing (a merge of finished work into a branch of the person). Changes no branch and no
//! worktree.

use super::worktree::{Checkout, current_branch, unfinished_anywhere};
use super::{Landing, LandingPlan, LandingRefusal, LandingRequest};
use crate::GitProblem;
use crate::branch::check_words;
use crate::branch::merge::{MergeConflict, merged_tree};
use crate::branch::quiet::{Quiet, quiet};
use crate::branch::state::in_tree;
use crate::branch::tree::tree_id;
use crate::changes::changes;
use crate::program::{Git, GitCall};
use crate::repository::{GitRepository, reference};

/// The name and mail address of the person, from the git configuration.
struct Person {
    name: String,
    mail: String,
}

/// Computes the result of merging finished work into a branch of the person: one commit on top of the tip of that
/// branch. The person is its author, and the message names the agent.
pub async fn plan_landing(git: &Git, request: &LandingRequest) -> Result<LandingPlan, GitProblem> {
    check_words(&request.message, &request.agent)?;
    let repository = GitRepository::find(git, &request.repository).await?;
    let target = match &request.target {
        Some(target) => target.clone(),
        None => match current_branch(git, &repository).await? {
            Ok(target) => target,
            Err(refusal) => return Ok(LandingPlan::Refused(refusal)),
        },
    };
    let missing = |branch: &str| LandingPlan::Refused(LandingRefusal::BranchMissing { branch: branch.to_owned() });
    let Some(tip) = repository.commit(git, &reference(&target)).await? else { return Ok(missing(&target)) };
    let Some(work_tip) = repository.commit(git, &reference(&request.work)).await? else {
        return Ok(missing(&request.work));
    };
    if let Some(refusal) = unfinished_anywhere(git, &repository, &target).await? {
        return Ok(LandingPlan::Refused(refusal));
    }
    if let Some(checkout) = Checkout::of_branch(git, &repository, &target).await?
        && let Some(refusal) = checkout.unfinished(git).await?
    {
        return Ok(LandingPlan::Refused(refusal));
    }
    if let Some(path) = in_tree(git, &repository, &work_tip).await? {
        return Ok(LandingPlan::HasState { path });
    }
    let quiet = quiet(git, &repository.home).await?;
    let base = merge_base(git, &repository, &request.base, (&tip, &work_tip)).await?;
    let tree = match merged_tree(git, &repository, &quiet, (base.as_deref(), &tip, &work_tip)).await? {
        Ok(tree) => tree,
        Err(MergeConflict { paths, more }) => return Ok(LandingPlan::Conflict { target, paths, more }),
    };
    if tree == tree_id(git, &repository, &tip).await? {
        return Ok(LandingPlan::Nothing { target, tip });
    }
    let commit = commit(git, &repository, &quiet, request, (&tree, &tip)).await?;
    let is_moved = tree != tree_id(git, &repository, &work_tip).await?;
    let count = GitCall::read(&repository.home, &["rev-list", "--count"]).and(format!("{}..{tip}", request.base));
    let moved_commits = count.run(git).await?.whole()?.text().parse().unwrap_or_default();
    let changes = changes(git, &repository.home, &tip, &commit).await?;
    let work = request.work.clone();
    let repository = request.repository.clone();
    Ok(LandingPlan::Ready(Landing {
        repository,
        work,
        work_tip,
        target,
        tip,
        commit,
        tree,
        is_moved,
        moved_commits,
        changes,
    }))
}

/// Returns the commit with which the work and the person's branch are both compared. Returns `None` when it is their
/// last common commit.
///
/// Work can start from other work that was merged into the person's branch as one commit. In that case the last common
/// commit is too old: the changes of the other work would count again and conflict with later changes of the branch.
async fn merge_base(
    git: &Git,
    repository: &GitRepository,
    base: &str,
    (tip, work): (&str, &str),
) -> Result<Option<String>, GitProblem> {
    let Some(base) = repository.commit(git, base).await? else {
        return Err(GitProblem::input("base", "is not in the repository"));
    };
    let is_start = repository.contains(git, work, &base).await?;
    let is_common = match repository.fork(git, tip, work).await? {
        Some(fork) => repository.contains(git, &fork, &base).await?,
        None => false,
    };
    Ok(Some(base).filter(|_| is_start && !is_common))
}

async fn commit(
    git: &Git,
    repository: &GitRepository,
    quiet: &Quiet,
    request: &LandingRequest,
    (tree, tip): (&str, &str),
) -> Result<String, GitProblem> {
    let person = person(git, repository).await?;
    let (name, mail) = request.agent.name_and_mail();
    let message = format!("{}\n\nCo-authored-by: {name} <{mail}>\n", request.message.trim_end());
    let call = GitCall::write(&repository.home, &["commit-tree", "--no-gpg-sign", "-p"]).and(tip);
    let call = call.and("-m").and(message).and(tree).set(&quiet.settings);
    let call = call.env("GIT_AUTHOR_NAME", &person.name).env("GIT_AUTHOR_EMAIL", &person.mail);
    let call = call.env("GIT_COMMITTER_NAME", &person.name).env("GIT_COMMITTER_EMAIL", &person.mail);
    Ok(call.run(git).await?.whole()?.text())
}

/// Returns the name and the mail address of the person from the git configuration. Fails when the configuration has
/// none, because git must not guess them from the machine.
async fn person(git: &Git, repository: &GitRepository) -> Result<Person, GitProblem> {
    let known = [("user.useConfigOnly".to_owned(), "true".to_owned())];
    let call = GitCall::read(&repository.home, &["var", "GIT_AUTHOR_IDENT"]).set(&known);
    let output = call.run(git).await?;
    // Git prints `Name <mail>`, a time and a time zone.
    let text = output.text();
    let parts = text.rsplit_once('>').and_then(|(person, _)| person.split_once(" <"));
    match parts {
        Some((name, mail)) if output.is_success() => Ok(Person { name: name.to_owned(), mail: mail.to_owned() }),
        Some(_) | None => Err(GitProblem::IdentityMissing),
    }
}
