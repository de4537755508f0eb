//! Reads the files of task runners (makefile, justfile) to find out if a recipe tests anything.

pub(super) mod justfile;
pub(super) mod makefile;
pub(super) mod script;
