//! Command texts as words: the reader of a script and the words that it finds.

mod escape;
pub(crate) mod script;
pub(crate) mod word;

pub(crate) use escape::unescaped;
