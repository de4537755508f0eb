//! Compares Handover's report about every recorded program output with `expected.txt`, which `UPDATE=1` rewrites.

use std::collections::BTreeSet;
use std::fmt::{Display, Write};

use agents::adapter::{AgentEnd, Exit, Permissions, SpentAmount, TokenUse, TurnSaid};

use super::replay::{bytes, folder, is_two_sided, listen, stderr, talk};

/// Returns the names and exits of the recorded program outputs, in the order of the file `expected.txt`.
pub(crate) fn cases() -> Vec<(String, Exit)> {
    let table = std::fs::read_to_string(folder().join("expected.txt")).unwrap();
    let blocks = table.split("\n\n").map(|block| block.trim_matches('\n'));
    blocks
        .filter(|block| !block.is_empty() && !block.starts_with('#'))
        .map(|block| {
            let mut lines = block.lines();
            let name = lines.next().unwrap().to_owned();
            let words: Vec<&str> = lines.next().unwrap().split_whitespace().collect();
            let number = words[2].parse().unwrap();
            (name, if words[1] == "code" { Exit::Code(number) } else { Exit::Signal(number) })
        })
        .collect()
}

pub(crate) fn understood(name: &str, exit: Exit) -> TurnSaid {
    let bytes = bytes(name);
    let may = if name.ends_with("denied") { Permissions::Read } else { Permissions::Edit };
    if is_two_sided(&bytes) { talk(&bytes, exit, &stderr(name), may).0 } else { listen(name, &bytes, exit) }
}

#[test]
fn every_recording_is_understood_as_the_table_says() {
    let path = folder().join("expected.txt");
    let table = std::fs::read_to_string(&path).unwrap();
    let mut seen = String::new();
    for line in table.lines().take_while(|line| line.starts_with('#')) {
        writeln!(seen, "{line}").unwrap();
    }
    for (name, exit) in cases() {
        seen.push('\n');
        describe(&mut seen, &name, exit, &understood(&name, exit));
    }
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &seen).unwrap();
    }
    assert_eq!(seen, std::fs::read_to_string(&path).unwrap());
}

#[test]
fn every_recording_is_in_the_table() {
    let named: BTreeSet<String> = cases().into_iter().map(|(name, _)| name).collect();
    let there = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    let there: BTreeSet<String> = there
        .filter(|path| path.extension().is_some_and(|end| end == "ndjson"))
        .map(|path| path.file_stem().unwrap().to_string_lossy().into_owned())
        .collect();
    assert_eq!(named, there);
}

fn describe(text: &mut String, name: &str, exit: Exit, said: &TurnSaid) {
    let exit = match exit {
        Exit::Code(code) => format!("code {code}"),
        Exit::Signal(signal) => format!("signal {signal}"),
    };
    writeln!(text, "{name}\n  exit          {exit}").unwrap();
    writeln!(text, "  end           {}", end(&said.end)).unwrap();
    writeln!(text, "  conversation  {}", said.conversation.as_deref().unwrap_or("none")).unwrap();
    writeln!(text, "  text          {:?}", said.text).unwrap();
    writeln!(text, "  tool calls    {}", said.tool_calls).unwrap();
    writeln!(text, "  tokens        {}", said.tokens.map_or("unknown".into(), |used| spent(used, tokens))).unwrap();
    writeln!(text, "  model         {}", said.model.as_deref().unwrap_or("unknown")).unwrap();
    writeln!(
        text,
        "  dollars       {}",
        said.usd.map_or("unknown".into(), |usd| spent(usd, |sum| format!("{sum:.5}")))
    )
    .unwrap();
    for warning in &said.warnings {
        writeln!(text, "  warning       {warning}").unwrap();
    }
}

fn end(end: &AgentEnd) -> String {
    match end {
        AgentEnd::Finished => "finished".into(),
        AgentEnd::Failed { code: Some(code), reason } => format!("failed ({code}): {reason}"),
        AgentEnd::Failed { code: None, reason } => format!("failed: {reason}"),
        AgentEnd::ApiError { reason } => format!("api error: {reason}"),
        AgentEnd::Signalled { signal } => format!("signalled {signal}"),
        AgentEnd::OverBudget => "over budget".into(),
        AgentEnd::Cancelled => "cancelled".into(),
        AgentEnd::NoConversation => "no conversation".into(),
    }
}

fn tokens(used: TokenUse) -> String {
    match (used.input, used.output) {
        (Some(input), Some(output)) => format!("{} ({input} in, {output} out)", used.total),
        (None, _) | (_, None) => used.total.to_string(),
    }
}

fn spent<T, D: Display>(amount: SpentAmount<T>, show: impl Fn(T) -> D) -> String {
    match amount {
        SpentAmount::ThisTurn(amount) => format!("{} in this turn", show(amount)),
        SpentAmount::WholeConversation(amount) => format!("{} in the whole conversation", show(amount)),
    }
}

/// Tests that `replay` finds the same answer and the same number of tool calls as the listener did. The command
/// `handover turn show` uses `replay` for turns (runs of agents' programs) that have ended.
#[test]
fn a_kept_stream_says_again_what_was_said_and_called() {
    let mut called = 0;
    for kind in ["claude", "codex", "gemini", "opencode"] {
        let name = format!("{kind}-first");
        let kept = bytes(&name);
        let said = listen(&name, &kept, Exit::Code(0));
        let (text, calls) = agents::adapter::replay(kind, kept.as_slice()).unwrap();
        assert_eq!(text, said.text, "{name}");
        assert_eq!(calls.iter().map(|(_, count)| count).sum::<u32>(), said.tool_calls, "{name}: {calls:?}");
        assert!(calls.iter().all(|(name, _)| !name.is_empty()), "{name}: {calls:?}");
        called += said.tool_calls;
    }
    assert!(called > 0, "the recordings have calls");
}
