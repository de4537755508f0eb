//! Tests whole review sessions with requesters and reviewers that behave randomly. Each request gets a response that
//! the protocol's checker accepts, and the session in the store has the state that a simple model computes.
//!
//! A failure prints the seed. `HANDOVER_REVIEW_SEED` repeats the failed session, and `HANDOVER_REVIEW_SESSIONS` sets
//! the number of sessions.
#![expect(clippy::unwrap_used, reason = "a test fails where something unforeseen happens")]

use std::collections::BTreeMap;
use std::sync::Arc;

use base::ground::clock::SystemClock;
use engine::turn::{Spent, TurnEnd};
use engine::{Caller, Rights, view};
use runner::ask::{AskedProgram, AskedTexts, ProgramReply};

use base::project::trust;
use base::service::Service;
use runner::review::program::ReviewError;
use runner::review::{Provider, ReviewContext, RoundToRun, open, round};
use serde_json::{Value, json};
use wire::feedback::{AskedParts, judge_response};
use wire::stream::Frame;

use chance::SeededRandom;

/// The behaviour of a reviewer's program: the bytes that it writes, or the way in which it ends.
#[derive(Debug, Clone, PartialEq)]
enum Way {
    Writes(Vec<u8>),
    Ends(TurnEnd),
}

/// A reviewer whose program behaves at random. It records how often the program was started, and the last behaviour.
struct Wild<'r> {
    rng: &'r mut SeededRandom,
    iteration: u64,
    /// The ids of the findings (the reviewer's remarks) that the request accepts or rejects. `given` has the ids of all
    /// findings that the session reported in earlier rounds.
    decided: Option<Vec<String>>,
    given: Vec<String>,
    starts: u32,
    last: Option<Way>,
}

const NAMES: [&str; 6] =
    ["finding-one", "finding-two", "finding.three", "finding_four", "finding-5555", "finding-6666"];

impl Wild<'_> {
    fn ack(&mut self) -> Option<Value> {
        let decided = self.decided.clone()?;
        let status = |id: &String| if self.given.contains(id) { "acknowledged" } else { "unknown_id" };
        let items = decided.iter().map(|id| json!({"id": id, "processing_status": status(id)}));
        Some(json!({"items": items.collect::<Vec<_>>()}))
    }

    fn good(&mut self) -> Value {
        let mut names: Vec<&str> = NAMES.to_vec();
        names.retain(|_| self.rng.percent(30));
        let area =
            |name: &&str| json!({"id": name, "aspect": "a\u{0}", "description": "d", "recommendation": "r\u{85}"});
        let mut response = json!({"protocol_version": "1.2", "iteration": self.iteration, "status": "success", "feedback": {
            "confidence": {"level": "low", "justification": "j"}, "positive_points": [{"aspect": "a", "justification": "j"}],
            "areas_for_improvement": names.iter().map(area).collect::<Vec<_>>(), "general_summary": "s", "x-more": {"session-like": 1}}});
        if let Some(ack) = self.ack() {
            response["applied_feedback_ack"] = ack;
        }
        response
    }

    /// Chooses the behaviour of a reviewer's program at random: a valid response, one of several invalid responses, or
    /// an end without a response, such as a timeout.
    fn way(&mut self) -> Way {
        let good = self.good();
        let text = good.to_string();
        let mut bad = good;
        let write = |value: Value| Way::Writes(value.to_string().into_bytes());
        match self.rng.below(34) {
            0..10 => Way::Writes(text.into_bytes()),
            10 => Way::Writes(format!("I looked.\n```json\n{text}\n```\n").into_bytes()),
            11 => Way::Writes(format!("Hm.\n{text}").into_bytes()),
            12 => {
                let start = Frame::start("x", 1).line();
                Way::Writes(format!("{start}{}", Frame::text("x", 2, &text).line()).into_bytes())
            }
            13 => Way::Writes(Vec::new()),
            14 => Way::Writes(b"I like it.".to_vec()),
            15 => Way::Writes(text.as_bytes()[..text.len() / 2].to_vec()),
            16 => Way::Writes([text.as_bytes(), text.as_bytes()].concat()),
            17 => {
                bad["iteration"] = json!(self.iteration + 1);
                write(bad)
            }
            18 => {
                bad["applied_feedback_ack"] =
                    json!({"items": [{"id": "nobody-asked", "processing_status": "acknowledged"}]});
                write(bad)
            }
            19 => {
                bad["applied_feedback_ack"] = Value::Null;
                write(bad)
            }
            20 => {
                let area = json!({"id": "finding-one", "aspect": "a", "description": "d", "recommendation": "r"});
                bad["feedback"]["areas_for_improvement"] = json!([area, area]);
                write(bad)
            }
            21 => {
                bad["feedback"]["session_id"] = json!("x");
                write(bad)
            }
            22 => {
                bad["more"] = json!(1);
                write(bad)
            }
            23 => Way::Writes(text.replace("\"low\"", "\"\u{fffd}\"").into_bytes()),
            24 => {
                let mut bytes = text.into_bytes();
                let place = self.rng.below(bytes.len());
                bytes[place] = 0xff;
                Way::Writes(bytes)
            }
            25 => Way::Writes(vec![b'x'; 3 << 20]),
            26 => {
                bad["feedback"]["general_summary"] = json!("s".repeat(2 << 20));
                write(bad)
            }
            27 => {
                let area = |number: u32| json!({"id": format!("finding-{number:04}"), "aspect": "a", "description": "d", "recommendation": "r"});
                bad["feedback"]["areas_for_improvement"] = (0..201).map(area).collect();
                write(bad)
            }
            28 => write(json!({"protocol_version": "1.2", "iteration": self.iteration, "status": "error",
                "error": {"code": "\u{7}odd\ncode", "message": "not\u{0} today"}})),
            29 => write(json!([1, 2])),
            30 => Way::Ends(TurnEnd::Signalled),
            31 => Way::Ends(TurnEnd::TimedOut),
            32 => Way::Ends(TurnEnd::OverBudget),
            _ => Way::Ends([TurnEnd::Failed, TurnEnd::SpawnFailed, TurnEnd::ApiError][self.rng.below(3)]),
        }
    }
}

