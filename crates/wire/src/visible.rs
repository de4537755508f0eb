//! Shows text that agents or other programs wrote so that a person can judge it. Makes characters visible that hide,
//! reorder or control text, and leaves out secrets.
//!
//! The text of an agent can be made to look like another text. For example, `U+202E` reverses the reading direction,
//! `U+200B` splits a word invisibly, and an escape sequence erases the text before it.

mod redact;

pub use redact::redacted;

/// Returns true when a character is invisible. Returns true also for line feed and tab, so a caller that wants to keep
/// these two must check for them first.
pub fn is_hidden(letter: char) -> bool {
    letter.is_control()
        || matches!(letter,
            // Invisible characters: soft hyphen, grapheme joiner, Arabic letter mark, fillers.
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{3164}' | '\u{ffa0}'
            // Invisible characters: Mongolian separators and selectors.
            | '\u{180b}'..='\u{180f}'
            // Invisible characters: zero-width space, joiners, direction marks.
            | '\u{200b}'..='\u{200f}'
            // Invisible characters: line and paragraph separators, embeddings and overrides of the reading direction.
            | '\u{2028}'..='\u{202e}'
            // Invisible characters: word joiner, invisible operators, direction isolates, deprecated format characters.
            | '\u{2060}'..='\u{206f}'
            // Invisible characters: byte order mark, interlinear annotation.
            | '\u{feff}' | '\u{fff0}'..='\u{fffb}'
            // Invisible characters: format characters of scripts and music.
            | '\u{13430}'..='\u{1345f}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
            // Invisible characters: tags, variation selectors, and the range that is reserved for more of them.
            | '\u{e0000}'..='\u{e0fff}')
}

/// Returns true when a character is a variation selector, which chooses between two glyphs of the character before it.
/// Several selectors in a row can carry a hidden text.
fn is_selector(letter: char) -> bool {
    matches!(letter, '\u{fe00}'..='\u{fe0f}')
}

/// Returns true when a variation selector may follow this character. For example, it may follow an emoji, an ideograph,
/// or the base of a keycap (`1`, `#`).
fn takes_selector(letter: char) -> bool {
    (!letter.is_ascii() && !is_hidden(letter) && !is_selector(letter))
        || letter.is_ascii_digit()
        || "#*".contains(letter)
}

/// Returns a text on one line. A line break or a tab becomes a blank. Every other hidden character is shown by its
/// number, such as `<U+202E>`.
pub fn one_line(text: &str) -> String {
    let text = text.replace("\r\n", " ");
    marked(&text, |letter| if matches!(letter, '\n' | '\t') { Some(' ') } else { None })
}

/// Returns a text with its line breaks and tabs. Every other hidden character is shown by its number, such as
/// `<U+202E>`.
pub fn lines(text: &str) -> String {
    marked(&text.replace("\r\n", "\n"), |letter| matches!(letter, '\n' | '\t').then_some(letter))
}

fn marked(text: &str, keep: impl Fn(char) -> Option<char>) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut before = ' ';
    for letter in text.chars() {
        let is_shown = if is_selector(letter) { takes_selector(before) } else { !is_hidden(letter) };
        match keep(letter) {
            Some(kept) => shown.push(kept),
            None if is_shown => shown.push(letter),
            None => shown.push_str(&format!("<U+{:04X}>", u32::from(letter))),
        }
        before = letter;
    }
    shown
}

/// Returns JSON with the same value, in which hidden characters are escaped, such as `\u202e`. The whole JSON text can
/// be passed: outside of strings, JSON has no hidden characters except line breaks and tabs, which are kept.
pub fn json(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        let is_blank = matches!(letter, '\n' | '\r' | '\t');
        if (is_hidden(letter) || is_selector(letter)) && !is_blank {
            let mut units = [0; 2];
            letter.encode_utf16(&mut units).iter().for_each(|unit| escaped.push_str(&format!("\\u{unit:04x}")));
        } else {
            escaped.push(letter);
        }
    }
    escaped
}

/// Returns a text in the form in which it is shown to a person who must decide about it: on one line, with `[redacted]`
/// in the place of every part that looks like a secret.
pub fn decided(text: &str) -> String {
    one_line(&redacted(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Test cases: texts of agents, each with the line that is shown to a person.
    const CASES: &[(&str, &str)] = &[
        ("git push origin main", "git push origin main"),
        ("rm -rf \u{202e}gpj.", "rm -rf <U+202E>gpj."),
        ("a\u{2066}b\u{2069}c", "a<U+2066>b<U+2069>c"),
        ("left\u{200e}right\u{200f}mark\u{61c}", "left<U+200E>right<U+200F>mark<U+061C>"),
        ("pass\u{200b}word\u{200d}\u{2060}\u{feff}", "pass<U+200B>word<U+200D><U+2060><U+FEFF>"),
        ("\x1b[2K\rharmless", "<U+001B>[2K<U+000D>harmless"),
        ("bell\x07 back\x08 del\x7f c1\u{9b}31m", "bell<U+0007> back<U+0008> del<U+007F> c1<U+009B>31m"),
        ("tag\u{e0041}\u{e007f}", "tag<U+E0041><U+E007F>"),
        ("one\ntwo\tthree\r\nfour", "one two three four"),
        ("heart \u{2764}\u{fe0f}, key 1\u{fe0f}\u{20e3}", "heart \u{2764}\u{fe0f}, key 1\u{fe0f}\u{20e3}"),
        ("x\u{fe0f}\u{fe01}", "x<U+FE0F><U+FE01>"),
        ("\u{2764}\u{fe0f}\u{fe01}", "\u{2764}\u{fe0f}<U+FE01>"),
        ("soft\u{ad}hyphen \u{3164}filler", "soft<U+00AD>hyphen <U+3164>filler"),
        ("Réinitialiser — 重置 שלום", "Réinitialiser — 重置 שלום"),
    ];

    #[test]
    fn hidden_characters_are_shown() {
        for (text, shown) in CASES {
            assert_eq!(one_line(text), *shown, "{text:?}");
        }
        assert_eq!(lines("a\n\tb\r\n\u{202e}c\r"), "a\n\tb\n<U+202E>c<U+000D>");
    }

    #[test]
    fn json_means_the_same_and_hides_nothing() {
        for (text, _) in CASES {
            let plain = serde_json::json!({ "text": text }).to_string();
            let escaped = json(&plain);
            assert_eq!(serde_json::from_str::<serde_json::Value>(&escaped).unwrap(), serde_json::json!({"text": text}));
            assert!(!escaped.chars().any(|letter| is_hidden(letter) || is_selector(letter)), "{escaped:?}");
        }
        assert_eq!(json("\"\u{202e}\u{e0041}\""), "\"\\u202e\\udb40\\udc41\"");
    }

    #[test]
    fn a_decision_shows_no_secret() {
        assert_eq!(decided("deploy with token=hnd_0123456789abcdef\u{202e}"), "deploy with token=[redacted]");
    }
}
