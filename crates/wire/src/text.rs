//! Functions that check and count words, sentences and names, as the protocols define them.

use icu_segmenter::SentenceSegmenter;

/// Returns true when a text is empty or has only characters that are white space by Unicode.
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

/// Returns true when a text is a legal id of a task, project or client in an Agent Wire message.
pub fn is_id(text: &str) -> bool {
    !text.is_empty() && text.chars().count() <= 128 && !text.contains(char::is_whitespace)
}

/// Returns true when a text has more than `max` sentences. Blank sentences do not count.
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

/// The maximum number of letters of a word that [`distance`] compares, because the time grows with the square of the
/// length. All words of Handover's own formats are shorter.
const LETTERS_MAX: usize = 64;

/// Returns the number of letters to change, add or remove to turn one word into the other. Looks only at the first 64
/// letters of each word.
pub fn distance(left: &str, right: &str) -> usize {
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

/// Returns the known word that is most similar to `word`, for the question "did you mean …?". Returns `None` when no
/// known word is similar: when more than half of the letters would have to change.
pub fn nearest_word<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let near = known.into_iter().map(|name| (distance(word, name), name));
    let (distance, name) = near.min_by_key(|(distance, name)| (*distance, name.len()))?;
    (distance <= word.chars().take(LETTERS_MAX).count().max(4) / 2).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_word_is_the_one_with_the_fewest_changed_letters() {
        let known = ["depends_on", "description", "name", "touches"];
        let cases = [
            ("depend_on", Some("depends_on")),
            ("dependsOn", Some("depends_on")),
            ("touch", Some("touches")),
            ("nmae", Some("name")),
            ("colour", None),
            ("", None),
        ];
        for (word, expected) in cases {
            assert_eq!(nearest_word(word, known), expected, "{word}");
        }
        assert_eq!(nearest_word("name", []), None);
        let long = "n".repeat(1_000_000);
        assert_eq!(nearest_word(&long, known), None);
    }
}
