//! The decisions of people (answers to questions, approvals with their fingerprints, gated tasks), the tasks and plans
//! that they name, what needs them and what runs, the interventions in a run, and the principals, that is, the users, tokens and runners for which
//! connections act.

pub mod answers;
pub mod approvals;
pub mod attention;
pub mod delivered;
mod exec_gate;
pub mod intervention;
pub mod principal;
pub mod seal;
pub mod send_back_file;
pub mod task_choice;
pub mod untaken;
pub mod workload;
