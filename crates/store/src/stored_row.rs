//! One stored row, as backends pass it to an export and take it from an import.

use crate::fault::Fault;
use crate::value::SqlValue;

/// One row of a table as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row(pub(crate) Vec<SqlValue>);

/// The maximum number of rows that an export or an import handles in one step.
pub(crate) const PAGE: usize = 500;

/// Returns the fault that refuses an import into a store that already has rows.
pub(crate) fn not_empty() -> Fault {
    Fault::Import { problem: "the store is not empty; import into a new one".to_owned() }
}
