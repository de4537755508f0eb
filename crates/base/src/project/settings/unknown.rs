//! Writes the error message for a settings file that cannot be parsed. For an unknown key or value, the message has its
//! line and the most similar known key or value.

use super::SettingsText;

/// Returns the message that a person reads when the parser refuses the text of a settings file.
pub(super) fn told(text: &str, error: &toml::de::Error) -> String {
    let (noun, found) = match (unknown(error.message(), "field"), unknown(error.message(), "variant")) {
        (Some(key), _) => ("key", key),
        (None, Some(word)) => ("word", word),
        (None, None) => return error.to_string(),
    };
    let (typed, known) = found;
    let line = error
        .span()
        .map_or_else(|| line_of(text, &typed), |span| 1 + text[..span.start.min(text.len())].matches('\n').count());
    let near = nearest(&typed, &known).map(|near| format!("; did you mean `{near}`?"));
    let all = || format!("; the {noun}s here are {}", known.join(", "));
    format!("line {line}: there is no {noun} `{typed}`{}", near.unwrap_or_else(all))
}

/// Returns the line of a key. The parser cannot tell the line when it parsed both settings files together.
fn line_of(text: &str, key: &str) -> usize {
    let sets = |line: &str| line.trim_start().strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with('='));
    let is_value = |line: &str| line.contains(&format!("\"{key}\""));
    1 + text.lines().position(sets).or_else(|| text.lines().position(is_value)).unwrap_or_default()
}

/// Checks `local.toml` alone. A missing key is no error here, because an agent of `local.toml` may have this key in
/// `config.toml`.
pub(super) fn look(text: &str) -> Result<(), String> {
    match toml::from_str::<SettingsText>(text) {
        Ok(_) => Ok(()),
        Err(error) if error.message().starts_with("missing field") => Ok(()),
        Err(error) => Err(told(text, &error)),
    }
}

/// Returns the unknown key (`field`) or value (`variant`) that the parser found, and the keys or values that are
/// allowed there. Both are taken from the text of the parser's error, because the parser gives them in no other form:
/// unknown field `x`, expected one of `a`, `b`.
fn unknown(message: &str, kind: &str) -> Option<(String, Vec<String>)> {
    let (typed, rest) = message.strip_prefix(&format!("unknown {kind} `"))?.split_once('`')?;
    let known = rest.split('`').skip(1).step_by(2).map(str::to_owned).collect();
    Some((typed.to_owned(), known))
}

/// Returns the known key that a person probably meant: the one with the fewest different letters, if at most a third of
/// the letters differ.
fn nearest<'k>(key: &str, known: &'k [String]) -> Option<&'k str> {
    let by_distance = known.iter().map(|other| (distance(key, other), other));
    let (found, other) = by_distance.min()?;
    (found <= key.len().max(other.len()).div_ceil(3)).then_some(other.as_str())
}

/// Returns the number of letters to insert, remove or replace that turns one word into the other.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (number, letter) in one.chars().enumerate() {
        let mut above_left = row[0];
        row[0] = number + 1;
        for column in 0..other.len() {
            let replaced = above_left + usize::from(letter != other[column]);
            above_left = row[column + 1];
            row[column + 1] = replaced.min(above_left + 1).min(row[column] + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use crate::project::settings::parse;

    #[test]
    fn an_unknown_key_is_told_with_its_line_and_the_nearest_key() {
        let rows = [
            ("[worktree]\n\nsetpu = []", "line 3: there is no key `setpu`; did you mean `setup`?"),
            ("[verify]\ncheck = []", "line 2: there is no key `check`; did you mean `checks`?"),
            ("[verify]\nchecks = [{ command = [\"a\"], second = 1 }]", "did you mean `seconds`?"),
            ("[env]\nkeep = []", "line 2: there is no key `keep`; the keys here are pass, drop"),
            ("verfy = 1", "line 1: there is no key `verfy`; did you mean `verify`?"),
            ("[routes]\nspec_gab = \"pm\"", "there is no word `spec_gab`; did you mean `spec_gap`?"),
        ];
        for (text, told) in rows {
            let problem = parse(text).err().unwrap_or_default();
            assert!(problem.contains(told), "{text}\n{problem}");
        }
    }
}
