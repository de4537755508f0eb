//! Reads the text of a shell command: `script` splits it into words, and `word` describes one word.

mod escape;
pub(crate) mod script;
pub(crate) mod word;

pub(crate) use escape::unescaped;
