//! Applies the gate rules to paths that are written. Also checks whether these paths are guarded, that is, control
//! agents or git.

use std::path::{Path, PathBuf};

use super::Judge;
use crate::command::{CommandFolders, PathWrite, WriteCause};
use crate::place::Entries;
use crate::rule::Matter;
use crate::spot::PathSpot;
use crate::{GateDecision, glob, guard, place};

impl Judge<'_> {
    pub(super) fn write(&mut self, write: &PathWrite) {
        let narrows = self.narrows_writes();
        let (Some(spot), Some(paths)) = (&write.spot, paths(write)) else {
            let shown = match &write.spot {
                Some(spot) => format!("{:?} in a folder that is not known", spot.path()),
                None => "a path that is not literal".to_owned(),
            };
            // Ignore an unknown working folder of a program (`WriteCause::Work`). It is most likely the folder of the
            // tool call.
            if write.by != WriteCause::Work && narrows || write.by == WriteCause::Itself {
                let decision = if narrows { GateDecision::Ask } else { self.otherwise };
                self.decide(decision, format!("it writes to {shown}"));
            }
            return;
        };
        let text = spot.path();
        if is_device(text) || (is_output(text) && !self.reopened) {
            return;
        }
        if text.starts_with("/dev/tcp/") || text.starts_with("/dev/udp/") {
            return self.decide(GateDecision::Ask, "ask: a connection through /dev/tcp");
        }
        let mut named = !paths.is_empty();
        let is_link = |path: &Path| path.symlink_metadata().is_ok_and(|found| found.is_symlink());
        for path in paths.iter().filter(|path| write.by != WriteCause::Copy || is_link(path)) {
            if write.by == WriteCause::Work {
                self.worked_in(path);
                continue;
            }
            let through = || place::is_through_processes(path) || is_output(text) || place::passes_processes(path);
            // A person must approve a write to a file descriptor even if no gate rule is about writes, because the open
            // file may be one that controls agents or git.
            if is_descriptor(path) || narrows && through() {
                let text = format!("it writes to {text:?}, which may be any file that is open; name the file itself");
                self.decide(GateDecision::Ask, text);
            }
            // A path such as `/dev/fd/3` means an open file of the shell. Resolving the path here would find an open
            // file of this process instead.
            if !is_descriptor(path) {
                named &= self.path(path, write);
            }
        }
        if !named && write.by == WriteCause::Itself {
            self.decide(self.otherwise, format!("no rule allows to write {text:?}"));
        }
    }

    /// Judges one path that a tool call writes. Returns true if a gate rule names the path.
    fn path(&mut self, path: &Path, write: &PathWrite) -> bool {
        let Some(real) = place::resolve(path) else {
            self.decide(GateDecision::Ask, format!("ask: the links of {} go in circles", path.display()));
            return true;
        };
        let spelled = place::tidy(path);
        let here = self.here.get_or_init(|| roots(self.directory)).clone();
        let around = |path: &Path| place::roots_and(path, &here);
        let (around_real, around_spelled) = (around(&real), around(&spelled));
        let entries = match &write.spot {
            Some(PathSpot::Matching { pattern, .. }) => Some(Entries { pattern, tree: write.tree }),
            Some(PathSpot::At(_) | PathSpot::Inside(_) | PathSpot::Named { .. }) | None => None,
        };
        if let Some(PathSpot::Named { pattern, .. }) = &write.spot {
            self.found_below(&real, pattern, &around_real);
            return false;
        }
        let some = matches!(write.spot, Some(PathSpot::Inside(_)));
        let upwards = write.spot.as_ref().is_some_and(|spot| spot.path().starts_with(".."));
        // Ignore unknown files in a folder such as `/tmp`, even if that folder is the root of a repository.
        if some && !upwards && place::is_common(&real) {
            return false;
        }
        let mut named = false;
        for (number, rule) in self.rules.iter().enumerate() {
            let Matter::Write(glob) = &rule.matter else { continue };
            let number = number + 1;
            if rule.decision == GateDecision::Allow {
                named |= place::fit(glob, &real, &here, entries) == glob::PathFit::Yes;
                continue;
            }
            let fits =
                [place::fit(glob, &real, &around_real, entries), place::fit(glob, &spelled, &around_spelled, entries)];
            let below = write.tree && fits.contains(&glob::PathFit::Below { certain: true });
            let perhaps = fits.contains(&glob::PathFit::Below { certain: false });
            if fits.contains(&glob::PathFit::Yes) || (below && !some) {
                named = true;
                self.decide(rule.decision, format!("gate {number} ({}) is for {}", rule.shown(), real.display()));
            } else if below || ((write.tree || entries.is_some()) && perhaps) {
                let text = format!("below {} may be what gate {number} ({}) is for", real.display(), rule.shown());
                self.decide(GateDecision::Ask, text);
            }
        }
        let hooks = self.hooks.get_or_init(|| here.iter().flat_map(|root| guard::hooks_folders(root)).collect());
        let hooked = hooks.iter().any(|hooks| {
            real.starts_with(hooks) || spelled.starts_with(hooks) || write.tree && hooks.starts_with(&spelled)
        });
        let decides = hooked
            || guard::paths().iter().any(|guarded| {
                guarded.is_written(&real, &around_real, write.tree, entries)
                    || spelled != real && guarded.is_written(&spelled, &around_spelled, write.tree, entries)
            });
        if decides {
            let text = format!("ask: {} decides what agents and git do here", real.display());
            self.decide(GateDecision::Ask, text);
        }
        named
    }

    /// Judges the folder in which a program such as make works. A gate rule applies if its glob covers this folder. A
    /// glob that covers the whole repository does not count: otherwise a person would have to approve every run of
    /// make.
    fn worked_in(&mut self, path: &Path) {
        let Some(real) = place::resolve(path) else { return };
        let roots = place::roots_and(&real, self.here.get_or_init(|| roots(self.directory)));
        for (number, rule) in self.rules.iter().enumerate() {
            let Matter::Write(glob) = &rule.matter else { continue };
            let covers = |path: &Path| place::fit(glob, path, &roots, None) == glob::PathFit::Yes;
            if rule.decision != GateDecision::Allow && covers(&real) && !roots.iter().any(|root| covers(root)) {
                let text = format!(
                    "a program works in {}, which gate {} ({}) is for",
                    real.display(),
                    number + 1,
                    rule.shown()
                );
                self.decide(GateDecision::Ask, text);
            }
        }
        // The root of a repository needs no check, because no guarded path of the repository covers its root. Most
        // programs work in such a root, so the check is rarely made.
        let below = roots.iter().any(|root| real != *root && real.starts_with(root));
        if (below || guard::may_cover(&real))
            && guard::paths().iter().any(|guarded| guarded.is_written(&real, &roots, false, None))
        {
            self.decide(
                GateDecision::Ask,
                format!("ask: a program works in {}, which decides what agents and git do here", real.display()),
            );
        }
    }

    /// Judges files that `find` selects by a name pattern. A gate rule applies if a file that fits the pattern exists
    /// in a place that the rule covers.
    fn found_below(&mut self, folder: &Path, pattern: &str, roots: &[PathBuf]) {
        for (number, rule) in self.rules.iter().enumerate() {
            let Matter::Write(glob) = &rule.matter else { continue };
            if rule.decision == GateDecision::Allow {
                continue;
            }
            if place::fit(glob, folder, roots, None) == glob::PathFit::Yes {
                let text = format!("gate {} ({}) is for {}", number + 1, rule.shown(), folder.display());
                self.decide(rule.decision, text);
            } else if place::may_find(glob, folder, pattern, roots) {
                let text = format!("{pattern:?} may name what gate {} ({}) is for", number + 1, rule.shown());
                self.decide(GateDecision::Ask, text);
            }
        }
        if guard::paths().iter().any(|guarded| guarded.may_be_found(folder, pattern, roots)) {
            self.decide(GateDecision::Ask, format!("ask: {pattern:?} may name what decides over agents and git here"));
        }
    }
}

