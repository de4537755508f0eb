//! Races for approvals: callers ask for, decide about or use the same approval at the same time, or the approval
//! expires at that moment. The races check that only one approval is created, that only one decision counts, and that
//! an approval is used at most once.

use std::collections::BTreeSet;
use std::sync::Arc;

use engine::approval::{ApprovalDecision, ApprovalRequest, ApprovalStatus, Source};
use engine::command::AskApproval;
use engine::id::{AgentId, ApprovalId};
use engine::limits;
use engine::notice::{Channel, ItemTelling, NoticePace, NoticeWay};
use engine::plan::PlanTask;
use engine::task::Status;
use engine::{Caller, Command, Need, Refusal, Reply, Rights};

use super::race::{CALLERS, RaceField, create};
use super::{StoreOrder, act, must};

const ROUNDS: usize = 6;

fn person() -> Caller {
    Caller::with_rights(Rights::Person)
}

fn engine() -> Caller {
    Caller::with_rights(Rights::Engine)
}

fn ask(words: &str, source: Source, waits: Option<(engine::id::TaskId, u32)>) -> Command {
    let request = ApprovalRequest { operation: words.to_owned(), ..ApprovalRequest::default() };
    Command::AskApproval(Box::new(AskApproval { source, waits, request, fingerprint: words.to_owned() }))
}

impl RaceField {
    pub(super) async fn approvals(self: &Arc<Self>, agents: &[AgentId]) {
        for round in 0..ROUNDS {
            let words = format!("round {round}");
            let approval = self.askers(agents[0], &words).await;
            self.senders(approval).await;
            self.item_senders(approval).await;
            self.deciders(approval).await;
            self.consumers(agents[0], &format!("{words} used")).await;
            self.expiry(agents[0], &format!("{words} over")).await;
            self.gate(agents, round).await;
            self.several(agents[0], round).await;
        }
    }

    async fn asked(&self, agent: AgentId, words: &str) -> ApprovalId {
        let change = self.act(0, Caller::agent(agent), ask(words, Source::Gate, None)).await;
        let Ok(Reply::ApprovalAsked { approval, .. }) = change.reply else { panic!("{change:?}") };
        approval
    }

    async fn status(&self, approval: ApprovalId) -> ApprovalStatus {
        let world = must(self.stores[2].look(vec![Need::Approval(approval)], Arc::new(|_| Vec::new())).await, "look");
        let found = world.approvals.get(&approval).and_then(Option::as_ref);
        found.map(|row| row.state.status()).unwrap_or_else(|| panic!("{approval} is gone"))
    }

    /// Lets all callers of the race ask for the same approval at the same time, and checks that only one approval is
    /// created.
    async fn askers(self: &Arc<Self>, agent: AgentId, words: &str) -> ApprovalId {
        let words = words.to_owned();
        let found = self
            .all(|field, place| {
                let command = ask(&words, Source::Gate, None);
                async move {
                    let change = field.act(place, Caller::agent(agent), command).await;
                    let Ok(Reply::ApprovalAsked { approval, .. }) = change.reply else { panic!("{change:?}") };
                    approval
                }
            })
            .await;
        let found: BTreeSet<ApprovalId> = found.into_iter().collect();
        assert_eq!(found.len(), 1, "one approval was made: {found:?}");
        found.into_iter().next().unwrap_or(ApprovalId::LAST)
    }

    /// Lets all callers of the race ask for the right to send the notice about a pending approval to people. Checks
    /// that only one caller gets this right.
    async fn senders(self: &Arc<Self>, approval: ApprovalId) {
        let taken = self
            .all(|field, place| async move {
                let change = field.act(place, engine(), Command::TakeNotice { channel: Channel::Webhook }).await;
                let Ok(Reply::NoticeTaken { approval, .. }) = change.reply else { panic!("{change:?}") };
                approval
            })
            .await;
        let taken: Vec<_> = taken.into_iter().flatten().collect();
        assert_eq!(taken, [approval], "one sender");
    }

