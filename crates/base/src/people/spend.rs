//! Sums what the turns (runs of agents' programs) of a time range cost: by day, by agent, by workflow or by model.

use std::collections::BTreeMap;

use engine::id::{AgentId, TurnId, WorkflowId};
use engine::list::TurnQuery;
use engine::turn::{Spent, Turn, TurnResult};
use engine::{Need, Timestamp, World};

use crate::error::Error;
use crate::ground::local_time::LocalClock;
use crate::service::Service;

#[cfg(test)]
mod tests;

/// The maximum number of turns that are added up. Of a longer range only the newest turns are counted.
pub const TURNS_MAX: usize = 50_000;
/// The number of turns that one question to the store returns.
const PAGE: u32 = 500;
/// The maximum number of rows in a report. A person scrolls no further.
const ROWS_MAX: usize = 1_000;
/// The number of agents or workflows whose names one question to the store returns.
const NAMES: usize = 200;
/// The name of the row with the turns whose model is unknown.
const UNKNOWN: &str = "unknown";

/// The property by which costs are added up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpendGroup {
    /// The day on which the turn started, in the time zone of the person.
    Day,
    Agent,
    Workflow,
    Model,
}

impl SpendGroup {
    pub const ALL: [Self; 4] = [Self::Day, Self::Agent, Self::Workflow, Self::Model];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Day => "day",
            Self::Agent => "agent",
            Self::Workflow => "workflow",
            Self::Model => "model",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|group| group.as_str() == text)
    }
}

/// A range of time. `until` is exclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpendRange {
    pub from: Timestamp,
    pub until: Timestamp,
}

/// The sum of the costs of some turns. A cost that no turn of them reported is `None`, which is not zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SpendSum {
    pub spent: Spent,
    /// The number of turns whose cost in dollars is unknown. The real cost is higher than the sum by their costs.
    pub unknown_turns: u32,
}

impl SpendSum {
    fn add(&mut self, ended: &TurnResult) {
        self.spent = self.spent.and(Spent { turns: 1, ..ended.spent });
        self.unknown_turns = self.unknown_turns.saturating_add(u32::from(ended.spent.usd_micros.is_none()));
    }
}

/// The costs of one day, agent, workflow or model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpendRow {
    /// The day such as `2026-11-17`, the id of the agent or of the workflow, or the name of the model. `None` for the
    /// turns whose model is unknown.
    pub key: Option<String>,
    /// The words for this row: the day, the short name of the agent, the name of the workflow or of the model.
    pub name: String,
    pub sum: SpendSum,
}

/// The costs of a time range. Days are sorted from the newest to the oldest, all other rows from the highest known cost
/// to the lowest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpendReport {
    pub rows: Vec<SpendRow>,
    pub total: SpendSum,
    /// True when the range has more turns than are added up, or more rows than are listed.
    pub is_cut: bool,
}

/// Adds up the costs of the turns that started in the range and have ended. A running turn has no cost yet.
pub async fn read(
    service: &Service,
    (group, range): (SpendGroup, SpendRange),
    clock: &LocalClock,
) -> Result<SpendReport, Error> {
    let (mut sums, mut total) = (BTreeMap::new(), SpendSum::default());
    let add = |turn: &Turn| {
        if let Some(ended) = turn.ended() {
            total.add(ended);
            sums.entry(key(group, turn, ended, clock)).or_insert_with(SpendSum::default).add(ended);
        }
    };
    let has_more_turns = each_turn(service, range, TURNS_MAX, add).await?;
    let mut rows = named(service, sums).await?;
    sort(group, &mut rows);
    let is_cut = has_more_turns || rows.len() > ROWS_MAX;
    rows.truncate(ROWS_MAX);
    Ok(SpendReport { rows, total, is_cut })
}

