//! Tests `handover review run` with real reviewer programs that misbehave in all known ways. The requester always gets
//! a valid response in a valid stream, and no process or file is left behind.

use std::io::Write as _;
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use wire::feedback::{AskedParts, judge_response};

use crate::busy::patience;
use crate::process::{now, rest, strangers};
use crate::scene::Scene;

/// The result of one call of `handover review run`: the exit code, the session and the response.
#[derive(Debug)]
struct Heard {
    code: i32,
    session: String,
    response: Value,
    stderr: String,
}

fn scene(reviewers: &[(&str, &str)]) -> Scene {
    let mut scene = Scene::new();
    scene.settings.push_str("[limits]\nturn_seconds = 2\noutput_bytes = 1000000\n");
    for (name, words) in reviewers {
        scene.reviewer(name, words, "");
    }
    scene.settle();
    scene
}

fn request(iteration: u64, decided: Option<&[(&str, &str)]>) -> Value {
    let mut request = json!({"protocol_version": "1.2", "iteration": iteration,
        "artifact": {"media_type": "text/plain", "content": "Add a dark mode."}});
    if let Some(decided) = decided {
        let item = |(id, status): &(&str, &str)| json!({"id": id, "status": status, "explanation": "because"});
        request["applied_feedback"] = json!({"items": decided.iter().map(item).collect::<Vec<_>>()});
    }
    request
}

