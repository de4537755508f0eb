//! Project context (the shared knowledge about the project) in sections. A writer computes a section's new body from
//! the version that it read, and names this version. If another writer has changed the section after that version, the
//! write is refused and the writer must read the section again. So no writer overwrites the text of another writer.

use crate::agent::is_slug;
use crate::case::Case;
use crate::check;
use crate::command::Rights;
use crate::event::Event;
use crate::id::TaskId;
use crate::json::Json;
use crate::limits;
use crate::list::SectionQuery;
use crate::refusal::Refusal;
use crate::reply::Reply;
use crate::section::SectionChange;
use crate::world::DecisionStop;

pub(crate) fn write(
    case: &mut Case<'_>,
    name: &str,
    version: u32,
    body: &Json,
    task: Option<TaskId>,
) -> Result<Reply, DecisionStop> {
    if !is_slug(name) {
        let problem = "must be lower-case letters, digits, - and _, at most 64, beginning with a letter or digit";
        return Err(Refusal::input("name", problem).into());
    }
    check::json("body", Some(body))?;
    match case.rights {
        Rights::Runner | Rights::Coordinator | Rights::Person | Rights::Engine => {}
        // When a runner accepts an agent's handoff (closing report), it checks which sections the agent may write. A
        // direct call by the agent would bypass this check, so the call is refused.
        Rights::Agent => {
            let problem = "an agent may write project context only with its handoff".to_owned();
            return Err(Refusal::NotPermitted { problem }.into());
        }
        Rights::Script => {
            let problem = "only a person may write project context, in a terminal".to_owned();
            return Err(Refusal::NotPermitted { problem }.into());
        }
    }
    let by = case.actor()?;
    let stored = case.world.section(name)?;
    let current = stored.map_or(0, |section| section.version);
    if current != version {
        return Err(Refusal::SectionChanged { section: name.to_owned(), version: current }.into());
    }
    if stored.is_none() {
        let limit = u32::try_from(limits::SECTIONS_MAX).unwrap_or(u32::MAX);
        if case.world.ask(&SectionQuery { after: String::new(), limit })?.len() >= limits::SECTIONS_MAX {
            let problem = format!("there are {} sections, which is the limit", limits::SECTIONS_MAX);
            return Err(Refusal::state(problem).into());
        }
    }
    let before = stored.map(|section| section.body.clone());
    // Record no change when the new body of the project context's section equals the old one.
    if before.as_ref() == Some(body) {
        return Ok(Reply::SectionWritten { version });
    }
    let version = version + 1;
    let (section, at, after) = (name.to_owned(), case.now, body.clone());
    let change = SectionChange { section, version, by, task, at, before, after };
    case.events.push(Event::SectionWritten { change: Box::new(change) });
    Ok(Reply::SectionWritten { version })
}
