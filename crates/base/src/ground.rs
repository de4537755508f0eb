//! The modules that all other modules use: time, random numbers, hashes, differences of texts, stored objects, YAML,
//! and the words for numbers and times.

pub mod clock;
pub mod difference;
pub mod digest;
pub mod local_time;
pub mod machine;
pub mod objects;
pub mod random;
pub mod words;
pub mod yaml;
