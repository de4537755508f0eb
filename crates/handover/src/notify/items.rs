//! Sends notices about items (things that need a person) that stop agents, and about the end of a run. The store
//! decides which process sends each notice.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use base::error::Error;
use base::ground::local_time::LocalClock;
use base::people::attention::{self, AttentionItem, AttentionKind};
use engine::notice::{ItemTelling, ItemUntelling, NoticePace, NoticeWay};
use engine::{Caller, Command, Millis, Reply, Rights, Timestamp};

use super::item_words::{self, NoticeText, RunEndNotice};
use super::screen::{NoticeScreen, repository_name};
use super::{NoticeSettings, Notifier, SENDING_MAX, command, webhook};

/// The time for which a process does not use a way of sending notices (screen, command or webhook) after it failed in
/// this process. Other processes may still use it.
const FAILED_MS: Millis = Millis::minutes(5);

/// The ways of sending notices (screen, command, webhook) that failed in this process, each with the time until which
/// this process does not use it.
#[derive(Debug, Clone, Default)]
pub(super) struct WayFailures {
    until: Arc<Mutex<BTreeMap<NoticeWay, Timestamp>>>,
}

impl WayFailures {
    fn add(&self, way: NoticeWay, now: Timestamp) {
        self.until.lock().unwrap_or_else(PoisonError::into_inner).insert(way, now + FAILED_MS);
    }

    fn holds(&self, way: NoticeWay, now: Timestamp) -> bool {
        self.until.lock().unwrap_or_else(PoisonError::into_inner).get(&way).is_some_and(|until| now < *until)
    }
}

/// A notice that the store has assigned to this process, so that no other process sends it.
struct TakenNotice {
    /// The names of the items that the notice is about; or the name of the run that ended.
    names: Vec<String>,
    text: NoticeText,
    /// The notice as JSON, for the command and the webhook.
    body: String,
}

impl Notifier {
    /// Sends a notice about the items that stop agents and about which people were not told yet, in every way that the
    /// settings name (screen, command, webhook). Leaves out items that a person put off. Returns the number of sent
    /// notices.
    pub async fn tell_items(&self) -> Result<u32, Error> {
        self.tell(None).await
    }

    /// Sends the notices that are due before a run ends: first the notices about approvals, then one notice about items
    /// about which people were not told yet. If there is no such item, the second notice is about the end of the run.
    pub async fn tell_end(&self, end: &RunEndNotice) -> Result<u32, Error> {
        Ok(self.round().await? + self.tell(Some(end)).await?)
    }

    async fn tell(&self, end: Option<&RunEndNotice>) -> Result<u32, Error> {
        let Some(settings) = self.settings().filter(|settings| !self.is_quiet(settings)) else { return Ok(0) };
        let ways = self.ways(&settings);
        if ways.is_empty() {
            return Ok(0);
        }
        let around = crate::attention::surroundings(Some(&self.root), self.data.as_deref());
        let clock = LocalClock::here_at(self.service.now());
        let mut items = attention::items(&attention::gather(&self.service, &around).await?, &clock);
        items.retain(|item| item.stops_agents && !item.is_put_off());
        let mut sent = 0;
        for way in ways {
            if let Some(taken) = self.take(way, &items, end).await?
                && self.deliver(&settings, way, taken).await?
            {
                sent += 1;
            }
        }
        Ok(sent)
    }

    /// Returns the ways of sending notices (screen, command, webhook) that are possible with these settings. A way that
    /// failed in this process a short time ago is left out.
    fn ways(&self, settings: &NoticeSettings) -> Vec<NoticeWay> {
        let now = self.service.now();
        let is_possible = |way: &NoticeWay| match way {
            NoticeWay::Command => settings.notify.command.is_some(),
            NoticeWay::Screen => *self.screen(settings) != NoticeScreen::Nowhere,
            NoticeWay::Webhook => settings.notify.webhook.is_some(),
        };
        NoticeWay::ALL.iter().copied().filter(is_possible).filter(|way| !self.failures.holds(*way, now)).collect()
    }

    /// Returns the place where notices appear: the desktop if there is one and the settings allow it, otherwise the
    /// terminal.
    fn screen(&self, settings: &NoticeSettings) -> &NoticeScreen {
        if settings.notify.desktop && self.desktop != NoticeScreen::Nowhere { &self.desktop } else { &self.terminal }
    }

