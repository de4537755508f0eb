//! Tests the error codes for outputs that break a contract (the requirements for a task's output), and the stored
//! evidence.

use std::os::unix::fs::symlink;

use base::ground::digest::sha256;
use git::Git;
use runner::verify::{CheckedTree, JudgedOutput, SaidReference, Schema, TurnFacts, VerifiedContract, tree};
use wire::message::OutputType;

use super::scene::{Scene, contract};

fn names(output_ref: &str) -> TurnFacts {
    let said = SaidReference { summary: "Done.".to_owned(), notes: vec![format!("output_ref: {output_ref}")] };
    TurnFacts { said, ..TurnFacts::default() }
}

async fn codes(scene: &Scene, contract: &VerifiedContract, facts: &TurnFacts) -> String {
    let verified = scene.verify(contract, facts).await;
    let codes: Vec<&str> = verified.evidence.problems.iter().map(|problem| problem.code.as_str()).collect();
    assert_eq!(codes.is_empty(), verified.evidence.has_passed());
    if codes.is_empty() { format!("pass {:?}", verified.output_ref.as_deref()) } else { codes.join(" ") }
}

fn scene() -> Scene {
    let scene = Scene::new();
    scene.write("report.md", "hällo");
    scene.write("bytes", b"a\xff");
    scene.write("good.json", r#"{"summary": "x"}"#);
    scene.write("bad.json", r#"{"summary": 1}"#);
    scene.write("deep.json", "[".repeat(100_000));
    scene.write("large.json", format!("\"{}\"", "x".repeat(5 << 20)));
    scene.write("huge", vec![b'x'; 17 << 20]);
    symlink("/etc/passwd", scene.worktree().join("link")).unwrap();
    symlink("/etc", scene.worktree().join("away")).unwrap();
    scene
}

#[tokio::test]
async fn files_are_there_and_long_enough() {
    let scene = scene();
    let free = contract(OutputType::Report);
    let required = VerifiedContract { output_ref_required: true, ..free.clone() };
    let of_five = VerifiedContract { min_length: 5, ..free.clone() };
    let of_six = VerifiedContract { min_length: 6, ..free.clone() };
    let asked = VerifiedContract { evaluate: Some("?".to_owned()), ..free.clone() };
    let changed = |names: &[&str]| TurnFacts {
        changed: names.iter().map(|&name| name.to_owned()).collect(),
        ..TurnFacts::default()
    };
    let cases = [
        (&free, TurnFacts::default(), "pass None"),
        (&free, changed(&["a", "b"]), "pass None"),
        (&free, changed(&["link"]), "pass None"),
        (&free, names("report.md"), "pass Some(\"report.md\")"),
        (&free, names("huge"), "pass Some(\"huge\")"),
        (&free, names("bytes"), "pass Some(\"bytes\")"),
        // This contract does not require that the agent names an output. But when the agent names an output, the output
        // must exist.
        (&free, names("nothing"), "OUTPUT_MISSING"),
        (&free, names("link"), "OUTPUT_NOT_A_FILE"),
        (&free, names("away/passwd"), "OUTPUT_NOT_A_FILE"),
        (&free, names("../report.md"), "PATH_OUTSIDE_ROOT"),
        (&required, TurnFacts::default(), "OUTPUT_REF_MISSING"),
        (&required, changed(&["a", "b"]), "OUTPUT_REF_AMBIGUOUS"),
        (&required, changed(&["report.md"]), "pass Some(\"report.md\")"),
        (&required, changed(&["link"]), "OUTPUT_NOT_A_FILE"),
        // The smallest allowed length of an output counts characters, not bytes.
        (&of_five, names("report.md"), "pass Some(\"report.md\")"),
        (&of_six, names("report.md"), "OUTPUT_TOO_SHORT"),
        (&of_six, TurnFacts::default(), "OUTPUT_REF_MISSING"),
        (&of_six, names("bytes"), "OUTPUT_NOT_TEXT"),
        (&of_six, names("huge"), "OUTPUT_TOO_LARGE"),
        (&asked, names("bytes"), "OUTPUT_NOT_TEXT"),
        (&asked, TurnFacts::default(), "OUTPUT_REF_MISSING"),
    ];
    for (contract, facts, expected) in cases {
        assert_eq!(codes(&scene, contract, &facts).await, expected, "{facts:?}");
    }
    let verified = scene.verify(&free, &names("./report.md")).await;
    let output = JudgedOutput { path: "report.md".to_owned(), bytes: 6, sha256: sha256("hällo".as_bytes()) };
    assert_eq!((verified.evidence.output, verified.text.as_deref()), (Some(output), Some("hällo")));
}

#[tokio::test]
async fn json_fits_its_schema() {
    let scene = scene();
    let plain = contract(OutputType::Json);
    let schema = r#"{"properties": {"summary": {"type": "string"}}}"#;
    let held = VerifiedContract { schema: Some(Schema::compile(schema).unwrap()), ..plain.clone() };
    let other = VerifiedContract { kind: OutputType::Report, ..held.clone() };
    let cases = [
        (&plain, "good.json", "pass Some(\"good.json\")"),
        (&plain, "bad.json", "pass Some(\"bad.json\")"),
        (&plain, "report.md", "OUTPUT_NOT_JSON"),
        (&plain, "deep.json", "OUTPUT_NOT_JSON"),
        (&plain, "large.json", "OUTPUT_TOO_LARGE"),
        (&plain, "huge", "OUTPUT_TOO_LARGE"),
        (&plain, "bytes", "OUTPUT_NOT_TEXT"),
        (&held, "good.json", "pass Some(\"good.json\")"),
        (&held, "bad.json", "SCHEMA_MISMATCH"),
        (&held, "report.md", "OUTPUT_NOT_JSON"),
        (&held, "deep.json", "OUTPUT_NOT_JSON"),
        // A contract for reports does not apply its JSON schema, so it accepts an output that is not JSON.
        (&other, "report.md", "pass Some(\"report.md\")"),
    ];
    for (contract, name, expected) in cases {
        assert_eq!(codes(&scene, contract, &names(name)).await, expected, "{name}");
    }
    assert_eq!(codes(&scene, &held, &TurnFacts::default()).await, "OUTPUT_REF_MISSING", "a schema needs an output");
    assert_eq!(codes(&scene, &plain, &TurnFacts::default()).await, "pass None");
}

/// Tests, with a real git repository, that Handover finds the files that changed since the base commit. Also tests a
/// folder that is not a repository.
#[tokio::test]
async fn the_tree_says_what_changed_since_the_base() {
    let scene = Scene::new();
    let git = |arguments: &[&str]| {
        let fixed = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"];
        #[expect(clippy::disallowed_methods, reason = "a test makes a repository")]
        let mut command = std::process::Command::new("git");
        let output = command.current_dir(scene.worktree()).args(fixed).args(arguments).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    let look = async |base: Option<&str>| tree(&Git::default(), &scene.worktree(), base).await.unwrap();
    assert_eq!(look(None).await, CheckedTree::default());
    git(&["init", "-q"]);
    assert_eq!(look(None).await, CheckedTree::default(), "there is no commit yet");
    ["kept", "gone", "old"].iter().for_each(|name| scene.write(name, name));
    git(&["add", "-A"]);
    git(&["commit", "-q", "-m", "base"]);
    let base = git(&["rev-parse", "HEAD"]);
    git(&["rm", "-q", "gone"]);
    git(&["mv", "old", "new name"]);
    scene.write("kept", "changed");
    git(&["commit", "-q", "-a", "-m", "work"]);
    scene.write("untracked", "");
    let head = Some(git(&["rev-parse", "HEAD"]));
    let changed = vec!["kept".to_owned(), "new name".to_owned()];
    assert_eq!(look(Some(&base)).await, CheckedTree { head: head.clone(), has_remote: false, changed });
    git(&["remote", "add", "origin", "https://example.org/x.git"]);
    assert_eq!(look(None).await, CheckedTree { head, has_remote: true, changed: Vec::new() });
}

#[tokio::test]
async fn messages_and_requests_are_what_they_say() {
    let scene = scene();
    let message = VerifiedContract { min_length: 6, ..contract(OutputType::Message) };
    let said = |summary: &str| TurnFacts {
        said: SaidReference { summary: summary.to_owned(), notes: Vec::new() },
        ..TurnFacts::default()
    };
    assert_eq!(codes(&scene, &message, &said("hällo")).await, "OUTPUT_TOO_SHORT");
    assert_eq!(codes(&scene, &message, &said("hällo!")).await, "pass Some(\"hällo!\")");
    let request = VerifiedContract { output_ref_required: true, ..contract(OutputType::Pr) };
    let alone = TurnFacts { commit: Some("c0ffee".to_owned()), changed: vec!["a.rs".to_owned()], ..said("Done.") };
    assert_eq!(codes(&scene, &request, &alone).await, "pass Some(\"c0ffee\")");
    let verified = scene.verify(&request, &alone).await;
    assert_eq!(verified.text.as_deref(), Some("c0ffee\n\nDone.\n\nchanged files:\n- a.rs"));
    assert_eq!(codes(&scene, &request, &TurnFacts { has_remote: true, ..alone }).await, "OUTPUT_REF_MISSING");
}
