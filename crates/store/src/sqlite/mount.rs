//! Finds out whether a path is on a network file system. SQLite may lose data there, because file locks and shared
//! memory do not work reliably on such a file system.

use std::path::{Path, PathBuf};

/// The types of file systems whose files are on another machine. A type that may be local or remote, such as plain
/// `fuse`, is not listed.
const REMOTE: &[&str] = &[
    "9p2000.L",
    "afs",
    "beegfs",
    "ceph",
    "cifs",
    "davfs",
    "fuse.ceph",
    "fuse.davfs2",
    "fuse.gcsfuse",
    "fuse.glusterfs",
    "fuse.rclone",
    "fuse.s3fs",
    "fuse.sshfs",
    "glusterfs",
    "gpfs",
    "lustre",
    "ncpfs",
    "nfs",
    "nfs3",
    "nfs4",
    "smb2",
    "smb3",
    "smbfs",
];

/// Returns the type of the network file system that holds a path. Returns `None` for a local file system, and when the
/// kernel does not list its mounts.
pub(super) fn remote(path: &Path) -> Option<String> {
    let folder = existing(path)?;
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").ok()?;
    kind(&mounts, &folder).filter(|kind| REMOTE.contains(&kind.as_str()))
}

/// Returns the nearest parent folder that exists, with links resolved. The file itself may not exist yet.
fn existing(path: &Path) -> Option<PathBuf> {
    let absolute = std::path::absolute(path).ok()?;
    absolute.ancestors().find_map(|folder| folder.canonicalize().ok())
}

/// Returns the type of the file system that holds a folder. The mount with the longest mount point at the beginning of
/// the folder's path decides. When two mounts have the same mount point, the mount on the later line of `mounts`
/// counts, because it hides the earlier mount.
fn kind(mounts: &str, folder: &Path) -> Option<String> {
    let mut found: Option<(usize, &str)> = None;
    for line in mounts.lines() {
        // A line of `/proc/self/mountinfo` has the fields `id parent device root point options ... - type source
        // options`.
        let (Some(point), Some((_, behind))) = (line.split(' ').nth(4), line.split_once(" - ")) else { continue };
        let (Some(kind), point) = (behind.split(' ').next(), unescaped(point)) else { continue };
        let length = Path::new(&point).components().count();
        if folder.starts_with(&point) && found.is_none_or(|(longest, _)| length >= longest) {
            found = Some((length, kind));
        }
    }
    found.map(|(_, kind)| kind.to_owned())
}

/// Replaces the octal escapes that the kernel writes for blanks, tabs, line ends and backslashes (`\040` for a blank).
fn unescaped(point: &str) -> String {
    ["\\040 ", "\\011\t", "\\012\n", "\\134\\"]
        .iter()
        .fold(point.to_owned(), |text, pair| text.replace(&pair[..4], &pair[4..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
21 1 254:0 / / rw,relatime - ext4 /dev/vda rw
30 21 0:30 / /home rw shared:1 - nfs4 server:/home rw
31 30 0:31 / /home/ann/local rw - ext4 /dev/vdb rw
32 21 0:32 / /mnt/with\\040blank rw - fuse.sshfs ann@host: rw
33 21 0:33 / /homestead rw - xfs /dev/vdc rw
34 21 0:34 / /home rw - cifs //server/home rw
";

    #[test]
    fn the_mount_of_a_path_is_found() {
        for (path, expected) in [
            ("/etc", "ext4"),
            ("/home", "cifs"),
            ("/home/ann/project/.handover", "cifs"),
            ("/home/ann/local/project", "ext4"),
            ("/mnt/with blank/x", "fuse.sshfs"),
            ("/homestead/x", "xfs"),
        ] {
            assert_eq!(kind(MOUNTS, Path::new(path)).as_deref(), Some(expected), "{path}");
        }
    }

    #[test]
    fn a_disk_of_this_machine_is_not_remote() {
        assert_eq!(remote(&std::env::temp_dir().join("not/there/yet.db")), None);
    }
}
