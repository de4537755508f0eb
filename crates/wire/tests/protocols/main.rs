//! Tests of all agent protocols: the test cases of the rules, the examples of the specifications, the JSON Schemas, and
//! properties that every document must have.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

mod acts;
mod cases;
mod context;
mod definitions;
mod examples;
mod facts;
mod handoff;
mod hostile;
mod properties;
mod random;
mod tokens;
mod tools;
mod vectors;