    /// Lets all callers of the race ask for the right to tell people about the same two items (things that need a
    /// person), and checks that one caller gets both of them.
    async fn item_senders(self: &Arc<Self>, approval: ApprovalId) {
        let items = vec![format!("approval {approval}"), format!("question of {approval}")];
        let told = self
            .all(|field, place| {
                let items = items.clone();
                async move {
                    let telling = ItemTelling { way: NoticeWay::Screen, items, pace: NoticePace::Now };
                    let change = field.act(place, engine(), Command::TellItems(telling)).await;
                    let Ok(Reply::ItemsToTell { items }) = change.reply else { panic!("{change:?}") };
                    items
                }
            })
            .await;
        let told: Vec<_> = told.into_iter().filter(|items| !items.is_empty()).collect();
        assert_eq!(told, [items], "one sender of the notice about items");
    }

    /// Lets half of the callers approve a request and the other half reject it, and checks that one decision is
    /// accepted.
    async fn deciders(self: &Arc<Self>, approval: ApprovalId) {
        let heard = self
            .all(|field, place| async move {
                let decision = match place % 2 {
                    0 => ApprovalDecision::Approve,
                    _ => ApprovalDecision::Reject { reason: format!("{place}") },
                };
                let change = field.act(place, person(), Command::DecideApproval { approval, decision }).await;
                match change.reply {
                    Ok(Reply::ApprovalDecided { status }) => Some(status),
                    Err(Refusal::InvalidState { .. }) => None,
                    other => panic!("{place} decides: {other:?}"),
                }
            })
            .await;
        let heard: Vec<_> = heard.into_iter().flatten().collect();
        assert_eq!(heard, [self.status(approval).await], "one decision");
    }

    /// Lets all callers use an approval while a person revokes it, and checks that it is used at most once. All callers
    /// name the right fingerprint, the text that identifies the approved request.
    async fn consumers(self: &Arc<Self>, agent: AgentId, words: &str) {
        let approval = self.asked(agent, words).await;
        let decide = Command::DecideApproval { approval, decision: ApprovalDecision::Approve };
        assert!(self.act(1, person(), decide).await.reply.is_ok());
        let words = words.to_owned();
        let used = self
            .all(|field, place| {
                let fingerprint = words.clone();
                async move {
                    let (caller, command) = if place == CALLERS / 2 {
                        let decision = ApprovalDecision::Revoke { reason: None };
                        (person(), Command::DecideApproval { approval, decision })
                    } else {
                        (Caller::agent(agent), Command::ConsumeApproval { approval, fingerprint })
                    };
                    match field.act(place, caller, command).await.reply {
                        Ok(Reply::ApprovalConsumed) => Some(ApprovalStatus::Consumed),
                        Ok(Reply::ApprovalDecided { status }) => Some(status),
                        Err(Refusal::InvalidState { .. }) => None,
                        other => panic!("{place} uses: {other:?}"),
                    }
                }
            })
            .await;
        let used: Vec<_> = used.into_iter().flatten().collect();
        assert_eq!(used, [self.status(approval).await], "one use, or none");
    }

    /// Lets half of the callers use an approval just before it expires, while the other half records that it expired.
    /// Checks that the approval ends exactly once, either as used or as expired.
    async fn expiry(self: &Arc<Self>, agent: AgentId, words: &str) {
        let approval = self.asked(agent, words).await;
        let decide = self.order(person(), Command::DecideApproval { approval, decision: ApprovalDecision::Approve });
        assert!(act(self.stores[0].as_ref(), &decide).await.reply.is_ok());
        let until = decide.stamp.now + limits::APPROVAL_MS;
        let words = words.to_owned();
        let ended = self
            .all(|field, place| {
                let fingerprint = words.clone();
                async move {
                    let (caller, command, now) = match place % 2 {
                        0 => (engine(), Command::ExpireApprovals, until.0),
                        _ => (Caller::agent(agent), Command::ConsumeApproval { approval, fingerprint }, until.0 - 1),
                    };
                    let seed = field.order(engine(), Command::ForgetKeys).stamp.seed;
                    let order = StoreOrder::new(caller, command, now, seed);
                    let change = act(field.stores[place % field.stores.len()].as_ref(), &order).await;
                    let moved = change.events.iter().any(
                        |event| matches!(event, engine::Event::ApprovalMoved { approval: row } if row.id == approval),
                    );
                    match change.reply {
                        Ok(Reply::ApprovalConsumed) => Some(ApprovalStatus::Consumed),
                        Ok(Reply::ApprovalsExpired { .. }) => moved.then_some(ApprovalStatus::Expired),
                        Err(Refusal::InvalidState { .. }) => None,
                        other => panic!("{place} at the end: {other:?}"),
                    }
                }
            })
            .await;
        let ended: Vec<_> = ended.into_iter().flatten().collect();
        assert_eq!(ended, [self.status(approval).await], "used or over, and once");
    }

