//! What Handover speaks: five agent protocols, each a module with types that can only hold legal values.
pub mod card;
pub mod check;
pub mod definitions;
pub mod document;
pub mod envelope;
pub mod feedback;
pub mod handoff;
pub mod json;
pub mod message;
pub mod path;
pub mod prompt;
pub mod report;
pub mod schema;
pub mod shape;
pub mod stream;
pub mod text;
pub mod time;
