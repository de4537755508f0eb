//! The token costs of runs of punctuation.

use super::pieces::PiecePrices;
use super::prices;
use super::{CLASSES, CharacterClass};

/// Groups of punctuation characters by their use. All characters of one group have the same token costs.
const QUOTE: u8 = 0;
const OPEN: u8 = 1;
const CLOSE: u8 = 2;
const LIST: u8 = 3;
const STOP: u8 = 4;
const SLASH: u8 = 5;
const SIGN: u8 = 6;
const NAME: u8 = 7;
const LINE: u8 = 8;

/// Characters with which people draw lines. Tokenizers have tokens for long runs of them, so such a run costs little.
const RULED: &[u8] = b"-=*#_./~";

const fn use_of(byte: u8) -> u8 {
    match byte {
        b'"' | b'\'' | b'`' => QUOTE,
        b'(' | b'[' | b'{' => OPEN,
        b')' | b']' | b'}' => CLOSE,
        b',' | b';' | b':' => LIST,
        b'.' | b'!' | b'?' => STOP,
        b'/' | b'\\' => SLASH,
        b'#' | b'$' | b'@' | b'_' => NAME,
        b'\n' | b'\r' => LINE,
        _ => SIGN,
    }
}

/// The group of punctuation to which each byte belongs.
const USES: [u8; 256] = {
    let mut uses = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        uses[byte] = use_of(byte as u8);
        byte += 1;
    }
    uses
};

/// Reads the run of punctuation with which the bytes begin, adds its prices (parts of its token cost) to `prices`, and
/// returns its length in bytes.
pub(super) fn read(bytes: &[u8], prices: &mut impl PiecePrices) -> usize {
    let is_mark = |byte: &u8| CLASSES[usize::from(*byte)] == CharacterClass::Mark;
    let marks = bytes.iter().position(|byte| !is_mark(byte)).unwrap_or(bytes.len());
    let tail =
        bytes[marks..].iter().position(|byte| !matches!(byte, b'\n' | b'\r' | b'/')).unwrap_or(bytes.len() - marks);
    let length = marks + tail;
    prices.add(prices::MARK_RUN, 1);
    for pair in bytes[..length].windows(2) {
        let (left, right) = (USES[usize::from(pair[0])], USES[usize::from(pair[1])]);
        let place = match pair[0] == pair[1] {
            true if RULED.contains(&pair[0]) => prices::MARK_RULED,
            true => prices::mark_same(left),
            false => prices::mark_pair(left, right),
        };
        prices.add(place, 1);
    }
    length
}