/// Returns the roots of the repositories that contain the folder of the tool call. If no repository contains it,
/// returns that folder.
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

/// Returns every path that a write may change: one path for each folder in which the command may run. Returns None when
/// the written path is unknown.
fn paths(write: &PathWrite) -> Option<Vec<PathBuf>> {
    let text = write.spot.as_ref()?.path();
    match &write.folders {
        CommandFolders::Known(folders) => Some(folders.iter().map(|folder| folder.join(text)).collect()),
        CommandFolders::Unknown if text.starts_with('/') => Some(vec![PathBuf::from(text)]),
        CommandFolders::Unknown => None,
    }
}

/// Tells whether the path is a device, where writing changes no file.
fn is_device(path: &str) -> bool {
    matches!(path, "/dev/null" | "/dev/tty" | "/dev/full" | "/dev/zero")
}

/// Tells whether the path names a file that is already open, such as `/dev/fd/3`. The answer is false for `/dev/stdout`
/// and `/dev/stderr`.
fn is_descriptor(path: &Path) -> bool {
    let spelled = place::tidy(path);
    let number = spelled.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let held = spelled.starts_with("/dev/fd")
        || spelled.starts_with("/proc") && spelled.parent().is_some_and(|folder| folder.ends_with("fd"));
    spelled == Path::new("/dev/stdin") || held && !matches!(number.as_str(), "1" | "2")
}

/// Tells whether the path names the standard output or the standard error of a command.
fn is_output(path: &str) -> bool {
    matches!(path, "/dev/stdout" | "/dev/stderr")
}
