//! Measures the time that a client waits for `handover hook` at each event, compared with a program that does nothing.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result};

use crate::doors::{PROGRAM, empty, prepared};
use crate::rounds::{Bar, Report, median};

const ROUNDS: usize = 100;
const GATES: &str = "[gates]\ndefault = \"allow\"\n\n[[gate]]\ncommand = [\"git\", \"push\"]\ndecision = \"ask\"\n\n\
                     [[gate]]\ncommand = [\"rm\"]\ndecision = \"deny\"\n\n[[gate]]\nwrite = \"infra/**\"\ndecision = \"deny\"\n";

/// One hook call of a client: a title, the event, further fields of the JSON that the hook gets, and a text that the
/// answer must contain.
struct Case {
    what: &'static str,
    event: &'static str,
    more: &'static str,
    holds: &'static str,
    gates: &'static str,
    bar: Option<f64>,
}

const COMMAND: &str = "cd src && grep -rn 'fn main' . | head -20; cargo check 2>&1 | tail -5";

/// Measures the time until `handover hook` has answered. The benchmark sets a limit for this time only for calls that
/// the gate rules decide without the store, because a client waits for such an answer before every tool call.
pub(crate) fn answers(folder: &Path, report: &mut Report) -> Result<()> {
    let empty = empty(folder)?;
    let bash = r#","tool_name":"Bash","tool_use_id":"t1","tool_input":{"command":"COMMAND"}"#;
    let rm = r#","tool_name":"Bash","tool_use_id":"t1","tool_input":{"command":"rm -rf build"}"#;
    let read = r#","tool_name":"Read","tool_use_id":"t1","tool_input":{"file_path":"/a"}"#;
    let case = |what, event, more, holds, gates, bar| Case { what, event, more, holds, gates, bar };
    let cases = [
        case("no gate", "PreToolUse", bash, "{}", "", Some(5.0)),
        case("gates that allow", "PreToolUse", bash, "{}", GATES, Some(5.0)),
        case("a gate that denies", "PreToolUse", rm, "deny", GATES, Some(5.0)),
        case("a sign of life that is not due", "PostToolUse", read, "{}", "", None),
        case("a session that starts", "SessionStart", r#","source":"startup""#, "agent_register", "", None),
        case("a session that ends", "SessionEnd", r#","reason":"other""#, "{}", "", None),
    ];
    for Case { what, event, more, holds, gates, bar } in cases {
        let (store, _) = prepared(folder, &format!("hooks {what}"), 100)?;
        let place = store.parent().context("a folder")?;
        std::fs::create_dir_all(place.join(".handover"))?;
        std::fs::write(place.join(".handover/config.toml"), gates)?;
        let more = more.replace("COMMAND", COMMAND);
        let payload = format!(
            r#"{{"session_id":"326057d8-656f-4a0c-8bab-3f8a9f07e9f5","hook_event_name":"{event}","cwd":"{}"{more}}}"#,
            place.display()
        );
        let (mut nothing, mut ours) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            let began = Instant::now();
            anyhow::ensure!(Command::new(&empty).status()?.success(), "the empty program failed");
            nothing.push(began.elapsed().as_secs_f64() * 1e3);
            let began = Instant::now();
            let answer = call(place, &store, event, &payload)?;
            ours.push(began.elapsed().as_secs_f64() * 1e3);
            anyhow::ensure!(answer.contains(holds), "{what}: {answer}");
        }
        let (nothing, ours) = (median(&mut nothing), median(&mut ours));
        let text = format!("{event}, {what} ({ours:.2} ms) beyond an empty program ({nothing:.2} ms), {ROUNDS} calls");
        report.figure(&text, ours - nothing, "ms", bar.map(Bar::AtMost));
    }
    Ok(())
}

fn call(place: &Path, store: &Path, event: &str, payload: &str) -> Result<String> {
    let mut child = Command::new(PROGRAM)
        .args(["hook", event])
        .current_dir(place)
        .env("HANDOVER_STORE", store)
        .env_remove("HANDOVER_TURN")
        .env_remove("CLAUDE_PROJECT_DIR")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    child.stdin.take().context("a pipe")?.write_all(payload.as_bytes())?;
    let output = child.wait_with_output()?;
    anyhow::ensure!(output.status.success(), "the hook failed");
    Ok(String::from_utf8(output.stdout)?)
}
