//! `handover merge`: merges finished work into the person's branch, as one commit for each task.

use std::process::ExitCode;

use base::ground::words;
use base::people::delivered::{self, FinishedWork, short};
use clap::Args;
use handover::office::Office;
use wire::json::{Value, object};
use work::journal::LandingSite;
use work::landing::{LandingEnd, MergedChecks, NotMergeable, ReadyLanding, WorkMerge, not_mergeable};

use super::super::show::plain;
use super::super::{say, say_json};
use super::checks::StepLines;
use super::choose::{ChoiceText, chosen_work};
use super::diff::without_work;
use super::landing_words::{self, title};
use super::site::landing_site;
use super::{ask, numbered, push, refused_work, undo};

pub(super) const HELP: &str = "\
The work becomes one commit on top of your branch: you are its author, and the agent is named as co-author. When your branch
moved since the check, the merged result is checked first, in a worktree of its own. Files with uncommitted changes stay as
they are; the merge is refused only when it would change one of them.

--all merges everything that is checked. Work that no check judged is merged only by its number.
--undo sets your branch back while nothing came after the merge; the work waits again.
--pr pushes the branch of the work instead, and prints the address where you make a pull request.";

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

/// The values that all merges of one `handover merge` command share.
struct MergeRun<'a> {
    asked: &'a MergeArguments,
    landing: &'a LandingSite<'a>,
}

pub(super) async fn run(office: &Office, asked: &MergeArguments) -> anyhow::Result<ExitCode> {
    let landing = match landing_site(office).await? {
        Ok(landing) => landing,
        Err(code) => return Ok(code),
    };
    {
        let lock = landing.lock_settled().await?;
        if asked.undo {
            return undo::run(&landing, &lock, asked.json).await;
        }
    }
    let works = match selected(office, asked).await? {
        Ok(works) => works,
        Err(code) => return Ok(code),
    };
    if asked.pr {
        return push::run(&landing.site, &works, asked.json).await;
    }
    let run = MergeRun { asked, landing: &landing };
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
        if let Some(why) = not_mergeable(&work) {
            eprintln!("{}", landing_words::unmergeable(&work, &why));
            let is_done = matches!(why, NotMergeable::Merged { .. });
            return Ok(Err(if is_done { ExitCode::SUCCESS } else { ExitCode::from(1) }));
        }
        works.push(work);
    }
    Ok(Ok(works))
}

impl<'a> MergeRun<'a> {
    fn merge(&'a self, work: &'a FinishedWork) -> WorkMerge<'a> {
        WorkMerge { landing: self.landing, work, into: self.asked.into.as_deref() }
    }

    /// Merges the work of one task or plan. First shows it to the person and asks, unless `--yes` was typed.
    async fn one(&self, work: &FinishedWork) -> anyhow::Result<ExitCode> {
        let may_ask = !self.asked.yes && ask::can_ask();
        let is_dry = !self.asked.yes && !may_ask;
        let ready = match self.prepared(work, if is_dry { MergedChecks::Later } else { MergedChecks::Now }).await? {
            Ok(ready) => ready,
            Err(end) => return self.ended(work, end).await,
        };
        if !self.asked.yes {
            let target = plain(&ready.landing.target);
            if !self.asked.json {
                let (size, checked) = (landing_words::size_of(&ready.landing), landing_words::checked(work, &ready));
                say(&format!(" {size} onto {target}; {}", plain(&checked)))?;
            }
            if is_dry {
                eprintln!("Nothing was merged. To merge without a question, add --yes.");
                return Ok(ExitCode::from(1));
            }
            if !ask::agrees(&format!("Merge into {target} as one commit?"))? {
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
            let end = match self.prepared(work, MergedChecks::Now).await? {
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

    /// Computes and checks the merged commit. Other commands can merge again as soon as this function returns, because
    /// the person may take long to answer.
    async fn prepared(
        &self,
        work: &FinishedWork,
        checks: MergedChecks,
    ) -> anyhow::Result<Result<ReadyLanding, LandingEnd>> {
        let lock = self.landing.lock().await?;
        Ok(self.merge(work).prepare(&lock, checks, &mut StepLines::new(self.asked.json)).await?)
    }

    async fn land(&self, work: &FinishedWork, ready: ReadyLanding) -> anyhow::Result<LandingEnd> {
        let lock = self.landing.lock().await?;
        Ok(self.merge(work).land(&lock, ready, &mut StepLines::new(self.asked.json)).await?)
    }

    /// Records the result of a merge in the store, and tells the person.
    async fn ended(&self, work: &FinishedWork, end: LandingEnd) -> anyhow::Result<ExitCode> {
        let (record, is_new) = match end {
            LandingEnd::Done(record) => (record, true),
            LandingEnd::Nothing(record) => (record, false),
            LandingEnd::Stopped(stop) => {
                eprintln!("{}", landing_words::stopped(work, &stop));
                return Ok(ExitCode::from(1));
            }
        };
        let state = match self.merge(work).record(&record).await {
            Ok(state) => state,
            Err(error) => return refused_work("merge", error, self.asked.json),
        };
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
