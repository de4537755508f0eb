//! Handover as a library: the interfaces (MCP, HTTP, command line, hooks), and everything that only they need. The
//! crate `base` has the service that all of them call.

#[cfg(not(unix))]
compile_error!("handover needs a Unix system: it uses process groups, file locks and file permissions");

pub mod attention;
pub mod below;
pub mod demo;
pub mod desk;
pub mod doctor;
pub mod hook;
pub mod http;
pub mod keeper;
pub mod notify;
pub mod office;
pub mod person;
pub mod plan_file;
pub mod reception;
pub mod setup;
pub mod side_program;
pub mod token;
