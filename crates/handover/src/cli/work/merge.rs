//! `handover merge`: merges finished work into the person's branch, as one commit for each task.

use std::process::ExitCode;

use base::ground::words;
use base::people::delivered::{self, FinishedWork, short, size_words};
use clap::Args;
use engine::Caller;
use engine::delivery::{CheckOutcome, DeliveryState, DeliverySubject};
use git::branch::Author;
use git::land::{
    Landing, LandingPlan, LandingRecord, LandingRefusal, LandingRequest, LandingResult, land, plan_landing,
};
use handover::office::Office;
use wire::json::{Value, object};

use super::super::show::{plain, refused};
use super::super::{say, say_json};
use super::checks::{self, ResultCheck};
use super::choose::{ChoiceText, chosen_work};
use super::diff::without_work;
use super::record::{LandingAct, LandingJournal, LandingSite, merged};
use super::site::WorkSite;
use super::{ask, numbered, push, undo};

pub(super) const HELP: &str = "\
The work becomes one commit on top of your branch: you are its author, and the agent is named as co-author. When your branch
moved since the check, the merged result is checked first, in a worktree of its own. Files with uncommitted changes stay as
they are; the merge is refused only when it would change one of them.

--all merges everything that is checked. Work that no check judged is merged only by its number.
--undo sets your branch back while nothing came after the merge; the work waits again.
--pr pushes the branch of the work instead, and prints the address where you make a pull request.";

/// The number of times that one merge is tried. A merge must be computed again when the person's branch got a new
/// commit in the meantime.
const TRIES_MAX: u32 = 5;

const CHOICE: ChoiceText<'_> = ChoiceText {
    command: "handover merge",
    nothing: "No finished work waits for you. Start your agents: handover run",
};

#[derive(Debug, Args)]
pub(in crate::cli) struct MergeArguments {
    /// The tasks or plans: numbers, names, or beginnings of names
    #[arg(value_name = "TASK|PLAN")]
    works: Vec<String>,
    /// Merge everything that is checked and waits
    #[arg(long, conflicts_with = "works")]
    all: bool,
    /// The branch to merge into; without it, the branch that is checked out here
    #[arg(long, value_name = "BRANCH")]
    into: Option<String>,
    /// Undo the last merge, while nothing came after it
    #[arg(long, conflicts_with_all = ["works", "all", "into", "pr"])]
    undo: bool,
    /// Push the branch of the work for a pull request, instead of merging it
    #[arg(long)]
    pr: bool,
    /// Merge without a question
    #[arg(long, short)]
    yes: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

/// A merged commit to which the person's branch can move, and a sentence about the checks of that commit.
struct ReadyLanding {
    landing: Landing,
    checked: String,
}

/// The values that all merges of one `handover merge` command share.
struct MergeRun<'a> {
    office: &'a Office,
    asked: &'a MergeArguments,
    site: &'a WorkSite,
    caller: &'a Caller,
    journal: &'a LandingJournal,
}

/// The result of merging the work of one task or plan.
enum LandingEnd {
    Done(LandingRecord),
    /// Nothing was merged, because the person's branch already has the changes.
    Nothing(LandingRecord),
    /// Nothing was merged, and the person was told why.
    Stopped(ExitCode),
}

pub(super) async fn run(office: &Office, asked: &MergeArguments) -> anyhow::Result<ExitCode> {
    let landing = match LandingSite::open(office).await? {
        Ok(landing) => landing,
        Err(code) => return Ok(code),
    };
    let LandingSite { site, caller, journal } = &landing;
    {
        let _one_at_a_time = landing.lock(office).await?;
        if asked.undo {
            return undo::run(office, site, (caller, journal), asked.json).await;
        }
    }
    let works = match selected(office, asked).await? {
        Ok(works) => works,
        Err(code) => return Ok(code),
    };
    if asked.pr {
        return push::run(site, &works, asked.json).await;
    }
    let run = MergeRun { office, asked, site, caller, journal };
    match works.as_slice() {
        [work] => run.one(work).await,
        works => run.several(works).await,
    }
}

