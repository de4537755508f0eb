//! `handover merge --pr`: pushes the branch of finished work, so that a person can make a pull request of it.

use std::process::ExitCode;

use base::people::delivered::FinishedWork;
use git::land::push_branch;
use wire::json::object;
use work::WorkSite;

use super::super::show::plain;
use super::super::{say, say_json};

pub(super) async fn run(site: &WorkSite<'_>, works: &[FinishedWork], json: bool) -> anyhow::Result<ExitCode> {
    for work in works {
        let target = work.work.base_branch.as_deref();
        let pushed = match push_branch(&site.git, &site.root, &work.work.branch, (None, target)).await {
            Ok(pushed) => pushed,
            Err(problem) => {
                eprintln!("{} was not pushed: {problem}", plain(&work.work.branch));
                return Ok(ExitCode::from(1));
            }
        };
        if json {
            say_json(&object([
                ("success", true.into()),
                ("task", work.number.map(u64::from).into()),
                ("branch", work.work.branch.as_str().into()),
                ("remote", pushed.remote.as_str().into()),
                ("url", pushed.compare_url.clone().into()),
                ("remote_said", pushed.said.clone().into()),
            ]))?;
            continue;
        }
        say(&format!("pushed {} to {}", plain(&work.work.branch), plain(&pushed.remote)))?;
        match (&pushed.compare_url, &pushed.said) {
            (Some(url), _) => say(&format!("Make a pull request: {}", plain(url)))?,
            (None, Some(said)) => said.lines().try_for_each(|line| say(&plain(line)))?,
            (None, None) => {}
        }
    }
    Ok(ExitCode::SUCCESS)
}
