//! The only source of chance.

use crate::error::Error;

/// Random bits from the operating system.
pub fn seed() -> Result<u128, Error> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| Error::Random(error.to_string()))?;
    Ok(u128::from_le_bytes(bytes))
}

/// A short text nobody else has, for example the token of a plan that is being written.
pub fn token() -> Result<String, Error> {
    Ok(format!("{:032x}", seed()?))
}

/// For a new store: tells its cursors from those of another.
pub fn store_seed() -> Result<u64, Error> {
    Ok(u64::try_from(seed()? >> 64).unwrap_or_default())
}