    /// Takes the notice that is due in one way of sending (screen, command or webhook), so that no other process sends
    /// it in this way, too.
    async fn take(
        &self,
        way: NoticeWay,
        items: &[AttentionItem],
        end: Option<&RunEndNotice>,
    ) -> Result<Option<TakenNotice>, Error> {
        let repository = repository_name(&self.root);
        let items: Vec<&AttentionItem> = items.iter().filter(|item| is_told(way, item.kind)).collect();
        let names: Vec<String> = items.iter().map(|item| item.name.clone()).collect();
        let pace = if end.is_some() { NoticePace::Now } else { NoticePace::Spaced };
        let new = self.take_names(way, names, pace).await?;
        if !new.is_empty() {
            let told: Vec<&AttentionItem> = items.iter().copied().filter(|item| new.contains(&item.name)).collect();
            let text = NoticeText::of_items(&repository, &told, items.len());
            let body = item_words::items_body(&repository, &told, &text);
            return Ok(Some(TakenNotice { names: new, text, body }));
        }
        let Some(end) = end else { return Ok(None) };
        // If items still need a person, keep the pause of a minute: a person who was told about these items within the
        // last minute gets no second notice.
        let pace = if items.is_empty() { NoticePace::Now } else { NoticePace::Spaced };
        let names = self.take_names(way, vec![format!("run {}", end.run)], pace).await?;
        let (text, body) = (NoticeText::of_end(&repository, end), item_words::end_body(&repository, end));
        Ok((!names.is_empty()).then_some(TakenNotice { names, text, body }))
    }

    /// Returns the names (of items or of a run) about which no process has told people yet in this way (screen, command
    /// or webhook). Records that this process tells people about them.
    async fn take_names(&self, way: NoticeWay, items: Vec<String>, pace: NoticePace) -> Result<Vec<String>, Error> {
        // Most often people were already told about all items. So look with a view first: a view takes no lock, and the
        // processes do not wait for each other.
        let looked = items.clone();
        let is_known = self.service.view(move |world| {
            let told = world.told_items(way)?;
            Ok(looked.iter().all(|item| told.iter().any(|row| row.item == *item)))
        });
        if is_known.await? {
            return Ok(Vec::new());
        }
        let tell = Command::TellItems(ItemTelling { way, items, pace });
        let reply = self.service.execute(Caller::with_rights(Rights::Engine), tell).await?;
        Ok(if let Reply::ItemsToTell { items } = reply { items } else { Vec::new() })
    }

    /// Sends a notice. If that fails, records in the store that the notice was not sent, so that another process may
    /// send it.
    async fn deliver(&self, settings: &NoticeSettings, way: NoticeWay, taken: TakenNotice) -> Result<bool, Error> {
        let sent = tokio::time::timeout(SENDING_MAX, self.send_taken(settings, way, &taken)).await;
        if matches!(sent, Ok(Ok(()))) {
            return Ok(true);
        }
        self.failures.add(way, self.service.now());
        let untell = Command::UntellItems(ItemUntelling { way, items: taken.names });
        self.service.execute(Caller::with_rights(Rights::Engine), untell).await?;
        Ok(false)
    }

    async fn send_taken(&self, settings: &NoticeSettings, way: NoticeWay, taken: &TakenNotice) -> Result<(), String> {
        let site = self.site(settings);
        match (way, &settings.notify.command, &settings.notify.webhook) {
            (NoticeWay::Screen, _, _) => self.screen(settings).show(site, &taken.text).await,
            (NoticeWay::Command, Some(words), _) => command::run(site, words, &taken.body).await,
            (NoticeWay::Webhook, _, Some(target)) => {
                let id = base::ground::digest::sha256(taken.names.join("\n").as_bytes());
                let at = self.service.now().0 / 1_000;
                webhook::post(&self.root, target, &webhook::Letter { id: &id, at, body: &taken.body }).await
            }
            (NoticeWay::Command, None, _) | (NoticeWay::Webhook, _, None) => {
                Err("this way of sending notices is not in the settings".to_owned())
            }
        }
    }
}

/// Tells whether a notice that is sent in this way (screen, command or webhook) may be about an item of this kind. The
/// command and the webhook get no such notice about approvals and changed checks, because they get a separate notice
/// about each approval, with its fingerprint.
fn is_told(way: NoticeWay, kind: AttentionKind) -> bool {
    match way {
        NoticeWay::Screen => true,
        NoticeWay::Command | NoticeWay::Webhook => {
            !matches!(kind, AttentionKind::Approval | AttentionKind::CheckChanged)
        }
    }
}
