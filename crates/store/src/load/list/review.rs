//! The SQL statements that list reviews, rounds and findings, with their parameters.

use engine::list::List;

use super::before;
use crate::sql::review as sql;
use crate::value::{Statement, text};

#[expect(clippy::wildcard_enum_match_arm, reason = "`query` sends these lists here")]
pub(super) fn query(list: &List) -> Statement {
    match list {
        List::TaskReviews { task, limit } => Statement::new(sql::TASK_REVIEWS, [text(task), (*limit).into()]),
        List::Rounds { review, after, limit } => {
            Statement::new(sql::ROUNDS, [text(review), (*after).into(), (*limit).into()])
        }
        List::Findings { review, after, limit } => {
            Statement::new(sql::FINDINGS, [text(review), (*after).into(), (*limit).into()])
        }
        List::Reviews { before: place, limit } => {
            let [time, id] = before(place.as_ref());
            Statement::new(sql::REVIEWS, [time, id, (*limit).into()])
        }
        _ => Statement::new(sql::REVIEWS, [0_i64.into(), "".into(), 0_u32.into()]),
    }
}
