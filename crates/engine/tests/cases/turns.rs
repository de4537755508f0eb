//! The verbs (command words) of test scripts for the commands of the runner: turns, verifications, project context,
//! approvals.

use engine::approval::{ApprovalDecision, ApprovalRequest, Source, Via};
use engine::command::{AskApproval, RecordVerification, StartTurn};
use engine::id::{ApprovalId, TurnId};
use engine::notice::{Channel, ItemTelling, ItemUntelling, NoticePace, NoticeWay};
use engine::put_off::ItemDelay;
use engine::turn::{Purpose, Spent, TurnEnd, TurnResult};
use engine::verification::Verdict;
use engine::{Command, Json, Timestamp};

use crate::bench::{Bench, Words};

/// Reads a command of the runner. Scripts name turns and approvals by their number, for example `turn1` and
/// `approval1`.
#[expect(clippy::too_many_lines, reason = "one match that names every verb")]
pub(crate) fn command(bench: &mut Bench, verb: &str, words: &mut Words) -> Result<Command, String> {
    let attempt = |words: &mut Words| Ok::<_, String>(words.number("attempt")?.unwrap_or(1));
    Ok(match verb {
        "turn" => {
            let (task, attempt) = (words.word("a task")?, attempt(words)?);
            let purpose = words.maybe().unwrap_or_else(|| "first".to_owned());
            Command::StartTurn(StartTurn {
                task: bench.task(&task),
                attempt,
                agent: words.named("agent").map(|agent| bench.agent(&agent)),
                purpose: Purpose::parse(&purpose).ok_or("no such purpose")?,
                adapter: "exec".to_owned(),
                runner: words.named("runner").unwrap_or_else(|| "here".to_owned()),
            })
        }
        "ended" => {
            let turn = words.word("a turn")?;
            let end = words.maybe().unwrap_or_else(|| "finished".to_owned());
            let ended = TurnResult {
                at: Timestamp(0),
                end: TurnEnd::parse(&end).ok_or("no such end")?,
                reason: words.named("reason"),
                conversation: words.named("conversation"),
                spent: Spent {
                    usd_micros: words.number("usd")?,
                    tokens: words.number("tokens")?,
                    tokens_in: words.number("in")?,
                    tokens_out: words.number("out")?,
                    turns: 1,
                    ..Spent::default()
                },
                tool_calls: 0,
                stream: None,
                verdict: words.json("verdict"),
                model: words.named("model"),
            };
            let turn = bench.known("tn", &turn).and_then(|id| id.parse().ok()).unwrap_or(TurnId::LAST);
            Command::EndTurn { turn, ended: Box::new(ended) }
        }
        "verified" => {
            let (task, attempt) = (words.word("a task")?, attempt(words)?);
            let mut verdict = |name| Verdict::parse(&words.word(name)?).ok_or_else(|| "no such verdict".to_owned());
            let (mechanical, semantic) = (verdict("a verdict")?, verdict("a verdict")?);
            let (output_ref, evidence) = (words.maybe(), Json::from_stored("{}".to_owned()));
            let task = bench.task(&task);
            let found = RecordVerification { task, attempt, turn: None, mechanical, semantic, output_ref, evidence };
            Command::RecordVerification(Box::new(found))
        }
        "runner" => {
            let name = words.word("a name")?;
            Command::SeeRunner { host: name.clone(), name, pid: 1, agents: words.list("agents") }
        }
        "gone" => Command::ForgetRunner { name: words.word("a name")? },
        "section" => {
            let (name, body) = (words.word("a name")?, Json::from_stored(words.word("a body")?));
            Command::WriteSection { name, version: words.number("after")?.unwrap_or(0), body, task: None }
        }
        "ask" => {
            let operation = words.word("an operation")?;
            let waits = words.named("waits");
            let waits = waits.map(|task| Ok::<_, String>((bench.task(&task), attempt(words)?))).transpose()?;
            let source = words.named("source").unwrap_or_else(|| "handoff".to_owned());
            let request = ApprovalRequest {
                content: operation.clone(),
                operation: operation.clone(),
                ..ApprovalRequest::default()
            };
            let source = Source::parse(&source).ok_or("no such source")?;
            Command::AskApproval(Box::new(AskApproval { source, waits, request, fingerprint: operation }))
        }
        "approve" | "reject" | "revoke_approval" => {
            let approval = approval(bench, &words.word("an approval")?);
            let decision = match verb {
                "approve" => ApprovalDecision::Approve,
                "reject" => ApprovalDecision::Reject { reason: words.maybe().unwrap_or_default() },
                _ => ApprovalDecision::Revoke { reason: words.maybe() },
            };
            Command::DecideApproval { approval, decision }
        }
        "consume" => {
            let approval = approval(bench, &words.word("an approval")?);
            Command::ConsumeApproval { approval, fingerprint: words.word("a fingerprint")? }
        }
        "see" => {
            let via = words.named("via").unwrap_or_else(|| "command_line".to_owned());
            let mut approvals = Vec::new();
            while let Some(name) = words.maybe() {
                approvals.push(approval(bench, &name));
            }
            Command::ShowApprovals { approvals, via: Via::parse(&via).ok_or("no such way")? }
        }
        "take" => {
            let channel = words.word("a channel")?;
            Command::TakeNotice { channel: Channel::parse(&channel).ok_or("no such channel")? }
        }
        "settle" => {
            let (name, channel) = (words.word("an approval")?, words.word("a channel")?);
            Command::SettleNotice {
                approval: approval(bench, &name),
                channel: Channel::parse(&channel).ok_or("no such channel")?,
                tries: words.number("try")?.unwrap_or(1),
                problem: words.named("problem"),
            }
        }
        "tell" | "untell" => {
            let way = words.word("a way")?;
            let way = NoticeWay::parse(&way).ok_or("no such way")?;
            let pace = if words.flag("now") { NoticePace::Now } else { NoticePace::Spaced };
            let mut items = Vec::new();
            while let Some(name) = words.maybe() {
                items.push(name);
            }
            if verb == "tell" {
                Command::TellItems(ItemTelling { way, items, pace })
            } else {
                Command::UntellItems(ItemUntelling { way, items })
            }
        }
        "put_off" | "show_item" => {
            let item = words.word("an item")?;
            let until = words.named("until").and_then(|text| crate::bench::time(&text, bench.now));
            Command::PutOff(ItemDelay { item, until: until.filter(|_| verb == "put_off") })
        }
        _ => Command::ExpireApprovals,
    })
}

fn approval(bench: &Bench, name: &str) -> ApprovalId {
    bench.known("ap", name).and_then(|id| id.parse().ok()).unwrap_or(ApprovalId::LAST)
}
