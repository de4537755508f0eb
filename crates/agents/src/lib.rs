//! Starts, reads and ends the programs of agents. This crate does not know tasks or workflows.
//!
//! - [`adapter`] knows the agents' programs, such as Claude Code: their command lines, their event streams, their
//!   permissions.
//! - [`host`] is the small process that starts a turn's program, keeps its output and ends all of its processes.
//! - [`program`] runs one turn of one program, with an adapter and a host.

pub mod adapter;
pub mod host;
pub mod program;
