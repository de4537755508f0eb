//! Reads and creates the token file of this machine's owner. Only the owner can read the file.

use std::fs::File;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::path::Path;

/// The maximum number of bytes that are read from a token file. Handover never writes a longer file, so further bytes
/// are ignored.
const BYTES_MAX: u64 = 512;

/// Returns the token in the token file of this machine's owner. Creates a token when the file is missing or empty.
///
/// Refuses a file that other users can read or write: it may have come with the repository, with a secret that other
/// people know.
pub(super) fn token(path: &Path) -> io::Result<String> {
    match open(path) {
        Ok(file) => {
            let mut text = String::new();
            judge(&file)?.take(BYTES_MAX).read_to_string(&mut text)?;
            if !text.trim().is_empty() {
                return Ok(text.trim().to_owned());
            }
            std::fs::remove_file(path)?;
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    make(path)
}

/// Replaces the token in the token file with a new one, and returns the new token.
pub(super) fn renewed(path: &Path) -> io::Result<String> {
    std::fs::remove_file(path)?;
    make(path)
}

/// Creates the token file. Writes it under a temporary name first, so that no process reads half of a token.
fn make(path: &Path) -> io::Result<String> {
    let secret = crate::token::secret().map_err(io::Error::other)?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder)?;
    // `NamedTempFile` creates a file that only its owner can read.
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(format!("{secret}\n").as_bytes())?;
    file.as_file().sync_all()?;
    match file.persist_noclobber(path) {
        Ok(_) => Ok(secret),
        // If another server created the token file at the same time, use the token in that file.
        Err(late) if late.error.kind() == ErrorKind::AlreadyExists => {
            let mut text = String::new();
            judge(&open(path)?)?.take(BYTES_MAX).read_to_string(&mut text)?;
            Ok(text.trim().to_owned())
        }
        Err(late) => Err(late.error),
    }
}

fn open(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt as _;

    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let opened = File::options().read(true).custom_flags(flags.bits().cast_signed()).open(path);
    match opened {
        Err(_) if path.is_symlink() => Err(io::Error::other(
            "the file is a symbolic link; delete it, and Handover \
            makes a new one",
        )),
        opened => opened,
    }
}

fn judge(file: &File) -> io::Result<&File> {
    use std::os::unix::fs::MetadataExt as _;

    let found = file.metadata()?;
    let own = found.uid() == rustix::process::geteuid().as_raw();
    if found.is_file() && own && found.mode() & 0o077 == 0 {
        return Ok(file);
    }
    Err(io::Error::other("other users can read the file, or it is not yours; delete it, and Handover makes a new one"))
}
