//! The decisions of people, and on whose behalf a connection acts: answers to questions, approvals with their
//! fingerprints, gated tasks, and interventions in a run.

pub mod answers;
pub mod approvals;
mod exec_gate;
pub mod intervention;
pub mod principal;
pub mod seal;
