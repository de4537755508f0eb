//! Shows answers of the engine as short texts. Ids are shown as the short names of the test script, and times as the
//! time since the start of the script.

use engine::{Command, Refusal, Reply, Timestamp};

use crate::bench::Bench;

pub(crate) fn answer(bench: &mut Bench, command: &Command, answer: &Result<Reply, Refusal>) -> String {
    let text = match answer {
        Ok(found) => reply(bench, command, found),
        Err(found) => return refusal(bench, found),
    };
    named(bench, &text)
}

/// Shows the code and the message of a refusal.
pub(crate) fn refusal(bench: &Bench, refusal: &Refusal) -> String {
    named(bench, &format!("{}: {refusal}", refusal.code()))
}

/// Replaces every id in the text by the short name that the test script uses for it.
pub(crate) fn named(bench: &Bench, text: &str) -> String {
    let mut named = text.replace('\0', "\\0");
    for (id, name) in bench.names.iter().filter(|(id, _)| text.contains(id.as_str())) {
        named = named.replace(id.as_str(), name);
    }
    if named.chars().count() > 600 {
        named =
            named.chars().take(60).chain(" … ".chars()).chain(named.chars().skip(named.chars().count() - 60)).collect();
    }
    named
}

/// Shows a time since the start of the test script in its largest whole unit, for example as `15m`, `90s` or `1500`.
pub(crate) fn time(time: Timestamp) -> String {
    match time.0 {
        0 => "0".to_owned(),
        ms if ms % 3_600_000 == 0 => format!("{}h", ms / 3_600_000),
        ms if ms % 60_000 == 0 => format!("{}m", ms / 60_000),
        ms if ms % 1_000 == 0 => format!("{}s", ms / 1_000),
        ms => ms.to_string(),
    }
}

