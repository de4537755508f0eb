//! The token of this machine's owner: in a file that nobody else can read.

use std::fs::File;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::path::Path;

/// A longer file is no token of ours.
const BYTES_MAX: u64 = 512;

/// The token in the file; one is made when there is none.
///
/// A file that others could have written or read is not taken: a repository may bring one with it, whose secret is known.
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

/// Another token in the place of the one that is there.
pub(super) fn renewed(path: &Path) -> io::Result<String> {
    std::fs::remove_file(path)?;
    make(path)
}

/// Written whole before it has its name, so that nobody reads half of it.
fn make(path: &Path) -> io::Result<String> {
    let secret = crate::token::secret().map_err(io::Error::other)?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder)?;
    // Only its owner can read such a file.
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(format!("{secret}\n").as_bytes())?;
    file.as_file().sync_all()?;
    match file.persist_noclobber(path) {
        Ok(_) => Ok(secret),
        // Another server was faster; its token is the one.
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
        Err(_) if path.is_symlink() => Err(io::Error::other("it is a link; delete it, and a new one is made")),
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
    Err(io::Error::other("others can read it, or it is not yours; delete it, and a new one is made"))
}
