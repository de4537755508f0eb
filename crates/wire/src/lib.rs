//! The five agent protocols of Handover. Each protocol has one or more modules, whose types can only hold legal values.
//!
//! | protocol | modules | judge with |
//! |---|---|---|
//! | 1 input and output envelope | [`envelope`] | [`envelope::judge_input`], [`envelope::judge_output`] |
//! | 2 Agent Feedback Protocol 1.2 | [`feedback`], [`stream`] | [`feedback::judge_request`], [`feedback::judge_response`], [`stream::read`] |
//! | 3 handoff contract | [`handoff`] | [`handoff::judge`] |
//! | 4 Agent Wire 1.0 and Agent Card | [`message`], [`card`], [`prompt`] | [`message::judge`], [`card::judge`], [`prompt::assemble`] |
//! | 5 lifecycle calls | [`lifecycle`] | [`lifecycle::judge`] |
//!
//! Checking a document returns all of its problems in one report, in the order of the rules. Each problem has a code, a
//! place and a sentence for the author who must repair the document. A document without problems is returned as a typed
//! value. [`check`](check::check) checks documents of every kind; its caller, such as the command line, names the kind.
//!
//! The parts of this crate:
//! - [`json`] reads RFC 8259 strictly and keeps the place of every value. It guesses nothing and rounds no number.
//! - [`shape`] declares an object once. Its type, its reader, its writer and its JSON Schema come from the same lines,
//!   so that they cannot differ. [`definitions`] lists the schemas.
//! - [`report`] stores each problem in little memory and makes the text of a problem only when a caller asks for it.
//! - [`translate`] turns documents into the engine's commands and the engine's state into documents. [`convert`] turns
//!   documents of one protocol into documents of another. Both report the parts that they could not translate.
//! - [`context`] cuts the facts that a worker must know to a number of tokens, which [`tokens`] estimates.
//!
//! This crate does no I/O, reads no clock and does not panic on any input. It checks one mebibyte of any input in
//! milliseconds.

pub mod card;
pub mod check;
pub mod context;
pub mod convert;
pub mod definitions;
pub mod document;
pub mod envelope;
pub mod feedback;
pub mod handoff;
pub mod json;
pub mod lifecycle;
pub mod message;
pub mod output;
pub mod path;
pub mod prompt;
pub mod reply;
pub mod report;
pub mod schema;
pub mod shape;
pub mod stream;
pub mod text;
pub mod time;
pub mod tokens;
pub mod translate;
pub mod visible;

/// The engine's functions for globs (patterns of file names), for crates that may not depend on the engine.
pub use engine::glob;