pub(crate) fn list<T: std::fmt::Display>(items: &[T]) -> String {
    if items.is_empty() {
        return "none".to_owned();
    }
    items.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

fn or_nothing(condition: bool, text: &str) -> &str {
    if condition { text } else { "" }
}

#[expect(clippy::too_many_lines, reason = "one match that names every reply")]
fn reply(bench: &mut Bench, command: &Command, reply: &Reply) -> String {
    match reply {
        Reply::Registered { slug, resumed: false, .. } => format!("new, slug {slug}"),
        Reply::Registered { slug, holds, .. } => format!("resumed, slug {slug}, holds {}", list(holds)),
        Reply::Alive { next_heartbeat_ms } => format!("next in {}", time(Timestamp(i64::from(next_heartbeat_ms.0)))),
        Reply::AgentUpdated => "updated".to_owned(),
        Reply::Unregistered { released } | Reply::SessionClosed { released } => format!("released {released}"),
        Reply::Renewed { tasks } => format!("renewed {tasks}"),
        Reply::WorkflowCreated { status, parallel_max, .. } => {
            format!("{status}, {}", parallel_max.map_or("no limit".to_owned(), |limit| format!("limit {limit}")))
        }
        Reply::PlanSet { tasks, groups, .. } if groups.is_empty() => format!("{tasks} tasks"),
        Reply::PlanSet { tasks, groups, .. } => format!("{tasks} tasks, groups {}", list(groups)),
        Reply::PlanBegun { stale } => format!("begun{}", or_nothing(*stale, ", stale")),
        Reply::DraftCleared { more } => format!("cleared{}", or_nothing(*more, ", more")),
        Reply::PlanStaged => "staged".to_owned(),
        Reply::ConditionSet { new } => (if *new { "set" } else { "was set" }).to_owned(),
        Reply::ConditionCleared { was_set } => (if *was_set { "cleared" } else { "was not set" }).to_owned(),
        Reply::DeliveryMoved { state } => crate::deliveries::state(state),
        Reply::DeliveryStands { state } => format!("too late: {}", crate::deliveries::state(state)),
        Reply::ListOpened { status, made, .. } => {
            format!("{status}, {}", if *made { "new" } else { "was there" })
        }
        Reply::BranchTaken { branch } => format!("on {branch}"),
        Reply::BranchOfOther { workflow } => format!("another workflow has it: {workflow}"),
        Reply::WorkflowArchived { archived } => (if *archived { "archived" } else { "back" }).to_owned(),
        Reply::TaskAdded { sequence, .. } => format!("added as {sequence}"),
        Reply::TaskRemoved { rewired, .. } => format!("removed, {rewired} rewired"),
        Reply::Replanned { added, removed, preserved, status } => {
            format!("added {added}, removed {removed}, kept {preserved}, {status}")
        }
        Reply::WorkflowMoved { status } => status.to_string(),
        Reply::WorkflowChanged => "changed".to_owned(),
        Reply::Configured => "configured".to_owned(),
        Reply::Locked { owner, since, until } => {
            format!("locked by {owner} since {} until {}", time(*since), time(*until))
        }
        Reply::LockHeldBy { owner, since, until } => {
            format!("held by {owner} since {} until {}", time(*since), time(*until))
        }
        Reply::Unlocked => "unlocked".to_owned(),
        Reply::RepositoryAttached { added, .. } => format!("attached at {}", time(*added)),
        Reply::RepositoryDetached => "detached".to_owned(),
        Reply::Claimed { task, attempt, until, .. } => {
            let which = if matches!(command, Command::ClaimNext { .. }) { format!("{task} ") } else { String::new() };
            format!("{which}attempt {attempt} until {}", time(*until))
        }
        Reply::AlreadyClaimedBy { agent } => format!("held by {agent}"),
        Reply::NoTask { limit_reached, all_done } => {
            format!("nothing{}{}", or_nothing(*limit_reached, ", limit reached"), or_nothing(*all_done, ", all done"))
        }
        Reply::Released => "released".to_owned(),
        Reply::Moved { status } => status.to_string(),
        Reply::TaskPlanned => "planned".to_owned(),
        Reply::TaskReplanned { .. } => "replanned".to_owned(),
        Reply::CheckpointAdded { sequence, .. } => format!("checkpoint {sequence}"),
        Reply::RepositoryRegistered { .. } => "registered".to_owned(),
        Reply::WorkspaceCreated { .. } | Reply::TemplateCreated { .. } => "created".to_owned(),
        Reply::WorkspaceUpdated { .. } => "updated".to_owned(),
        Reply::WorkspaceAssigned => "assigned".to_owned(),
        Reply::TemplateRemoved => "removed".to_owned(),
        Reply::Sent { message, thread, sequence, ahead } => {
            let (message, thread) = (bench.numbered("msg", "m", message), bench.numbered("thr", "thread", thread));
            format!("{message} is number {sequence}, {ahead} unread ahead, {thread}")
        }
        Reply::Broadcast { messages, thread, full } => {
            let names: Vec<_> = messages.iter().map(|id| bench.numbered("msg", "m", id)).collect();
            let thread = bench.numbered("thr", "thread", thread);
            let full = if full.is_empty() { String::new() } else { format!(", full: {}", list(full)) };
            format!("{}, {thread}{full}", list(&names))
        }
        Reply::Answered { answer, task, status } => {
            let answer = bench.numbered("msg", "m", answer);
            let task = task.zip(*status).map_or(String::new(), |(task, status)| format!(", {task} is {status}"));
            format!("answered by {answer}{task}")
        }
        Reply::Marked { changed } => format!("{changed} changed"),
        Reply::Swept { offered, failed, more } => {
            format!("offered {offered}, failed {failed}{}", or_nothing(*more, ", more"))
        }
        Reply::TokenCreated { token } => bench.numbered("tok", "token", token),
        Reply::TokenRevoked => "revoked".to_owned(),
        Reply::CodeOffered { token } | Reply::BrowserEnrolled { token } => bench.numbered("tok", "token", token),
        Reply::BrowserKeyUsed { token, name } => format!("{}, {name}", bench.numbered("tok", "token", token)),
        Reply::TurnStarted { turn, number } => format!("{} is number {number}", bench.numbered("tn", "turn", turn)),
        Reply::TurnEnded => "ended".to_owned(),
        Reply::VerificationRecorded { number, failures } => format!("verification {number}, {failures} failed"),
        Reply::RunnerSeen => "seen".to_owned(),
        Reply::RunnerForgotten => "forgotten".to_owned(),
        Reply::SectionWritten { version } => format!("version {version}"),
        Reply::ApprovalAsked { approval, until } => {
            format!("{} until {}", bench.numbered("ap", "approval", approval), time(*until))
        }
        Reply::ApprovalDecided { status } => status.to_string(),
        Reply::ApprovalConsumed => "consumed".to_owned(),
        Reply::ApprovalRefused { approval, reason } => {
            format!("{} refused: {}", bench.numbered("ap", "approval", approval), reason.as_deref().unwrap_or("-"))
        }
        Reply::SentBack { count } => format!("sent back {count}"),
        Reply::ApprovalsShown { recorded } => format!("{recorded} recorded"),
        Reply::NoticeTaken { approval: Some(approval), tries } => {
            format!("{}, try {tries}", bench.numbered("ap", "approval", approval))
        }
        Reply::NoticeTaken { approval: None, .. } => "nothing is due".to_owned(),
        Reply::NoticeSettled { next } => {
            next.map_or_else(|| "over".to_owned(), |next| format!("again at {}", time(next)))
        }
        Reply::ItemsToTell { items } if items.is_empty() => "nothing to tell".to_owned(),
        Reply::ItemsToTell { items } => format!("tell {}", list(items)),
        Reply::ItemsUntold => "untold".to_owned(),
        Reply::ItemPutOff { until } => format!("put off until {}", time(*until)),
        Reply::ItemShown => "shown".to_owned(),
        Reply::ApprovalsExpired { expired, more } => format!("expired {expired}{}", or_nothing(*more, ", more")),
        Reply::ReviewOpened { review } => bench.numbered("review", "review", review),
        Reply::RoundStarted { tries, issued } => format!("try {tries}, given {}", list(issued)),
        Reply::RoundEnded { found, open } => format!("{found} found, {open} open"),
        Reply::FindingDecided { open } => format!("{open} open"),
        Reply::KeysForgotten => "forgotten".to_owned(),
    }
}
