//! Calls one tool with the rights of a person or a coordinator, through Handover's library and not over an interface.
//! The test scripts in Python and JavaScript run this program for the calls of a person. They make all other calls over
//! MCP, where no caller has a person's rights. This program is part of the tests and is not installed.
//!
//! usage: desk_step FOLDER person|coordinator TOOL < ARGUMENTS

use std::io::Read as _;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context as _;
use base::ground::clock::SystemClock;
use base::service::Service;
use engine::Rights;
use handover::desk::{Desk, DeskSurroundings, ToolOutcome, Visitor};

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let mut words = std::env::args().skip(1);
    let mut word = |name: &'static str| words.next().context(name);
    let (folder, rights, tool) = (PathBuf::from(word("FOLDER")?), word("the rights")?, word("TOOL")?);
    let rights = if rights == "person" { Rights::Person } else { Rights::Coordinator };
    let mut arguments = String::new();
    std::io::stdin().read_to_string(&mut arguments)?;
    let file = folder.join("state/handover.db").display().to_string();
    let root = base::project::place::root(&folder);
    // The library starts the `handover` program to run a review, so it needs the path of the program. Cargo puts the
    // program into the parent folder of the folder with the examples.
    let own = std::env::current_exe()?;
    let binary = own.parent().and_then(std::path::Path::parent).map(|folder| folder.join("handover"));
    let surroundings = DeskSurroundings {
        binary,
        state: root.is_some().then(|| folder.join("state")),
        data: Some(folder.clone()),
        store: Some(file.clone()),
        root,
        ..DeskSurroundings::default()
    };
    let store = store::open(&file, 7).await?;
    let desk = Desk::new(Service::new(store, Arc::new(SystemClock)), surroundings);
    let visitor = Visitor { rights, owner: "beside".to_owned(), ..Visitor::person() };
    let (kind, value) = match desk.call(&visitor, &tool, arguments.as_bytes(), None).await {
        ToolOutcome::Done(value) => ("done", value),
        ToolOutcome::Refused(said) => ("refused", said.render()),
        ToolOutcome::Failed(said) => anyhow::bail!("{tool} failed: {}", said.message),
        ToolOutcome::UnknownTool => anyhow::bail!("there is no tool {tool}"),
    };
    desk.settled().await;
    anstream::println!("{{\"{kind}\": {value}}}");
    Ok(())
}