/// Reads the turns of a range in pages, the newest first, and passes at most `most` of them to `add`. Returns true when
/// the range has more turns.
async fn each_turn(
    service: &Service,
    range: SpendRange,
    most: usize,
    mut add: impl FnMut(&Turn),
) -> Result<bool, Error> {
    let (mut before, mut room): (Option<(Timestamp, TurnId)>, usize) = (None, most);
    loop {
        // Ask for one turn more than there is room for, to learn whether there are more turns.
        let limit = PAGE.min(u32::try_from(room).unwrap_or(u32::MAX).saturating_add(1));
        let query = TurnQuery::Started { from: range.from, until: range.until, before, limit };
        let page = service.ask(query).await?;
        page.iter().take(room).for_each(&mut add);
        if page.len() > room {
            return Ok(true);
        }
        if page.len() < usize::try_from(limit).unwrap_or(usize::MAX) {
            return Ok(false);
        }
        room -= page.len();
        before = page.last().map(|turn| (turn.started, turn.id));
    }
}

/// The property of a turn by which its cost is added up, before names are looked up.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum SpendKey {
    Day(String),
    Agent(AgentId),
    Workflow(WorkflowId),
    Model(Option<String>),
}

fn key(group: SpendGroup, turn: &Turn, ended: &TurnResult, clock: &LocalClock) -> SpendKey {
    match group {
        SpendGroup::Day => SpendKey::Day(clock.day(turn.started).unwrap_or_default()),
        SpendGroup::Agent => SpendKey::Agent(turn.agent),
        SpendGroup::Workflow => SpendKey::Workflow(turn.workflow),
        SpendGroup::Model => SpendKey::Model(ended.model.clone()),
    }
}

/// Turns the sums into rows, and reads the names of agents and workflows.
async fn named(service: &Service, sums: BTreeMap<SpendKey, SpendSum>) -> Result<Vec<SpendRow>, Error> {
    let sums: Vec<(SpendKey, SpendSum)> = sums.into_iter().collect();
    let mut rows = Vec::with_capacity(sums.len());
    for part in sums.chunks(NAMES) {
        let part = part.to_vec();
        let found = service.view(move |world| {
            world.want(part.iter().filter_map(|(key, _)| need(key)))?;
            Ok(part.iter().map(|(key, sum)| row(world, key, *sum)).collect::<Vec<_>>())
        });
        rows.extend(found.await?);
    }
    Ok(rows)
}

fn need(key: &SpendKey) -> Option<Need> {
    match key {
        SpendKey::Agent(agent) => Some(Need::Agent(*agent)),
        SpendKey::Workflow(workflow) => Some(Need::Workflow(*workflow)),
        SpendKey::Day(_) | SpendKey::Model(_) => None,
    }
}

/// Returns a row with the name of its agent or workflow. The name is the id when the store does not have the row.
fn row(world: &World, key: &SpendKey, sum: SpendSum) -> SpendRow {
    let id = match key {
        SpendKey::Day(day) => Some(day.clone()),
        SpendKey::Agent(agent) => Some(agent.to_string()),
        SpendKey::Workflow(workflow) => Some(workflow.to_string()),
        SpendKey::Model(model) => model.clone(),
    };
    let name = match key {
        SpendKey::Agent(agent) => world.agent(*agent).ok().map(|found| found.slug.clone()),
        SpendKey::Workflow(workflow) => world.workflow(*workflow).ok().map(|found| found.name.clone()),
        SpendKey::Day(_) | SpendKey::Model(_) => None,
    };
    let name = name.or_else(|| id.clone()).unwrap_or_else(|| UNKNOWN.to_owned());
    SpendRow { key: id, name, sum }
}

fn sort(group: SpendGroup, rows: &mut [SpendRow]) {
    match group {
        SpendGroup::Day => rows.sort_by(|left, right| right.key.cmp(&left.key)),
        // `None` is lower than every amount, so rows of unknown cost come last.
        SpendGroup::Agent | SpendGroup::Workflow | SpendGroup::Model => rows.sort_by(|left, right| {
            let cost = |row: &SpendRow| (row.sum.spent.usd_micros, row.sum.spent.tokens, row.sum.spent.ms);
            cost(right).cmp(&cost(left)).then_with(|| left.name.cmp(&right.name))
        }),
    }
}
