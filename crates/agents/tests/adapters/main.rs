//! Tests the adapters (the code for each agent program) against the recorded output of real programs.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod bounded;
mod hostile;
mod launches;
mod permits;
mod recorded;
mod replay;
mod talks;
mod tool_bounds;
mod tools;
