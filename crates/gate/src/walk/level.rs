//! Gathers the facts about one command that the gate rules need: whether the gate understands the command, and whether
//! its arguments must be searched for other commands.

use super::{CommandWalk, StandardInput, WalkScope, suspect};
use crate::command::{Arg, CommandLevel};
use crate::programs::effect::ProgramEffect;
use crate::programs::program::{self, ProgramKnowledge};
use crate::programs::{git, wrapper};

impl CommandWalk {
    /// Returns the facts that the gate rules need about one command. The commands that this command runs are not
    /// included.
    pub(super) fn level(
        &mut self,
        name: &str,
        words: &[Arg],
        does: &[ProgramEffect],
        scope: &WalkScope,
    ) -> CommandLevel {
        let wraps = wrapper::is_wrapper(name);
        let mut level = CommandLevel {
            ask: program::asks(words),
            opaque: None,
            doubts: Vec::new(),
            searched: false,
            codes: Vec::new(),
            inner: does.iter().find_map(|effect| if let ProgramEffect::Rest(at) = effect { Some(*at) } else { None }),
            holds: wraps
                && does.iter().any(|effect| {
                    matches!(effect, ProgramEffect::Rest(_) | ProgramEffect::Command(_) | ProgramEffect::Script(_))
                }),
            matters: wrapper::matters(words),
            folders: suspect::working_folders(words, &scope.folders),
            words: words.to_vec(),
        };
        level.ask = if name == "eval" { Some("eval runs a text".to_owned()) } else { level.ask };
        let made_here = self.functions.contains(words[0].as_text());
        match program::knowledge(words) {
            ProgramKnowledge::Known => {}
            // The command text itself defines a function of this name, and the body of the function was read. The
            // function may still run its arguments, so the arguments are searched.
            ProgramKnowledge::Unknown(_) | ProgramKnowledge::Interpreter(_) if made_here => level.searched = true,
            ProgramKnowledge::Unknown(reason) => {
                level.opaque = Some(reason);
                level.searched = true;
            }
            ProgramKnowledge::Interpreter(reason) => {
                // awk programs are parsed, and the parts that cannot be parsed are recorded as doubts.
                let read = matches!(name.trim_start_matches(['g', 'm', 'n']), "awk");
                level.opaque = Some(reason).filter(|_| !read);
                level.searched = !read;
                level.codes = if read { Vec::new() } else { suspect::codes(words, &scope.input) };
            }
        }
        let input = &scope.input;
        for effect in does {
            add_effect(&mut level, name, effect, input);
        }
        level
    }
}

/// Adds to `level` the facts that one effect of the command shows. An effect that writes a path, changes the folder or
/// runs another command adds nothing.
fn add_effect(level: &mut CommandLevel, name: &str, effect: &ProgramEffect, input: &StandardInput) {
    match effect {
        ProgramEffect::AskUnlessNamed(reason) => {
            level.ask = level.ask.take().or_else(|| Some(reason.clone()));
        }
        ProgramEffect::Doubt(option) => level.doubts.push(option.clone()),
        ProgramEffect::Opaque(reason) => {
            level.opaque = level.opaque.take().or_else(|| Some(reason.clone()));
            level.searched |= !git::is_git(name) && !wrapper::is_wrapper(name);
        }
        ProgramEffect::Code(text) => level.codes.push(text.clone()),
        ProgramEffect::Input => match input {
            StandardInput::Text(_) => level.holds = true,
            StandardInput::File => {
                level.opaque = Some(format!("{name} runs a file, which is not looked into"));
            }
            StandardInput::Inherited
            | StandardInput::Partly(_)
            | StandardInput::Pipe { .. }
            | StandardInput::Unknown => {
                level.ask = level.ask.take().or_else(|| Some(format!("{name} with commands from its input")));
            }
        },
        ProgramEffect::Rest(_)
        | ProgramEffect::Command(_)
        | ProgramEffect::Script(_)
        | ProgramEffect::Sets(..)
        | ProgramEffect::Folder(_)
        | ProgramEffect::Writes(..)
        | ProgramEffect::Works(_)
        | ProgramEffect::Copies(_)
        | ProgramEffect::Ask(_)
        | ProgramEffect::Fragile(..)
        | ProgramEffect::Moves(_)
        | ProgramEffect::Guarded(_)
        | ProgramEffect::Setting(..) => {}
    }
}
