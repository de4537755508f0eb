//! Finds the folders that git's settings name for hooks (`core.hooksPath`). A write to such a folder decides which
//! programs git runs, so a person must approve it.

use std::path::{Path, PathBuf};

use super::super::place;

/// The maximum depth of settings files that include other settings files. Git itself stops at ten.
const INCLUDES_DEEP_MAX: usize = 10;
/// The maximum number of bytes of a settings file that are read. The rest of a longer file is not searched.
const FILE_BYTES_MAX: usize = 1 << 20;

/// Returns all folders that the settings of git name for the hooks of a repository, such as `.husky`: the settings of the
/// repository, of its worktree, of the user and of the system. Git uses the last one. All of them are returned, because
/// a command may change which one that is. The list is empty when the hooks are in git's default folder.
pub(in super::super) fn hooks_folders(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for file in settings_files(root, place::home_folders(), |name| std::env::var(name).ok()) {
        read(&file, 0, &mut |key, value| {
            if key == "core.hookspath" && !value.is_empty() {
                found.push(place::tidy(&root.join(expanded(value))));
            }
        });
    }
    found.dedup();
    found
}

/// Returns the settings files that git reads for a repository, those with the highest rank last.
fn settings_files(root: &Path, homes: &[PathBuf], variable: impl Fn(&str) -> Option<String>) -> Vec<PathBuf> {
    let mut files = vec![variable("GIT_CONFIG_SYSTEM").map_or_else(|| PathBuf::from("/etc/gitconfig"), PathBuf::from)];
    match variable("GIT_CONFIG_GLOBAL") {
        Some(file) => files.push(PathBuf::from(file)),
        None => {
            files.extend(variable("XDG_CONFIG_HOME").map(|folder| Path::new(&folder).join("git/config")));
            files.extend(homes.iter().flat_map(|home| [home.join(".config/git/config"), home.join(".gitconfig")]));
        }
    }
    if let Some(folder) = git_folder(root) {
        // A linked worktree names the folder that it shares with the other worktrees in the file `commondir`. A submodule
        // has no such file: its settings are in its own folder.
        let common = std::fs::read_to_string(folder.join("commondir"));
        let common = common.map_or_else(|_| folder.clone(), |named| folder.join(named.trim()));
        files.extend([common.join("config"), folder.join("config.worktree")]);
    }
    files
}

/// Returns the folder in which git keeps the data of a worktree. In a linked worktree or a submodule, `.git` is a file that
/// names this folder.
fn git_folder(root: &Path) -> Option<PathBuf> {
    let git = root.join(".git");
    match std::fs::read_to_string(&git) {
        Ok(text) => Some(place::tidy(&root.join(text.strip_prefix("gitdir:")?.trim()))),
        Err(_) => git.is_dir().then_some(git),
    }
}

/// Calls `heard` with every key (`section.name` in lower case) and value of a settings file, and of the files that it
/// includes. A condition of an include is not checked, so its files count always.
fn read(file: &Path, depth: usize, heard: &mut impl FnMut(&str, &str)) {
    let Ok(mut bytes) = std::fs::read(file) else { return };
    bytes.truncate(FILE_BYTES_MAX);
    let text = String::from_utf8_lossy(&bytes).replace("\\\r\n", "").replace("\\\n", "");
    let mut section = String::new();
    for line in text.lines() {
        let mut line = line.trim();
        if let Some(after) = line.strip_prefix('[') {
            let Some((header, rest)) = after.split_once(']') else { continue };
            // The section of `[includeIf "gitdir:~/team/"]` is `includeif`.
            section = header.split(['"', ' ', '\t']).next().unwrap_or_default().to_ascii_lowercase();
            line = rest.trim();
        }
        let Some((name, value)) = line.split_once('=') else { continue };
        let key = format!("{section}.{}", name.trim().to_ascii_lowercase());
        let value = plain_value(value);
        heard(&key, &value);
        if matches!(key.as_str(), "include.path" | "includeif.path") && depth < INCLUDES_DEEP_MAX {
            let folder = file.parent().unwrap_or(Path::new("/"));
            read(&folder.join(expanded(&value)), depth + 1, heard);
        }
    }
}

