//! Objects: the complete outputs of programs, stored as files next to the store and named by their SHA-256.
//!
//! ```text
//! <state>/objects/part-…          being written
//! <state>/objects/ab/ab34…        stored: complete, synced, never changed
//! ```
//!
//! All functions of this module block on the disk. Call them on a thread where blocking is allowed.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Write as _};
use std::path::{Path, PathBuf};

use engine::turn::StoredObject;
use sha2::{Digest as _, Sha256};

use crate::ground::digest::hexadecimal;

const FOLDER: &str = "objects";
/// The length of a SHA-256 in hexadecimal.
const HASH_CHARS: usize = 64;
/// The maximum number of bytes of an object (a stored output of a program) that are in memory at the same time.
const CHUNK_BYTES: usize = 64 << 10;

/// Stores all bytes of a reader as an object (a file that is named by its SHA-256). Equal contents are stored once.
/// After a crash an object is complete or absent.
pub fn put(state: &Path, mut bytes: impl Read) -> io::Result<StoredObject> {
    let folder = state.join(FOLDER);
    std::fs::create_dir_all(&folder)?;
    let mut part = tempfile::Builder::new().prefix("part-").tempfile_in(&folder)?;
    let (mut hash, mut count) = (Sha256::new(), 0_u64);
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        let read = match bytes.read(&mut chunk) {
            Ok(0) => break,
            Ok(read) => chunk.get(..read).unwrap_or_default(),
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        hash.update(read);
        part.write_all(read)?;
        count = count.saturating_add(u64::try_from(read.len()).unwrap_or(u64::MAX));
    }
    let object = StoredObject { hash: hexadecimal(&hash.finalize()), bytes: count };
    let path = place(state, &object.hash)?;
    // Keep an existing file of the right size, because it is this object. A file of another size is damaged, so the
    // code below replaces it.
    if std::fs::symlink_metadata(&path).is_ok_and(|found| found.is_file() && found.len() == count) {
        return Ok(object);
    }
    part.as_file().sync_all()?;
    if let Some(shelf) = path.parent() {
        std::fs::create_dir_all(shelf)?;
        part.persist(&path).map_err(|error| error.error)?;
        sync(shelf)?;
    }
    sync(&folder)?;
    Ok(object)
}

/// Returns true when the file of an object (a stored output of a program) exists. It can be missing, because a copy of
/// the store does not include its objects.
pub fn has(state: &Path, object: &StoredObject) -> bool {
    place(state, &object.hash).is_ok_and(|path| path.is_file())
}

/// Opens an object (a file that is named by its SHA-256) for reading. Reading it to the end fails when the content does
/// not match the hash.
pub fn get(state: &Path, object: &StoredObject) -> io::Result<KeptObject> {
    let file = File::open(place(state, &object.hash)?)?;
    Ok(KeptObject { file, hash: Some(Sha256::new()), object: object.clone() })
}

/// Opens the file of an object by its SHA-256, for reading at any place. The content is not checked against the hash,
/// because a part of it cannot be.
pub fn open(state: &Path, hash: &str) -> io::Result<File> {
    File::open(place(state, hash)?)
}

/// A reader of an object (a file that is named by its SHA-256). At the end it checks the content against the hash.
#[derive(Debug)]
pub struct KeptObject {
    file: File,
    /// The hash of the bytes read so far. `None` after the end was reached and the hash matched.
    hash: Option<Sha256>,
    object: StoredObject,
}

impl Read for KeptObject {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(buffer)?;
        if let Some(hash) = &mut self.hash {
            hash.update(buffer.get(..count).unwrap_or_default());
        }
        if count > 0 || buffer.is_empty() {
            return Ok(count);
        }
        let found = self.hash.take().map(|hash| hexadecimal(&hash.finalize()));
        if found.is_some_and(|found| found != self.object.hash) {
            let problem = format!("the stored object {} was changed after it was saved", self.object.hash);
            return Err(io::Error::new(ErrorKind::InvalidData, problem));
        }
        Ok(0)
    }
}

/// Returns the path of an object, a file that is named by its SHA-256. Refuses a name that is not a hash: the name may
/// come from a store that another user filled, and could be a path outside of the folder.
fn place(state: &Path, hash: &str) -> io::Result<PathBuf> {
    let is_hash = hash.len() == HASH_CHARS && hash.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    match hash.get(..2).filter(|_| is_hash) {
        Some(shelf) => Ok(state.join(FOLDER).join(shelf).join(hash)),
        None => Err(io::Error::new(ErrorKind::InvalidInput, "an object must be named by its SHA-256 hash")),
    }
}

