//! The only code that asks the operating system for random numbers.

use std::sync::{Mutex, PoisonError};

use crate::error::Error;

/// The number of seeds (random numbers of 128 bits) that one system call fetches. A system call per seed would be
/// slower.
const SEEDS: usize = 16;
const SEED_BYTES: usize = 16;

/// Seeds from the operating system that are not used yet. A seed is removed before it is returned, so no seed is used
/// twice.
static UNUSED: Mutex<Vec<u128>> = Mutex::new(Vec::new());

/// Returns 128 random bits from the operating system.
pub fn seed() -> Result<u128, Error> {
    let mut unused = UNUSED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(seed) = unused.pop() {
        return Ok(seed);
    }
    let mut bytes = [0; SEEDS * SEED_BYTES];
    getrandom::fill(&mut bytes).map_err(|error| Error::Random(error.to_string()))?;
    let (seeds, _) = bytes.as_chunks::<SEED_BYTES>();
    unused.extend(seeds.iter().copied().map(u128::from_le_bytes));
    unused.pop().ok_or_else(|| Error::Random("no bytes".to_owned()))
}

/// Returns 32 random hexadecimal digits, which serve as a unique name, for example of an unfinished plan.
pub fn token() -> Result<String, Error> {
    Ok(format!("{:032x}", seed()?))
}

/// Returns the random number that identifies a new store. The store's cursors (positions in its log) contain it, so
/// that a cursor of another store is recognised.
pub fn store_seed() -> Result<u64, Error> {
    Ok(u64::try_from(seed()? >> 64).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_seed_is_given_twice() {
        let seeds: std::collections::HashSet<u128> = (0..10 * SEEDS).map(|_| seed().unwrap()).collect();
        assert_eq!(seeds.len(), 10 * SEEDS);
    }
}
