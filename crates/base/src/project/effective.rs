//! Finds the values that apply where the settings files have none. So a project needs no settings file: every installed
//! agent program becomes an agent, and the setup and the check come from the files of the repository.

use std::ffi::OsStr;
use std::path::Path;

use crate::project::detect::clients::{find_program, installed_clients, known_clients};
use crate::project::detect::{self, DetectedCheck, DetectedProject, DetectedSetup, RepositoryFiles};
use crate::project::settings::{CheckMoment, DetectedAgent, DetectedDefaults, SetupCommand, VerifyCheck};

/// The maximum number of turns (runs of its program) of one detected agent that run at the same time.
const PARALLEL: u32 = 3;
/// The smallest number of processor cores with which a detected agent may run several turns at the same time. With
/// fewer cores, it runs one turn at a time.
const CORES_FOR_PARALLEL: usize = 4;

/// The facts about this machine that decide which agents are detected.
#[derive(Debug, Clone, Copy)]
pub struct MachineFacts<'a> {
    /// The value of `PATH`.
    pub path: Option<&'a OsStr>,
    /// The number of processor cores.
    pub cores: usize,
}

/// Finds the agents, the setup commands and the check of a project whose settings files name none. Starts no program.
pub fn find(root: &Path, machine: MachineFacts<'_>) -> DetectedDefaults {
    find_in(root, Path::new(""), machine).1
}

/// Finds the agents, the setup commands and the check for work in a folder of the project. Also returns the findings
/// about the project, because they name the languages and the reason why there is no check.
pub fn find_in(root: &Path, folder: &Path, machine: MachineFacts<'_>) -> (DetectedProject, DetectedDefaults) {
    let Ok(files) = RepositoryFiles::new(root) else { return Default::default() };
    let path = machine.path.unwrap_or_default();
    let has_program = |name: &str| find_program(path, name).is_some();
    let project = detect::detect(&files, folder, &has_program);
    let defaults = DetectedDefaults {
        agents: agents(machine),
        setup: project.setup.iter().cloned().map(setup).collect(),
        checks: project.check.iter().cloned().map(check).collect(),
        copy: files.include_patterns(),
    };
    (project, defaults)
}

/// Finds the agents, the setup commands and the check with the `PATH` and the processor cores of this process.
pub fn find_here(root: &Path) -> DetectedDefaults {
    find_here_in(root, Path::new("")).1
}

/// Finds the agents, the setup commands and the check for work in a folder of the project, like `find_in`, with the
/// `PATH` and the processor cores of this process.
pub fn find_here_in(root: &Path, folder: &Path) -> (DetectedProject, DetectedDefaults) {
    let path = std::env::var_os("PATH");
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    find_in(root, folder, MachineFacts { path: path.as_deref(), cores })
}

/// Returns the number of turns of one agent program that may run at the same time on this machine.
pub fn parallel(machine: MachineFacts<'_>) -> u32 {
    if machine.cores < CORES_FOR_PARALLEL { 1 } else { PARALLEL }
}

/// Returns each installed agent program as an agent.
pub fn agents(machine: MachineFacts<'_>) -> Vec<DetectedAgent> {
    let max_parallel = parallel(machine);
    let installed = installed_clients(machine.path.unwrap_or_default(), known_clients()).into_iter();
    let agent = |client: detect::clients::KnownClient| DetectedAgent {
        slug: client.name,
        adapter: client.adapter,
        command: client.command,
        max_parallel,
    };
    installed.map(|found| agent(found.client)).collect()
}

/// Returns a detected setup command in the form of a setting.
pub fn setup(found: DetectedSetup) -> SetupCommand {
    let DetectedSetup { words, folder, inputs, seconds } = found;
    SetupCommand { command: words, seconds, inputs, folder }
}

/// Returns a detected check in the form of a setting.
pub fn check(found: DetectedCheck) -> VerifyCheck {
    let DetectedCheck { words, folder, seconds, row: _ } = found;
    VerifyCheck { command: words, seconds, when: CheckMoment::Task, folder }
}

#[cfg(test)]
mod tests;
