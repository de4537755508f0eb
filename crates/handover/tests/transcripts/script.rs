//! Transcript files: reads them, and writes them again with the answers of a run.
//!
//! `scripts/README.txt` explains their format.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::show;

/// One transcript file.
#[derive(Debug)]
pub(crate) struct Script {
    pub(crate) path: PathBuf,
    pub(crate) name: String,
    pub(crate) worlds: Vec<World>,
    /// The lines of the transcript file before its first world (a sequence of steps).
    preface: Vec<String>,
}

/// A sequence of steps of a transcript, played with a store of its own.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) title: String,
    pub(crate) except: Vec<Except>,
    pub(crate) steps: Vec<Step>,
    head: Vec<String>,
}

/// A list of interfaces for a step or a world (a sequence of steps): the interfaces that cannot do it, or the only
/// interfaces that can.
#[derive(Debug, Clone)]
pub(crate) struct Except {
    doors: Vec<String>,
    /// True when only the listed interfaces can do the step or the sequence of steps.
    only: bool,
}

impl Except {
    pub(crate) fn is_for(&self, door: &str) -> bool {
        self.doors.iter().any(|name| name == door) != self.only
    }
}

/// One step of a transcript, which is a paragraph of the file.
#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) line: usize,
    pub(crate) what: What,
    pub(crate) saves: Vec<Save>,
    pub(crate) except: Vec<Except>,
    pub(crate) times: u32,
    pub(crate) answer: Option<Answer>,
    /// The lines of the step as they are in the file, without the answer.
    lines: Vec<String>,
}

#[derive(Debug)]
pub(crate) struct Save {
    pub(crate) name: String,
    pub(crate) path: String,
}

#[derive(Debug)]
pub(crate) enum What {
    Call {
        who: String,
        tool: String,
        arguments: String,
    },
    /// The step ends the connection of a caller.
    Close {
        who: String,
    },
    Git {
        folder: String,
        words: Vec<String>,
    },
    File {
        path: String,
        text: String,
    },
    /// In this step a person accepts the settings of a folder.
    Trust {
        folder: String,
    },
    /// The paragraph of the file is only a text for readers, and no step.
    Nothing,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Answer {
    Done(Value),
    Refused(Value),
}

impl Answer {
    pub(crate) fn value(&self) -> &Value {
        match self {
            Self::Done(value) | Self::Refused(value) => value,
        }
    }

    pub(crate) fn show(&self) -> String {
        match self {
            Self::Done(value) => format!("=> {}", show::wrapped(value, "=> ".len())),
            Self::Refused(value) => format!("=> refused {}", show::wrapped(value, "=> refused ".len())),
        }
    }

    fn read(text: &str) -> Self {
        let refused = text.strip_prefix("refused ");
        let value = serde_json::from_str(refused.unwrap_or(text)).unwrap_or_else(|error| panic!("{error}: {text}"));
        if refused.is_some() { Self::Refused(value) } else { Self::Done(value) }
    }
}

/// Returns all transcript files, sorted by name.
pub(crate) fn all() -> Vec<Script> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/transcripts/scripts");
    let entries = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<PathBuf> = entries.filter(|path| !path.ends_with("README.txt")).collect();
    paths.sort();
    paths.into_iter().map(|path| read(&path)).collect()
}

fn read(path: &Path) -> Script {
    let text = std::fs::read_to_string(path).unwrap();
    let name = path.file_stem().unwrap().to_string_lossy().into_owned();
    let mut script = Script { path: path.to_owned(), name, worlds: Vec::new(), preface: Vec::new() };
    let mut paragraph: Vec<String> = Vec::new();
    for (number, line) in text.lines().chain([""]).enumerate() {
        if !line.trim().is_empty() {
            paragraph.push(line.to_owned());
            continue;
        }
        let begins = number - paragraph.len() + 1;
        let lines = std::mem::take(&mut paragraph);
        match (lines.first().map(String::as_str), script.worlds.last_mut()) {
            (None, _) => {}
            (Some(first), _) if first.starts_with("## ") => script.worlds.push(world(lines)),
            (Some(_), None) => script.preface = lines,
            (Some(_), Some(world)) => world.steps.push(step(begins, &lines)),
        }
    }
    script
}

