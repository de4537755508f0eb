//! Makes texts that real folders rarely contain: words with typing errors, and random characters. Without these texts,
//! a sequence of letters that occurs in no folder would get the price 0.

use chance::SeededRandom;

use crate::texts::TextFolder;

/// The approximate number of texts that are made of each kind: texts with typing errors, and texts of random
/// characters.
const TEXTS: usize = 400;
/// The length of a text of random characters, in bytes.
const TEXT_BYTES: usize = 2_000;
/// The importance of texts with typing errors and of texts of random characters, compared with the importance 1 of a
/// folder of real texts. People write such texts less often.
const TYPOS_IMPORTANCE: f64 = 0.3;
const RANDOM_IMPORTANCE: f64 = 0.2;
const SEED: u64 = 19;

const LETTERS: &[u8] = b"abcdefghijklmnopqrstuvwxyz";
const HEX: &[u8] = b"0123456789abcdef";
const BASE64: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const MARKS: &[u8] = b"!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~ ";
const PRINTABLE: &[u8] =
    b"!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/// The kinds of random texts. Each kind has the characters of its words, the maximum number of characters of a word,
/// and the text after each word.
const KINDS: [(&[u8], usize, &str); 8] = [
    (LETTERS, 12, " "),
    (LETTERS, 12, "\n"),
    (LETTERS, 6, "_"),
    (BASE64, 2_000, "\n"),
    (HEX, 40, ", "),
    (HEX, 4, "\\u"),
    (MARKS, 30, "\n"),
    (PRINTABLE, 100, "\n"),
];

/// Returns copies of texts from the folders. In each copy, every third word has a typing error.
pub(crate) fn typos(folders: &[TextFolder]) -> TextFolder {
    let random = &mut SeededRandom::new(SEED);
    let texts: Vec<&String> = folders.iter().flat_map(|folder| &folder.fitted).collect();
    let mut made: Vec<String> = Vec::new();
    for text in texts.iter().step_by((texts.len() / TEXTS).max(1)) {
        let words = text.split_inclusive(' ').enumerate();
        made.push(words.map(|(at, word)| if at % 3 == 0 { misspell(random, word) } else { word.to_owned() }).collect());
    }
    TextFolder::divide("typos", TYPOS_IMPORTANCE, made.iter().map(String::as_str))
}

fn misspell(random: &mut SeededRandom, word: &str) -> String {
    let mut letters: Vec<char> = word.chars().collect();
    let is_inside = |at: &usize| letters[at - 1].is_alphabetic() && letters[*at].is_alphabetic();
    let places: Vec<usize> = (1..letters.len()).filter(is_inside).collect();
    let Some(at) = random.pick(&places).copied() else { return word.to_owned() };
    match random.below(4) {
        0 => letters.swap(at - 1, at),
        1 => drop(letters.remove(at)),
        2 => letters.insert(at, letters[at]),
        _ => letters[at] = char::from(*random.one_of(LETTERS)),
    }
    letters.into_iter().collect()
}

/// Returns texts of random characters.
pub(crate) fn random() -> TextFolder {
    let random = &mut SeededRandom::new(SEED);
    let mut made: Vec<String> = Vec::new();
    for (characters, longest, after) in KINDS.into_iter().cycle().take(TEXTS) {
        let mut text = String::new();
        while text.len() < TEXT_BYTES {
            let length = 1 + random.below(longest);
            text.extend((0..length).map(|_| char::from(*random.one_of(characters))));
            text.push_str(after);
        }
        made.push(text);
    }
    TextFolder::divide("random", RANDOM_IMPORTANCE, made.iter().map(String::as_str))
}