    /// Lets one claimed task wait for many approvals, which callers decide at the same time. Checks that the task
    /// resumes after the last decision, for any order of the decisions.
    async fn several(self: &Arc<Self>, agent: AgentId, round: usize) {
        let (_, tasks) = self.workflow(create(None), vec![PlanTask::named(format!("asks {round}"))]).await;
        let task = tasks[0];
        assert!(self.act(0, Caller::agent(agent), Command::Claim { task }).await.reply.is_ok());
        let mut approvals = Vec::new();
        for number in 0..CALLERS {
            let command = ask(&format!("{task} {number}"), Source::ExecGate, Some((task, 1)));
            let change = self.act(number, Caller::agent(agent), command).await;
            let Ok(Reply::ApprovalAsked { approval, .. }) = change.reply else { panic!("{change:?}") };
            approvals.push(approval);
        }
        let approvals = Arc::new(approvals);
        self.all(|field, place| {
            let approval = approvals[place];
            async move {
                let decide = Command::DecideApproval { approval, decision: ApprovalDecision::Approve };
                let change = field.act(place, person(), decide).await;
                assert!(change.reply.is_ok(), "{change:?}");
            }
        })
        .await;
        let world = must(self.stores[1].look(vec![Need::Task(task)], Arc::new(|_| Vec::new())).await, "look");
        let found = world.tasks.get(&task).and_then(Option::as_ref).map(|row| (row.status(), row.checkpoints));
        let answers = u32::try_from(CALLERS).unwrap_or(u32::MAX);
        assert_eq!(found, Some((Status::InProgress, answers)), "every answer is there, and it goes on");
    }

    /// Lets all callers claim a gated task (it starts only after an approval), and checks that exactly one claim
    /// succeeds, because there is one approval.
    async fn gate(self: &Arc<Self>, agents: &[AgentId], round: usize) {
        let gated = PlanTask { gate: true, ..PlanTask::named(format!("gated {round}")) };
        let (_, tasks) = self.workflow(create(None), vec![gated]).await;
        let task = tasks[0];
        let asked = self
            .all(|field, place| async move {
                let command = ask("begin", Source::ExecGate, Some((task, 1)));
                let change = field.act(place, engine(), command).await;
                let Ok(Reply::ApprovalAsked { approval, .. }) = change.reply else { panic!("{change:?}") };
                approval
            })
            .await;
        let approval = asked[0];
        assert!(asked.iter().all(|other| *other == approval), "one gate was asked for: {asked:?}");
        let agents = Arc::new(agents.to_vec());
        // Let one caller approve the gated task (it starts only after an approval) while the other callers claim it.
        let won = self
            .all(|field, place| {
                let agent = agents[place];
                async move {
                    if place == CALLERS / 2 {
                        let decision = ApprovalDecision::Approve;
                        let change = field.act(place, person(), Command::DecideApproval { approval, decision }).await;
                        assert!(change.reply.is_ok(), "{change:?}");
                        return 0;
                    }
                    let mut won = 0;
                    for _ in 0..3 {
                        match field.act(place, Caller::agent(agent), Command::Claim { task }).await.reply {
                            Ok(Reply::Claimed { attempt: 1, .. }) => won = 1,
                            Ok(Reply::AlreadyClaimedBy { .. }) => {}
                            Err(Refusal::ApprovalRequired { approval: found, .. }) => assert_eq!(found, Some(approval)),
                            other => panic!("{place} claims: {other:?}"),
                        }
                    }
                    won
                }
            })
            .await;
        let mut winners: usize = won.into_iter().sum();
        if winners == 0 {
            // If all callers claimed the task before the approval, no claim succeeded. So claim the task once more now.
            let change = self.act(0, Caller::agent(agents[0]), Command::Claim { task }).await;
            winners += usize::from(matches!(change.reply, Ok(Reply::Claimed { .. })));
        }
        assert_eq!((winners, self.status(approval).await), (1, ApprovalStatus::Consumed), "one claim went through");
    }
}
