//! Decides a command by calling the function for this kind of command. A decision has no side effects, so the store may
//! run it again at any time.

use crate::case::Case;
use crate::command::{Actor, Caller, Command, KeyOwner};
use crate::event::Event;
use crate::identity::{self, KeyOwners};
use crate::key::{CallKey, KeyId, StoredKey};
use crate::limits;
use crate::refusal::Refusal;
use crate::reply::Reply;
use crate::rules::{
    agent, answer, approval, claim, condition, conversation, delivery, inbox, lapse, notice, pass, place, plan,
    put_off, record, regain, replan, review, section, send_back, status, token, told_item, turn, workflow,
};
use crate::time::{Stamp, Timestamp};
use crate::world::{DecisionStop, Need, World};

/// The result of deciding a command: the events that it causes, and the reply to the caller.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    pub events: Vec<Event>,
    pub sender: Actor,
    pub reply: Result<Reply, Refusal>,
}

/// Decides a command. When a part of the state is not loaded, returns the needs (the missing parts) that the store must
/// load before it calls again.
pub fn decide(world: &World, caller: &Caller, command: &Command, stamp: Stamp) -> Result<Change, Vec<Need>> {
    let rights = match identity::effective_rights(world, caller) {
        Ok(rights) => rights,
        Err(DecisionStop::Missing(needs)) => return Err(needs),
        // `effective_rights` never refuses a call, so this arm is never used.
        Err(DecisionStop::Refused(_) | DecisionStop::Recorded(_)) => caller.rights,
    };
    let key = key_of(world, caller, command, stamp.now)?;
    let mut case = Case::new(world, caller, rights, stamp);
    let answered = match &key {
        Some(key) => case.answered(key),
        None => Ok(None),
    };
    let result = match answered {
        Ok(Some(reply)) => {
            return Ok(Change { events: Vec::new(), sender: case.sender(), reply });
        }
        Ok(None) => run(&mut case, command).and_then(|reply| {
            case.check_identity(command)?;
            lapse::withdraw(&mut case).map(|()| reply)
        }),
        Err(DecisionStop::Missing(needs)) => return Err(needs),
        // The idempotency key itself is not valid. Do not store the refusal under this key, because a database may
        // reject the text of the key.
        Err(DecisionStop::Refused(refusal) | DecisionStop::Recorded(refusal)) => {
            return Ok(Change { events: Vec::new(), sender: case.sender(), reply: Err(refusal) });
        }
    };
    let result = match result {
        Err(DecisionStop::Refused(refusal)) if !refusal.comes_before_identity() => {
            Err(case.check_voice_first(command).err().unwrap_or(DecisionStop::Refused(refusal)))
        }
        found => found,
    };
    let reply = match result {
        Ok(reply) => Ok(reply),
        Err(DecisionStop::Missing(needs)) => return Err(needs),
        Err(DecisionStop::Refused(refusal)) => {
            case.events.clear();
            Err(refusal)
        }
        Err(DecisionStop::Recorded(refusal)) => Err(refusal),
    };
    if let (Some(CallKey { id, .. }), Some(key), true) = (key, &caller.key, command.is_final()) {
        let fingerprint = key.fingerprint.clone();
        let until = case.now + limits::KEY_MS;
        case.events.push(Event::KeyKept { key: Box::new(StoredKey { id, fingerprint, answer: reply.clone(), until }) });
    }
    let sender = case.sender();
    Ok(Change { events: case.events, sender, reply })
}

