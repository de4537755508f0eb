//! Describes which files a program writes and which commands it runs, by tables of the program's options.

pub(crate) mod effect;
pub(crate) mod git;
pub(crate) mod options;
pub(crate) mod program;
pub(crate) mod table;
pub(crate) mod wrapper;
