//! The SQL statements that list reviews, rounds and findings, with their parameters.

use engine::list::{FindingQuery, ReviewQuery, RoundQuery};

use super::before;
use crate::sql::review as sql;
use crate::value::{Statement, text};

pub(super) fn reviews(query: &ReviewQuery) -> Statement {
    match query {
        ReviewQuery::All { before: place, limit } => {
            let [time, id] = before(place.as_ref());
            Statement::new(sql::REVIEWS, [time, id, (*limit).into()])
        }
        ReviewQuery::OfTask { task, limit } => Statement::new(sql::TASK_REVIEWS, [text(task), (*limit).into()]),
    }
}

pub(super) fn rounds(RoundQuery { review, after, limit }: &RoundQuery) -> Statement {
    Statement::new(sql::ROUNDS, [text(review), (*after).into(), (*limit).into()])
}

pub(super) fn findings(FindingQuery { review, after, limit }: &FindingQuery) -> Statement {
    Statement::new(sql::FINDINGS, [text(review), (*after).into(), (*limit).into()])
}
