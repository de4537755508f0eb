//! The token costs of runs of punctuation.

use super::{CLASSES, CharacterClass, UNIT};

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

/// The prices of a punctuation character after a different one, in parts of a token. The row is the group of the first
/// character, the column the group of the second.
const PAIRS: [[i8; 9]; 9] = [
    [23, 22, 13, 7, 17, 18, 23, 19, 8],
    [8, 16, 10, 21, 20, 18, 22, 18, 10],
    [18, 16, 14, 8, 11, 17, 17, 24, -3],
    [14, 17, 23, 22, 25, 13, 22, 19, -6],
    [18, 21, 22, 25, 19, 9, 26, 21, 5],
    [15, 24, 27, 29, 16, 21, 20, 23, -5],
    [23, 22, 26, 27, 27, 18, 25, 23, 16],
    [26, 17, 27, 24, 30, 26, 31, 27, 18],
    [0, 0, 0, 0, 0, 17, 0, 0, 0],
];

/// The prices of repeating a punctuation character, in parts of a token. The index is the group of the character.
const SAME: [i8; 9] = [12, 18, 18, 7, 2, 8, 5, 12, 6];
/// Characters with which people draw lines, such as `----`. Tokenizers have tokens for long runs of them, so such a run
/// costs little.
const RULED: &[u8] = b"-=*#_./~";
const RULED_PRICE: i64 = 2;
/// The amount that is subtracted from the price of every run of punctuation. Short runs are common, so tokenizers have
/// tokens for them.
const FREE: i64 = 8;

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

/// Returns the token cost and the length in bytes of the run of punctuation with which the bytes begin.
pub(super) fn run(bytes: &[u8]) -> (u64, usize) {
    let is_mark = |byte: &u8| CLASSES[usize::from(*byte)] == CharacterClass::Mark;
    let marks = bytes.iter().position(|byte| !is_mark(byte)).unwrap_or(bytes.len());
    let tail =
        bytes[marks..].iter().position(|byte| !matches!(byte, b'\n' | b'\r' | b'/')).unwrap_or(bytes.len() - marks);
    let length = marks + tail;
    let step = |pair: &[u8]| {
        let (left, right) = (usize::from(USES[usize::from(pair[0])]), usize::from(USES[usize::from(pair[1])]));
        match pair[0] == pair[1] {
            true if RULED.contains(&pair[0]) => RULED_PRICE,
            true => i64::from(SAME[left]),
            false => i64::from(PAIRS[left][right]),
        }
    };
    let total: i64 = bytes[..length].windows(2).map(step).sum();
    (UNIT + u64::try_from(total - FREE).unwrap_or(0), length)
}
