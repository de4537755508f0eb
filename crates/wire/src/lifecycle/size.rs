//! Limits the number of JSON values in a tool's arguments before the arguments are parsed. A parsed value takes many
//! times the memory of its text.

use crate::document::BYTES_MAX;
use crate::json::{Span, measure};
use crate::report::{At, Report};

/// The maximum number of elements in one list of a tool's arguments. Arguments with a longer list are refused. The
/// limit equals the number of tasks that a plan may have.
const LIST_ITEMS_MAX: usize = engine::limits::PLAN_TASKS_MAX;
/// The maximum number of JSON values in a tool's arguments. Arguments with more values are refused, because each parsed
/// value takes up to 100 bytes of memory. Even a plan with the largest allowed number of tasks and with many
/// dependencies has only half as many values.
const VALUES_MAX: usize = 4_000_000;

/// Returns a report that refuses the arguments of a tool when their values would take too much memory. This check runs
/// before the arguments are parsed. Returns `None` for at most [`BYTES_MAX`] bytes, because so few bytes cannot hold
/// too many values, and for more than `bytes_max` bytes, because another check refuses them.
pub(super) fn too_many(bytes: &[u8], bytes_max: usize) -> Option<Report<'_>> {
    if bytes.len() <= BYTES_MAX || bytes.len() > bytes_max {
        return None;
    }
    let found = measure(bytes);
    let hint = if found.longest_list > LIST_ITEMS_MAX {
        format!(
            "a list has {} entries; at most {LIST_ITEMS_MAX} are allowed, also for the tasks of a plan",
            found.longest_list
        )
    } else if found.values > VALUES_MAX {
        format!("there are more than {VALUES_MAX} values; a plan of this size has too many dependencies or fields")
    } else {
        return None;
    };
    Some(Report::only("", "TOO_LONG", Some(&At::top()), Span::default(), hint.into()))
}
