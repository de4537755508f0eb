//! Checks everything around the store: settings, agent cards, git, the token file, and the agent clients on this
//! machine.

use std::path::{Path, PathBuf};

use super::{DoctorFinding, chain};
use crate::setup::{self, ClientProgram};
use crate::side_program;
use base::project::files;
use base::project::settings;
use base::project::trust;

pub(super) fn settings(root: Option<&Path>) -> Vec<DoctorFinding> {
    let Some(root) = root else {
        return vec![DoctorFinding::notice(
            "project",
            "the current folder is not in a git repository",
            "run this in \
            the project's repository, so that its agents use the same store",
        )];
    };
    let known = DoctorFinding::good("project", root.display().to_string());
    let configured = match settings::read(Some(root)) {
        Ok(_) if root.join(".handover/config.toml").exists() => DoctorFinding::good("configuration", "is readable"),
        Ok(_) => DoctorFinding::good(
            "configuration",
            "there is no .handover/config.toml, so the default settings are used (`handover init` writes one)",
        ),
        Err(problem) => DoctorFinding::bad("configuration", problem.to_string(), "fix the line that the message names"),
    };
    let mut found = vec![known, configured];
    found.extend(accepted(root));
    found
}

/// Checks whether a person accepted the commands in the settings, and the command or webhook that sends notices to
/// people.
fn accepted(root: &Path) -> Vec<DoctorFinding> {
    let advice = "read and accept it with `handover trust`";
    let view = match trust::view(root, base::project::place::data_folder().as_deref()) {
        Ok(view) => view,
        // Report nothing here for settings that cannot be parsed: the check of the configuration reports them already.
        Err(trust::Untrusted::Settings(_)) => return Vec::new(),
        Err(problem) => return vec![DoctorFinding::bad("trust", chain(&problem), advice)],
    };
    let mut found = vec![match view.notice() {
        Some(notice) => DoctorFinding::notice("trust", notice, advice),
        None if view.list.commands().is_empty() => DoctorFinding::good("trust", "the settings start no program"),
        None => DoctorFinding::good("trust", "you accepted every command in the settings"),
    }];
    let wanted = settings::read(Some(root)).map(|settings| settings.notify).unwrap_or_default();
    if !wanted.is_empty() {
        found.push(if view.settings.notify == wanted {
            DoctorFinding::good("notices", "are configured and accepted")
        } else {
            let seen = "NOT_TRUSTED the command or webhook of [notify] in .handover/config.toml was not accepted on \
                this machine";
            DoctorFinding::notice(
                "notices",
                seen,
                "read and accept it with `handover trust`; until then Handover uses the one that was accepted before",
            )
        });
    }
    found
}

pub(super) fn cards(root: Option<&Path>) -> Vec<DoctorFinding> {
    let Some(root) = root else { return Vec::new() };
    match files::cards(root) {
        Err(error) => vec![DoctorFinding::bad("cards", error.to_string(), "make .handover/cards readable")],
        Ok(cards) if cards.is_empty() => vec![DoctorFinding::good("cards", "this project has no cards")],
        Ok(cards) => {
            let wrong: Vec<String> = cards
                .iter()
                .filter(|judged| judged.card.is_none())
                .filter_map(|judged| Some(judged.path.file_name()?.to_string_lossy().into_owned()))
                .collect();
            if wrong.is_empty() {
                return vec![DoctorFinding::good("cards", format!("{} cards are valid", cards.len()))];
            }
            let advice = {
                let command = |name: &String| format!("`handover check card .handover/cards/{name}`");
                format!("run {}", wrong.iter().map(command).collect::<Vec<_>>().join(" and "))
            };
            vec![DoctorFinding::bad("cards", format!("{} of {} cards are not valid", wrong.len(), cards.len()), advice)]
        }
    }
}

/// The oldest version of git that supports worktrees as Handover uses them.
const GIT_OLDEST: (u32, u32) = (2, 31);

pub(super) async fn git(root: Option<&Path>) -> Vec<DoctorFinding> {
    let folder = root.map_or_else(std::env::temp_dir, Path::to_owned);
    let asked = side_program::command(Path::new("git"), &folder).arg("--version").output().await;
    let Ok(output) = asked else {
        return vec![DoctorFinding::bad("git", "the program git cannot be started", "install git; worktrees need it")];
    };
    let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let mut numbers = text.split_whitespace().nth(2).unwrap_or_default().split('.');
    let mut number = || numbers.next().and_then(|part| part.parse::<u32>().ok()).unwrap_or(0);
    let version = (number(), number());
    if version < GIT_OLDEST {
        let advice = format!("install git {}.{} or later; worktrees need it", GIT_OLDEST.0, GIT_OLDEST.1);
        return vec![DoctorFinding::bad("git", text, advice)];
    }
    let mut found = vec![DoctorFinding::good("git", text)];
    if let Some(root) = root.filter(|root| root.join(".git").exists()) {
        let ignored = side_program::command(Path::new("git"), root)
            .args(["check-ignore", "--quiet", "--", ".handover/state/handover.db"])
            .status()
            .await;
        // `git check-ignore` exits with 1 if the path is not ignored. Any other failure says nothing about the path.
        if ignored.is_ok_and(|status| status.code() == Some(1)) {
            let advice = "write a line with `*` into .handover/state/.gitignore";
            found.push(DoctorFinding::bad(
                "git ignores state",
                "git does not ignore .handover/state, so it could be \
                committed",
                advice,
            ));
        }
    }
    found
}

/// Checks that only the owner can read the token file of this machine, because its token gives an admin's access.
pub(super) fn token(state: &Path) -> Option<DoctorFinding> {
    let path = state.join(crate::http::TOKEN_FILE);
    let known = std::fs::metadata(&path).ok()?;
    {
        let mode = std::os::unix::fs::PermissionsExt::mode(&known.permissions()) & 0o777;
        if mode & 0o077 != 0 {
            let seen = format!("other users can read {} (mode {mode:o})", path.display());
            let advice = format!(
                "run `chmod 600 {0}`; if another user may have read it, revoke it with `handover token revoke ID` \
                 and delete {0}",
                path.display()
            );
            return Some(DoctorFinding::bad("token", seen, advice));
        }
    }
    let _ = known;
    Some(DoctorFinding::good("token", "only its owner can read the token file"))
}

/// Checks, for each agent client that is installed on this machine, whether it is configured for Handover.
pub(super) fn clients(root: Option<&Path>) -> Vec<DoctorFinding> {
    let Some(root) = root else { return Vec::new() };
    let known = ClientProgram::ALL.iter().filter(|client| is_installed(client.program()));
    let mut found = Vec::new();
    for client in known {
        let name = client.as_str();
        let connected = setup::is_connected(*client, root);
        found.push(if connected {
            DoctorFinding::good("client", format!("{name} is connected"))
        } else {
            DoctorFinding::notice(
                "client",
                format!("{name} is installed, but not set up for Handover"),
                format!("run `handover setup {name}`"),
            )
        });
    }
    if found.is_empty() {
        found.push(DoctorFinding::notice(
            "client",
            "no agent client is in PATH",
            "install one, then run `handover \
            setup NAME`",
        ));
    }
    found
}

fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder: PathBuf| folder.join(program).is_file())
}
