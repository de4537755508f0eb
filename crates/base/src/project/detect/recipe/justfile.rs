//! Finds a recipe in a justfile, and decides if `just RECIPE` would run it. Imported files are not read.

use super::script;

/// The answer to the question whether `just RECIPE` tests something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum JustRecipe {
    Runs,
    Missing,
    /// The recipe has neither dependencies nor a body that does more than print.
    DoesNothing,
    /// The recipe has a parameter without a default, so it cannot be run by its name alone.
    NeedsArguments,
}

/// The maximum number of aliases that are followed. One is enough, because `just` refuses an alias of an alias.
const ALIASES_MAX: usize = 1;

/// Finds a recipe, or an alias of a recipe, in the text of a justfile.
pub(crate) fn recipe(text: &str, name: &str) -> JustRecipe {
    find(text, name, ALIASES_MAX)
}

fn find(text: &str, name: &str, aliases: usize) -> JustRecipe {
    let mut attributes = String::new();
    let lines = lines_outside_of_texts(text);
    for (at, line) in lines.iter().enumerate() {
        if line.starts_with([' ', '\t', '#']) || line.trim().is_empty() {
            continue;
        }
        if line.starts_with('[') {
            attributes.push_str(line);
            continue;
        }
        let above = std::mem::take(&mut attributes);
        if let Some(rest) = line.strip_prefix("alias ")
            && let Some((alias, meant)) = rest.split_once(":=")
            && alias.trim() == name
            && aliases > 0
        {
            return find(text, meant.trim(), aliases - 1);
        }
        if let Some((parameters, dependencies)) = header(line, name)
            && is_for_unix(&above)
        {
            let body =
                lines[at + 1..].iter().take_while(|line| line.trim().is_empty() || line.starts_with([' ', '\t']));
            return judge(parameters, dependencies, body);
        }
    }
    JustRecipe::Missing
}

fn judge<'t>(parameters: &str, dependencies: &str, mut body: impl Iterator<Item = &'t &'t str>) -> JustRecipe {
    if needs_arguments(parameters) {
        return JustRecipe::NeedsArguments;
    }
    let dependencies = dependencies.split('#').next().unwrap_or_default();
    let prints = |line: &&str| script::only_prints(line.trim().trim_start_matches(['@', '-']));
    let idle = dependencies.trim().is_empty() && body.all(prints);
    if idle { JustRecipe::DoesNothing } else { JustRecipe::Runs }
}

/// Returns the parameters and the dependencies of a recipe, when the line is the header of the recipe with this name.
/// In `@test filter="": build`, the parameter is `filter=""` and the dependency is `build`.
fn header<'t>(line: &'t str, name: &str) -> Option<(&'t str, &'t str)> {
    let line = line.strip_prefix('@').unwrap_or(line);
    let rest = line.strip_prefix(name)?;
    if !rest.starts_with([' ', '\t', ':']) {
        return None;
    }
    let colon = plain_letters(rest).find(|(_, letter)| *letter == ':')?.0;
    let (parameters, behind) = (&rest[..colon], &rest[colon + 1..]);
    // `test := "x"` assigns a variable and is no recipe.
    (!behind.starts_with('=')).then_some((parameters, behind))
}

/// Returns true when a recipe has a parameter that needs an argument. A parameter with a default or with `*` needs
/// none; a parameter with `+` needs at least one.
fn needs_arguments(parameters: &str) -> bool {
    let mut names: Vec<String> = vec![String::new()];
    let mut last = 0;
    for (at, letter) in plain_letters(parameters) {
        // `plain_letters` skipped a quoted text or an expression. It belongs to the parameter before it.
        if at > last + 1
            && let Some(name) = names.last_mut()
        {
            name.push('…');
        }
        last = at;
        match names.last_mut() {
            Some(name) if !letter.is_whitespace() => name.push(letter),
            Some(_) | None => names.push(String::new()),
        }
    }
    // Spaces may stand around the `=` of a default value: `filter = "x"`.
    let joined = names.iter().filter(|name| !name.is_empty()).map(String::as_str).collect::<Vec<_>>().join(" ");
    let joined = joined.replace(" =", "=").replace("= ", "=");
    joined.split(' ').filter(|name| !name.is_empty()).any(|name| !name.starts_with('*') && !name.contains('='))
}

/// Returns the characters outside of quotes, backticks and parentheses, with their positions.
fn plain_letters(text: &str) -> impl Iterator<Item = (usize, char)> {
    let (mut quote, mut depth) = (None, 0_u32);
    text.char_indices().filter(move |(_, letter)| {
        match (*letter, quote) {
            ('"' | '\'' | '`', None) => quote = Some(*letter),
            (_, Some(open)) if open == *letter => {
                quote = None;
                return false;
            }
            ('(', None) => depth += 1,
            (')', None) => {
                depth = depth.saturating_sub(1);
                return false;
            }
            (_, _) => {}
        }
        quote.is_none() && depth == 0
    })
}

/// Returns true when a recipe with these attributes exists on Unix. The attribute `[windows]` hides the recipe, unless
/// there is also an attribute for a Unix system, such as `[linux]`.
fn is_for_unix(attributes: &str) -> bool {
    let mut names = attributes.split(['[', ']', ',', ' ']).filter(|name| !name.is_empty());
    let is_unix = |name: &str| ["unix", "linux", "macos", "openbsd", "freebsd", "netbsd"].contains(&name);
    !names.clone().any(|name| name == "windows") || names.any(is_unix)
}

/// Returns the lines that are not inside of a text with triple quotes.
fn lines_outside_of_texts(text: &str) -> Vec<&str> {
    let mut quote: Option<&str> = None;
    let mut found = Vec::new();
    for line in text.lines() {
        if quote.is_none() {
            found.push(line);
        }
        let mut rest = line;
        while let Some((at, sign)) = next_quote(rest, quote) {
            quote = if quote.is_some() { None } else { Some(sign) };
            rest = &rest[at + sign.len()..];
        }
    }
    found
}

/// Returns the position and the kind of the next triple quote. `open` is the kind of quote with which the current text
/// began. Inside of a text only this kind is searched, because only it ends the text.
fn next_quote(text: &str, open: Option<&'static str>) -> Option<(usize, &'static str)> {
    let signs = ["'''", "\"\"\""].into_iter().filter(|sign| open.is_none_or(|open| open == *sign));
    signs.filter_map(|sign| Some((text.find(sign)?, sign))).min()
}
