//! Tests which reference of an output (a path, an address or a commit) is found in the texts of agents and in lists of
//! changed files.

use OutputType::{File, Json, Message, Pr, Report};

use super::*;
use crate::outcome::{AnswerContext, AnswerForm, read};
use wire::output::OutputKind;

const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

fn facts() -> TurnFacts {
    TurnFacts { has_remote: true, commit: Some(COMMIT.to_owned()), ..TurnFacts::default() }
}

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|&text| text.to_owned()).collect()
}

fn found(kind: OutputType, facts: &TurnFacts) -> String {
    match find(kind, facts) {
        Ok(FoundReference::File(path)) => format!("file {path}"),
        Ok(FoundReference::Url(url)) => format!("url {url}"),
        Ok(FoundReference::Commit(commit)) => format!("commit {commit}"),
        Ok(FoundReference::Message(text)) => format!("message {text}"),
        Err(problem) => problem.code.as_str().to_owned(),
    }
}

#[test]
fn the_last_note_of_the_form_wins() {
    let cases: [(&[&str], &str); 12] = [
        (&["output_ref: a.md"], "file a.md"),
        (&["output_ref:a.md"], "file a.md"),
        (&["  output_ref:   docs/a b.md  "], "file docs/a b.md"),
        (&["output_ref: a.md", "other", "output_ref: b.md", "more"], "file b.md"),
        (&["output_ref: ./x/../a.md"], "file a.md"),
        // These notes do not have the form `output_ref: VALUE`. So the output is `only.md`, the only artifact.
        (&["output_ref:"], "file only.md"),
        (&["output_ref a.md"], "file only.md"),
        (&["the output_ref: a.md"], "file only.md"),
        (&["Output_ref: a.md"], "file only.md"),
        (&["output_ref: a.md\nand more"], "file only.md"),
        (&["output_ref: a.md", "output_ref:  "], "file a.md"),
        (&[], "file only.md"),
    ];
    for (notes, expected) in cases {
        let said = SaidReference { summary: "output_ref: summary.md".to_owned(), notes: texts(notes) };
        let facts = TurnFacts { said, artifacts: texts(&["only.md"]), ..facts() };
        for kind in [File, Json, Report] {
            assert_eq!(found(kind, &facts), expected, "{notes:?}");
        }
    }
}

#[test]
fn a_name_stays_inside_of_the_worktree() {
    let outside =
        ["/etc/passwd", "../x", "a/../../x", "a/", ".", "a/..", ".git/config", "a/.GIT/x", "a\\b", "https://x.org/a"];
    for name in outside {
        let facts = TurnFacts { output_ref: Some(name.to_owned()), ..facts() };
        let expected = if name == "https://x.org/a" { "file https:/x.org/a" } else { "PATH_OUTSIDE_ROOT" };
        assert_eq!(found(File, &facts), expected, "{name}");
    }
}

#[test]
fn without_a_name_it_is_the_only_artifact_or_changed_file() {
    let cases: [(&[&str], &[&str], &str); 7] = [
        (&[], &[], "OUTPUT_REF_MISSING"),
        (&["a.md"], &[], "file a.md"),
        (&["a.md", "a.md"], &[], "file a.md"),
        (&["a.md", "b.md"], &[], "OUTPUT_REF_AMBIGUOUS"),
        (&[], &["src/a.rs"], "file src/a.rs"),
        (&[], &["a", "b"], "OUTPUT_REF_AMBIGUOUS"),
        (&["a.md"], &["a.md", "src/b.rs"], "file a.md"),
    ];
    for (artifacts, changed, expected) in cases {
        let facts = TurnFacts { artifacts: texts(artifacts), changed: texts(changed), ..facts() };
        assert_eq!(found(Report, &facts), expected, "{artifacts:?} {changed:?}");
    }
    let many = TurnFacts { changed: (0..500).map(|n| format!("f{n:03}")).collect(), ..facts() };
    let problem = find(File, &many).unwrap_err();
    assert!(problem.message.starts_with("500 could be the output: f000, f001,"), "{problem:?}");
    assert!(problem.message.len() < 300);
}