/// Calls `review run` as a requester does, and checks the response against the protocol.
fn ask(scene: &Scene, provider: &str, session: Option<&str>, request: &[u8], issued: &[&str]) -> Heard {
    let mut arguments = vec!["review", "run", "--agent", provider, "--format", "json"];
    arguments.extend(session.into_iter().flat_map(|session| ["--session", session]));
    let mut command = scene.handover(&arguments);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(request).unwrap();
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let kinds: Vec<&str> = lines.iter().map(|line| line["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["step_start", "text", "step_finish"], "{provider}: {text}{stderr}");
    let id = lines[0]["sessionID"].as_str().unwrap().to_owned();
    assert!(lines.iter().all(|line| line["sessionID"] == *id && line["timestamp"].is_u64()), "{text}");
    assert!(lines[2]["part"]["cost"].is_number() && lines[2]["part"]["tokens"].is_object(), "{text}");
    let read = wire::stream::read(text.as_bytes()).unwrap();
    let response = read.response.unwrap();
    let issued = issued.iter().map(|id| (*id).to_owned()).collect();
    let asked = AskedParts::by(request, Some(issued));
    let judged = judge_response(response.as_bytes(), Some(&asked));
    assert!(judged.report.is_valid(), "{provider}: {:?}: {response}", judged.report.codes());
    let response = serde_json::from_str(&response).unwrap();
    Heard { code: output.status.code().unwrap(), session: id, response, stderr }
}

fn code(heard: &Heard) -> &str {
    assert_eq!(heard.code, 0, "{heard:?}");
    heard.response["error"]["code"].as_str().unwrap_or("success")
}

/// Returns the number of times that the reviewer's program was started.
fn starts(scene: &Scene, name: &str) -> u32 {
    std::fs::read_to_string(scene.sim().join(format!("{name}.count"))).map_or(0, |text| text.trim().parse().unwrap())
}

/// Returns the folders in which a reviewer's program ran. There must be only one, because some programs resume a
/// conversation only in the folder in which it began.
pub(crate) fn rooms(scene: &Scene, name: &str) -> Vec<String> {
    let text = std::fs::read_to_string(scene.sim().join(format!("{name}.rooms"))).unwrap();
    let mut rooms: Vec<String> = text.lines().map(str::to_owned).collect();
    rooms.sort();
    rooms.dedup();
    rooms
}

/// Each row: the reviewer's name, its behaviour, the result that the requester gets, and how often the reviewer's
/// program is started.
const WAYS: &[(&str, &str, &str, u32)] = &[
    ("good", "nothing", "success", 1),
    ("fenced", "fenced", "success", 1),
    ("texts", "texts", "success", 1),
    ("stream", "stream", "success", 1),
    ("error", "error", "TOO_TIRED", 1),
    ("dies", "dies", "INTERNAL_ERROR", 1),
    ("exits", "exits", "INTERNAL_ERROR", 1),
    ("never", "never", "INTERNAL_ERROR", 1),
    ("child", "child", "INTERNAL_ERROR", 1),
    ("flood", "flood", "INTERNAL_ERROR", 1),
    ("long-line", "long-line", "INTERNAL_ERROR", 1),
    ("silent", "silent", "INTERNAL_ERROR", 3),
    ("nonsense", "nonsense", "INTERNAL_ERROR", 3),
    ("half", "half", "INTERNAL_ERROR", 3),
    ("late", "late", "INTERNAL_ERROR", 3),
    ("twice", "twice", "INTERNAL_ERROR", 3),
    ("bad-id", "bad-id", "INTERNAL_ERROR", 3),
    ("session", "session", "INTERNAL_ERROR", 3),
    ("bytes", "bytes", "INTERNAL_ERROR", 3),
    ("more-ack", "more-ack", "success", 1),
    ("repaired", "nonsense half nothing", "success", 3),
];

#[test]
fn whatever_a_provider_does_the_requester_is_answered() {
    let reviewers: Vec<(&str, &str)> = WAYS.iter().map(|(name, words, _, _)| (*name, *words)).collect();
    let scene = scene(&reviewers);
    let first = request(1, None).to_string();
    std::thread::scope(|scope| {
        let ways: Vec<_> = WAYS
            .chunks(7)
            .map(|ways| {
                let (scene, first) = (&scene, &first);
                scope.spawn(move || {
                    for (name, _, expected, times) in ways {
                        let heard = ask(scene, name, None, first.as_bytes(), &[]);
                        assert_eq!((code(&heard), starts(scene, name)), (*expected, *times), "{name}: {heard:?}");
                    }
                })
            })
            .collect();
        ways.into_iter().for_each(|way| way.join().unwrap());
    });
    assert_eq!(rooms(&scene, "repaired").len(), 1, "it was repaired elsewhere");
    // The first response of this reviewer was invalid. The second start of its program gets the error, so that it can
    // repair the response.
    let told = std::fs::read_to_string(scene.sim().join("repaired.2.request")).unwrap();
    assert!(told.contains("\"x-repair\":[{\"code\":\"NO_RESPONSE\""), "{told}");
    assert_eq!(scene.leftovers(), [""; 0]);
    let left: Vec<_> = std::fs::read_dir(scene.project().join(".handover/state/reviews")).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_session_has_its_order_and_its_history() {
    let scene = scene(&[
        ("quinn", "finds-two finds nothing"),
        ("wrong-ack", "finds wrong-ack"),
        ("no-ack", "finds no-ack"),
        ("more-ack", "finds more-ack"),
    ]);
    let first = ask(&scene, "quinn", None, request(1, None).to_string().as_bytes(), &[]);
    let session = Some(first.session.as_str());
    let ask_quinn = |request: &Value| {
        ask(&scene, "quinn", session, request.to_string().as_bytes(), &["finding-0001", "finding-0002"])
    };
    assert_eq!(code(&first), "success");
    // None of these numbers is the next iteration, so each request is refused. A refused request does not use up an
    // iteration.
    for wrong in [1, 3, 4_294_967_296] {
        let heard = ask_quinn(&request(wrong, None));
        assert_eq!((code(&heard), heard.response["iteration"].as_u64()), ("INVALID_REQUEST", Some(wrong)));
        let message = heard.response["error"]["message"].as_str().unwrap();
        assert!(message.contains("the next iteration") && message.ends_with("is 2"), "{message}");
    }
    let decided = [("finding-0001", "accepted"), ("finding-0002", "partial"), ("never-given", "rejected")];
    let second = ask_quinn(&request(2, Some(&decided)));
    let ack = |id: &str, status: &str| json!({"id": id, "processing_status": status});
    let acked =
        [ack("finding-0001", "acknowledged"), ack("finding-0002", "acknowledged"), ack("never-given", "unknown_id")];
    assert_eq!(second.response["applied_feedback_ack"]["items"], json!(acked), "{second:?}");
    let shown = scene.json(&["review", "show", &first.session]);
    let states: Vec<_> = shown["findings"].as_array().unwrap().iter().map(|row| (&row["id"], &row["status"])).collect();
    // The reviewer reported the first finding (its remark) again, so that finding is open again.
    assert_eq!(states, [(&json!("finding-0001"), &json!("open")), (&json!("finding-0002"), &json!("partial"))]);
    // A reviewer's program without memory of its own gets its earlier findings (remarks) in the prompt.
    let told = std::fs::read_to_string(scene.sim().join("quinn.2.prompt")).unwrap();
    assert!(told.contains("What you found before") && told.contains("\"id\":\"finding-0002\""), "{told}");
    let third = ask_quinn(&request(3, Some(&[("finding-0001", "rejected")])));
    assert_eq!(code(&third), "success");
    assert_eq!(scene.json(&["review", "show", &first.session])["open"], 0);
    assert_eq!(rooms(&scene, "quinn").len(), 1, "a follow-up was elsewhere");
    for (name, expected) in
        [("wrong-ack", "ACK_WRONG"), ("no-ack", "MISSING:/applied_feedback_ack"), ("more-ack", "ACK_MISMATCH")]
    {
        let begun = ask(&scene, name, None, request(1, None).to_string().as_bytes(), &[]);
        let next = request(2, Some(&[("finding-0001", "accepted")])).to_string();
        let heard = ask(&scene, name, Some(&begun.session), next.as_bytes(), &["finding-0001"]);
        assert_eq!((code(&heard), starts(&scene, name)), ("INTERNAL_ERROR", 4), "{heard:?}");
        assert!(heard.response["error"]["message"].as_str().unwrap().contains(expected), "{heard:?}");
    }
    // A session of another reviewer, an unknown session and an invalid session id are all refused.
    for session in [first.session.as_str(), "ses_000000000000", "nonsense"] {
        let output = scene.ask(&["review", "run", "--agent", "no-ack", "--session", session]);
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{output:?}");
        assert!(!output.stderr.is_empty());
    }
}

#[test]
fn what_is_no_request_reaches_no_provider() {
    let mut scene = Scene::new();
    scene.reviewer("quinn", "nothing", "media_types = [\"text/markdown\", \"application/*\"]");
    scene.settle();
    let other = json!({"protocol_version": "1.2", "iteration": 1, "sessionID": "x", "artifact": {"media_type": "text", "content": null}});
    let cases: [(&[u8], &str, u64); 6] = [
        (b"", "NOT_JSON", 1),
        (b"{\"iteration\": 3}", "MISSING:/protocol_version", 3),
        (b"{\"iteration\": -3}", "RANGE:/iteration", 1),
        (b"\xff", "NOT_JSON", 1),
        (&[b' '; (1 << 20) + 1], "TOO_LONG:", 1),
        (&other.to_string().into_bytes(), "SESSION_FIELD:/sessionID", 1),
    ];
    for (bytes, expected, iteration) in cases {
        let heard = ask(&scene, "quinn", None, bytes, &[]);
        assert_eq!((code(&heard), heard.response["iteration"].as_u64()), ("INVALID_REQUEST", Some(iteration)));
        assert!(heard.response["error"]["message"].as_str().unwrap().contains(expected), "{heard:?}");
        // The refused request has created the session, and the session's first iteration can still be requested.
        let mut next = request(1, None);
        next["artifact"]["media_type"] = json!("text/markdown; charset=utf-8");
        let again = ask(&scene, "quinn", Some(&heard.session), next.to_string().as_bytes(), &[]);
        assert_eq!((code(&again), again.session.as_str()), ("success", heard.session.as_str()));
    }
    let before = starts(&scene, "quinn");
    let heard = ask(&scene, "quinn", None, request(1, None).to_string().as_bytes(), &[]);
    assert_eq!((code(&heard), starts(&scene, "quinn")), ("UNSUPPORTED_MEDIA_TYPE", before), "{heard:?}");
}

#[test]
fn nothing_starts_without_trust_or_a_provider() {
    let mut scene = Scene::new();
    scene.reviewer("quinn", "nothing", "roles = [\"critic\"]");
    scene.settle();
    let unknown = scene.ask(&["review", "ask", "--agent", "nobody", "README.md"]);
    assert_eq!(unknown.status.code(), Some(2));
    let told = String::from_utf8_lossy(&unknown.stderr).into_owned();
    assert!(told.contains("PROVIDER_UNKNOWN") && told.contains("quinn"), "{told}");
    let by_role = scene.json(&["review", "ask", "--agent", "roles.critic", "README.md"]);
    assert_eq!((&by_role["provider"], &by_role["status"]), (&json!("quinn"), &json!("answered")), "{by_role}");
    let changed = format!("{}\n[limits]\nusd = 500.0\n", scene.settings);
    std::fs::write(scene.project().join(".handover/config.toml"), changed).unwrap();
    for arguments in [&["review", "run", "--agent", "quinn"][..], &["review", "ask", "--agent", "quinn", "README.md"]] {
        let refused = scene.ask(arguments);
        assert_eq!((refused.status.code(), refused.stdout.len()), (Some(1), 0), "{refused:?}");
        assert!(String::from_utf8_lossy(&refused.stderr).contains("NOT_TRUSTED"), "{refused:?}");
    }
    let tool = scene.json(&["review", "request", "a text", "--provider", "quinn"]);
    assert_eq!(tool["code"], "NOT_TRUSTED", "{tool}");
    assert_eq!(starts(&scene, "quinn"), 1);
}

/// When `review run` is killed, the reviewer's program ends with it, and the same request can be sent again.
#[test]
fn a_killed_review_leaves_no_orphan_and_can_be_asked_again() {
    let scene = scene(&[("quinn", "child nothing")]);
    let begun = ask(&scene, "quinn", None, b"{}", &[]);
    let mut command = scene.handover(&["review", "run", "--agent", "quinn", "--session", &begun.session]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(request(1, None).to_string().as_bytes()).unwrap();
    let until = now() + patience(Duration::from_secs(20));
    while starts(&scene, "quinn") == 0 {
        assert!(now() < until, "the provider was not started");
        rest(Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    while !strangers(&scene, &[]).is_empty() {
        assert!(now() < until, "{:?} run on", strangers(&scene, &[]));
        rest(Duration::from_millis(20));
    }
    let again = ask(&scene, "quinn", Some(&begun.session), request(1, None).to_string().as_bytes(), &[]);
    assert_eq!(code(&again), "success", "{again:?}");
    assert_eq!(scene.leftovers(), [""; 0]);
}

#[test]
fn a_reviewer_asks_for_no_review_and_changes_nothing() {
    let scene = scene(&[("quinn", "asks-back")]);
    let heard = ask(&scene, "quinn", None, request(1, None).to_string().as_bytes(), &[]);
    assert_eq!(code(&heard), "success", "{}", heard.stderr);
    let said = std::fs::read_to_string(scene.sim().join("quinn.said")).unwrap();
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines.len(), 3, "{said}");
    assert!(lines[0].starts_with("NOT_A_PERSON") && lines[1].starts_with("{\"tasks\""), "{said}");
    assert!(lines[2].starts_with("{\"error\":{\"code\":\"NOT_PERMITTED\""), "{said}");
}

#[test]
fn people_have_files_reviewed_in_rounds() {
    let scene = scene(&[("quinn", "finds-two nothing")]);
    std::fs::write(scene.project().join("plan.md"), "# A plan\n").unwrap();
    let shown = scene.ask(&["review", "ask", "--agent", "quinn", "plan.md"]);
    let text = String::from_utf8_lossy(&shown.stdout).into_owned();
    assert!(shown.status.success() && text.contains("finding-0001") && text.contains("open findings: 2"), "{text}");
    let session = scene.json(&["review", "list"])["reviews"][0]["session"].as_str().unwrap().to_owned();
    let status = || String::from_utf8_lossy(&scene.ask(&["status"]).stdout).into_owned();
    assert!(
        status().contains("2 findings to decide") && status().contains(&format!("handover review show {session}")),
        "{}",
        status()
    );
    assert_eq!(scene.json(&["status"])["reviews"][0]["open"], 2);
    let named = format!("{session}/finding-0002");
    let answered = scene.json(&["review", "answer", "finding-0001", "accepted", "--reason", "done"]);
    assert_eq!(answered, json!({"success": true, "session": session, "open": 1}));
    let rejected = scene.json(&["review", "answer", &named, "rejected", "--reason", "no", "--code", "out_of_scope"]);
    assert_eq!(rejected["open"], 0, "{rejected}");
    assert!(!status().contains(&session), "{}", status());
    assert_eq!(scene.json(&["review", "answer", "nothing-like-it", "accepted"])["code"], "FINDING_NOT_FOUND");
    let again = scene.json(&["review", "again", "plan.md"]);
    assert_eq!((&again["status"], &again["iteration"], &again["open"]), (&json!("answered"), &json!(2), &json!(0)));
    let sent: Value =
        serde_json::from_str(&std::fs::read_to_string(scene.sim().join("quinn.2.request")).unwrap()).unwrap();
    let items = json!([{"id": "finding-0001", "status": "accepted", "explanation": "done"},
        {"id": "finding-0002", "status": "rejected", "reason_code": "out_of_scope", "explanation": "no"}]);
    assert_eq!(sent["applied_feedback"]["items"], items);
    assert_eq!(sent["artifact"]["media_type"], "text/markdown");
    // A decision about a finding (a remark of the reviewer) is sent to the reviewer only once.
    scene.json(&["review", "again", "plan.md", "--session", &session]);
    let sent: Value =
        serde_json::from_str(&std::fs::read_to_string(scene.sim().join("quinn.3.request")).unwrap()).unwrap();
    assert_eq!(sent["applied_feedback"]["items"], json!([]));
    let shown = scene.ask(&["review", "show"]);
    assert!(String::from_utf8_lossy(&shown.stdout).contains("=> done"), "{shown:?}");
    let missing = scene.ask(&["review", "ask", "--agent", "quinn", "nowhere.md"]);
    assert!(!missing.status.success());
}
