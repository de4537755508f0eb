//! Plays the steps of transcripts by calling `Desk`, the code behind all interfaces, as a library.

use std::collections::HashMap;
use std::sync::Arc;

use base::ground::clock::SystemClock;
use base::service::Service;
use engine::command::SessionEnd;
use engine::id::SessionId;
use engine::{Caller, Command, Rights};
use handover::desk::{Desk, DeskSurroundings, ToolOutcome, Visitor};
use handover::reception::new_session;

use super::{Door, Place, Who};
use crate::script::Answer;

pub(crate) struct Library {
    desk: Desk,
    runtime: tokio::runtime::Runtime,
    /// The session of each caller, by the caller's name. `None` when another interface plays the transcript, and this
    /// library does only the steps that the other interface cannot do.
    sessions: Option<HashMap<String, SessionId>>,
}

impl Library {
    /// Opens Handover as a library that plays all steps of a transcript, each caller in its own session.
    pub(super) fn alone(place: &Place) -> Self {
        let mut library = Self::beside(place);
        library.sessions = Some(HashMap::new());
        library
    }

    /// Opens Handover as a library on the store of another interface. The library does only the steps of a transcript
    /// that the other interface cannot do.
    pub(crate) fn beside(place: &Place) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let store = runtime.block_on(store::open(&place.store, 7)).unwrap();
        // Find the root like the program does: the folder is a project only if a step of the transcript makes it a
        // project.
        let root = base::project::place::root(&place.folder);
        let surroundings = DeskSurroundings {
            state: root.is_some().then(|| place.folder.join("state")),
            data: Some(place.folder.clone()),
            store: Some(place.store.clone()),
            binary: Some(env!("CARGO_BIN_EXE_handover").into()),
            root,
            worktrees: None,
        };
        let desk = Desk::new(Service::new(store, Arc::new(SystemClock)), surroundings);
        Self { desk, runtime, sessions: None }
    }

    fn visitor(&mut self, who: Who<'_>) -> Visitor {
        match &mut self.sessions {
            Some(sessions) => {
                let session = *sessions.entry(who.name.to_owned()).or_insert_with(|| new_session().unwrap());
                Visitor::on_session(session, who.rights())
            }
            None => {
                let agent = who.agent.map(|agent| agent.parse().unwrap());
                // Without a session, the call names the agent that it acts as. The test knows the agent's id.
                let bound = agent.is_some();
                Visitor { rights: who.rights(), agent, bound, owner: who.name.to_owned(), ..Visitor::person() }
            }
        }
    }
}

impl Door for Library {
    fn call(&mut self, who: Who<'_>, tool: &str, arguments: &str) -> Answer {
        let visitor = self.visitor(who);
        let read = |value: &wire::json::Value| serde_json::from_str(&value.to_string()).unwrap();
        match self.runtime.block_on(self.desk.call(&visitor, tool, arguments.as_bytes(), None)) {
            ToolOutcome::Done(value) => Answer::Done(read(&value)),
            ToolOutcome::Refused(said) => Answer::Refused(read(&said.render())),
            ToolOutcome::Failed(said) => panic!("{tool} failed: {}", said.message),
            ToolOutcome::UnknownTool => panic!("there is no tool {tool}"),
        }
    }

    fn close(&mut self, who: &str) {
        let session = self.sessions.as_mut().and_then(|sessions| sessions.remove(who)).unwrap();
        let caller = Caller { session: Some(session), ..Caller::with_rights(Rights::Agent) };
        let close = Command::CloseSession { session, end: SessionEnd::Closed };
        self.runtime.block_on(self.desk.service().execute(caller, close)).unwrap();
    }
}