/// Returns the finished work to merge. If there is none, or if it cannot be merged, tells the person and returns the
/// exit code.
async fn selected(office: &Office, asked: &MergeArguments) -> anyhow::Result<Result<Vec<FinishedWork>, ExitCode>> {
    let service = office.desk.service();
    if asked.all {
        let (checked, rest): (Vec<_>, Vec<_>) =
            delivered::waiting(service).await?.into_iter().partition(FinishedWork::is_checked);
        if let (true, Some(first)) = (!asked.json, rest.first()) {
            let (count, number) = (words::count(rest.len(), "unchecked task"), first.argument());
            eprintln!("{count} not merged. Merge unchecked work by its number: handover merge {number}");
        }
        if checked.is_empty() {
            eprintln!("No checked work waits for you.");
            return Ok(Err(ExitCode::from(2)));
        }
        return Ok(Ok(checked));
    }
    let names = if asked.works.is_empty() { vec![None] } else { asked.works.iter().map(Some).collect() };
    let mut works = Vec::new();
    for name in names {
        let named = match chosen_work(office, name.map(String::as_str), CHOICE).await? {
            Ok(named) => named,
            Err(code) => return Ok(Err(code)),
        };
        let Some(work) = delivered::find(service, &named).await? else {
            eprintln!("{}", without_work(&named));
            return Ok(Err(ExitCode::from(1)));
        };
        if let Some(code) = settled(&work) {
            return Ok(Err(code));
        }
        works.push(work);
    }
    Ok(Ok(works))
}

/// Tells the person why this work cannot be merged, and returns the exit code. Returns `None` when the work can be
/// merged.
fn settled(work: &FinishedWork) -> Option<ExitCode> {
    let (name, argument) = (title(work), work.argument());
    match &work.state {
        DeliveryState::Waiting if work.check == CheckOutcome::NoChanges || work.work.files == 0 => {
            eprintln!(
                "{name} changed no file, so there is nothing to merge. What the agent said: handover logs {argument}"
            );
            Some(ExitCode::from(1))
        }
        DeliveryState::Waiting => None,
        DeliveryState::InPlan { .. } => {
            eprintln!("{name} is part of a plan, which is merged as a whole: handover merge PLAN");
            Some(ExitCode::from(1))
        }
        DeliveryState::Merged { into, commit, .. } => {
            eprintln!("{name} is already merged into {} as {}.", plain(into), short(commit));
            Some(ExitCode::SUCCESS)
        }
        DeliveryState::Dropped { .. } => {
            eprintln!("{name} was dropped. Bring it back: handover drop {argument} --undo");
            Some(ExitCode::from(1))
        }
    }
}

/// Returns the number and the name of a task as they appear in a sentence: `1 Fix the login`. A plan has no number.
fn title(work: &FinishedWork) -> String {
    work.number.map_or_else(|| plain(&work.name), |number| format!("{number} {}", plain(&work.name)))
}

