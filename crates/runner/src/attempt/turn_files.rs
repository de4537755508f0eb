//! Reads and writes the files in the folder of one turn (one run of an agent's program): the record of the prompt, and
//! the agent's last text.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use engine::id::MessageId;
use engine::turn::StoredObject;
use serde::{Deserialize, Serialize};
use wire::json::Value;

use agents::host;
use base::ground::objects;

/// The data of a turn's prompt that is needed later, when the agent's answer is judged.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct TurnRecord {
    /// The facts about the task that the agent got, as JSON (the INPUT document of the handoff protocol). `None` for an
    /// agent that answers with an envelope (a JSON object) and not with a handoff.
    pub(crate) input: Option<String>,
    /// The messages that the prompt showed to the agent. They are marked as read when the turn ends with a valid
    /// output.
    pub(crate) shown: Vec<MessageId>,
}

impl TurnRecord {
    pub(crate) fn input(&self) -> Option<Value> {
        Some(wire::json::parse(self.input.as_ref()?).ok()?.to_value())
    }
}

const RECORD: &str = "told.json";
/// The file with the agent's last text, which contains its output.
const ANSWER: &str = "answer.txt";

#[derive(Debug)]
pub(crate) struct TurnFiles {
    pub(crate) folder: PathBuf,
}

impl TurnFiles {
    /// Writes the record of the turn's prompt. Creates the turn's folder and the folder of its attempt.
    pub(crate) fn write_record(&self, attempt_folder: &Path, record: &TurnRecord) -> io::Result<()> {
        for folder in [&*self.folder, attempt_folder] {
            std::fs::DirBuilder::new().mode(0o700).recursive(true).create(folder)?;
        }
        std::fs::write(self.folder.join(RECORD), serde_json::to_vec(record)?)
    }

    /// Reads the record of the turn's prompt. Returns an empty record when there is none.
    pub(crate) fn record(&self) -> TurnRecord {
        let text = std::fs::read_to_string(self.folder.join(RECORD)).unwrap_or_default();
        serde_json::from_str(&text).unwrap_or_default()
    }

    pub(crate) fn write_answer(&self, text: &str) -> io::Result<()> {
        std::fs::write(self.folder.join(ANSWER), text)
    }

    /// Returns the agent's last text in a turn that has ended.
    pub(crate) fn answer(&self) -> io::Result<String> {
        std::fs::read_to_string(self.folder.join(ANSWER))
    }

    /// Saves everything that the turn's program wrote to standard output in the object store (files that are named by
    /// their hash).
    pub(crate) async fn keep_stream(&self, state: &Path) -> io::Result<Option<StoredObject>> {
        let (state, path) = (state.to_owned(), self.folder.join(host::STDOUT));
        let kept = tokio::task::spawn_blocking(move || match File::open(path) {
            Ok(file) => objects::put(&state, file).map(Some),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        });
        kept.await.map_err(io::Error::other)?
    }
}
