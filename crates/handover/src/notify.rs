//! Tells people outside of Handover that something needs them: on the desktop, in the terminal, by a configured command
//! or by a webhook.
//!
//! A notice only describes an approval or another item; these stay in the store. Any Handover process takes a notice
//! that is due, sends it, and records the result. The store allows one sender at a time. The agent that waits for a
//! person never waits for the notice.
//!
//! - Approvals, by command and webhook: when a sender dies, another process sends the notice again, so it arrives at
//!   least once.
//! - Items (things that need a person, module `items`): one notice for all new items, at most one in a minute. When a
//!   sender dies, no process sends the notice again, because two windows about the same item are worse than no window.

mod address;
mod body;
mod command;
mod item_words;
mod items;
mod screen;
mod webhook;

use std::path::{Path, PathBuf};
use std::time::Duration;

use engine::approval::Approval;
use engine::id::ApprovalId;
use engine::list::ApprovalQuery;
use engine::notice::Channel;
use engine::{Caller, Command, Reply, Rights};

pub use address::is_public;
pub use body::body;
pub use item_words::RunEndNotice;
pub use webhook::signature;

use screen::NoticeScreen;

use base::error::Error;
use base::ground::local_time::LocalClock;
use base::project::settings::{EnvironmentSettings, Notify, QuietHours};
use base::project::trust;
use base::service::Service;

/// The longest time for sending one notice, even if the receiver does not answer. The store waits well beyond this time
/// before it counts the sender as gone and lets another process send the notice.
const SENDING_MAX: Duration = Duration::from_secs(30);
/// The maximum number of notices that each channel (command or webhook) sends in one round. The next round sends the
/// notices that remain.
const ROUND_MAX: u32 = 50;

/// The sender of one project's notices, which tell people that something needs them.
#[derive(Debug, Clone)]
pub struct Notifier {
    service: Service,
    root: PathBuf,
    /// The user's data folder, which holds the settings that a person accepted.
    data: Option<PathBuf>,
    desktop: NoticeScreen,
    terminal: NoticeScreen,
    failures: items::WayFailures,
}

/// The accepted settings for notices, and for the environment of the programs that send them.
struct NoticeSettings {
    notify: Notify,
    environment: EnvironmentSettings,
}

impl Notifier {
    pub fn new(service: Service, root: PathBuf, data: Option<PathBuf>) -> Self {
        let (desktop, terminal) = (NoticeScreen::of_desktop(), NoticeScreen::Nowhere);
        Self { service, root, data, desktop, terminal, failures: items::WayFailures::default() }
    }

    /// Lets this sender write notices to the terminal of this process if the user has no desktop.
    pub fn at_terminal(self) -> Self {
        Self { terminal: NoticeScreen::of_terminal(), ..self }
    }

    /// Sends the notices about approvals that are due, with the command or webhook that a person accepted. Sends
    /// nothing when no person has accepted one, and nothing in the quiet hours.
    pub async fn round(&self) -> Result<u32, Error> {
        let mut sent = 0;
        for channel in [Channel::Command, Channel::Webhook] {
            if !self.is_due(channel).await? {
                continue;
            }
            // Read the settings each time a notice is due, so that a change of the settings file takes effect.
            let found = self.settings().filter(|found| has(&found.notify, channel) && !self.is_quiet(found));
            let Some(found) = found else { continue };
            for _ in 0..ROUND_MAX {
                if !self.send_next(&found, channel).await? {
                    break;
                }
                sent += 1;
            }
        }
        Ok(sent)
    }

    async fn is_due(&self, channel: Channel) -> Result<bool, Error> {
        let list = ApprovalQuery::DueNotices { channel, now: self.service.now(), limit: 1 };
        Ok(!self.service.ask(list).await?.is_empty())
    }

    fn settings(&self) -> Option<NoticeSettings> {
        let found = trust::basics(&self.root, self.data.as_deref()).ok()?;
        let (mut notify, environment) = (found.notify, found.team.environment);
        notify.command = notify.command.filter(|words| self.is_as_accepted(words));
        Some(NoticeSettings { notify, environment })
    }

