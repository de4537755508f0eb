//! The rules of Handover, as pure decisions: they say which caller may do what to which task.
//!
//! A [`Command`] says what is asked, and a [`Caller`] says who asks. [`decide`] looks at a [`World`] (the loaded part
//! of the state) and a [`Stamp`] (the time and a random seed) and returns a [`Change`]: the events that happened and
//! the reply. When a part of the state is not loaded, [`decide`] returns the [`Need`]s, which name the missing parts.
//! The store then loads these parts and runs the decision again. [`fold`] turns the events into the rows to write.
//! Nothing in this crate does I/O, waits, or reads a clock.

mod case;
mod check;
mod decide;
mod fold;
mod gate_state;
mod lapse_evidence;
mod rules;

pub mod agent;
pub mod approval;
pub mod caller;
pub mod checkpoint;
pub mod command;
pub mod condition;
pub mod context;
pub mod delivery;
pub mod event;
pub mod glob;
pub mod hex;
pub mod id;
pub mod identity;
pub mod inbox;
pub mod json;
pub mod key;
pub mod limits;
pub mod list;
pub mod notice;
pub mod offer;
pub mod plan;
pub mod protection;
pub mod put_off;
pub mod refusal;
pub mod reminder;
pub mod reply;
pub mod review;
pub mod runner;
pub mod scope;
pub mod section;
pub mod sent_back;
#[cfg(feature = "tables")]
pub mod tables;
pub mod task;
pub mod template;
pub mod time;
pub mod token;
pub mod topic;
pub mod touches;
pub mod turn;
pub mod verification;
pub mod view;
pub mod workflow;
pub mod workspace;
pub mod world;

pub use command::{Actor, Caller, Command, Rights, Standing};
pub use decide::{Change, decide};
pub use event::Event;
pub use fold::{TaskInsert, Write, fold};
pub use json::Json;
pub use refusal::Refusal;
pub use reply::Reply;
pub use time::{Millis, Stamp, Timestamp};
pub use topic::Topic;
pub use world::{DecisionStop, Need, TypedQuestion, World};
