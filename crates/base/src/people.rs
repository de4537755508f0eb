//! The decisions of people (answers to questions, approvals with their fingerprints, gated tasks), the interventions in
//! a run, and the principals, that is, the users, tokens and runners for which connections act.

pub mod answers;
pub mod approvals;
mod exec_gate;
pub mod intervention;
pub mod principal;
pub mod seal;
