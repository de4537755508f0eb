//! Reads folders of texts. The prices are fitted to four fifths of the texts, and the other fifth tests the fitted
//! prices.

use std::path::{Path, PathBuf};
use std::{fs, io};

/// The largest size in bytes of a part of a file. A larger file is cut into several parts. So even a folder with few
/// files has parts to which the prices are fitted and parts that only test the prices.
const PART_BYTES_MAX: usize = 64 << 10;
/// The largest size in bytes of one text. For each text, the estimate is compared with the real number of tokens.
const TEXT_BYTES_MAX: usize = 2 << 10;
/// One of every `HELD_OUT_SHARE` parts of the files is not used to fit the prices. This part only tests the fitted
/// prices.
const HELD_OUT_SHARE: usize = 5;

/// The texts of one folder.
#[derive(Debug)]
pub(crate) struct TextFolder {
    pub(crate) name: String,
    /// The importance of the folder for the fit. A folder that is named in the program's arguments has the importance
    /// 1, regardless of its size.
    pub(crate) importance: f64,
    /// The texts to which the prices are fitted.
    pub(crate) fitted: Vec<String>,
    /// The texts to which the prices are not fitted. They only test the fitted prices.
    pub(crate) held_out: Vec<String>,
}

impl TextFolder {
    /// Divides the parts of a folder's files: the prices are fitted to four of every five parts, and the fifth part
    /// tests the fitted prices. Cuts all parts into texts of bounded length.
    pub(crate) fn divide<'t>(name: &str, importance: f64, parts: impl Iterator<Item = &'t str>) -> Self {
        let mut folder = Self { name: name.to_owned(), importance, fitted: Vec::new(), held_out: Vec::new() };
        for (at, part) in parts.enumerate() {
            let is_held_out = at % HELD_OUT_SHARE == HELD_OUT_SHARE - 1;
            let texts = if is_held_out { &mut folder.held_out } else { &mut folder.fitted };
            texts.extend(cut(part, TEXT_BYTES_MAX).map(str::to_owned));
        }
        folder
    }
}

/// Reads all UTF-8 text files below a folder, in the order of their paths.
pub(crate) fn read_folder(folder: &Path) -> io::Result<TextFolder> {
    let mut texts = Vec::new();
    for path in files(folder)? {
        texts.extend(String::from_utf8(fs::read(&path)?).ok().filter(|text| !text.contains('\0')));
    }
    let name = folder.file_name().unwrap_or(folder.as_os_str()).to_string_lossy();
    Ok(TextFolder::divide(&name, 1.0, texts.iter().flat_map(|text| cut(text, PART_BYTES_MAX))))
}

fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let (mut found, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let kind = entry.file_type()?;
            if kind.is_dir() {
                folders.push(entry.path());
            } else if kind.is_file() {
                found.push(entry.path());
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Cuts a text into parts of at most `bytes_max` bytes. If possible, each part ends with the end of a line.
fn cut(text: &str, bytes_max: usize) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let most = rest.floor_char_boundary(bytes_max);
        let end = if most == rest.len() { most } else { rest[..most].rfind('\n').map_or(most, |line| line + 1) };
        let (part, after) = rest.split_at(end);
        rest = after;
        (!part.is_empty()).then_some(part)
    })
}