/// Syncs a folder to disk, so that the name of a new file in it survives a crash.
fn sync(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reader that returns its bytes in pieces of odd sizes and is interrupted now and then.
    struct Trickle(Vec<u8>, usize);

    impl Read for Trickle {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.1 += 1;
            if self.1.is_multiple_of(3) {
                return Err(ErrorKind::Interrupted.into());
            }
            let count = self.0.len().min(buffer.len()).min(7_919);
            buffer[..count].copy_from_slice(&self.0[..count]);
            self.0.drain(..count);
            Ok(count)
        }
    }

    /// A reader that fails after half of its bytes.
    struct Torn(bool);

    impl Read for Torn {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            if std::mem::replace(&mut self.0, true) {
                return Err(io::Error::other("the pipe broke"));
            }
            buffer[..3].copy_from_slice(b"abc");
            Ok(3)
        }
    }

    fn read(state: &Path, object: &StoredObject) -> io::Result<Vec<u8>> {
        let mut found = Vec::new();
        get(state, object)?.read_to_end(&mut found).map(|_| found)
    }

    fn files(folder: &Path) -> Vec<String> {
        let mut found = Vec::new();
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            match entry.path().is_dir() {
                true => found.extend(files(&entry.path()).iter().map(|inner| format!("{name}/{inner}"))),
                false => found.push(name),
            }
        }
        found.sort();
        found
    }

    #[test]
    fn what_is_put_is_got_and_kept_once() {
        let state = tempfile::tempdir().unwrap();
        let large: Vec<u8> = (0..300_000_u32).flat_map(u32::to_le_bytes).collect();
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        for bytes in [Vec::new(), b"abc".to_vec(), large] {
            let first = put(state.path(), Trickle(bytes.clone(), 0)).unwrap();
            let again = put(state.path(), bytes.as_slice()).unwrap();
            assert_eq!((&first, first.bytes), (&again, u64::try_from(bytes.len()).unwrap()));
            assert_eq!(read(state.path(), &first).unwrap(), bytes);
            assert!(has(state.path(), &first));
        }
        let kept = files(&state.path().join(FOLDER));
        assert_eq!(kept.len(), 3, "{kept:?}");
        assert!(kept.contains(&format!("ba/{abc}")), "{kept:?}");
    }

    #[test]
    fn half_of_it_is_nothing() {
        let state = tempfile::tempdir().unwrap();
        assert_eq!(put(state.path(), Torn(false)).unwrap_err().to_string(), "the pipe broke");
        assert_eq!(files(&state.path().join(FOLDER)), Vec::<String>::new());
    }

    #[test]
    fn what_was_changed_is_not_given_out_as_whole() {
        let state = tempfile::tempdir().unwrap();
        let object = put(state.path(), b"abc".as_slice()).unwrap();
        let path = place(state.path(), &object.hash).unwrap();
        std::fs::write(&path, "abd").unwrap();
        assert_eq!(read(state.path(), &object).unwrap_err().kind(), ErrorKind::InvalidData);
        // A file that is too short is replaced when the same content is stored again.
        std::fs::write(&path, "ab").unwrap();
        put(state.path(), b"abc".as_slice()).unwrap();
        assert_eq!(read(state.path(), &object).unwrap(), b"abc");
        std::fs::remove_file(&path).unwrap();
        assert!(!has(state.path(), &object));
        assert_eq!(read(state.path(), &object).unwrap_err().kind(), ErrorKind::NotFound);
    }

    #[test]
    fn a_name_that_is_no_hash_leads_nowhere() {
        let state = tempfile::tempdir().unwrap();
        for hash in ["", "00ff", "../../../etc/passwd", &"A".repeat(64), &format!("../{}", "0".repeat(61)), "ü"] {
            let object = StoredObject { hash: (*hash).to_owned(), bytes: 0 };
            assert_eq!(get(state.path(), &object).unwrap_err().kind(), ErrorKind::InvalidInput, "{hash}");
            assert!(!has(state.path(), &object));
        }
    }

    #[test]
    fn many_writers_of_the_same_do_not_meet() {
        let state = tempfile::tempdir().unwrap();
        let bytes = vec![7_u8; 200_000];
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| put(state.path(), bytes.as_slice()).unwrap());
            }
        });
        assert_eq!(files(&state.path().join(FOLDER)).len(), 1);
    }
}