#[test]
fn a_message_is_its_summary() {
    let said = |summary: &str, notes: &[&str]| TurnFacts {
        said: SaidReference { summary: summary.to_owned(), notes: texts(notes) },
        ..facts()
    };
    assert_eq!(found(Message, &said("All is well.", &["x"])), "message All is well.");
    assert_eq!(found(Message, &said("All is well.", &["output_ref: 42"])), "message 42");
    assert_eq!(found(Message, &said(" \n", &[])), "OUTPUT_REF_MISSING");
}

#[test]
fn a_pull_request_is_its_address() {
    let five = "url https://github.com/o/r/pull/5";
    let cases: [(&str, &[&str], &str); 13] = [
        ("Opened https://github.com/o/r/pull/5.", &[], five),
        ("Opened [it](https://github.com/o/r/pull/5), see <https://docs.example.org/a>", &[], five),
        ("Done.", &["https://github.com/o/r/pull/5"], five),
        // Addresses of several pages of one pull request count as one address.
        (
            "https://github.com/o/r/pull/5 https://github.com/o/r/pull/5/files",
            &["https://github.com/o/r/pull/5#x"],
            five,
        ),
        ("https://github.com/o/r/pull/5 https://github.com/o/r/pull/6", &[], "OUTPUT_REF_AMBIGUOUS"),
        (
            "https://gitlab.example.org/g/p/-/merge_requests/7",
            &[],
            "url https://gitlab.example.org/g/p/-/merge_requests/7",
        ),
        ("at http://forge.local:3000/o/r/pulls/12?x=1", &[], "url http://forge.local:3000/o/r/pulls/12?x=1"),
        // The address has no known form of a pull request's address. It counts, because it is the only web address.
        ("https://review.example.org/r/change", &[], "url https://review.example.org/r/change"),
        ("https://a.example.org/1 https://b.example.org/2", &[], "OUTPUT_REF_AMBIGUOUS"),
        ("Opened pull request 5.", &[], "OUTPUT_REF_MISSING"),
        (
            "https:// http:///x https://github.com https://me:secret@github.com/o/r/pull/5 ftp://x/pull/5",
            &[],
            "OUTPUT_REF_MISSING",
        ),
        ("Done.", &["output_ref: https://git.example.org/x"], "url https://git.example.org/x"),
        ("https://github.com/o/r/pull/5", &["output_ref: the branch"], "OUTPUT_REF_INVALID"),
    ];
    for (summary, notes, expected) in cases {
        let facts = TurnFacts { said: SaidReference { summary: summary.to_owned(), notes: texts(notes) }, ..facts() };
        assert_eq!(found(Pr, &facts), expected, "{summary} {notes:?}");
    }
}

#[test]
fn without_a_remote_a_pull_request_is_the_commit() {
    let alone = |summary: &str, named: Option<&str>| TurnFacts {
        said: SaidReference { summary: summary.to_owned(), notes: Vec::new() },
        output_ref: named.map(str::to_owned),
        has_remote: false,
        ..facts()
    };
    let commit = format!("commit {COMMIT}");
    assert_eq!(found(Pr, &alone("see https://docs.example.org/a", None)), commit);
    assert_eq!(found(Pr, &alone("", Some("0123456"))), commit);
    assert_eq!(found(Pr, &alone("", Some("0123456789ABCDEF"))), commit);
    assert_eq!(found(Pr, &alone("", Some("012345"))), "OUTPUT_REF_INVALID");
    assert_eq!(found(Pr, &alone("", Some("fedcba9876"))), "OUTPUT_REF_INVALID");
    assert_eq!(found(Pr, &TurnFacts { commit: None, ..alone("", None) }), "OUTPUT_REF_MISSING");
    let elsewhere = TurnFacts { output_ref: Some("0123456".to_owned()), ..facts() };
    assert_eq!(found(Pr, &elsewhere), "OUTPUT_REF_INVALID", "with a remote there is a request");
}

#[test]
fn both_dialects_say_what_was_made() {
    let envelope = r#"{"success": true, "summary": "S", "artifacts": [], "notes": ["a", "output_ref: x"], "recommendation": "proceed"}"#;
    let context = AnswerContext { wanted: AnswerForm::Document(OutputKind::Envelope), agent: None, input: None };
    let said = read(envelope, &context).result.map(|result| result.reference);
    assert_eq!(said, Some(SaidReference { summary: "S".to_owned(), notes: texts(&["a", "output_ref: x"]) }));
    assert!(read("nothing", &context).result.is_none());
}
