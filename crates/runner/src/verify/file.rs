//! Reads the output file of a task. Opens the path folder by folder from the worktree and follows no link below the
//! worktree.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use rustix::fs::{Mode, OFlags, open, openat};
use rustix::io::Errno;
use sha2::{Digest as _, Sha256};

use super::evidence::{EvidenceCode, VerificationProblem};
use base::ground::digest::hexadecimal;

/// The largest output file that is read as text, in bytes. A larger file fails the verification when its text is
/// needed. It is accepted when the file only has to exist.
pub(super) const TEXT_BYTES_MAX: u64 = 16 << 20;

const FOLDER: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC).union(OFlags::RDONLY);

/// The content of the output file of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OutputContent {
    pub(super) bytes: u64,
    pub(super) sha256: String,
    pub(super) text: Result<String, VerificationProblem>,
}

/// Reads the output file at a resolved path in the worktree. Blocks the thread.
pub(super) fn read(worktree: &Path, path: &str) -> io::Result<Result<OutputContent, VerificationProblem>> {
    let file = match reach(worktree, path) {
        Ok(file) => File::from(file),
        Err(Errno::NOENT | Errno::NAMETOOLONG) => {
            return Ok(Err(unfit(EvidenceCode::OutputMissing, path, "does not exist")));
        }
        Err(Errno::NOTDIR | Errno::LOOP) => {
            return Ok(Err(unfit(
                EvidenceCode::OutputNotAFile,
                path,
                "is a link, or one of its folders is a link or a file",
            )));
        }
        Err(Errno::ACCESS | Errno::PERM) => {
            return Ok(Err(unfit(EvidenceCode::OutputNotAFile, path, "may not be read")));
        }
        Err(Errno::NXIO | Errno::NODEV) => return Ok(Err(not_regular(path))),
        Err(error) => return Err(error.into()),
    };
    if !file.metadata()?.is_file() {
        return Ok(Err(not_regular(path)));
    }
    content(file, path).map(Ok)
}

fn reach(worktree: &Path, path: &str) -> Result<std::os::fd::OwnedFd, Errno> {
    // Follows links in the path of the worktree, because Handover chose this path, not an agent.
    let mut folder = open(worktree, OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::RDONLY, Mode::empty())?;
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
    for part in folders.split('/').filter(|part| !part.is_empty()) {
        folder = openat(&folder, part, FOLDER, Mode::empty())?;
    }
    // `NONBLOCK`: the output may be a pipe, and opening a pipe would wait for its other end.
    let flags = OFlags::NOFOLLOW | OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    openat(&folder, name, flags, Mode::empty())
}

/// Reads the output file once from start to end. So the length, the hash and the text belong together even when the
/// file grows.
fn content(mut file: File, path: &str) -> io::Result<OutputContent> {
    let (mut kept, mut hash, mut bytes) = (Vec::new(), Sha256::new(), 0_u64);
    let mut buffer = vec![0; 64 << 10];
    loop {
        let count = match file.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let part = &buffer[..count];
        hash.update(part);
        bytes += count as u64;
        if bytes <= TEXT_BYTES_MAX {
            kept.extend_from_slice(part);
        }
    }
    let text = if bytes > TEXT_BYTES_MAX {
        Err(unfit(
            EvidenceCode::OutputTooLarge,
            path,
            &format!("has {bytes} bytes; at most {TEXT_BYTES_MAX} can be judged"),
        ))
    } else {
        String::from_utf8(kept).map_err(|_| unfit(EvidenceCode::OutputNotText, path, "is not UTF-8 text"))
    };
    Ok(OutputContent { bytes, sha256: hexadecimal(&hash.finalize()), text })
}

fn not_regular(path: &str) -> VerificationProblem {
    unfit(EvidenceCode::OutputNotAFile, path, "is not a regular file")
}

fn unfit(code: EvidenceCode, path: &str, what: &str) -> VerificationProblem {
    VerificationProblem::new(code, format!("{path} {what}"))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn only_regular_files_of_the_worktree_are_read() {
        let outer = tempfile::tempdir().unwrap();
        let (root, outside) = (outer.path().join("root"), outer.path().join("outside"));
        fs::create_dir_all(root.join("folder")).unwrap();
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("secret"), "secret").unwrap();
        fs::write(root.join("folder/a.md"), "hällo").unwrap();
        fs::write(root.join("bytes"), b"a\xffb").unwrap();
        symlink(outside.join("secret"), root.join("link")).unwrap();
        symlink(&outside, root.join("away")).unwrap();
        symlink("folder", root.join("near")).unwrap();
        symlink("loop", root.join("loop")).unwrap();
        let socket = std::os::unix::net::UnixListener::bind(root.join("socket")).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, root.join("pipe"), Mode::from_raw_mode(0o600)).unwrap();
        let long = "n".repeat(300);
        let cases = [
            ("nothing", "OUTPUT_MISSING"),
            ("folder/nothing", "OUTPUT_MISSING"),
            ("no/folder", "OUTPUT_MISSING"),
            (&long, "OUTPUT_MISSING"),
            ("folder", "OUTPUT_NOT_A_FILE"),
            ("bytes/x", "OUTPUT_NOT_A_FILE"),
            ("link", "OUTPUT_NOT_A_FILE"),
            ("away/secret", "OUTPUT_NOT_A_FILE"),
            ("near/a.md", "OUTPUT_NOT_A_FILE"),
            ("loop", "OUTPUT_NOT_A_FILE"),
            ("loop/x", "OUTPUT_NOT_A_FILE"),
            ("pipe", "OUTPUT_NOT_A_FILE"),
            ("socket", "OUTPUT_NOT_A_FILE"),
        ];
        for (path, code) in cases {
            assert_eq!(read(&root, path).unwrap().unwrap_err().code.as_str(), code, "{path}");
        }
        drop(socket);
        let found = read(&root, "folder/a.md").unwrap().unwrap();
        assert_eq!((found.bytes, found.text), (6, Ok("hällo".to_owned())));
        assert_eq!(found.sha256, base::ground::digest::sha256("hällo".as_bytes()));
        let found = read(&root, "bytes").unwrap().unwrap();
        assert_eq!((found.bytes, found.text.unwrap_err().code), (3, EvidenceCode::OutputNotText));
    }

    #[test]
    fn a_huge_file_is_hashed_and_not_kept() {
        let root = tempfile::tempdir().unwrap();
        fs::File::create(root.path().join("huge")).unwrap().set_len(TEXT_BYTES_MAX + 1).unwrap();
        let found = read(root.path(), "huge").unwrap().unwrap();
        assert_eq!((found.bytes, found.text.unwrap_err().code), (TEXT_BYTES_MAX + 1, EvidenceCode::OutputTooLarge));
    }
}
