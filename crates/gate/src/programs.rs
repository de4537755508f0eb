//! Describes which files programs write and which commands they run, with tables of their options.

pub(crate) mod effect;
pub(crate) mod git;
pub(crate) mod options;
pub(crate) mod program;
pub(crate) mod table;
pub(crate) mod wrapper;