/// Returns a value without its quotes, its escapes and the comment behind it.
fn plain_value(written: &str) -> String {
    let (mut value, mut quoted) = (String::new(), false);
    let mut letters = written.trim().chars();
    while let Some(letter) = letters.next() {
        match letter {
            '"' => quoted = !quoted,
            '#' | ';' if !quoted => break,
            '\\' => value.extend(letters.next()),
            other => value.push(other),
        }
    }
    value.trim_end().to_owned()
}

/// Returns a path with `~` replaced by the home folder, as git reads it.
fn expanded(value: &str) -> PathBuf {
    match (value.strip_prefix("~/"), place::home_folders().first()) {
        (Some(below), Some(home)) => home.join(below),
        _ => PathBuf::from(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repository(settings: &str) -> std::io::Result<(tempfile::TempDir, PathBuf)> {
        let folder = tempfile::tempdir()?;
        let root = folder.path().join("main");
        std::fs::create_dir_all(root.join(".git/worktrees/other"))?;
        std::fs::write(root.join(".git/config"), settings)?;
        Ok((folder, root))
    }

    #[test]
    fn hooks_are_where_the_settings_of_git_say() -> std::io::Result<()> {
        let home = place::home_folders().first().cloned().unwrap_or_default();
        let rows = [
            ("[core]\n\tbare = false\n", None),
            ("[core]\n\tbare = false\n\thooksPath = .husky/_\n", Some(PathBuf::from(".husky/_"))),
            ("[core] hooksPath = .husky # the hooks of the team\n", Some(PathBuf::from(".husky"))),
            ("[CORE]\nHOOKSPATH = \"my hooks; and # more\" ; note\n", Some(PathBuf::from("my hooks; and # more"))),
            ("[core]\n\thooksPath = ho\\\noks\n", Some(PathBuf::from("hooks"))),
            ("[core]\n\thooksPath = ~/hooks\n", Some(home.join("hooks"))),
            ("[core]\n\thooksPath = /srv/hooks\n", Some(PathBuf::from("/srv/hooks"))),
            ("[user]\n\thooksPath = .husky\n", None),
        ];
        for (settings, expected) in rows {
            let (_folder, root) = repository(settings)?;
            let expected: Vec<PathBuf> = expected.iter().map(|path| root.join(path)).collect();
            assert_eq!(hooks_folders(&root), expected, "{settings}");
        }
        Ok(())
    }

    #[test]
    fn worktrees_submodules_and_included_files_are_read() -> std::io::Result<()> {
        let (folder, root) = repository("[core]\n\thooksPath = .husky\n[includeIf \"gitdir:/x\"]\n\tpath = more\n")?;
        std::fs::write(root.join(".git/more"), "[core]\n\thooksPath = included\n[include]\n\tpath = more\n")?;
        let other = folder.path().join("other");
        std::fs::create_dir_all(&other)?;
        std::fs::write(other.join(".git"), format!("gitdir: {}/.git/worktrees/other\n", root.display()))?;
        std::fs::write(root.join(".git/worktrees/other/commondir"), "../..\n")?;
        std::fs::write(root.join(".git/worktrees/other/config.worktree"), "[core]\nhooksPath = own\n")?;
        let found = hooks_folders(&other);
        assert!([".husky", "included", "own"].iter().all(|name| found.contains(&other.join(name))), "{found:?}");

        let module = root.join("part");
        std::fs::create_dir_all(root.join(".git/modules/part"))?;
        std::fs::create_dir_all(&module)?;
        std::fs::write(module.join(".git"), "gitdir: ../.git/modules/part\n")?;
        std::fs::write(root.join(".git/modules/part/config"), "[core]\n\thooksPath = module-hooks\n")?;
        assert_eq!(hooks_folders(&module), [module.join("module-hooks")]);
        Ok(())
    }

    #[test]
    fn the_settings_of_the_user_and_the_system_count_too() {
        let homes = [PathBuf::from("/home/amy")];
        let name = |path: &str| PathBuf::from(path);
        let plain = settings_files(Path::new("/nowhere"), &homes, |_| None);
        assert_eq!(plain, [name("/etc/gitconfig"), name("/home/amy/.config/git/config"), name("/home/amy/.gitconfig")]);
        let set = settings_files(Path::new("/nowhere"), &homes, |name| {
            Some(format!("/set/{name}")).filter(|_| name.starts_with("GIT_CONFIG"))
        });
        assert_eq!(set, [name("/set/GIT_CONFIG_SYSTEM"), name("/set/GIT_CONFIG_GLOBAL")]);
    }
}
