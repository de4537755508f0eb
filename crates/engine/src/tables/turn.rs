//! Answers list queries for turns (runs of agents' programs), verifications, runners and sections of the project
//! context from the maps in memory, with the same results as a database.

use std::cmp::Reverse;

use super::Tables;
use super::list::page;
use super::need::{first, size};
use crate::list::{RunnerQuery, SectionChangeQuery, SectionQuery, SpentQuery, TurnQuery, VerificationQuery, Whose};
use crate::runner::Runner;
use crate::section::{Section, SectionChange};
use crate::turn::{Spent, Turn};
use crate::verification::Verification;

impl Tables {
    fn turns_of(&self, whose: Whose) -> impl Iterator<Item = &Turn> {
        self.turns.values().filter(move |turn| match whose {
            Whose::Task(task) => turn.task == task,
            Whose::Workflow(workflow) => turn.workflow == workflow,
        })
    }

    pub(super) fn list_turns(&self, query: &TurnQuery) -> Vec<Turn> {
        match query {
            TurnQuery::Of { of, before, limit } => {
                let mut rows: Vec<&Turn> = self.turns_of(*of).collect();
                rows.sort_by_key(|turn| Reverse((turn.started, turn.id)));
                rows.retain(|turn| before.is_none_or(|before| (turn.started, turn.id) < before));
                first(rows.into_iter().cloned(), size(*limit))
            }
            TurnQuery::Started { from, until, before, limit } => {
                let is_in = |turn: &&Turn| turn.started >= *from && turn.started < *until;
                let mut rows: Vec<&Turn> = self.turns.values().filter(is_in).collect();
                rows.sort_by_key(|turn| Reverse((turn.started, turn.id)));
                rows.retain(|turn| before.is_none_or(|before| (turn.started, turn.id) < before));
                first(rows.into_iter().cloned(), size(*limit))
            }
            TurnQuery::Running { runner, limit } => {
                let rows = self.turns.values().filter(|turn| turn.runner == *runner && turn.ended().is_none());
                let rows = page(rows, |turn| (turn.started, turn.id), |_| true, *limit);
                rows.into_iter().cloned().collect()
            }
        }
    }

    pub(super) fn spent(&self, SpentQuery(of): &SpentQuery) -> Spent {
        let ended = self.turns_of(*of).filter_map(Turn::ended).map(|ended| ended.spent);
        ended.fold(Spent::default(), Spent::and)
    }

    pub(super) fn list_verifications(&self, query: &VerificationQuery) -> Vec<Verification> {
        let VerificationQuery { task, after, limit } = *query;
        let rows = self.verifications.range((task, after.saturating_add(1))..=(task, u32::MAX));
        first(rows.map(|(_, row)| row.clone()), size(limit))
    }

    pub(super) fn list_runners(&self, query: &RunnerQuery) -> Vec<Runner> {
        first(self.runners.values().cloned(), size(query.limit))
    }

    pub(super) fn list_sections(&self, query: &SectionQuery) -> Vec<Section> {
        let rows = self.sections.values().filter(|row| row.name > query.after);
        first(rows.cloned(), size(query.limit))
    }

    pub(super) fn list_section_changes(&self, query: &SectionChangeQuery) -> Vec<SectionChange> {
        let of_section = |row: &&SectionChange| row.section == query.section && row.version < query.before;
        let mut rows: Vec<&SectionChange> = self.section_changes.values().filter(of_section).collect();
        rows.sort_by_key(|row| Reverse(row.version));
        first(rows.into_iter().cloned(), size(query.limit))
    }
}
