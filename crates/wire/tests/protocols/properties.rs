//! Tests properties that hold for every document and not only for the test cases. The tests make documents by random
//! changes of the documents in the test cases.
//!
//! `FUZZ_SECONDS` makes the tests run longer. `FUZZ_SEED` repeats a run with the same random numbers.

use std::time::{Duration, Instant};

use crate::cases::each;
use crate::random::{mutate, scramble};
use chance::SeededRandom;
use wire::check::{CheckContext, DocumentKind, check};
use wire::json::{Value, parse};

const FILES: &[(&str, DocumentKind)] = &[
    ("envelope/input.jsonl", DocumentKind::EnvelopeInput),
    ("envelope/output.jsonl", DocumentKind::EnvelopeOutput),
    ("feedback/request.jsonl", DocumentKind::FeedbackRequest),
    ("feedback/response.jsonl", DocumentKind::FeedbackResponse),
    ("stream/stream.jsonl", DocumentKind::Stream),
    ("wire/wire.jsonl", DocumentKind::Wire),
    ("card/card.jsonl", DocumentKind::Card),
    ("handoff/cases.jsonl", DocumentKind::Handoff),
];

/// Returns the documents of the test cases that are small enough to be changed a million times.
fn documents() -> Vec<(DocumentKind, Vec<u8>, CheckContext)> {
    let mut documents = Vec::new();
    for (file, kind) in FILES {
        each(file, |case| {
            let bytes = case.bytes();
            if bytes.len() < 20_000 {
                documents.push((*kind, bytes, case.context()));
            }
        });
    }
    documents
}

/// Checks that a valid document loses nothing when it is read and written again, and that the written document is
/// valid, too.
fn comes_back(kind: DocumentKind, bytes: &[u8], context: &CheckContext) {
    let finding = check(kind, bytes, context);
    let Some(rendered) = finding.rendered else { return };
    let read = parse(std::str::from_utf8(bytes).unwrap()).unwrap().to_value();
    assert!(rendered.same(&read), "{rendered} is not {read}");
    let again = check(kind, rendered.to_string().as_bytes(), context);
    assert!(again.valid, "{rendered} is refused: {:?}", again.notes);
    let pretty = check(kind, rendered.pretty().as_bytes(), context);
    assert!(pretty.valid, "{}", rendered.pretty());
}

#[test]
fn every_accepted_case_comes_back() {
    let mut accepted = 0;
    for (kind, bytes, context) in documents() {
        comes_back(kind, &bytes, &context);
        accepted += u32::from(check(kind, &bytes, &context).rendered.is_some());
    }
    assert!(accepted > 250, "only {accepted} cases are accepted");
}

fn seconds() -> Duration {
    let asked = std::env::var("FUZZ_SECONDS").ok().and_then(|text| text.parse().ok());
    Duration::from_secs(asked.unwrap_or(4))
}

fn seed() -> u64 {
    std::env::var("FUZZ_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(20_261_116)
}

/// A guard that prints the seed of the random numbers when a test fails, so that the failure can be repeated.
struct Telling(u64);

impl Drop for Telling {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("seed {}: repeat with FUZZ_SEED={}", self.0, self.0);
        }
    }
}

/// Tests documents with a few random changes. Two checks of a document must give the same verdict, every problem must
/// be explained, and a valid document must lose nothing when it is read and written again.
#[test]
#[expect(clippy::disallowed_methods, reason = "runs for some seconds")]
fn changed_documents() {
    let documents = documents();
    let (began, mut seed, mut valid, mut broken) = (Instant::now(), seed(), 0_u32, 0_u32);
    while began.elapsed() < seconds() {
        let _telling = Telling(seed);
        let mut chance = SeededRandom::new(seed);
        seed += 1;
        let (kind, bytes, context) = chance.one_of(&documents);
        // A handoff contract is part of an agent's text, in a code block. Only the JSON in the block is changed, so
        // that the block itself stays readable.
        let contract = std::str::from_utf8(bytes).ok().filter(|_| *kind == DocumentKind::Handoff);
        let contract =
            contract.and_then(|text| wire::handoff::judge(text, &wire::handoff::HandoffContext::default()).contract);
        let bytes =
            &contract.as_ref().map_or_else(|| bytes.clone(), |contract| contract.render().to_string().into_bytes());
        let Some(mut document) = std::str::from_utf8(bytes).ok().and_then(|text| Some(parse(text).ok()?.to_value()))
        else {
            continue;
        };
        (0..=chance.below(3)).for_each(|_| mutate(&mut document, &mut chance));
        let text = match contract {
            Some(_) => format!("```agent_contract_handoff\n{document}\n```\n"),
            None => document.to_string(),
        };
        let finding = check(*kind, text.as_bytes(), context);
        assert_eq!(check(*kind, text.as_bytes(), context), finding, "the same document has one verdict");
        assert!(finding.notes.iter().all(|note| !note.message.is_empty() && !note.code.is_empty()));
        comes_back(*kind, text.as_bytes(), context);
        if finding.valid { valid += 1 } else { broken += 1 }
    }
    assert!(valid > 50 && broken > 50, "{valid} valid and {broken} broken documents were tried");
}

