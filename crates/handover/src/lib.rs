//! Handover as a library: the service that every interface (MCP, HTTP, command line) calls, and the readers of time and
//! random numbers.

#[cfg(not(unix))]
compile_error!("handover needs a Unix system: it uses process groups, file locks and file permissions");

pub mod answers;
pub mod approvals;
pub mod below;
pub mod budget;
pub mod clock;
pub mod demo;
pub mod desk;
pub mod digest;
pub mod doctor;
pub mod error;
mod exec_gate;
pub mod feed;
pub mod hook;
pub mod http;
pub mod intervention;
pub mod keeper;
pub mod live;
pub mod notify;
pub mod objects;
pub mod office;
pub mod person;
pub mod place;
pub mod principal;
pub mod project;
pub mod random;
mod recent_claims;
pub mod reception;
pub mod review;
pub mod runner;
pub mod seal;
pub mod sections;
pub mod service;
pub mod settings;
pub mod setup;
pub mod spawn;
pub mod task_extra;
pub mod team;
pub mod together;
pub mod token;
pub mod trust;
pub mod turn_proof;
pub mod turns;
pub mod yaml;

pub use error::Error;
pub use service::Service;
