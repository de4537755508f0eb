//! Readers for the files of task runners (makefile, justfile). They tell whether a recipe tests anything.

pub(super) mod justfile;
pub(super) mod makefile;
pub(super) mod script;
