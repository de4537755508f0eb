//! Finds the values that apply where no settings file has one, so that a project needs no file: every installed agent
//! program is an agent, and the files of the repository show the setup and the check.

use std::ffi::OsStr;
use std::path::Path;

use crate::project::detect::clients::{find_program, installed_clients, known_clients};
use crate::project::detect::{self, DetectedCheck, DetectedSetup, RepositoryFiles};
use crate::project::settings::{CheckMoment, DetectedAgent, DetectedDefaults, SetupCommand, VerifyCheck};

/// The turns of one detected agent that run at once.
const PARALLEL: u32 = 3;
/// Below this number of processor cores one turn runs at once.
const CORES_FOR_PARALLEL: usize = 4;

/// The facts about this machine that decide which agents there are.
#[derive(Debug, Clone, Copy)]
pub struct MachineFacts<'a> {
    /// The value of `PATH`.
    pub path: Option<&'a OsStr>,
    /// The number of processor cores.
    pub cores: usize,
}

/// Finds the agents, the setup and the check of a project whose files name none. Runs no program.
pub fn find(root: &Path, machine: MachineFacts<'_>) -> DetectedDefaults {
    let Ok(files) = RepositoryFiles::new(root) else { return DetectedDefaults::default() };
    let path = machine.path.unwrap_or_default();
    let has_program = |name: &str| find_program(path, name).is_some();
    let project = detect::detect(&files, Path::new(""), &has_program);
    DetectedDefaults {
        agents: agents(machine),
        setup: project.setup.into_iter().map(setup).collect(),
        checks: project.check.into_iter().map(check).collect(),
        copy: files.include_patterns(),
    }
}

/// Finds the same for this process: with its `PATH` and the cores that it may use.
pub fn find_here(root: &Path) -> DetectedDefaults {
    let path = std::env::var_os("PATH");
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    find(root, MachineFacts { path: path.as_deref(), cores })
}

/// Returns the installed programs as agents.
pub fn agents(machine: MachineFacts<'_>) -> Vec<DetectedAgent> {
    let max_parallel = if machine.cores < CORES_FOR_PARALLEL { 1 } else { PARALLEL };
    let installed = installed_clients(machine.path.unwrap_or_default(), known_clients()).into_iter();
    let agent = |client: detect::clients::KnownClient| DetectedAgent {
        slug: client.name,
        adapter: client.adapter,
        command: client.command,
        max_parallel,
    };
    installed.map(|found| agent(found.client)).collect()
}

/// Returns a detected setup command as a setting.
pub fn setup(found: DetectedSetup) -> SetupCommand {
    let DetectedSetup { words, folder, inputs, seconds } = found;
    SetupCommand { command: words, seconds, inputs, folder }
}

/// Returns a detected check as a setting.
pub fn check(found: DetectedCheck) -> VerifyCheck {
    let DetectedCheck { words, folder, seconds, row: _ } = found;
    VerifyCheck { command: words, seconds, when: CheckMoment::Task, folder }
}

#[cfg(test)]
mod tests;