fn world(lines: Vec<String>) -> World {
    let title = lines.first().map(|line| line.trim_start_matches("## ").to_owned()).unwrap_or_default();
    let except = lines.iter().filter_map(|line| except(line)).collect();
    World { title, except, steps: Vec::new(), head: lines }
}

/// Parses a line such as `not api, command: why`, which names interfaces that cannot do a step, or `only library: why`,
/// which names the only ones that can.
fn except(line: &str) -> Option<Except> {
    let (only, rest) = match line.strip_prefix("not ") {
        Some(rest) => (false, rest),
        None => (true, line.strip_prefix("only ")?),
    };
    let (doors, why) = rest.split_once(": ").unwrap_or_else(|| panic!("the reason is missing: {line}"));
    assert!(!why.trim().is_empty(), "the reason is missing: {line}");
    let doors: Vec<String> = doors.split(", ").map(str::to_owned).collect();
    let unknown = doors.iter().find(|door| !super::door::NAMES.contains(&door.as_str()));
    assert_eq!(unknown, None, "{line}");
    Some(Except { doors, only })
}

fn step(begins: usize, lines: &[String]) -> Step {
    let at = lines.iter().position(|line| line.starts_with("=> ")).unwrap_or(lines.len());
    let (asked, answered) = lines.split_at(at);
    let answered = answered.join("\n");
    let answer = answered.strip_prefix("=> ").map(Answer::read);
    let said: Vec<&str> = asked.iter().map(String::as_str).filter(|line| !line.starts_with('#')).collect();
    let is_word =
        |line: &&&str| ["not ", "only ", "save ", "times "].iter().any(|word| line.trim_start().starts_with(word));
    let words: Vec<&str> = said.iter().filter(is_word).map(|line| line.trim()).collect();
    let call: Vec<&str> = said.iter().filter(|line| !is_word(line)).copied().collect();
    let save = |line: &&str| {
        let (name, path) = line.strip_prefix("save $")?.split_once(" = ")?;
        Some(Save { name: format!("${name}"), path: path.to_owned() })
    };
    let times = words.iter().find_map(|line| line.strip_prefix("times ")?.parse().ok());
    Step {
        line: begins,
        what: what(&call.join("\n")),
        saves: words.iter().filter_map(save).collect(),
        except: words.iter().filter_map(|line| except(line)).collect(),
        times: times.unwrap_or(1),
        answer,
        lines: asked.to_vec(),
    }
}

fn what(text: &str) -> What {
    let mut parts = text.splitn(3, char::is_whitespace).map(str::trim);
    let (first, second, rest) =
        (parts.next().unwrap_or_default(), parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    match first {
        "" => What::Nothing,
        "close" => What::Close { who: second.to_owned() },
        "git" => What::Git { folder: second.to_owned(), words: rest.split_whitespace().map(str::to_owned).collect() },
        "trust" => What::Trust { folder: second.to_owned() },
        "file" => What::File { path: second.to_owned(), text: rest.to_owned() },
        who => What::Call {
            who: who.to_owned(),
            tool: second.to_owned(),
            arguments: if rest.is_empty() { "{}".to_owned() } else { rest.to_owned() },
        },
    }
}

impl Script {
    /// Returns the transcript as the text of its file: each step, followed by the answer that the step now has. An
    /// update replaces the answers before it calls this function.
    pub(crate) fn text(&self) -> String {
        let mut paragraphs = vec![self.preface.join("\n")];
        for world in &self.worlds {
            paragraphs.push(world.head.join("\n"));
            for step in &world.steps {
                let answer = step.answer.as_ref().map(Answer::show);
                paragraphs.push(step.lines.iter().cloned().chain(answer).collect::<Vec<_>>().join("\n"));
            }
        }
        paragraphs.retain(|paragraph| !paragraph.is_empty());
        paragraphs.join("\n\n") + "\n"
    }
}
