//! Tests that a transcript is the same in one piece and in many, and that a piece never has half a line.

use engine::id::TurnId;
use engine::turn::{Purpose, Spent, Turn, TurnResult, TurnState};
use engine::{Json, Timestamp};

use super::read::LINE_BYTES_MAX;
use super::*;

const CLAUDE: &str = concat!(
    r#"{"type":"system","subtype":"init","session_id":"s1"}"#,
    "\n",
    r#"{"type":"assistant","message":{"content":[{"type":"text","text":"I look at token=hnd_0123456789abcdef now."}]}}"#,
    "\n",
    r#"{"type":"assistant","message":{"content":[{"type":"tool_use","id":"c1","name":"Bash","input":{"command":"npm test"}}]}}"#,
    "\n",
    r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"c1","is_error":true,"content":"Exit code 1\nfailed"}]}}"#,
    "\n",
    r#"{"type":"result","subtype":"success","is_error":false,"result":"Done."}"#,
    "\n",
);

struct TranscriptScene {
    state: tempfile::TempDir,
    turn: Turn,
}

impl TranscriptScene {
    fn new(adapter: &str, output: &[u8]) -> Self {
        let state = tempfile::tempdir().unwrap();
        let id: TurnId = "tn_0123456789ab".parse().unwrap();
        let turn = Turn {
            id,
            task: "tk_0123456789ab".parse().unwrap(),
            workflow: "wf_0123456789ab".parse().unwrap(),
            agent: "ag_0123456789ab".parse().unwrap(),
            attempt: 1,
            number: 1,
            purpose: Purpose::First,
            adapter: adapter.to_owned(),
            runner: "host".to_owned(),
            started: Timestamp(1),
            state: TurnState::Running,
        };
        let files = Self { state, turn };
        std::fs::create_dir_all(files.output().live().parent().unwrap()).unwrap();
        files.write(output);
        files
    }

    fn write(&self, output: &[u8]) {
        std::fs::write(self.output().live(), output).unwrap();
    }

    fn end(&mut self, end: TurnEnd, reason: Option<&str>) {
        let result = TurnResult {
            at: Timestamp(2),
            end,
            reason: reason.map(str::to_owned),
            conversation: None,
            spent: Spent::default(),
            tool_calls: 0,
            stream: None,
            verdict: None::<Json>,
            model: None,
        };
        self.turn.state = TurnState::Ended(Box::new(result));
    }

    fn output(&self) -> TurnOutput<'_> {
        TurnOutput { state: self.state.path(), turn: &self.turn }
    }

    fn piece(&self, after: u64, bytes_max: usize) -> TranscriptPiece {
        piece(self.output(), TranscriptRange { after, bytes_max }, None).unwrap()
    }
}

fn words(lines: &[TranscriptLine]) -> Vec<(TranscriptKind, String)> {
    lines.iter().map(|line| (line.kind, line.title.clone().unwrap_or_else(|| line.text.clone()))).collect()
}

#[test]
fn a_call_and_its_result_are_one_line_and_secrets_are_left_out() {
    let mut files = TranscriptScene::new("claude", CLAUDE.as_bytes());
    files.end(TurnEnd::Finished, None);
    let found = files.piece(0, 1 << 20);
    assert!(found.is_last, "{found:?}");
    let [text, call] = &found.lines[..] else { panic!("{:?}", found.lines) };
    assert_eq!(text.text, "I look at token=[redacted] now.");
    assert_eq!((call.kind, call.ok, call.call.as_deref()), (TranscriptKind::Tool, Some(false), Some("c1")));
    assert!(call.title.as_ref().is_some_and(|title| title.starts_with("run npm test → ")), "{call:?}");
    assert!(call.detail.iter().any(|line| line == "failed"), "{call:?}");
    let again = files.piece(found.next, 1 << 20);
    assert_eq!(again, TranscriptPiece { lines: Vec::new(), next: found.next, is_last: true });
}

#[test]
fn small_pieces_give_the_same_lines_and_a_result_knows_its_call() {
    let mut files = TranscriptScene::new("claude", CLAUDE.as_bytes());
    files.end(TurnEnd::Finished, None);
    let (mut after, mut lines) = (0, Vec::new());
    loop {
        let found = files.piece(after, 1);
        assert!(found.next > after, "{found:?}");
        (after, lines) = (found.next, [lines, found.lines].concat());
        if found.is_last {
            break;
        }
    }
    let kinds: Vec<TranscriptKind> = lines.iter().map(|line| line.kind).collect();
    assert_eq!(kinds, [TranscriptKind::Text, TranscriptKind::Tool, TranscriptKind::Result]);
    let result = &lines[2];
    assert_eq!((result.call.as_deref(), result.ok), (Some("c1"), Some(false)), "{result:?}");
    assert!(result.title.as_ref().is_some_and(|title| title.starts_with("run npm test → ")), "{result:?}");
}

#[test]
fn half_a_line_of_a_running_program_waits_and_the_end_says_why() {
    let mut files = TranscriptScene::new("exec", b"one\ntw");
    let first = files.piece(0, 1 << 10);
    assert_eq!(
        (words(&first.lines), first.next, first.is_last),
        (vec![(TranscriptKind::Text, "one".to_owned())], 4, false)
    );
    let nothing = files.piece(4, 1 << 10);
    assert_eq!(nothing, TranscriptPiece { lines: Vec::new(), next: 4, is_last: false });
    files.write(b"one\ntwo");
    std::fs::write(files.output().live().with_file_name(agents::host::STDERR), "\nerror: no\n").unwrap();
    files.end(TurnEnd::Failed, Some("exit code 1"));
    let last = files.piece(4, 1 << 10);
    let expected = [
        (TranscriptKind::Text, "two".to_owned()),
        (TranscriptKind::Stderr, "error: no".to_owned()),
        (TranscriptKind::Error, "failed: exit code 1".to_owned()),
    ];
    assert_eq!((words(&last.lines), last.is_last), (expected.to_vec(), true));
    assert_eq!(files.piece(last.next, 1 << 10).lines, []);
}

#[test]
fn a_line_without_end_is_left_out_and_missing_output_is_told() {
    let mut long = vec![b'x'; LINE_BYTES_MAX + 100];
    long.extend_from_slice(b"\nafter\n");
    let mut files = TranscriptScene::new("exec", &long);
    files.end(TurnEnd::Finished, None);
    let found = files.piece(0, 1 << 10);
    let shown = words(&found.lines);
    assert_eq!(shown.first().map(|(kind, _)| *kind), Some(TranscriptKind::Warning), "{shown:?}");
    assert_eq!(shown.last(), Some(&(TranscriptKind::Text, "after".to_owned())));
    std::fs::remove_file(files.output().live()).unwrap();
    let gone = files.piece(0, 1 << 10);
    assert_eq!((gone.lines.len(), gone.is_last), (1, true), "{gone:?}");
    assert_eq!(files.piece(gone.next, 1 << 10).lines, []);
    files.turn.state = TurnState::Running;
    assert_eq!(files.piece(0, 1 << 10), TranscriptPiece { lines: Vec::new(), next: 0, is_last: false });
}
