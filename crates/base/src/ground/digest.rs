//! SHA-256 hashes as hexadecimal text.

pub use engine::hex::hexadecimal;
use sha2::{Digest as _, Sha256};

pub fn sha256(bytes: &[u8]) -> String {
    hexadecimal(&Sha256::digest(bytes))
}
