//! Handover as a library: the service that every door calls, and what reads time and chance.

pub mod clock;
pub mod error;
pub mod place;
pub mod project;
pub mod random;
pub mod service;

pub use error::Error;
pub use service::Service;
