//! Tests that no input makes a checker of documents slow: every checker needs less than 50 milliseconds for a mebibyte
//! of any input.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use crate::cases::{Case, each};
use wire::json::{Value, parse};
use wire::report::Registry;
use wire::{card, envelope, feedback, handoff, message, stream};

const MEBIBYTE: usize = 1 << 20;
/// The time limit for checking one document. A build with debug checks takes about three times as long, and more on a
/// busy machine, so its limit is higher.
const BOUND: Duration = Duration::from_millis(if cfg!(debug_assertions) { 250 } else { 50 });

type Judge = fn(&[u8]) -> usize;

/// All checkers of documents. Each has the file of its test cases, and a function that checks bytes and returns the
/// number of problems.
const JUDGES: &[(&str, Judge)] = &[
    ("envelope/input.jsonl", |bytes| count(&envelope::judge_input(bytes).report)),
    ("envelope/output.jsonl", |bytes| count(&envelope::judge_output(bytes).report)),
    ("feedback/request.jsonl", |bytes| count(&feedback::judge_request(bytes).report)),
    ("feedback/response.jsonl", |bytes| {
        let asked = feedback::AskedParts::by(b"{}", Some(Vec::new()));
        count(&feedback::judge_response(bytes, Some(&asked)).report)
    }),
    ("wire/wire.jsonl", |bytes| count(&message::judge(bytes).report)),
    ("card/card.jsonl", |bytes| {
        let registry = Registry { roles: ["ba".to_owned()].into(), ..Registry::default() };
        count(&card::judge(bytes, Some(&registry)).report)
    }),
    ("handoff/cases.jsonl", |bytes| {
        let text = std::str::from_utf8(bytes).unwrap_or_default();
        handoff::judge(text, &handoff::HandoffContext::default()).problems().count()
    }),
    ("stream/stream.jsonl", |bytes| usize::from(stream::read(bytes).unwrap().is_valid())),
];

fn count(report: &wire::report::Report<'_>) -> usize {
    report.errors().len() + report.warnings().len()
}

/// Returns the processor time that this thread has used. Elapsed time would depend on the other tests that run at the
/// same time.
fn used() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap()
}

fn judged_in_time(judge: Judge, bytes: &[u8], what: &str) {
    if let Err(best) = best_of(20, judge, bytes, BOUND) {
        panic!("{what}: {best:?} for {} bytes", bytes.len());
    }
}

/// Calls `judge` with a document up to `tries` times, until one call takes less time than `bound`. When every call
/// takes longer, the error has the time of the fastest call.
fn best_of(tries: u32, judge: Judge, bytes: &[u8], bound: Duration) -> Result<(), Duration> {
    let mut best = Duration::MAX;
    for _ in 0..tries {
        let began = used();
        judge(bytes);
        best = best.min(used().saturating_sub(began));
        if best < bound {
            return Ok(());
        }
    }
    Err(best)
}

const OPENING: &str = "Done.\n```agent_contract_handoff\n";
const CLOSING: &str = "\n```\n";

/// Returns a text of at most `room` bytes that repeats `piece`.
fn long(piece: &str, room: usize) -> String {
    piece.repeat(room / piece.len())
}

#[test]
fn text_that_is_no_document() {
    let texts = [
        "[",
        "{\"a\":",
        "\"",
        "\\",
        "\\u0041",
        "1",
        "-",
        " ",
        "\n",
        "`",
        "```\n",
        "````\n~~~\n",
        "```agent_contract_handoff\n",
        "{}\n",
        "{\"type\":\"text\"}\n",
        "x\n",
        "[[],",
        "\u{feff}",
        "\0",
        "[1,",
        "{\"a\":1,",
    ];
    for (file, judge) in JUDGES {
        for text in texts {
            let bytes = long(text, MEBIBYTE);
            judged_in_time(*judge, bytes.as_bytes(), &format!("{file} with {text:?}"));
            judged_in_time(*judge, format!("{{\"a\":{bytes}").as_bytes(), &format!("{file} with a start and {text:?}"));
        }
        judged_in_time(*judge, &vec![0xff; MEBIBYTE], file);
    }
}

/// Returns large values, each with a name. The test replaces every value of a document by each of these large values in
/// turn, so that the document has about a mebibyte.
fn fillings(room: usize) -> Vec<(&'static str, String)> {
    let list = |item: &str| format!("[{}{item}]", long(&format!("{item},"), room - 2 * item.len() - 4));
    let text = |piece: &str| format!("\"{}\"", long(piece, room - 4));
    let mut keys = String::from("{\"a\":1");
    let mut number = 0;
    while keys.len() + 20 < room {
        keys.push_str(&format!(",\"k{number}\":1"));
        number += 1;
    }
    keys.push('}');
    vec![
        ("ones", list("1")),
        ("nulls", list("null")),
        ("objects", list("{}")),
        ("texts", list("\"a\"")),
        ("lists", list("[[]]")),
        ("sessions", list("{\"session\":1}")),
        ("ids", list("{\"id\":\"same-id-here\",\"path\":\"a/b\"}")),
        ("keys", keys),
        ("blanks", text(" ")),
        ("words", text("a ")),
        ("sentences", text("A. ")),
        ("brackets after a point", format!("\"A.{}\"", long("(", room - 8))),
        ("blanks after a point", format!("\"A.{} b\"", long(" ", room - 8))),
        ("points", text(".")),
        ("folders", text("a/")),
        ("climbing", text("a/../")),
        ("escapes", text("\\u0020")),
        ("backticks", text("`")),
        ("one number", long("7", room - 4)),
        ("media parameters", format!("\"a/b{}\"", long(";a=b", room - 8))),
    ]
}

