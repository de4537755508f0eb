//! Expands choices in braces: `a{b,c}d` becomes `abd` and `acd`.

/// The maximum number of texts that the braces of one text may stand for. Choices multiply: `{a,b}{c,d}` stands for
/// four texts. A text whose braces stand for more texts is refused.
pub const CHOICES_MAX: usize = 64;

/// The treatment of braces without a comma, such as `{a}`. A glob expands them like a choice with one alternative. A
/// shell keeps them as text, so the code that reads shell commands refuses them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoneBrace {
    Expand,
    Refuse,
}

/// The reason why braces cannot be expanded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BraceProblem {
    NotClosed,
    /// The braces have no comma, as in `{a}`, and the caller wants such braces to be refused.
    Lone,
    TooMany,
}

impl std::fmt::Display for BraceProblem {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NotClosed => write!(to, "a brace is not closed"),
            Self::Lone => write!(to, "a brace has no comma"),
            Self::TooMany => write!(to, "the braces of the glob stand for more than {CHOICES_MAX} paths"),
        }
    }
}

/// The first choice in braces of a text: the text before the braces, the alternatives in them, and the text after them.
struct BraceChoice<'t> {
    before: &'t str,
    choices: Vec<&'t str>,
    after: &'t str,
}

/// Returns every text that the braces of a text stand for, in the order in which a shell writes them.
pub fn expand(text: &str, lone: LoneBrace) -> Result<Vec<String>, BraceProblem> {
    let mut done = Vec::new();
    let mut open = vec![text.to_owned()];
    while let Some(text) = open.pop() {
        match first_choice(&text)? {
            None => done.push(text),
            Some(BraceChoice { choices, .. }) if choices.len() < 2 && lone == LoneBrace::Refuse => {
                return Err(BraceProblem::Lone);
            }
            // Add the choices in reverse, because the loop takes the last text of `open` first.
            Some(BraceChoice { before, choices, after }) => {
                open.extend(choices.iter().rev().map(|choice| format!("{before}{choice}{after}")));
            }
        }
        if done.len() + open.len() > CHOICES_MAX {
            return Err(BraceProblem::TooMany);
        }
    }
    Ok(done)
}

fn first_choice(text: &str) -> Result<Option<BraceChoice<'_>>, BraceProblem> {
    let mut depth = 0_u32;
    let mut start = 0;
    let mut from = 0;
    let mut choices = Vec::new();
    let mut escaped = false;
    for (at, character) in text.char_indices() {
        if escaped {
            escaped = false;
            continue;
        }
        match character {
            '\\' => escaped = true,
            '{' => {
                depth += 1;
                if depth == 1 {
                    (start, from) = (at, at + 1);
                }
            }
            ',' if depth == 1 => {
                choices.push(&text[from..at]);
                from = at + 1;
            }
            '}' if depth == 1 => {
                choices.push(&text[from..at]);
                return Ok(Some(BraceChoice { before: &text[..start], choices, after: &text[at + 1..] }));
            }
            '}' if depth > 1 => depth -= 1,
            _ => {}
        }
    }
    if depth > 0 { Err(BraceProblem::NotClosed) } else { Ok(None) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_are_expanded_in_the_order_of_a_shell() {
        for (text, wanted) in [
            ("a{b,c}d", vec!["abd", "acd"]),
            ("{a,b}{c,d}", vec!["ac", "ad", "bc", "bd"]),
            ("x/{a,b{c,d}}", vec!["x/a", "x/bc", "x/bd"]),
            ("{a,}", vec!["a", ""]),
            (r"a\{b,c", vec![r"a\{b,c"]),
            ("a}b", vec!["a}b"]),
            ("{a}", vec!["a"]),
        ] {
            assert_eq!(expand(text, LoneBrace::Expand), Ok(wanted.into_iter().map(str::to_owned).collect()), "{text}");
        }
        assert_eq!(expand("{a}", LoneBrace::Refuse), Err(BraceProblem::Lone));
        assert_eq!(expand("a{b", LoneBrace::Expand), Err(BraceProblem::NotClosed));
        assert_eq!(expand(&"{a,b}".repeat(7), LoneBrace::Expand), Err(BraceProblem::TooMany));
    }
}
