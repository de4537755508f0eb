//! What Handover speaks: five agent protocols, each a module with types that can only hold legal values.
//!
//! | protocol | modules | judge with |
//! |---|---|---|
//! | 1 input and output envelope | [`envelope`] | [`envelope::judge_input`], [`envelope::judge_output`] |
//! | 2 Agent Feedback Protocol 1.2 | [`feedback`], [`stream`] | [`feedback::judge_request`], [`feedback::judge_response`], [`stream::read`] |
//! | 3 handoff contract | [`handoff`] | [`handoff::judge`] |
//! | 4 Agent Wire 1.0 and Agent Card | [`message`], [`card`], [`prompt`] | [`message::judge`], [`card::judge`], [`prompt::assemble`] |
//! | 5 lifecycle calls | [`lifecycle`] | [`lifecycle::judge`] |
//!
//! Judging gives every problem at once, in the order of the rules, each with a code, a place and a sentence for whoever must
//! repair the document; and, when there is none, the typed value. [`check`](check::check) does it for any kind by name, as the
//! command line does.
//!
//! How it is built:
//! - [`json`] reads RFC 8259 strictly and remembers where everything stood; nothing is guessed and no number is rounded.
//! - [`shape`] declares an object once. Its type, its reader, its writer and its JSON Schema come from the same lines, so that
//!   they cannot part. [`definitions`] lists the schemas.
//! - [`report`] keeps problems small and puts them into words when they are read.
//! - [`translate`] turns documents into the engine's commands and its state into documents; [`convert`] turns one dialect into
//!   another. Both say what they could not carry.
//! - [`context`] fits what a worker must know into a number of tokens, which [`tokens`] estimates.
//!
//! Nothing here does I/O, reads a clock or panics on input; a mebibyte of anything is judged in milliseconds.

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
