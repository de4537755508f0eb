//! Items that a person put off until a time: finds them among the facts, and puts an item off.

use engine::put_off::{ItemDelay, PutOffItem};
use engine::{Caller, Command, Refusal, Reply, Timestamp};

use super::identity::item_name;
use super::{AttentionFact, AttentionSurroundings, gather};
use crate::error::Error;
use crate::service::Service;

/// Marks the facts whose items are put off. A row whose time is over does not count.
pub(super) fn mark(facts: &mut [AttentionFact], rows: &[PutOffItem], now: Timestamp) {
    for fact in facts {
        let name = item_name(fact);
        let row = rows.iter().find(|row| row.item == name && !row.is_over(now));
        fact.put_off_until = row.map(|row| row.until);
    }
}

/// Puts an item off until a time, or shows it among the others again. Returns the time until which it is put off. Refuses
/// a name that no item has now, so that a wrong name is not stored without an effect.
pub async fn put_off(
    service: &Service,
    around: &AttentionSurroundings,
    (caller, delay): (Caller, ItemDelay),
) -> Result<Option<Timestamp>, Error> {
    let facts = gather(service, around).await?;
    if !facts.iter().any(|fact| item_name(fact) == delay.item) {
        return Err(Refusal::ItemNotFound { item: delay.item }.into());
    }
    let until = delay.until;
    let reply = service.execute(caller, Command::PutOff(delay)).await?;
    let is_done = matches!(reply, Reply::ItemPutOff { .. } | Reply::ItemShown);
    if is_done { Ok(until) } else { Err(Error::unexpected(&reply)) }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use engine::condition::ConditionKind;
    use engine::{Json, Rights};

    use super::super::{AttentionItem, items};
    use super::*;
    use crate::ground::clock::ManualClock;
    use crate::ground::local_time::LocalClock;

    const NOW: i64 = 1_794_907_440_000;
    const HOUR: i64 = 3_600_000;

    async fn shown(service: &Service) -> Vec<AttentionItem> {
        let facts = gather(service, &AttentionSurroundings::default()).await.unwrap();
        items(&facts, &LocalClock::fixed(service.now()))
    }

    async fn ask(service: &Service, item: &str, until: Option<i64>) -> Result<Option<Timestamp>, Error> {
        let delay = ItemDelay { item: item.to_owned(), until: until.map(Timestamp) };
        let person = Caller::with_rights(Rights::Person);
        put_off(service, &AttentionSurroundings::default(), (person, delay)).await
    }

    #[tokio::test]
    async fn an_item_that_is_put_off_comes_last_until_its_time_is_over() {
        let clock = Arc::new(ManualClock::starting_at(Timestamp(NOW)));
        let service = Service::new(store::open("memory:", 1).await.unwrap(), clock.clone());
        for (kind, subject) in [(ConditionKind::AgentRests, "codex"), (ConditionKind::BaselineFails, "npm test")] {
            let (subject, title) = (subject.to_owned(), format!("{subject} rests: trouble"));
            let set = Command::SetCondition { kind, subject, title, detail: Json::from_stored("{}".to_owned()) };
            service.execute(Caller::with_rights(Rights::Runner), set).await.unwrap();
        }
        let names = |items: &[AttentionItem]| items.iter().map(|item| item.kind.as_str()).collect::<Vec<_>>();
        let untils = |items: &[AttentionItem]| items.iter().map(|item| item.put_off_until).collect::<Vec<_>>();
        let first = shown(&service).await;
        assert_eq!((names(&first), untils(&first)), (vec!["agent_rests", "baseline"], vec![None, None]));
        let name = first[0].name.clone();
        let until = Timestamp(NOW + HOUR);
        assert_eq!(ask(&service, &name, Some(until.0)).await.unwrap(), Some(until));
        let second = shown(&service).await;
        assert_eq!((names(&second), untils(&second)), (vec!["baseline", "agent_rests"], vec![None, Some(until)]));
        clock.set(until);
        assert_eq!(shown(&service).await, first, "its time is over, and it is as it was");
        // A person shows the item again before its time is over.
        ask(&service, &name, Some(until.0 + HOUR)).await.unwrap();
        assert!(shown(&service).await[1].is_put_off());
        assert_eq!(ask(&service, &name, None).await.unwrap(), None);
        assert_eq!(shown(&service).await, first);
    }

    #[tokio::test]
    async fn an_unknown_name_is_not_found_and_a_settled_item_is_unknown() {
        let clock = Arc::new(ManualClock::starting_at(Timestamp(NOW)));
        let service = Service::new(store::open("memory:", 1).await.unwrap(), clock);
        for until in [Some(NOW + HOUR), None] {
            let refused = ask(&service, "question ms_0123456789ab", until).await;
            assert!(matches!(&refused, Err(Error::Refused(Refusal::ItemNotFound { .. }))), "{refused:?}");
        }
    }
}