impl AskedProgram for Wild<'_> {
    type StartError = ReviewError;

    async fn start(&mut self, attempt: AskedTexts) -> Result<ProgramReply, ReviewError> {
        assert!(attempt.system.contains("Agent Feedback Protocol 1.2"));
        let sent: Value = serde_json::from_str(&attempt.message).unwrap();
        assert_eq!(sent["iteration"], self.iteration);
        assert_eq!(sent.get("x-repair").is_some(), self.starts > 0, "{sent}");
        self.starts += 1;
        let way = self.way();
        self.last = Some(way.clone());
        let (end, answer) = match way {
            Way::Writes(bytes) => (TurnEnd::Finished, bytes),
            Way::Ends(end) => (end, Vec::new()),
        };
        Ok(ProgramReply {
            end,
            reason: Some("so".to_owned()),
            answer,
            conversation: None,
            spent: Spent { turns: 1, ..Spent::default() },
        })
    }
}

/// The expected state of a review session, computed without the store: the number of rounds, and whether each finding
/// (a remark of the reviewer) is open.
#[derive(Debug, Default)]
struct Model {
    rounds: u64,
    findings: BTreeMap<String, bool>,
}

fn provider(folder: &std::path::Path) -> Provider {
    let config = "[[agent]]\nslug = \"wild\"\nadapter = \"exec\"\ncommand = [\"sh\"]\npersona = \"You review.\"\nmedia_types = [\"text/*\"]\n";
    std::fs::create_dir_all(folder.join(".handover")).unwrap();
    std::fs::write(folder.join(".handover/config.toml"), config).unwrap();
    trust::accept(folder, &trust::view(folder, Some(folder)).unwrap()).unwrap();
    Provider::find(Some(folder), Some(folder), "wild").unwrap()
}

/// Returns a random review request. Most requests are for the next iteration (round) and are valid. A request may
/// accept or reject any findings (remarks of the reviewer).
fn request(rng: &mut SeededRandom, model: &Model) -> Vec<u8> {
    let next = model.rounds + 1;
    let iteration = if rng.percent(85) { next } else { [0, 1, 3, 99][rng.below(4)] };
    let media = if rng.percent(90) { "text/plain" } else { "image/png" };
    let mut request = json!({"protocol_version": "1.2", "iteration": iteration, "artifact":
        {"media_type": media, "content": {"sessionID": "mine"}, "artifact_ref": "v\u{0}1"}});
    if rng.percent(60) {
        let mut items = Vec::new();
        for name in NAMES.iter().chain(&["never-given", "odd \u{0} id"]) {
            if rng.percent(40) {
                let status = ["accepted", "rejected", "partial"][rng.below(3)];
                items.push(json!({"id": name, "status": status, "explanation": "e\u{0}"}));
            }
        }
        request["applied_feedback"] = json!({"items": items});
    }
    match rng.below(20) {
        0 => request["artifact"]["content"] = Value::Null,
        1 => request["sessionID"] = json!("x"),
        2 => return request.to_string().into_bytes()[..20].to_vec(),
        3 => return vec![0xff, 0xfe],
        _ => {}
    }
    request.to_string().into_bytes()
}

