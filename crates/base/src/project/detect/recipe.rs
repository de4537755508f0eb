//! Readers of the files of task runners, which tell whether a recipe tests anything.

pub(super) mod justfile;
pub(super) mod makefile;
pub(super) mod script;
