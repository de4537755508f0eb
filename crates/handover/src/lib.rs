//! Handover as a library: the service that every door calls, and what reads time and chance.

pub mod answers;
pub mod approvals;
pub mod clock;
pub mod demo;
pub mod desk;
pub mod digest;
pub mod doctor;
pub mod error;
pub mod feed;
pub mod http;
pub mod keeper;
pub mod live;
pub mod mcp;
pub mod objects;
pub mod office;
pub mod person;
pub mod place;
pub mod project;
pub mod random;
pub mod reception;
pub mod review;
pub mod runner;
pub mod sections;
pub mod service;
pub mod settings;
pub mod setup;
pub mod spawn;
pub mod token;
pub mod trust;
pub mod turns;
pub mod worktree;
pub mod yaml;

pub use error::Error;
pub use service::Service;
