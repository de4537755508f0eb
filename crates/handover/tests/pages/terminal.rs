//! Types commands as a person at a terminal does. Each command runs in its own pseudo-terminal. The output is the text
//! that stays on the screen.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

/// The longest time without output of a command. After that the command counts as hung and the test fails. A first
/// build on a busy machine prints nothing for minutes.
const SILENCE_MAX: Duration = Duration::from_secs(240);

/// The ends of the questions that `handover` asks. In a documentation page, the text after such an end is the person's
/// answer.
pub(crate) const QUESTION_ENDS: &[&str] = &["[Y/n]", "[y/N]", "[S/e/q]"];

/// The exit code of a command, and the lines that are on the screen after the command has ended.
#[derive(Debug)]
pub(crate) struct ScreenText {
    pub(crate) code: Option<i32>,
    pub(crate) lines: Vec<String>,
}

/// A question that a program asks in the last line on the screen, and the answer that the test types.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TypedAnswer {
    pub(crate) question: String,
    pub(crate) answer: String,
}

/// Runs a command at a terminal. Types each answer when its question is in the last line on the screen.
pub(crate) fn run_typed(mut command: Command, answers: &[TypedAnswer]) -> ScreenText {
    let outer = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&outer).unwrap();
    unlockpt(&outer).unwrap();
    let name = ptsname(&outer, Vec::new()).unwrap();
    // Open the terminal so that it does not become the controlling terminal of the test process.
    let flags = rustix::fs::OFlags::NOCTTY.bits().cast_signed();
    let inner = File::options().read(true).write(true).custom_flags(flags).open(name.to_str().unwrap()).unwrap();
    let mut outer = File::from(outer);
    command.stdin(Stdio::from(inner.try_clone().unwrap()));
    command.stdout(Stdio::from(inner.try_clone().unwrap())).stderr(Stdio::from(inner));
    let mut child = command.spawn().unwrap();
    drop(command);
    let pieces = reader(outer.try_clone().unwrap());
    let (mut seen, mut waiting) = (Vec::new(), answers.iter().peekable());
    loop {
        match pieces.recv_timeout(SILENCE_MAX) {
            Ok(piece) => seen.extend(piece),
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {
                child.kill().unwrap();
                panic!("the command is silent; it printed:\n{}", screen_lines(&seen).join("\n"));
            }
        }
        let last = screen_lines(&seen).pop().unwrap_or_default();
        if waiting.peek().is_some_and(|answer| last == answer.question) {
            outer.write_all(format!("{}\n", waiting.next().unwrap().answer).as_bytes()).unwrap();
        } else if QUESTION_ENDS.iter().any(|end| last.ends_with(end)) {
            child.kill().unwrap();
            panic!("the page has no answer to this question:\n{}", screen_lines(&seen).join("\n"));
        }
    }
    ScreenText { code: child.wait().unwrap().code(), lines: screen_lines(&seen) }
}

/// Starts a thread that reads the terminal until no program has it open any more. Returns the receiver of the bytes.
fn reader(mut outer: File) -> Receiver<Vec<u8>> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let mut buffer = vec![0; 4096];
        // The loop ends with an error of `read`: the kernel reports an error when no program has the terminal open any
        // more.
        while let Ok(count @ 1..) = outer.read(&mut buffer) {
            if sender.send(buffer[..count].to_vec()).is_err() {
                break;
            }
        }
    });
    receiver
}

/// Returns the lines that are on the screen after these bytes were printed. Handles the escape sequences that
/// `handover` prints: cursor up, erase to the end of the screen or line, and colours.
fn screen_lines(bytes: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(bytes);
    let (mut screen, mut row, mut column) = (vec![Vec::<char>::new()], 0_usize, 0_usize);
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\r' => column = 0,
            '\n' => {
                row += 1;
                if screen.len() <= row {
                    screen.push(Vec::new());
                }
            }
            '\u{1b}' => {
                let (number, end) = sequence(&mut letters);
                match end {
                    'A' => row = row.saturating_sub(number.max(1)),
                    'J' => {
                        screen.truncate(row + 1);
                        screen[row].truncate(column);
                    }
                    'K' if number == 2 => screen[row].clear(),
                    'K' => screen[row].truncate(column),
                    _ => {}
                }
            }
            other => {
                let line = &mut screen[row];
                line.resize(line.len().max(column + 1), ' ');
                line[column] = other;
                column += 1;
            }
        }
    }
    screen.into_iter().map(|line| line.into_iter().collect::<String>().trim_end().to_owned()).collect()
}

/// Reads an escape sequence after its first character. Returns its number and its last letter.
fn sequence(letters: &mut std::str::Chars<'_>) -> (usize, char) {
    let mut number = String::new();
    for letter in letters.by_ref() {
        match letter {
            '[' | ';' | '?' => {}
            '0'..='9' => number.push(letter),
            end => return (number.parse().unwrap_or_default(), end),
        }
    }
    (0, ' ')
}

#[test]
fn lines_that_are_drawn_again_and_again_do_not_stay() {
    let bytes =
        b"\x1b[32mfirst\x1b[0m\r\n 1  bot 0:01\r\n\x1b[1A\x1b[J 1  bot 0:02\r\n\x1b[1A\x1b[Jsecond\r\nOk? [Y/n] y\r\n";
    assert_eq!(screen_lines(bytes), ["first", "second", "Ok? [Y/n] y", ""]);
}
