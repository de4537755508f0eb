//! Decisions of people and views for people: answers to questions, approvals, the tasks and plans that a person names,
//! the items that need a person, and the work that runs.
//!
//! Two modules are about authors: `intervention` finds the changes that people and agents made to a run, and
//! `principal` names the user, the token or the runner for which a connection acts.

pub mod answers;
pub mod approvals;
pub mod archive;
pub mod attention;
pub mod delivered;
mod exec_gate;
pub mod intervention;
pub mod principal;
pub mod seal;
pub mod send_back_file;
pub mod spend;
pub mod task_choice;
pub mod task_list;
pub mod untaken;
pub mod workload;