async fn session(seed: u64, folder: &std::path::Path, provider: &Provider) {
    let mut rng = SeededRandom::new(seed);
    let service = Service::new(store::open("memory:", seed).await.unwrap(), Arc::new(SystemClock));
    let caller = Caller::with_rights(Rights::Person);
    let context = ReviewContext { service: &service, state: folder, host: "here", caller, provider };
    let review = open(&context, None, None).await.unwrap();
    let mut model = Model::default();
    for step in 0..8 {
        let bytes = request(&mut rng, &model);
        let sent: Option<Value> = serde_json::from_slice(&bytes).ok();
        let given: Vec<String> = model.findings.keys().cloned().collect();
        let asked = AskedParts::by(&bytes, Some(given.clone()));
        let is_legal = wire::feedback::judge_request(&bytes).value.is_some();
        let iteration = sent.as_ref().map_or(1, |sent| sent["iteration"].as_u64().unwrap_or(1));
        let items = sent.as_ref().and_then(|sent| sent["applied_feedback"]["items"].as_array().cloned());
        let ids =
            |items: &Vec<Value>| items.iter().map(|item| item["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>();
        let decided = items.as_ref().map(ids);
        let mut wild = Wild { rng: &mut rng, iteration, decided: decided.clone(), given, starts: 0, last: None };
        let answered = round(&context, RoundToRun { review, turn: None }, &bytes, &mut wild).await.unwrap().unwrap();
        let (starts, last) = (wild.starts, wild.last.clone());
        let at = format!("HANDOVER_REVIEW_SEED={seed} step {step}: {sent:?} after {last:?}");
        // The response must be valid for the requester, and must stay the same when it is sent as a stream of frames.
        let text = answered.text();
        let judged = judge_response(text.as_bytes(), Some(&asked));
        assert!(judged.report.is_valid(), "{at}: {:?}: {text}", judged.report.codes());
        let stream = format!("{}{}", Frame::start("s", 1).line(), Frame::text("s", 2, &text).line());
        assert_eq!(wire::stream::read(stream.as_bytes()).unwrap().response.as_deref(), Some(text.as_str()), "{at}");
        assert!(starts <= 3, "{at}: {starts} starts");
        // The response must match the test's model of the review session.
        let response: Value = serde_json::from_str(&text).unwrap();
        let code = response["error"]["code"].as_str().unwrap_or("success");
        let is_next = is_legal && iteration == model.rounds + 1;
        assert_eq!(code == "INVALID_REQUEST", !is_next, "{at}: {text}");
        if is_next {
            model.rounds += 1;
            for id in decided.iter().flatten() {
                model.findings.entry(id.clone()).and_modify(|open| *open = false);
            }
            let is_image = sent.as_ref().is_some_and(|sent| sent["artifact"]["media_type"] == "image/png");
            assert_eq!(code == "UNSUPPORTED_MEDIA_TYPE", is_image, "{at}: {text}");
            assert_eq!(starts == 0, is_image, "{at}");
            for area in response["feedback"]["areas_for_improvement"].as_array().into_iter().flatten() {
                model.findings.insert(area["id"].as_str().unwrap().to_owned(), true);
            }
        } else {
            assert_eq!(starts, 0, "{at}: a provider was asked");
        }
        let known = service.view(move |world| view::review(world, review)).await.unwrap();
        let found: BTreeMap<String, bool> =
            known.findings.iter().map(|finding| (finding.name.clone(), finding.is_open())).collect();
        let open = u64::from(known.review.open);
        assert_eq!((u64::from(known.review.rounds), &found), (model.rounds, &model.findings), "{at}");
        assert_eq!(open, u64::try_from(model.findings.values().filter(|open| **open).count()).unwrap(), "{at}");
    }
}

fn setting(name: &str) -> Option<u64> {
    Some(std::env::var(name).ok()?.parse().unwrap())
}

#[test]
fn whatever_both_sides_do_the_session_holds() {
    let folder = tempfile::tempdir().unwrap();
    let provider = provider(folder.path());
    let seed = setting("HANDOVER_REVIEW_SEED").unwrap_or(1);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    for number in 0..setting("HANDOVER_REVIEW_SESSIONS").unwrap_or(60) {
        runtime.block_on(session(seed + number, folder.path(), &provider));
    }
}
