//! Prepares the sections of the project context for people. A section holds facts that agents have learned, and every
//! write of a section has an author and a time.

use engine::agent::is_slug;
use engine::list::{SectionChangeQuery, SectionQuery};
use engine::section::{Section, SectionChange};
use engine::{Actor, DecisionStop, Need, Refusal, World};
use wire::json::{Value, object};

use crate::error::Error;
use crate::service::Service;
use crate::service::turns::value;

/// Returns all sections of the project context (facts that agents have learned), sorted by name.
pub async fn list(service: &Service) -> Result<Vec<Value>, Error> {
    let limit = u32::try_from(engine::limits::SECTIONS_MAX).unwrap_or(u32::MAX);
    service
        .view(move |world| {
            let rows = world.ask(&SectionQuery { after: String::new(), limit })?;
            world.want(rows.iter().filter_map(|row| writer(row.by)))?;
            Ok(rows.iter().map(|found| row(world, found)).collect())
        })
        .await
}

pub async fn show(service: &Service, name: &str) -> Result<Value, Error> {
    let name = name.to_owned();
    service
        .view(move |world| {
            let found = section(world, &name)?;
            world.want(writer(found.by))?;
            Ok(row(world, found))
        })
        .await
}

/// Returns the writes of one section of the project context (facts that agents have learned), newest first.
pub async fn history(service: &Service, name: &str, limit: u32) -> Result<Vec<Value>, Error> {
    let name = name.to_owned();
    service
        .view(move |world| {
            section(world, &name)?;
            let rows = world.ask(&SectionChangeQuery { section: name.clone(), before: u32::MAX, limit })?;
            world.want(rows.iter().filter_map(|row| writer(row.by)))?;
            Ok(rows.iter().map(|found| change(world, found)).collect())
        })
        .await
}

/// Returns the section of the project context (facts that agents have learned) with this name. Checks the form of the
/// name before it asks the store, because a database does not accept every text.
fn section<'a>(world: &'a World, name: &str) -> Result<&'a Section, DecisionStop> {
    let unknown = || DecisionStop::from(Refusal::SectionNotFound { section: name.chars().take(64).collect() });
    if !is_slug(name) {
        return Err(unknown());
    }
    world.section(name)?.ok_or_else(unknown)
}

fn writer(by: Actor) -> Option<Need> {
    match by {
        Actor::Agent(agent) => Some(Need::Agent(agent)),
        Actor::Runner | Actor::Coordinator | Actor::Person | Actor::Engine => None,
    }
}

/// Returns the slug (short name) of the agent that wrote a section, because people know agents by their slugs. Returns
/// `None` for a writer that is no agent.
fn slug(world: &World, by: Actor) -> Option<String> {
    match by {
        Actor::Agent(agent) => world.agent(agent).ok().map(|agent| agent.slug.clone()),
        Actor::Runner | Actor::Coordinator | Actor::Person | Actor::Engine => None,
    }
}

fn row(world: &World, section: &Section) -> Value {
    object([
        ("name", section.name.as_str().into()),
        ("version", u64::from(section.version).into()),
        ("by", section.by.to_string().into()),
        ("agent", slug(world, section.by).into()),
        ("updated_at", Value::Number(section.updated.0.into())),
        ("body", value(&section.body)),
    ])
}

fn change(world: &World, change: &SectionChange) -> Value {
    object([
        ("version", u64::from(change.version).into()),
        ("by", change.by.to_string().into()),
        ("agent", slug(world, change.by).into()),
        ("at", Value::Number(change.at.0.into())),
        ("task_id", change.task.map(|task| task.to_string()).into()),
        ("before", change.before.as_ref().map(value).into()),
        ("after", value(&change.after)),
    ])
}
