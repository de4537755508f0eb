//! Tests of the protocols as a whole: the cases of the rules, the examples of the specifications, the schemas, and the
//! properties of every document.
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
