//! Removes every part of a text that looks like a secret, before the text is shown to a person or leaves this machine.
//! A part is also removed when it is not certain that the part is a secret.

/// The text that replaces a secret.
const HIDDEN: &str = "[redacted]";

/// The prefixes by which well-known services mark their secrets, such as `sk-`.
const PREFIXES: &[&str] = &[
    "sk-",
    "sk_",
    "rk_",
    "pk_live_",
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "ghr_",
    "github_pat_",
    "glpat-",
    "xoxa-",
    "xoxb-",
    "xoxp-",
    "xoxs-",
    "xapp-",
    "AKIA",
    "ASIA",
    "AIza",
    "ya29.",
    "npm_",
    "pypi-",
    "hnd_",
    "whsec_",
    "eyJ",
    "dop_v1_",
    "hf_",
    "SG.",
    "shpat_",
    "sntrys_",
    "age-secret-key-",
];
/// A word that begins like the secrets of a known service counts as a secret if it has at least this many characters. A
/// shorter word is shown.
const SECRET_CHARS_MIN: usize = 12;
/// A word that mixes capitals, small letters and digits counts as a secret if it has at least this many characters. A
/// shorter word is shown. No word of a natural language is so long and so mixed.
const MIXED_CHARS_MIN: usize = 32;
/// Words such as `password`. If a name contains one of them, the value after the name counts as a secret.
const NAMES: &[&str] = &[
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "api_key",
    "apikey",
    "api-key",
    "access_key",
    "accesskey",
    "access-key",
    "private_key",
    "private-key",
    "credential",
    "authorization",
    "auth",
    "cookie",
    "pwd",
];

/// Returns the text with every part that looks like a secret replaced by `[redacted]`.
pub fn redacted(text: &str) -> String {
    // Remove all text from the first line of a private key on, because such a key has many lines.
    let text = match text.find("-----BEGIN ") {
        Some(at) => &format!("{}{HIDDEN}", &text[..at]),
        None => text,
    };
    let mut out = String::with_capacity(text.len());
    // True when the last words name a secret, such as `password:`. In that case the next word is the secret.
    let mut named = false;
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.find(is_break).unwrap_or(rest.len());
        let (word, behind) = rest.split_at(end);
        let breaks = behind.find(|letter| !is_break(letter)).unwrap_or(behind.len());
        let (between, next) = behind.split_at(breaks);
        if word.is_empty() {
            out.push_str(between);
            rest = next;
            continue;
        }
        let is_switch = ["true", "false", "null"].contains(&word);
        let hides = (named && !is_scheme(word) && !is_switch) || is_secret(word);
        out.push_str(if hides { HIDDEN } else { word });
        out.push_str(between);
        rest = next;
        let assigned = between.trim_matches([' ', '"', '\'']);
        let names = is_name(word) && (assigned.starts_with(['=', ':']) || word.starts_with('-'));
        named = is_scheme(word) || names || (named && !hides && !is_switch);
        // A secret in quotes may have several words, so all text up to the closing quote is replaced.
        if let Some((before, value, after)) = quoted(behind).filter(|_| names) {
            out.truncate(out.len() - between.len());
            out.push_str(before);
            out.push_str(if value.is_empty() { "" } else { HIDDEN });
            rest = after;
            named = false;
        }
    }
    without_users(&out)
}

/// Splits the text that follows a name, such as `="my secret" next`, at its value in quotes. Returns the text up to the
/// value, the value, and the text from the closing quote on. Returns `None` when the value has no quotes.
fn quoted(behind: &str) -> Option<(&str, &str, &str)> {
    let sign = behind.trim_start_matches(['"', '\'', '`', ' ']);
    let value = sign.strip_prefix(['=', ':']).unwrap_or(behind).trim_start();
    let quote = value.chars().next().filter(|first| "\"'`".contains(*first))?;
    let inside = &value[1..];
    let ends = |at: &usize| !inside[..*at].ends_with('\\');
    let end = inside.match_indices(quote).map(|(at, _)| at).find(ends)?;
    Some((&behind[..behind.len() - inside.len()], &inside[..end], &inside[end..]))
}

