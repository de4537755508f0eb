//! Plays transcripts (lists of messages to send and to expect) to a server over its streams. A line of a transcript is
//! one of these:
//!
//! ```text
//! --- title     begins a transcript with a fresh server
//! {{open}}      sends `initialize`, which begins the old era (before protocol revision 2026-07-28)
//! > message     sends the message and a line break
//! >> message    sends the message without a line break
//! < message     expects a message that has at least these members; neighbouring lines may come in any order
//! = message     expects exactly this message
//! next          expects the following messages only after the preceding ones
//! skip N        ignores N messages of any content
//! ! words       expects that the backend reports this line of words
//! eof           ends the input of the server
//! signal S      sends the signal S to the server
//! deaf          closes the output of the server, so that it is no longer read
//! over          expects that the server ends although its input is open
//! ```

use std::io::{BufRead, BufReader, Read, Write};
use std::time::Duration;

use serde_json::Value;

/// The metadata (`_meta`) of a request of the new era (protocol revision 2026-07-28).
pub(crate) const NEW: &str = r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"test","version":"0"},"io.modelcontextprotocol/clientCapabilities":{}}"#;
/// The longest time that a test waits for output. A server that is silent for longer counts as hung. The waiting calls
/// in transcripts take longer than this, so that only an event of the transcript can end them in time.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);
const OPENING: &str = r#"{"jsonrpc":"2.0","id":"open","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"0"}}}"#;

/// The MCP server under test. No wait for it lasts forever, even when it hangs.
pub(crate) trait Server: Sized {
    type Input: Write;
    type Output: Read;

    /// Starts a server. Returns the server, the stream that writes to its input, and the stream that reads its output.
    fn start() -> (Self, Self::Input, Self::Output);

    fn signal(&self, name: &str);

    /// Returns the next line that the server reports outside of the protocol, for example "closed pipe"; `None` when
    /// there are no more.
    fn told(&mut self) -> Option<String>;

    /// Waits for the end of the server, and tells whether it ended without an error.
    fn ended_well(self) -> bool;
}

pub(crate) fn play<S: Server>(file: &str) {
    for transcript in file.split("\n--- ").skip(1) {
        let (title, lines) = transcript.split_once('\n').unwrap();
        let mut player = Player::<S>::start(title);
        let mut expected = Vec::new();
        for line in lines.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
            match word {
                "<" => {
                    expected.push((false, expand(rest)));
                    continue;
                }
                "=" => {
                    expected.push((true, expand(rest)));
                    continue;
                }
                _ => player.expect(std::mem::take(&mut expected)),
            }
            match word {
                "{{open}}" => {
                    player.send(OPENING, "\n");
                    player.expect(vec![(false, r#"{"id":"open","result":{}}"#.to_owned())]);
                }
                ">" => player.send(&expand(rest), "\n"),
                ">>" => player.send(&expand(rest), ""),
                "next" => {}
                "skip" => (0..rest.parse().unwrap()).for_each(|_| drop(player.line())),
                "!" => player.told(rest),
                "eof" => player.input = None,
                "deaf" => player.output = None,
                "signal" => player.server.signal(rest),
                "over" => player.over = true,
                other => panic!("{title}: what is {other}?"),
            }
        }
        player.expect(expected);
        player.end();
    }
}

/// Expands the placeholders of a transcript: `{{new}}` becomes the metadata [`NEW`], `{{new,"more":1}}` the metadata
/// with a further member, and `{{x*3}}` becomes `xxx`.
fn expand(text: &str) -> String {
    let mut expanded = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{{") {
        let Some((inside, behind)) = after
            .split_once("}}")
            .filter(|(inside, _)| inside.starts_with("new") || inside.chars().nth(1) == Some('*'))
        else {
            expanded += before;
            expanded += "{{";
            rest = after;
            continue;
        };
        expanded += before;
        if let Some(more) = inside.strip_prefix("new") {
            expanded += NEW.strip_suffix('}').unwrap();
            expanded += more;
            expanded.push('}');
        } else {
            let (letter, count) = inside.split_once('*').unwrap();
            expanded += &letter.repeat(count.parse().unwrap());
        }
        rest = behind;
    }
    expanded + rest
}

struct Player<S: Server> {
    title: String,
    server: S,
    input: Option<S::Input>,
    output: Option<BufReader<S::Output>>,
    over: bool,
}

impl<S: Server> Player<S> {
    fn start(title: &str) -> Self {
        let (server, input, output) = S::start();
        Self { title: title.to_owned(), server, input: Some(input), output: Some(BufReader::new(output)), over: false }
    }

    fn send(&mut self, text: &str, end: &str) {
        let mut bytes = Vec::new();
        let mut rest = text.strip_suffix("\\r").map_or(text.to_owned(), |text| format!("{text}\r"));
        while let Some(at) = rest.find("\\x") {
            bytes.extend_from_slice(&rest.as_bytes()[..at]);
            bytes.push(u8::from_str_radix(&rest[at + 2..at + 4], 16).unwrap());
            rest = rest[at + 4..].to_owned();
        }
        bytes.extend_from_slice(rest.as_bytes());
        bytes.extend_from_slice(end.as_bytes());
        self.input.as_mut().unwrap().write_all(&bytes).unwrap();
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.as_mut().unwrap().read_line(&mut line).unwrap();
        assert!(line.ends_with('\n'), "{}: the output ended: {line}", self.title);
        line
    }

    fn expect(&mut self, mut expected: Vec<(bool, String)>) {
        for _ in 0..expected.len() {
            let line = self.line();
            let found: Value = serde_json::from_str(&line).unwrap();
            let place = expected.iter().position(|(exact, text)| {
                let wanted: Value = serde_json::from_str(&text.replace(",...]", ",\"...\"]")).unwrap();
                if *exact { wanted == found } else { is_part(&wanted, &found) }
            });
            let shown: String = line.chars().take(600).collect();
            let Some(place) = place else { panic!("{}:\n  found {shown}\n  among {expected:#?}", self.title) };
            expected.remove(place);
        }
    }

    fn told(&mut self, words: &str) {
        let mut seen = String::new();
        loop {
            let Some(line) = self.server.told() else { panic!("{}: no {words:?} in\n{seen}", self.title) };
            if line == words {
                return;
            }
            seen += &line;
            seen.push('\n');
        }
    }

    /// Checks that the server sends no more messages and ends without an error.
    fn end(mut self) {
        if !self.over {
            self.input = None;
        }
        if let Some(output) = &mut self.output {
            let mut rest = String::new();
            output.read_to_string(&mut rest).unwrap();
            assert_eq!(rest, "", "{}", self.title);
        }
        assert!(self.server.ended_well(), "{}", self.title);
    }
}

/// Tells whether `found` has all values of `wanted`. If a list in `wanted` ends with `"..."`, the list in `found` may
/// have more elements.
pub(crate) fn is_part(wanted: &Value, found: &Value) -> bool {
    match (wanted, found) {
        (Value::Object(wanted), Value::Object(found)) => {
            wanted.iter().all(|(name, wanted)| found.get(name).is_some_and(|found| is_part(wanted, found)))
        }
        (Value::Array(wanted), Value::Array(found)) => {
            let open = wanted.last() == Some(&Value::from("..."));
            let wanted = &wanted[..wanted.len() - usize::from(open)];
            (if open { wanted.len() <= found.len() } else { wanted.len() == found.len() })
                && wanted.iter().zip(found).all(|(wanted, found)| is_part(wanted, found))
        }
        (wanted, found) => wanted == found,
    }
}
