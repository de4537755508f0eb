//! Rules over what was found: the strictest decision, and why.

use std::cell::OnceCell;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::command::{By, Folders, Found, Level, Seen, Spot, Write};
use super::glob::{self, Glob};
use super::rule::{self, Matter, Rule};
use super::{Decision, Verdict, options, place, program};

/// Reasons that are told; the first are enough to act on.
const REASONS_MAX: usize = 3;
/// Words of a command that are shown.
const WORDS_SHOWN: usize = 6;
/// Letters of one word that are shown.
const LETTERS_SHOWN: usize = 60;

/// What decides over agents, hooks and repositories themselves: it asks where a gate exists, unless a rule names it.
const GUARDED: &[&str] =
    &[".git/**", ".handover/config.toml", ".handover/contracts/**", ".claude/settings*.json", ".codex/**", ".mcp.json"];

pub(super) struct Judge<'g> {
    rules: &'g [Rule],
    /// What holds where no rule does.
    otherwise: Decision,
    directory: &'g Path,
    decision: Decision,
    reasons: Vec<String>,
    /// The roots that globs start from, once a path was looked at.
    here: OnceCell<Vec<PathBuf>>,
    guarded: OnceCell<Vec<Glob>>,
}

impl<'g> Judge<'g> {
    pub(super) fn new(rules: &'g [Rule], otherwise: Decision, directory: &'g Path) -> Self {
        let (here, guarded) = (OnceCell::new(), OnceCell::new());
        Self { rules, otherwise, directory, decision: Decision::Allow, reasons: Vec::new(), here, guarded }
    }

    pub(super) fn verdict(self) -> Verdict {
        let Self { decision, mut reasons, .. } = self;
        reasons.dedup();
        let more = reasons.len().saturating_sub(REASONS_MAX);
        reasons.truncate(REASONS_MAX);
        let mut reason = reasons.join("; ");
        if more > 0 {
            reason.push_str(&format!("; and {more} more"));
        }
        let next = match decision {
            Decision::Allow => "",
            Decision::Ask => ". Rules are in .handover/config.toml",
            Decision::Deny => {
                ". Do it in another way, or tell the person: only they change the rules in .handover/config.toml"
            }
        };
        reason.push_str(next);
        Verdict { decision, reason }
    }

    pub(super) fn decide(&mut self, decision: Decision, reason: impl Into<String>) {
        if decision > self.decision {
            self.decision = decision;
            self.reasons.clear();
        }
        if decision == self.decision && decision != Decision::Allow {
            self.reasons.push(reason.into());
        }
    }

    pub(super) fn found(&mut self, found: &Found) {
        for reason in &found.asks {
            self.decide(Decision::Ask, format!("ask: {reason}"));
        }
        for seen in &found.commands {
            self.command(seen);
        }
        let mut seen = HashSet::new();
        for write in found.writes.iter().filter(|write| seen.insert(*write)) {
            self.write(write);
        }
    }