fn is_break(letter: char) -> bool {
    letter.is_whitespace() || "\"'`=:,;(){}[]<>|&?".contains(letter)
}

/// Returns true when a word is an HTTP authorization scheme, as in `Authorization: Bearer …`.
fn is_scheme(word: &str) -> bool {
    ["bearer", "basic"].iter().any(|scheme| word.eq_ignore_ascii_case(scheme))
}

fn is_name(word: &str) -> bool {
    let word = word.to_lowercase();
    NAMES.iter().any(|name| word.contains(name))
}

fn is_secret(word: &str) -> bool {
    let long = word.chars().count() >= SECRET_CHARS_MIN;
    if long && PREFIXES.iter().any(|prefix| word.starts_with(prefix)) {
        return true;
    }
    let has = |kind: fn(char) -> bool| word.chars().any(kind);
    let plain = word.chars().all(|letter| letter.is_ascii_alphanumeric() || "+/_-.".contains(letter));
    let mixed = has(|c| c.is_ascii_uppercase()) && has(|c| c.is_ascii_lowercase()) && has(|c| c.is_ascii_digit());
    // Exclude long file paths, in which each part between separators is short. A secret has at least one long part.
    let unbroken = word.split(['/', '.', '-', '_']).any(|part| part.len() >= MIXED_CHARS_MIN / 2);
    plain && mixed && unbroken && word.len() >= MIXED_CHARS_MIN
}

/// Removes the user and the password from a URL such as `scheme://user:password@host`.
fn without_users(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (before, behind) = rest.split_at(at + 3);
        out.push_str(before);
        let end =
            behind.find(|letter: char| letter.is_whitespace() || "/?#\"'".contains(letter)).unwrap_or(behind.len());
        rest = match behind[..end].rfind('@') {
            Some(user) => {
                out.push_str(HIDDEN);
                &behind[user..]
            }
            None => behind,
        };
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_left_out_and_words_are_not() {
        let hides = [
            "curl -H 'Authorization: Bearer SECRETsecret' https://x",
            "curl -H \"Authorization: Basic SECRETsecret\"",
            "export API_KEY=SECRETsecret && run",
            "{\"password\": \"SECRETsecret\"}",
            "mysql --password SECRETsecret",
            "mysql --password=SECRETsecret",
            "git push https://amy:SECRETsecret@example.org/x.git",
            "postgres://amy:SECRETsecret@db/x",
            "use ghp_SECRETsecret0123456789 here",
            "sk-ant-SECRETsecret",
            "AKIASECRETSECRET0",
            "aws_secret_access_key = SECRETsecret",
            "-----BEGIN PRIVATE KEY-----\nSECRETsecret\n-----END PRIVATE KEY-----",
            "hnd_SECRETsecret0123",
            "eyJhbGciOiJI.SECRETsecret.x",
            "aB3SECRETsecret4567890123456789012345",
            "token: SECRETsecret",
            "{\"password\": \"correct horse SECRETsecret\"}",
            "password='correct horse SECRETsecret' run",
            "mysql --password 'correct horse SECRETsecret'",
            "{\"password\": \"(correct) \\\"SECRETsecret\"}",
            "\"headers\": { \"Authorization\": \"Bearer SECRETsecret\" }",
        ];
        for text in hides {
            let found = redacted(text);
            assert!(!found.to_lowercase().contains("secretsecret") && found.contains(HIDDEN), "{text}\n{found}");
        }
        let keeps = [
            "git push origin main",
            "delete the folder src/very/long/path/with/Many/Parts1/and/more/of/them.rs",
            "deploy 3f2a9c1d0b4e5f60718293a4b5c6d7e8f9012345 to staging",
            "https://example.org/a?b=c",
            "Réinitialiser la base — 重置",
            "begin the task tokens of the parser",
            "{\"oauth\": false, \"url\": \"http://127.0.0.1:4747/mcp\"}",
            "{\"token\": \"\", \"name\": \"a b\"}",
            "",
        ];
        for text in keeps {
            assert_eq!(redacted(text), text);
        }
    }
}