/// Returns the ids of the call's idempotency key: the id under which the answer to the command is stored, and the other
/// ids under which the answer to an earlier, equal call may be stored. Returns `None` when the call has no idempotency
/// key.
fn key_of(world: &World, caller: &Caller, command: &Command, now: Timestamp) -> Result<Option<CallKey>, Vec<Need>> {
    let Some(key) = &caller.key else { return Ok(None) };
    let owners = match (&key.owner, command) {
        // Before `Register`, the caller has no agent. After `Unregister`, the idempotency keys of the agent are
        // deleted. So the keys of these two commands belong to the connection.
        (KeyOwner::Acting { connection, tool }, Command::Register(_)) => {
            KeyOwners { own: format!("{connection} {tool}"), others: Vec::new() }
        }
        (KeyOwner::Acting { connection, tool }, Command::Unregister) if caller.agent.is_none() => {
            KeyOwners { own: format!("{connection} {tool}"), others: Vec::new() }
        }
        _ => match identity::key_owners(world, caller, key, command.task(), now) {
            Ok(owners) => owners,
            Err(DecisionStop::Missing(needs)) => return Err(needs),
            // `key_owners` never refuses a call, so this arm is never used.
            Err(DecisionStop::Refused(_) | DecisionStop::Recorded(_)) => return Ok(None),
        },
    };
    let id = |owner: String| KeyId { owner, act: command.name().to_owned(), key: key.key.clone() };
    Ok(Some(CallKey { id: id(owners.own), others: owners.others.into_iter().map(id).collect() }))
}

