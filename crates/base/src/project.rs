//! A project as its files describe it: the place of its store, its settings and which of them a person accepted, its
//! agents with their cards (descriptions), and the limits and extra fields of its tasks.

pub mod budget;
pub mod detect;
pub mod effective;
pub mod environment;
pub mod files;
pub mod known;
pub mod place;
pub mod plan_file;
pub mod settings;
pub mod task_extra;
pub mod team;
pub mod trust;