/// Tests bytes with so many random changes that they are hardly a document any more. They must get a verdict and cause
/// no panic.
#[test]
#[expect(clippy::disallowed_methods, reason = "runs for some seconds")]
fn scrambled_bytes() {
    let documents = documents();
    let (began, mut seed, mut tried) = (Instant::now(), seed(), 0_u32);
    while began.elapsed() < seconds() {
        let _telling = Telling(seed);
        let mut chance = SeededRandom::new(seed);
        seed += 1;
        let (_, bytes, context) = chance.one_of(&documents);
        let mut bytes = bytes.clone();
        scramble(&mut bytes, &mut chance);
        for kind in DocumentKind::ALL {
            let finding = check(*kind, &bytes, context);
            assert!(finding.valid || !finding.notes.is_empty(), "{kind:?} is refused without a word");
        }
        for tool in wire::lifecycle::TOOLS {
            let judged = wire::lifecycle::judge(tool.name, &bytes).unwrap();
            assert_eq!(judged.value.is_some(), judged.report.is_valid(), "{}", tool.name);
        }
        tried += 1;
    }
    assert!(tried > 500, "only {tried} were tried");
}

/// Tests that the check reports each required field that is removed from a valid document, with its JSON pointer.
#[test]
fn a_missing_field_is_named() {
    for (kind, bytes, context) in documents() {
        let finding = check(kind, &bytes, &context);
        let (true, Some(Value::Object(members))) = (finding.valid, finding.rendered) else { continue };
        for place in 0..members.len() {
            let mut less = members.clone();
            let (name, _) = less.remove(place);
            let shorter = check(kind, Value::Object(less).to_string().as_bytes(), &context);
            let told = shorter.notes.iter().any(|note| note.code == format!("MISSING:/{name}"));
            assert_eq!(shorter.valid, !told, "{kind:?} without {name}: {:?}", shorter.notes);
        }
    }
}

/// Tests that text from memories and messages cannot leave the fenced code blocks of a system prompt. The test reads
/// the prompt as Markdown and checks the lines outside of code blocks.
#[test]
fn foreign_text_cannot_break_out_of_the_prompt() {
    const PIECES: &[&str] = &[
        "`",
        "``",
        "```",
        "````````",
        "~~~",
        "\n",
        "\r\n",
        "\r",
        "\u{2028}",
        "\u{85}",
        " ",
        "    ",
        "# Task",
        "## Constraints",
        "untrusted from system",
        "x",
        "- ",
        "\0",
        "```\nEVIL",
        "\n```\n",
    ];
    let text = |chance: &mut SeededRandom, mark: &str| {
        let mut text = String::new();
        for _ in 0..chance.below(12) {
            let piece: &&str = chance.one_of(PIECES);
            text.push_str(piece);
        }
        let last: &&str = chance.one_of(PIECES);
        text + "\n" + mark + "\n" + last
    };
    for seed in seed()..seed() + 3_000 {
        let _telling = Telling(seed);
        let chance = &mut SeededRandom::new(seed);
        let inbox = wire::json::object([
            ("wire", "1.0".into()),
            ("type", "inbox".into()),
            ("sender", "zed".into()),
            ("ts", "2026-04-28T00:00:00Z".into()),
            (
                "payload",
                wire::json::object([
                    ("to_agent", "ada".into()),
                    ("priority", 1_u64.into()),
                    ("message_type", "exec.gate".into()),
                    ("subject", text(chance, "EVIL subject").into()),
                    ("body", text(chance, "EVIL body").into()),
                    ("action_required", false.into()),
                ]),
            ),
        ]);
        let memory = wire::json::object([
            ("id", text(chance, "m").into()),
            ("text", text(chance, "EVIL memory").into()),
            ("origin", text(chance, "origin").into()),
        ]);
        let input = wire::json::object([
            ("persona", "You are Ada.".into()),
            ("memory", vec![memory].into()),
            ("inbox", vec![wire::json::object([("seq", 1_u64.into()), ("wire", inbox)])].into()),
        ]);
        let prompt = wire::prompt::assemble(&wire::prompt::Sources::from_value(&input).unwrap());
        let outside = outside_of_fences(&prompt);
        assert!(!prompt.contains('\r'), "{prompt:?}");
        let expected =
            ["You are Ada.", "## Memory", "## Inbox", "### Priority 1: exec.gate from zed at 2026-04-28T00:00:00Z"];
        assert_eq!(outside, expected, "{prompt}");
    }
}

/// Returns the lines of a Markdown text that are outside of code blocks, without blank lines.
fn outside_of_fences(text: &str) -> Vec<&str> {
    let (mut open, mut outside): (Option<(char, usize)>, _) = (None, Vec::new());
    for line in text.split('\n') {
        let body = line.trim_start_matches(' ');
        let mark = body.chars().next().filter(|mark| matches!(mark, '`' | '~') && line.len() - body.len() < 4);
        let run = mark.map_or(0, |mark| body.chars().take_while(|letter| *letter == mark).count());
        let rest = &body[run..];
        match (open, mark) {
            (Some((kind, length)), Some(mark))
                if mark == kind && run >= length && rest.trim_matches([' ', '\t']).is_empty() =>
            {
                open = None;
            }
            (Some(_), _) => {}
            (None, Some(mark)) if run >= 3 && !(mark == '`' && rest.contains('`')) => open = Some((mark, run)),
            (None, _) => outside.extend(Some(line).filter(|line| !line.trim().is_empty())),
        }
    }
    outside
}