    fn commands(&self) -> impl Iterator<Item = (usize, &'g [String], &'g Rule)> + use<'g> {
        self.rules.iter().enumerate().filter_map(|(number, rule)| match &rule.matter {
            Matter::Command(words) => Some((number + 1, words.as_slice(), rule)),
            Matter::Write(_) => None,
        })
    }

    fn command(&mut self, seen: &Seen) {
        let mut allowed_to = 0;
        for (number, level) in seen.levels.iter().enumerate() {
            let last = number + 1 == seen.levels.len();
            let named = self.level(level);
            if let Some(words) = named.allowed {
                // A rule that reaches into the command inside speaks for that one, too.
                let within = level.inner.is_some_and(|inner| words > inner);
                allowed_to = allowed_to.max(number + 1 + usize::from(within));
            }
            if let Some(reason) = level.ask.as_ref().filter(|_| !named.any) {
                self.decide(Decision::Ask, format!("ask: {reason}"));
            }
            let harmless = level.words.first().is_some_and(|word| program::is_harmless(word.as_text()));
            if ((last && !level.holds) || level.matters) && allowed_to <= number && !named.any && !harmless {
                let shown = shown(level);
                self.decide(self.otherwise, format!("no rule allows `{shown}`"));
            }
        }
    }

    fn level(&mut self, level: &Level) -> Named {
        let mut named = Named { any: false, allowed: None };
        for (number, words, rule) in self.commands() {
            if rule.decision == Decision::Allow {
                if rule::allows(words, &level.words) {
                    named.any = true;
                    named.allowed = Some(named.allowed.unwrap_or(0).max(words.len()));
                }
                continue;
            }
            let shown = || shown(level);
            match rule::concerns(words, &level.words) {
                rule::Fit::No => {}
                rule::Fit::Yes => {
                    named.any = true;
                    self.decide(rule.decision, format!("gate {number} ({}) is for `{}`", rule.shown(), shown()));
                }
                rule::Fit::Perhaps => {
                    let text =
                        format!("`{}` may be what gate {number} ({}) is for; spell it out", shown(), rule.shown());
                    self.decide(Decision::Ask, text);
                }
            }
        }
        named
    }

    fn write(&mut self, write: &Write) {
        let narrows =
            self.rules.iter().any(|rule| matches!(rule.matter, Matter::Write(_)) && rule.decision != Decision::Allow);
        let (Some(Spot::At(text) | Spot::Inside(text)), Some(paths)) = (&write.spot, paths(write)) else {
            let shown = match &write.spot {
                Some(Spot::At(text) | Spot::Inside(text)) => format!("{text:?} in a folder that is not known"),
                None => "a path that is not literal".to_owned(),
            };
            if narrows || write.by == By::Itself {
                let decision = if narrows { Decision::Ask } else { self.otherwise };
                self.decide(decision, format!("it writes to {shown}"));
            }
            return;
        };
        if write.by == By::Itself && is_device(text) {
            return;
        }
        if text.starts_with("/dev/tcp/") || text.starts_with("/dev/udp/") {
            return self.decide(Decision::Ask, "ask: a connection through /dev/tcp");
        }
        let mut named = !paths.is_empty();
        for path in &paths {
            named &= self.path(path, write);
        }
        if !named && write.by == By::Itself {
            self.decide(self.otherwise, format!("no rule allows to write {text:?}"));
        }
    }

    /// Judges one path; whether a rule names it.
    fn path(&mut self, path: &Path, write: &Write) -> bool {
        let Some(real) = place::resolve(path) else {
            self.decide(Decision::Ask, format!("ask: the links of {} go in circles", path.display()));
            return true;
        };
        let spelled = place::tidy(path);
        let here = self.here.get_or_init(|| roots(self.directory)).clone();
        let around = |path: &Path| [place::roots(path), here.clone()].concat();
        let (around_real, around_spelled) = (around(&real), around(&spelled));
        let mut named = false;
        for (number, rule) in self.rules.iter().enumerate() {
            let Matter::Write(glob) = &rule.matter else { continue };
            let number = number + 1;
            if rule.decision == Decision::Allow {
                named |= place::fit(glob, &real, &here) == glob::Fit::Yes;
                continue;
            }
            let fits = [place::fit(glob, &real, &around_real), place::fit(glob, &spelled, &around_spelled)];
            let some = matches!(write.spot, Some(Spot::Inside(_)));
            let below = write.tree && fits.contains(&glob::Fit::Below { certain: true });
            if fits.contains(&glob::Fit::Yes) || (below && !some) {
                named = true;
                self.decide(rule.decision, format!("gate {number} ({}) is for {}", rule.shown(), real.display()));
            } else if below || (write.tree && fits.contains(&glob::Fit::Below { certain: false })) {
                let text = format!("below {} may be what gate {number} ({}) is for", real.display(), rule.shown());
                self.decide(Decision::Ask, text);
            }
        }
        if !named {
            let globs = self.guarded.get_or_init(|| GUARDED.iter().filter_map(|text| Glob::new(text).ok()).collect());
            let guarded = globs.iter().any(|glob| {
                let fits = [place::fit(glob, &real, &around_real), place::fit(glob, &spelled, &around_spelled)];
                fits.contains(&glob::Fit::Yes) || (write.tree && fits.contains(&glob::Fit::Below { certain: true }))
            });
            if guarded {
                self.decide(Decision::Ask, format!("ask: {} decides what agents and git do here", real.display()));
            }
        }
        named
    }
}

/// Those the call is made in, or the folder itself.
fn roots(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for path in [Some(place::tidy(directory)), place::resolve(directory)].into_iter().flatten() {
        let roots = place::roots(&path);
        if roots.is_empty() {
            found.push(path);
        } else {
            found.extend(roots);
        }
    }
    found.dedup();
    found
}

/// What rules say of one level.
struct Named {
    any: bool,
    /// How many words the longest rule has that allows it.
    allowed: Option<usize>,
}

/// Every path a write may mean; nothing when that is not known.
fn paths(write: &Write) -> Option<Vec<PathBuf>> {
    let (Spot::At(text) | Spot::Inside(text)) = write.spot.as_ref()?;
    match &write.folders {
        Folders::Known(folders) => Some(folders.iter().map(|folder| folder.join(text)).collect()),
        Folders::Unknown if text.starts_with('/') => Some(vec![PathBuf::from(text)]),
        Folders::Unknown => None,
    }
}

/// Writing there changes no file.
fn is_device(path: &str) -> bool {
    matches!(path, "/dev/null" | "/dev/stdout" | "/dev/stderr" | "/dev/tty" | "/dev/full" | "/dev/zero")
        || path.strip_prefix("/dev/fd/").is_some_and(|number| number.chars().all(|letter| letter.is_ascii_digit()))
}

fn shown(level: &Level) -> String {
    let short = |word: &str| match word.char_indices().nth(LETTERS_SHOWN) {
        Some((end, _)) => format!("{}…", &word[..end]),
        None => word.to_owned(),
    };
    let mut words: Vec<String> = level.words.iter().take(WORDS_SHOWN).map(|word| short(word.shown())).collect();
    if level.words.len() > WORDS_SHOWN {
        words.push("…".to_owned());
    }
    if let Some(first) = words.first_mut() {
        *first = options::base(first).to_owned();
    }
    words.join(" ").replace(['\n', '`'], " ")
}
