//! Tests how the tool calls in the event streams of all clients are understood: their kinds, targets, results and titles.
//! The files in `fixtures/tools` have lines of streams and the expected events; `UPDATE=1` rewrites the expected events.

use std::collections::HashMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use agents::adapter::{
    AdapterKind, HeardEvent, LineChange, Listener, Permissions, ToolCallDetail, ToolCallResult, tool_title,
};

use super::recorded::cases;
use super::replay::{bytes, is_two_sided, kind, stderr, talk};

/// The folder in which the recorded agents worked.
const FOLDER: &str = "/repo";
/// The number of characters of a result that the files show.
const SHOWN_LETTERS: usize = 70;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/tools")
}

/// Returns the name and the text of each file with lines of a stream.
pub(crate) fn streams() -> Vec<(String, String)> {
    let files = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    let named = files.map(|path| (path.file_stem().unwrap().to_string_lossy().into_owned(), path));
    let mut all: Vec<(String, String)> = named
        .filter(|(name, _)| name != "recorded")
        .map(|(name, path)| (name, std::fs::read_to_string(path).unwrap()))
        .collect();
    all.sort();
    assert_eq!(all.len(), 9, "a stream for each client");
    all
}

fn compare(file: &str, seen: &str) {
    let path = folder().join(file);
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, seen).unwrap();
    }
    assert_eq!(seen, std::fs::read_to_string(&path).unwrap(), "{file}");
}

/// Collects the calls of a stream, and finds the call of a result by its id.
#[derive(Default)]
struct Calls {
    all: Vec<(String, ToolCallDetail, Option<ToolCallResult>)>,
    by_id: HashMap<String, usize>,
}

impl Calls {
    fn hear(&mut self, heard: &HeardEvent) {
        match heard {
            HeardEvent::ToolCall { name, call } => {
                if let Some(id) = &call.id {
                    assert_eq!(self.by_id.insert(id.clone(), self.all.len()), None, "a call is reported once: {id}");
                }
                self.all.push((name.clone(), call.clone(), None));
            }
            HeardEvent::ToolResult(result) => {
                if let Some(&at) = result.id.as_ref().and_then(|id| self.by_id.get(id)) {
                    assert_eq!(self.all[at].2, None, "a result is reported once: {:?}", result.id);
                    self.all[at].2 = Some(result.clone());
                }
            }
            HeardEvent::Conversation(_) | HeardEvent::Text(_) | HeardEvent::Progress => {}
        }
    }

    fn of(id: Option<&String>, calls: &Self) -> Option<usize> {
        id.and_then(|id| calls.by_id.get(id)).copied()
    }

    fn title(&self, at: usize) -> String {
        let (name, call, result) = &self.all[at];
        tool_title(name, call, result.as_ref(), Some(Path::new(FOLDER)))
    }
}

fn changed(lines: Option<LineChange>) -> String {
    lines.map_or(String::new(), |lines| format!(" +{} −{}", lines.added, lines.removed))
}

fn described(heard: &HeardEvent) -> Option<String> {
    match heard {
        HeardEvent::ToolCall { name, call } => {
            let id = call.id.as_deref().unwrap_or("-");
            let (kind, targets) = (call.kind.as_str(), &call.targets);
            Some(format!("= call    {id} {name:?} {kind} {targets:?}{}", changed(call.lines)))
        }
        HeardEvent::ToolResult(result) => {
            let id = result.id.as_deref().unwrap_or("-");
            let ok = result.ok.map_or("unknown", |ok| if ok { "ok" } else { "failed" });
            let code = result.exit_code.map_or(String::new(), |code| format!(" exit {code}"));
            let ms = result.ms.map_or(String::new(), |ms| format!(" {ms} ms"));
            let text: String = result.text.chars().take(SHOWN_LETTERS).collect();
            Some(format!("= result  {id} {ok}{code}{ms}{} {text:?}", changed(result.lines)))
        }
        HeardEvent::Conversation(_) | HeardEvent::Text(_) | HeardEvent::Progress => None,
    }
}

/// Plays the lines of a stream. Returns the text of its file with the events that were really heard.
fn played(name: &str, text: &str) -> String {
    let mut listener = Listener::new(kind(name));
    let (mut calls, mut seen) = (Calls::default(), String::new());
    for line in text.lines().filter(|line| !line.starts_with('=')) {
        writeln!(seen, "{line}").unwrap();
        if !line.starts_with('{') {
            continue;
        }
        for heard in listener.feed(format!("{line}\n").as_bytes()) {
            calls.hear(&heard);
            seen.extend(described(&heard).map(|line| format!("{line}\n")));
            if let HeardEvent::ToolResult(result) = &heard
                && let Some(at) = Calls::of(result.id.as_ref(), &calls)
            {
                writeln!(seen, "= title   {}", calls.title(at)).unwrap();
            }
        }
    }
    let open = (0..calls.all.len()).filter(|&at| calls.all[at].2.is_none());
    seen.extend(open.map(|at| format!("= without a result: {}\n", calls.title(at))));
    seen
}

#[test]
fn tool_calls_of_every_client_are_understood_as_their_file_says() {
    for (name, text) in streams() {
        compare(&format!("{name}.txt"), &played(&name, &text));
    }
}

/// Tests the tool calls in all recordings of the clients, also in those that were made for other tests.
#[test]
fn every_recorded_tool_call_has_a_title() {
    let mut seen = String::from("# The titles of all tool calls in `fixtures/adapters`. `UPDATE=1` writes them.\n");
    for (name, exit) in cases() {
        let bytes = bytes(&name);
        let heard = if is_two_sided(&bytes) {
            talk(&bytes, exit, &stderr(&name), Permissions::Edit).1.heard
        } else {
            Listener::new(kind(&name)).feed(&bytes)
        };
        let mut calls = Calls::default();
        heard.iter().for_each(|heard| calls.hear(heard));
        if !calls.all.is_empty() {
            writeln!(seen, "\n{name}").unwrap();
        }
        for at in 0..calls.all.len() {
            writeln!(seen, "  {}", calls.title(at)).unwrap();
        }
    }
    compare("recorded.txt", &seen);
}

/// Tests that the kept output of an agent tells the same about its tool calls as the live conversation did.
#[test]
fn a_kept_conversation_has_the_tool_calls_of_the_live_one() {
    let is_tool = |heard: &HeardEvent| described(heard).is_some();
    let mut compared = 0;
    for (name, exit) in cases() {
        let bytes = bytes(&name);
        // The output of a resumed conversation begins with its history, which the live conversation leaves out.
        if !is_two_sided(&bytes) || name.contains("resume") {
            continue;
        }
        let live = talk(&bytes, exit, &stderr(&name), Permissions::Edit).1.heard;
        let text = String::from_utf8(bytes).unwrap();
        let kept: String =
            text.lines().filter_map(|line| line.strip_prefix("< ")).map(|line| format!("{line}\n")).collect();
        let mut kept = Listener::new(AdapterKind::Acp).feed(kept.as_bytes());
        kept.retain(is_tool);
        assert_eq!(live.into_iter().filter(is_tool).collect::<Vec<_>>(), kept, "{name}");
        compared += kept.len();
    }
    assert!(compared > 10, "the recordings have tool calls");
}