impl MergeRun<'_> {
    /// Merges the work of one task or plan. First shows it to the person and asks, unless `--yes` was typed.
    async fn one(&self, work: &FinishedWork) -> anyhow::Result<ExitCode> {
        let may_ask = !self.asked.yes && ask::can_ask();
        let is_dry = !self.asked.yes && !may_ask;
        let ready = {
            let _one_at_a_time = self.journal.lock().await?;
            match self.ready(work, is_dry).await? {
                Ok(ready) => ready,
                Err(end) => return self.ended(work, end).await,
            }
        };
        if !self.asked.yes {
            if !self.asked.json {
                let (size, target) = (size_of(&ready.landing), plain(&ready.landing.target));
                say(&format!(" {size} onto {target}; {}", plain(&ready.checked)))?;
            }
            if is_dry {
                eprintln!("Nothing was merged. To merge without a question, add --yes.");
                return Ok(ExitCode::from(1));
            }
            if !ask::agrees(&format!("Merge into {} as one commit?", plain(&ready.landing.target)))? {
                eprintln!("Nothing was merged.");
                return Ok(ExitCode::from(1));
            }
        }
        let end = self.land(work, ready).await?;
        self.ended(work, end).await
    }

    /// Merges the work of several tasks one after the other. Stops at the first task whose work cannot be merged.
    async fn several(&self, works: &[FinishedWork]) -> anyhow::Result<ExitCode> {
        if !self.asked.yes {
            for work in works {
                let line = format!("{}; {}; {}", plain(&work.name), work.size(), plain(&work.checked()));
                say(&work.number.map_or_else(|| format!("    {line}"), |number| numbered(number, &line)))?;
            }
            if !ask::can_ask() {
                eprintln!("Nothing was merged. To merge without a question, add --yes.");
                return Ok(ExitCode::from(1));
            }
            let question = format!("Merge {} as one commit each?", words::count(works.len(), "task"));
            if !ask::agrees(&question)? {
                eprintln!("Nothing was merged.");
                return Ok(ExitCode::from(1));
            }
        }
        for (position, work) in works.iter().enumerate() {
            let ready = {
                let _one_at_a_time = self.journal.lock().await?;
                self.ready(work, false).await?
            };
            let end = match ready {
                Ok(ready) => self.land(work, ready).await?,
                Err(end) => end,
            };
            let is_stopped = matches!(end, LandingEnd::Stopped(_));
            let code = self.ended(work, end).await?;
            if is_stopped {
                let left = works.len() - position;
                eprintln!("{} left. The merges before it stay.", words::count(left, "task"));
                return Ok(code);
            }
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Computes the merged commit. If the person's branch moved since the work was checked, checks the merged commit,
    /// unless `is_dry`. The caller must hold the lock that allows one merge at a time.
    async fn ready(&self, work: &FinishedWork, is_dry: bool) -> anyhow::Result<Result<ReadyLanding, LandingEnd>> {
        let request = LandingRequest {
            repository: self.site.root.clone(),
            work: work.work.branch.clone(),
            base: work.work.base.clone(),
            target: self.asked.into.clone(),
            message: message(work),
            agent: author(work),
        };
        let stopped = |text: String| {
            eprintln!("{text}");
            Ok(Err(LandingEnd::Stopped(ExitCode::from(1))))
        };
        let landing = match plan_landing(&self.site.git, &request).await? {
            LandingPlan::Ready(landing) => landing,
            LandingPlan::Nothing { target, tip } => {
                let record = LandingRecord { target, before: tip.clone(), after: tip, work: work.work.branch.clone() };
                return Ok(Err(LandingEnd::Nothing(record)));
            }
            LandingPlan::Conflict { target, paths, more } => {
                return stopped(conflict(work, &target, &paths, more));
            }
            LandingPlan::HasState { path } => {
                return stopped(format!(
                    "{} has {}, where Handover keeps its own state, so it is not merged. Send it back: handover \
                     send-back {} \"Remove {}\"",
                    title(work),
                    plain(&path),
                    work.argument(),
                    plain(&path)
                ));
            }
            LandingPlan::Refused(refusal) => return stopped(format!("Nothing was merged: {refusal}")),
        };
        if landing.work_tip != work.work.commit {
            return stopped(other_tip(work, &landing));
        }
        if !landing.is_moved {
            return Ok(Ok(ReadyLanding { checked: same_tree(work), landing }));
        }
        let moved = format!(
            "{} moved since the check ({})",
            plain(&landing.target),
            words::count(landing.moved_commits, "commit")
        );
        if is_dry {
            return Ok(Ok(ReadyLanding {
                checked: format!("{moved}, so the merged result is checked first"),
                landing,
            }));
        }
        let heading = format!("{moved}; checking the merged result");
        let task = match work.subject {
            DeliverySubject::Task(task) => Some(task),
            DeliverySubject::Workflow(_) => None,
        };
        match checks::check(self.office, (&landing, task), (&heading, self.asked.json)).await? {
            ResultCheck::Fine(checked) => Ok(Ok(ReadyLanding { landing, checked })),
            ResultCheck::NotNeeded => {
                let checked = format!("{}; {moved}, but not in files of this work", work.checked());
                Ok(Ok(ReadyLanding { landing, checked }))
            }
            ResultCheck::Failed(why) => stopped(format!(
                "Nothing was merged: {}\nSend it back: handover send-back {} \"...\"",
                plain(&why),
                work.argument()
            )),
        }
    }

    /// Moves the person's branch to the merged commit. If the branch got a new commit in the meantime, computes and
    /// checks the merged commit again.
    async fn land(&self, work: &FinishedWork, mut ready: ReadyLanding) -> anyhow::Result<LandingEnd> {
        let _one_at_a_time = self.journal.lock().await?;
        for _ in 0..TRIES_MAX {
            let Landing { target, tip, commit, work: branch, .. } = ready.landing.clone();
            let record = LandingRecord { target, before: tip, after: commit, work: branch };
            self.journal.begin(work.subject, LandingAct::Merge, &record)?;
            match land(&self.site.git, &ready.landing).await? {
                LandingResult::Done(record) => return Ok(LandingEnd::Done(record)),
                LandingResult::Refused(LandingRefusal::TargetMoved { .. }) => {
                    self.journal.end(work.subject)?;
                    ready = match self.ready(work, false).await? {
                        Ok(ready) => ready,
                        Err(end) => return Ok(end),
                    };
                }
                LandingResult::Refused(refusal) => {
                    self.journal.end(work.subject)?;
                    eprintln!("Nothing was merged: {refusal}");
                    return Ok(LandingEnd::Stopped(ExitCode::from(1)));
                }
            }
        }
        eprintln!("Nothing was merged: new commits arrive on the branch faster than it can be merged into. Try again.");
        Ok(LandingEnd::Stopped(ExitCode::from(1)))
    }

    /// Records the result of a merge in the store, and tells the person.
    async fn ended(&self, work: &FinishedWork, end: LandingEnd) -> anyhow::Result<ExitCode> {
        let (record, is_new) = match end {
            LandingEnd::Done(record) => (record, true),
            LandingEnd::Nothing(record) => (record, false),
            LandingEnd::Stopped(code) => return Ok(code),
        };
        let state = match merged(self.office, self.caller, work.subject, &record).await {
            Ok(state) => state,
            Err(error) => return refused("merge", error, self.asked.json),
        };
        self.journal.end(work.subject)?;
        if let DeliverySubject::Task(task) = work.subject {
            // Ignore a failure to free the slot (the worktree in which the agent worked): the work is merged, and the
            // runner frees the slot later.
            let _later = self.site.free_slot(task, work.attempt).await;
        }
        if self.asked.json {
            let row = object([
                ("success", true.into()),
                ("task", work.number.map(u64::from).into()),
                ("name", work.name.as_str().into()),
                ("into", record.target.as_str().into()),
                ("before", record.before.as_str().into()),
                ("commit", record.after.as_str().into()),
                ("state", Value::from(state.status().as_str())),
            ]);
            say_json(&row)?;
        } else if is_new {
            say(&format!("{} is now {}. Undo: handover merge --undo", plain(&record.target), short(&record.after)))?;
        } else {
            say(&format!("{} already has all changes of {}.", plain(&record.target), title(work)))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Returns the text that tells the person that a task's branch has other commits than the ones that the agent
/// delivered. Such a branch is not merged, because the new commits were not checked.
fn other_tip(work: &FinishedWork, landing: &Landing) -> String {
    let (branch, delivered) = (plain(&landing.work), short(&work.work.commit));
    format!(
        "The branch {branch} is at {}, but {} was delivered at {delivered}. Look at it with git log {branch}; set it back \
         with git branch --force {branch} {delivered}",
        short(&landing.work_tip),
        title(work)
    )
}

/// Returns the message of the commit: the name of the task, and what the agent says that it did.
fn message(work: &FinishedWork) -> String {
    match &work.outcome {
        Some(outcome) if outcome.trim() != work.name => format!("{}\n\n{}", work.name, outcome.trim()),
        Some(_) | None => work.name.clone(),
    }
}

/// Returns the co-author for the commit. The work of a plan has several authors, so its co-author is Handover.
fn author(work: &FinishedWork) -> Author {
    let (slug, name) = work.agent.clone().unwrap_or_else(|| ("handover".to_owned(), "Handover".to_owned()));
    Author { name, slug }
}

fn size_of(landing: &Landing) -> String {
    let changes = &landing.changes;
    size_words(u64::try_from(changes.files).unwrap_or(u64::MAX), changes.added, changes.removed)
}

/// Returns a sentence with the results of the checks that already ran on the work. Call it only if the merged commit
/// has exactly the files that were checked, so that no check must run again.
fn same_tree(work: &FinishedWork) -> String {
    match &work.check {
        CheckOutcome::Checked { command, .. } => format!("checked: {command} passed on exactly this tree"),
        CheckOutcome::CheckedFlaky { command, run, of, .. } => {
            format!("checked, flaky: {command} passed on run {run} of {of} on exactly this tree")
        }
        CheckOutcome::Unchecked { .. } | CheckOutcome::NoChanges => work.checked(),
    }
}

fn conflict(work: &FinishedWork, target: &str, paths: &[String], more: bool) -> String {
    let paths = paths.iter().map(|path| plain(path)).collect::<Vec<_>>().join(", ");
    let more = if more { " and more" } else { "" };
    let (name, target) = (title(work), plain(target));
    format!(
        "Nothing was merged: {name} and {target} changed the same places in {paths}{more}.\nLet the agent resolve it: \
         handover send-back {} \"Merge {target} into your branch and resolve the conflicts\"",
        work.argument()
    )
}
