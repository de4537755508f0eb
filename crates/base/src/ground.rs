//! The modules that all other modules use: time, random numbers, hashes, stored objects and YAML.

pub mod clock;
pub mod digest;
pub mod objects;
pub mod random;
pub mod yaml;
