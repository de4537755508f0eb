//! The modules that every interface and the runner use: the service that executes commands and reads, the files and
//! settings of a project, the decisions of people, and the readers of time, random numbers and files.
//!
//! This crate opens no interface and knows no agent's program. Its modules use each other in this order only:
//!
//! ```text
//! people ──> service ──> live ──> ground ──> error
//!                        project ──> ground
//! ```

#[cfg(not(unix))]
compile_error!("handover needs a Unix system: it uses process groups, file locks and file permissions");

pub mod error;
pub mod ground;
pub mod live;
pub mod people;
pub mod project;
pub mod service;

pub use error::Error;
pub use service::Service;
