//! Finds the ancestors of this process (its parent, the parent's parent and so on) in `/proc`.

use base::ground::machine;

/// The maximum number of ancestors that are read; older ancestors are ignored. A command in the terminal of an editor
/// has about ten ancestors.
const DEPTH_MAX: usize = 64;
/// The maximum number of bytes that are read of a command line; the rest is ignored. The names of the program and of
/// its script are at the beginning of a command line.
#[cfg(target_os = "linux")]
const COMMAND_BYTES_MAX: u64 = 16 << 10;

/// One ancestor of this process: its parent, the parent's parent, and so on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Ancestor {
    pub(super) pid: u32,
    pub(super) parent: u32,
    /// The start time of the process, in the kernel's ticks since boot. It distinguishes this process from a later one
    /// that gets the same process id.
    pub(super) start: u64,
    /// The process name that the kernel shows, at most 15 bytes.
    pub(super) title: String,
    /// The path of the program file that the process runs; empty when it cannot be read.
    pub(super) program: String,
    pub(super) arguments: Vec<String>,
}

impl Ancestor {
    /// Returns the name by which a person knows the process: the file name of its program or, if the program cannot be
    /// read, the kernel's name for the process.
    pub(super) fn name(&self) -> &str {
        if self.program.is_empty() { &self.title } else { base(&self.program) }
    }
}

/// Returns the last part of a path, such as `git` of `/usr/bin/git`.
pub(super) fn base(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Returns the ancestors of this process, the parent first.
pub(super) fn ancestors() -> Vec<Ancestor> {
    parent_id().map(from).unwrap_or_default()
}

/// Returns a process and its ancestors, the process itself first.
pub(super) fn from(pid: u32) -> Vec<Ancestor> {
    let mut found = Vec::new();
    let mut next = Some(pid);
    while let Some(process) = next.filter(|_| found.len() < DEPTH_MAX).and_then(read) {
        next = (process.parent != 0 && process.parent != process.pid).then_some(process.parent);
        found.push(process);
    }
    found
}

/// Returns the process id of this process's parent, or `None` when this process cannot see its parent. Prefers the id
/// in `/proc` to the id from `getppid`, because the other ancestors are read from `/proc`, too. In a process namespace,
/// the two ids can differ.
pub(super) fn parent_id() -> Option<u32> {
    #[cfg(target_os = "linux")]
    if let Some((_, parent, _)) =
        std::fs::read("/proc/self/stat").ok().and_then(|stat| fields(&String::from_utf8_lossy(&stat)))
    {
        return (parent != 0).then_some(parent);
    }
    rustix::process::getppid().map(|pid| pid.as_raw_pid().unsigned_abs())
}

/// Reads one process from `/proc`. Returns `None` when the process has ended or there is no `/proc`.
#[cfg(target_os = "linux")]
pub(super) fn read(pid: u32) -> Option<Ancestor> {
    use std::io::Read as _;

    let folder = std::path::PathBuf::from(format!("/proc/{pid}"));
    let stat = std::fs::read(folder.join("stat")).ok()?;
    let (title, parent, start) = fields(&String::from_utf8_lossy(&stat))?;
    // Another user's process does not show its program file, but it shows its name.
    let program = std::fs::read_link(folder.join("exe")).map(|path| path.to_string_lossy().into_owned());
    let program = program.unwrap_or_default();
    let program = program.strip_suffix(" (deleted)").unwrap_or(&program).to_owned();
    let mut command = Vec::new();
    if let Ok(file) = std::fs::File::open(folder.join("cmdline")) {
        let _cut = file.take(COMMAND_BYTES_MAX).read_to_end(&mut command);
    }
    let words = command.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned());
    let arguments = words.filter(|word| !word.is_empty()).collect();
    Some(Ancestor { pid, parent, start, title, program, arguments })
}

#[cfg(not(target_os = "linux"))]
pub(super) fn read(_pid: u32) -> Option<Ancestor> {
    None
}

/// Returns the process name, the parent's process id and the start time from a line of `/proc/PID/stat`. The name is in
/// parentheses and can contain any byte, so the last parenthesis of the line ends it.
#[cfg(any(target_os = "linux", test))]
fn fields(stat: &str) -> Option<(String, u32, u64)> {
    let (_, rest) = stat.split_once('(')?;
    let (title, rest) = rest.rsplit_once(')')?;
    let mut words = rest.split_ascii_whitespace();
    let parent = words.nth(1)?.parse().ok()?;
    // The start time is field 22 of the line. The first field after the process name is field 3, and fields 3 and 4 are
    // already read.
    let start = words.nth(17)?.parse().ok()?;
    Some((title.to_owned(), parent, start))
}

/// The scope in which a process id means one process: a process namespace during one boot of the machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NumberSpace {
    pub(super) namespace: String,
    pub(super) boot: String,
}

/// Returns the scope of the process ids that this process sees, or `None` when there is no `/proc`.
pub(super) fn number_space() -> Option<NumberSpace> {
    let namespace = std::fs::read_link("/proc/self/ns/pid").ok()?.to_string_lossy().into_owned();
    Some(NumberSpace { namespace, boot: machine::boot()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_may_hold_parentheses_and_spaces() {
        let line = "42 (a) R 7 (b)) S 9 1 1 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 1 0 777 1 2 3\n";
        assert_eq!(fields(line), Some(("a) R 7 (b)".to_owned(), 9, 777)));
        for bad in ["", "42", "42 (sh", "42 (sh) S", "42 (sh) S x 1 1 0"] {
            assert_eq!(fields(bad), None, "{bad}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_chain_begins_with_the_parent_and_has_starts() {
        let found = ancestors();
        let first = found.first().map(|process| process.pid);
        assert_eq!(first, parent_id());
        assert!(
            found.windows(2).all(|pair| pair[0].parent == pair[1].pid && pair[0].start >= pair[1].start),
            "{found:?}"
        );
        assert!(number_space().is_some());
    }
}