/// Collects the path to every value of a document.
fn places(value: &Value, path: &mut Vec<usize>, found: &mut Vec<Vec<usize>>) {
    found.push(path.clone());
    let children: Vec<&Value> = match value {
        Value::List(items) => items.iter().collect(),
        Value::Object(members) => members.iter().map(|(_, value)| value).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) => Vec::new(),
    };
    for (place, child) in children.into_iter().enumerate() {
        path.push(place);
        places(child, path, found);
        path.pop();
    }
}

/// Replaces the value at a path by a marker. Later the test replaces the marker in the document's text by a large
/// value.
fn mark(value: &mut Value, path: &[usize]) {
    match (path, value) {
        ([], value) => *value = "@@".into(),
        ([first, rest @ ..], Value::List(items)) => mark(&mut items[*first], rest),
        ([first, rest @ ..], Value::Object(members)) => mark(&mut members[*first].1, rest),
        ([_, ..], Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_)) => {}
    }
}

#[test]
fn documents_with_one_huge_part() {
    for (file, judge) in JUDGES {
        let mut tried = Vec::new();
        let (before, after) = if file.starts_with("handoff") { (OPENING, CLOSING) } else { ("", "") };
        each(file, |case: &Case| {
            let mut bytes = case.bytes();
            if !before.is_empty() {
                let text = std::str::from_utf8(&bytes).unwrap_or_default();
                let contract = handoff::judge(text, &handoff::HandoffContext::default()).contract;
                bytes = contract.map_or_else(Vec::new, |contract| contract.render().to_string().into_bytes());
            }
            let valid = case.find("expect").is_none_or(|expect| expect.get("valid") == Some(&Value::Bool(true)));
            let Some(document) = std::str::from_utf8(&bytes).ok().and_then(|text| parse(text).ok()) else { return };
            // Skip long and deeply nested test cases. Of the other valid documents, the test uses the largest, because
            // it has the most fields.
            if valid && bytes.len() < 1_500 && !case.id().contains("depth") && !case.id().contains("deep") {
                tried.push(document.to_value());
            }
        });
        let largest = tried.into_iter().max_by_key(|document| document.to_string().len());
        let Some(document) = largest else { continue };
        let mut found = Vec::new();
        places(&document, &mut Vec::new(), &mut found);
        let room = MEBIBYTE - document.to_string().len();
        let (fillings, quarters) = (fillings(room), fillings(room / 4));
        for path in found.iter().filter(|path| !path.is_empty()) {
            let mut marked = document.clone();
            mark(&mut marked, path);
            let marked = marked.to_string();
            for ((what, filling), (_, quarter)) in fillings.iter().zip(&quarters) {
                let with = |filling| format!("{before}{}{after}", marked.replace("\"@@\"", filling));
                // Try a document of a quarter of the size first. If checking it takes at most a sixteenth of the time
                // limit, the whole document stays within the limit even if the time grows quadratically, so it need not
                // be tried.
                if best_of(1, *judge, with(quarter).as_bytes(), BOUND / 16).is_ok() {
                    continue;
                }
                let whole = with(filling);
                judged_in_time(*judge, whole.as_bytes(), &format!("{file}: {what} in {marked}"));
            }
        }
    }
}

/// Tests the time to check inputs that are not messages, such as updates of the stored facts about a project, and
/// references to other repositories. The time includes making the texts of all problems.
#[test]
fn the_parts_beside_the_documents() {
    use wire::check::{CheckContext, DocumentKind, check};
    let list = |open: &str, item: &str, close: &str| {
        format!("{open}{}{item}{close}", long(&format!("{item},"), MEBIBYTE - open.len() - close.len() - item.len()))
    };
    let skill = "{\"name\":\"a\",\"markdown\":\"b\"}";
    let half = long(&format!("{skill},"), MEBIBYTE / 2 - 200);
    let cases = [
        (DocumentKind::Remote, long("a/", MEBIBYTE)),
        (DocumentKind::Remote, format!("https://{}", long("h.", MEBIBYTE - 8))),
        (DocumentKind::Remote, long("@", MEBIBYTE)),
        (DocumentKind::Reference, long("a/", MEBIBYTE)),
        (DocumentKind::Reference, long(":", MEBIBYTE)),
        (DocumentKind::Transitions, list("[", "{\"report\":\"COMPLETE\"}", "]")),
        (DocumentKind::Transitions, list("[", "1", "]")),
        (
            DocumentKind::Prompt,
            format!("{{\"persona\":\"x\",\"skills\":[{half}{skill}],\"shared_skills\":[{half}{skill}]}}"),
        ),
        (DocumentKind::Prompt, format!("{{\"persona\":\"{}\"}}", long("`", MEBIBYTE - 20))),
        (DocumentKind::Merge, list("{\"stored\":{\"a\":[1]},\"payload\":{\"a\":[", "1", "]}}")),
        (
            DocumentKind::Merge,
            list("{\"stored\":{\"a\":[{\"name\":\"n\"}]},\"payload\":{\"a\":[", "{\"name\":\"n\",\"b\":1}", "]}}"),
        ),
    ];
    // The time limit of this test. It is higher than the limit for a check alone, because the test also makes the texts
    // of all problems. A checker that needs quadratic time would take minutes.
    const WHOLE: Duration = Duration::from_secs(1);
    for (kind, text) in cases {
        let best = (0..3)
            .map(|_| {
                let began = used();
                check(kind, text.as_bytes(), &CheckContext::default());
                used().saturating_sub(began)
            })
            .min();
        let best = best.unwrap();
        assert!(best < WHOLE, "{kind:?} with {text:.60}: {best:?}");
    }
}
