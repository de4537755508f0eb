//! A person's acts on the work of agents: add a task, look at its work, merge it, send it back, drop it, take it as it
//! is. Each act is one function that every interface calls. This crate prints nothing and knows no interface.
//!
//! ```text
//!   add ──> an agent works ──> shown, difference, conversation   look at the work
//!                          ──> landing, undo                      merge it into the person's branch, and back
//!                          ──> send_back, answer                  the agent continues
//!                          ──> drop, take, steer                  decide about the task
//! ```
//!
//! An act that ends without its effect returns a value that says why, such as [`landing::LandingStop`]. The interface
//! turns this value into words.

pub mod add;
pub mod answer;
pub mod check_output;
pub mod conversation;
pub mod difference;
pub mod drop;
pub mod error;
pub mod journal;
pub mod landing;
pub mod send_back;
pub mod shown;
pub mod site;
pub mod steer;
pub mod take;
pub mod transcript;
pub mod undo;
pub mod worker;

pub use error::WorkError;
pub use site::{NoWorkSite, WorkSite};