#[expect(clippy::too_many_lines, reason = "one match that names every command")]
fn run(case: &mut Case<'_>, command: &Command) -> Result<Reply, DecisionStop> {
    match command {
        Command::Register(register) => agent::register(case, register),
        Command::Heartbeat { current_task } => agent::heartbeat(case, *current_task),
        Command::UpdateAgent { workspace_path, metadata } => {
            agent::update(case, workspace_path.as_deref(), metadata.as_ref())
        }
        Command::Unregister => agent::unregister(case),
        Command::Renew => agent::renew(case),
        Command::CloseSession { session, end } => agent::close_session(case, *session, *end),
        Command::Hear { origin } => conversation::hear(case, origin),
        Command::EndConversation { conversation } => conversation::end(case, conversation),
        Command::SendBack(sent) => conversation::send_back(case, sent),
        Command::GoOn { report, note } => conversation::go_on(case, report, note),

        Command::CreateWorkflow(create) => workflow::create(case, create),
        Command::OpenList => workflow::open_list(case),
        Command::ArchiveWorkflow { workflow, archived } => workflow::archive(case, *workflow, *archived),
        Command::TakeBranch { workflow, branch } => workflow::take_branch(case, *workflow, branch),
        Command::SetPlan { workflow, summary, piece, groups } => plan::set(case, *workflow, summary, piece, groups),
        Command::BeginPlan { workflow, token } => plan::begin(case, *workflow, token),
        Command::ClearDraft { workflow, token } => plan::clear(case, *workflow, token),
        Command::StagePlan { workflow, token, piece } => plan::stage(case, *workflow, token, piece),
        Command::CommitPlan { workflow, token, summary, tasks, groups, task_ids } => {
            plan::commit(case, *workflow, token, &plan::PlanCommit { summary, tasks: *tasks, groups, task_ids })
        }
        Command::AddTask { workflow, task, after } => replan::add(case, *workflow, task, after.as_deref()),
        Command::RemoveTask { workflow, task } => replan::remove(case, *workflow, *task),
        Command::Replan { workflow, summary, reason, tasks } => replan::replan(case, *workflow, summary, reason, tasks),
        Command::SetWorkflowStatus { workflow, status, reason } => {
            workflow::set_status(case, *workflow, *status, reason.as_deref())
        }
        Command::Steer { workflow, course } => workflow::steer(case, *workflow, *course),
        Command::SetParallelism { workflow, parallel_max, auto_workspaces } => {
            workflow::set_parallelism(case, *workflow, *parallel_max, *auto_workspaces)
        }
        Command::SetConfig { workflow, config } => workflow::set_config(case, *workflow, config),
        Command::LockWorkflow { workflow, owner } => workflow::lock(case, *workflow, owner),
        Command::UnlockWorkflow { workflow, owner } => workflow::unlock(case, *workflow, owner),
        Command::AttachRepository { workflow, path } => place::attach(case, *workflow, path),
        Command::DetachRepository { workflow, repository } => place::detach(case, *workflow, *repository),

        Command::Claim { task } => claim::claim(case, *task),
        Command::ClaimNext { workflow, include_failed } => claim::claim_next(case, *workflow, *include_failed),
        Command::Crash { task, attempt, reason } => claim::crash(case, *task, *attempt, reason),
        Command::Regain { task, attempt } => regain::regain(case, *task, *attempt),
        Command::Release { task, attempt, reason } => claim::release(case, *task, *attempt, reason.as_deref()),
        Command::Sweep { workflow } => claim::sweep(case, *workflow),
        Command::Move { task, attempt, to } => status::move_task(case, *task, *attempt, to),
        Command::SendTaskBack { task, text, notes } => send_back::send_back(case, *task, text, notes),
        Command::TakeAsIs { task, reason, work } => send_back::take_as_is(case, *task, reason, work.as_deref()),
        Command::SetTaskPlan { task, attempt, plan, context } => {
            record::set_plan(case, *task, *attempt, plan, context.as_ref())
        }
        Command::ReplanTask { task, attempt, reason, plan } => record::replan(case, *task, *attempt, reason, plan),
        Command::AddCheckpoint { task, attempt, note } => record::add_checkpoint(case, *task, *attempt, note),

        Command::RegisterRepository { path, name } => place::register(case, path, name.as_deref()),
        Command::CreateWorkspace(create) => place::create_workspace(case, create),
        Command::UpdateWorkspace(update) => place::update_workspace(case, update),
        Command::AssignWorkspace { task, workspace } => place::assign_workspace(case, *task, *workspace),
        Command::CreateTemplate { name, description, body } => {
            place::create_template(case, name, description.as_deref(), body)
        }
        Command::RemoveTemplate { template } => place::remove_template(case, *template),

        Command::CreateToken { name, hash, scope, agent } => token::create(case, name, hash, *scope, *agent),
        Command::RevokeToken { token } => token::revoke(case, *token),
        Command::OfferCode { hash } => token::offer_code(case, hash),
        Command::EnrolBrowser { code, key, name } => token::enrol_browser(case, code, key, name),
        Command::UseBrowserKey { key } => token::use_browser_key(case, key),

        Command::StartTurn(start) => turn::start(case, start),
        Command::EndTurn { turn, ended } => turn::end(case, *turn, ended),
        Command::RecordVerification(found) => turn::verify(case, found),
        Command::SeeRunner { name, host, pid, agents } => turn::see_runner(case, name, host, *pid, agents),
        Command::ForgetRunner { name } => turn::forget_runner(case, name),

        Command::WriteSection { name, version, body, task } => section::write(case, name, *version, body, *task),

        Command::AskApproval(asked) => approval::ask(case, asked),
        Command::DecideApproval { approval, decision } => approval::decide(case, *approval, decision),
        Command::ConsumeApproval { approval, fingerprint } => approval::consume(case, *approval, fingerprint),
        Command::PassGate(asked) => pass::pass(case, asked),
        Command::ExpireApprovals => lapse::expire_all(case),
        Command::ShowApprovals { approvals, via } => notice::show(case, approvals, *via),
        Command::TakeNotice { channel } => notice::take(case, *channel),
        Command::SettleNotice { approval, channel, tries, problem } => {
            notice::settle(case, (*approval, *channel), *tries, problem.as_deref())
        }
        Command::TellItems(telling) => told_item::tell(case, telling),
        Command::UntellItems(untelling) => told_item::untell(case, untelling),
        Command::PutOff(delay) => put_off::put_off(case, delay),

        Command::OpenReview(open) => review::open(case, open),
        Command::StartRound(start) => review::start(case, start),
        Command::EndRound(end) => review::end(case, end),
        Command::DecideFinding { review, finding, decision } => review::decide(case, *review, finding, decision),

        Command::SetCondition { kind, subject, title, detail } => condition::set(case, (*kind, subject), title, detail),
        Command::ClearCondition { kind, subject } => condition::clear(case, *kind, subject),

        Command::MoveDelivery { subject, from, to } => delivery::move_delivery(case, *subject, *from, to),
        Command::DeliverWorkflow { workflow, check, work } => delivery::deliver_workflow(case, *workflow, check, work),

        Command::Send { to, draft } => inbox::send(case, to, draft),
        Command::Answer { message, text } => answer::answer(case, *message, text),
        Command::MarkRead { messages } => inbox::mark(case, messages, inbox::Mark::Read),
        Command::Archive { messages } => inbox::mark(case, messages, inbox::Mark::Archived),

        Command::ForgetKeys => {
            case.events.push(Event::KeysForgotten);
            Ok(Reply::KeysForgotten)
        }
    }
}
