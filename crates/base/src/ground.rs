//! The modules that all other modules use: time, random numbers, hashes, differences of texts, stored objects and YAML.

pub mod clock;
pub mod difference;
pub mod digest;
pub mod objects;
pub mod random;
pub mod yaml;