    fn is_quiet(&self, settings: &NoticeSettings) -> bool {
        is_quiet(settings.notify.quiet, &LocalClock::here_at(self.service.now()))
    }

    /// Tells whether the scripts that the notification command runs are unchanged since a person accepted them.
    fn is_as_accepted(&self, words: &[String]) -> bool {
        let changed = || {
            let record = trust::record_of(&self.root, self.data.as_deref()?).ok()?;
            let folders = trust::ScriptFolders { root: &self.root, runs_in: &self.root };
            trust::changed_scripts(&record, folders, words).ok()
        };
        changed().is_some_and(|changed| changed.is_empty())
    }

    /// Sends the next notice that is due, and records the result. Returns false when no notice is due.
    async fn send_next(&self, settings: &NoticeSettings, channel: Channel) -> Result<bool, Error> {
        let engine = || Caller::with_rights(Rights::Engine);
        let reply = self.service.execute(engine(), Command::TakeNotice { channel }).await?;
        let Reply::NoticeTaken { approval: Some(id), tries } = reply else { return Ok(false) };
        let problem = match tokio::time::timeout(SENDING_MAX, self.send(settings, channel, id)).await {
            Ok(Ok(())) => None,
            Ok(Err(problem)) => Some(problem),
            Err(_late) => Some(format!("sending the notice took longer than {} s", SENDING_MAX.as_secs())),
        };
        let settle = Command::SettleNotice { approval: id, channel, tries, problem };
        self.service.execute(engine(), settle).await?;
        Ok(true)
    }

    async fn send(&self, settings: &NoticeSettings, channel: Channel, id: ApprovalId) -> Result<(), String> {
        let told = self.told(id).await.map_err(|error| error.told())?;
        match (channel, &settings.notify.command, &settings.notify.webhook) {
            (Channel::Command, Some(words), _) => command::run(self.site(settings), words, &told).await,
            (Channel::Webhook, _, Some(webhook)) => {
                let at = self.service.now().0 / 1_000;
                webhook::post(&self.root, webhook, &webhook::Letter { id: &id.to_string(), at, body: &told }).await
            }
            (Channel::Command, None, _) | (Channel::Webhook, _, None) => Err("this way of sending notices is not in \
                the settings"
                .to_owned()),
        }
    }

    fn site<'a>(&'a self, settings: &'a NoticeSettings) -> command::NoticeSite<'a> {
        command::NoticeSite { root: &self.root, environment: &settings.environment }
    }

    async fn told(&self, id: ApprovalId) -> Result<String, Error> {
        let view = self.service.view(move |world| {
            let approval: Approval = world.approval(id)?.clone();
            let agent = approval.agent().map(|agent| world.agent(agent)).transpose()?.map(|agent| agent.slug.clone());
            // The task that waits for the approval may have been removed. Then the notice names no task.
            let task = match approval.waiting.map(|waiting| world.task(waiting.task)) {
                Some(Ok(task)) => Some(task.name.clone()),
                Some(Err(missing @ engine::DecisionStop::Missing(_))) => return Err(missing),
                Some(Err(engine::DecisionStop::Refused(_) | engine::DecisionStop::Recorded(_))) | None => None,
            };
            Ok(body(&approval, agent.as_deref(), task.as_deref()))
        });
        view.await
    }
}

/// Tells whether the settings forbid notices at this time.
fn is_quiet(hours: Option<QuietHours>, clock: &LocalClock) -> bool {
    hours.is_some_and(|hours| hours.holds(clock.minute_of_day()))
}

fn has(notify: &Notify, channel: Channel) -> bool {
    match channel {
        Channel::Command => notify.command.is_some(),
        Channel::Webhook => notify.webhook.is_some(),
    }
}

/// Returns the path of a program that the settings name. A word without `/` is looked up in PATH later; a path is
/// relative to the root of the project.
fn program(root: &Path, word: &str) -> PathBuf {
    if word.contains('/') { root.join(word) } else { PathBuf::from(word) }
}

#[cfg(test)]
mod tests;
