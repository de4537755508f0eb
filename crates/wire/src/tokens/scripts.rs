//! The token costs of characters that are not Latin, by their Unicode block.
//!
//! When the tokenizer knows the words of a script, a character costs only a part of a token. Characters of other
//! scripts cost up to one token for each byte. Languages that share a script have different costs. The price of a block
//! is high enough for the most expensive of the common languages that use the block.

/// The first character of each Unicode block, and the price of one character of the block in sixteenths of a token. A
/// block ends before the first character of the next row.
const BLOCKS: &[(u32, u16)] = &[
    (0x0080, 28),
    (0x0250, 32),
    (0x0370, 12),
    (0x0400, 16),
    (0x0410, 8),
    (0x0450, 14),
    (0x0460, 28),
    (0x0530, 10),
    (0x0590, 18),
    (0x05d0, 12),
    (0x0600, 18),
    (0x0620, 10),
    (0x064b, 20),
    (0x0660, 18),
    (0x0700, 36),
    (0x0800, 48),
    (0x0900, 12),
    (0x0980, 14),
    (0x0a00, 16),
    (0x0a80, 13),
    (0x0b00, 40),
    (0x0b80, 12),
    (0x0d80, 14),
    (0x0e00, 13),
    (0x0e80, 34),
    (0x0f00, 30),
    (0x1000, 16),
    (0x1050, 30),
    (0x10a0, 12),
    (0x1100, 48),
    (0x1200, 40),
    (0x1380, 52),
    (0x1780, 15),
    (0x1800, 48),
    (0x1f00, 40),
    (0x2000, 24),
    (0x2070, 40),
    (0x2190, 24),
    (0x2200, 36),
    (0x2500, 20),
    (0x25a0, 32),
    (0x2700, 32),
    (0x27c0, 44),
    (0x3000, 18),
    (0x3040, 18),
    (0x3100, 44),
    (0x3400, 48),
    (0x4e00, 22),
    (0xa000, 50),
    (0xac00, 19),
    (0xd7b0, 48),
    (0xfe00, 20),
    (0xfe10, 48),
    (0xff00, 28),
    (0xfff0, 32),
    (0x1_0000, 66),
    (0x1_f000, 38),
    (0x1_fb00, 66),
    (0x2_0000, 50),
];

pub(super) fn price(found: char) -> u64 {
    let code = u32::from(found);
    let behind = BLOCKS.partition_point(|(first, _)| *first <= code);
    behind.checked_sub(1).and_then(|block| BLOCKS.get(block)).map_or(32, |(_, price)| u64::from(*price) * 2)
}

/// Returns true when people draw lines with this character. Tokenizers have tokens for runs of such characters, so
/// these runs cost little.
pub(super) fn is_ruled(found: char) -> bool {
    matches!(found, '─' | '━' | '═' | '—' | '…')
}

/// The price of each repetition of a character with which people draw lines, such as `───`, in weight units. One token
/// has [`UNIT`](super::UNIT) weight units.
pub(super) const RULED_PRICE: u64 = 6;
