//! Words, sentences and names, counted as the rules count them.

use icu_segmenter::SentenceSegmenter;

/// Empty, or only white space by the Unicode property.
pub fn is_blank(text: &str) -> bool {
    text.chars().all(char::is_whitespace)
}

pub fn is_slug(text: &str) -> bool {
    let letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = text.as_bytes();
    bytes.len() <= 64
        && bytes.first().is_some_and(|first| letter(*first))
        && bytes.iter().all(|byte| letter(*byte) || matches!(byte, b'_' | b'-'))
}

/// A task, project or client id.
pub fn is_id(text: &str) -> bool {
    !text.is_empty() && text.chars().count() <= 128 && !text.contains(char::is_whitespace)
}

/// Whether there are more sentences than allowed, blank ones not counted.
pub fn sentences_over(text: &str, max: usize) -> bool {
    let segmenter = SentenceSegmenter::new(icu_segmenter::options::SentenceBreakInvariantOptions::default());
    let mut last = 0;
    let mut count = 0;
    for boundary in segmenter.segment_str(text) {
        count += usize::from(!is_blank(&text[last..boundary]));
        last = boundary;
        if count > max {
            return true;
        }
    }
    false
}

/// How many letters must be changed, added or removed to make one word of another. Of long words the beginning counts.
pub fn distance(left: &str, right: &str) -> usize {
    const LETTERS_MAX: usize = 64;
    let (left, right) = [left, right].map(|word| word.chars().take(LETTERS_MAX).collect::<Vec<char>>()).into();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (above, letter) in left.iter().enumerate() {
        let mut corner = above;
        row[0] = above + 1;
        for (at, other) in right.iter().enumerate() {
            let changed = corner + usize::from(letter != other);
            corner = row[at + 1];
            row[at + 1] = changed.min(corner + 1).min(row[at] + 1);
        }
    }
    row[right.len()]
}
