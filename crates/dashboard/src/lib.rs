//! The files of the dashboard's page, which the program contains. A server needs no other file to show the page.
//!
//! The files are in `assets/` as people write them: no build step makes them. The page asks the server for everything
//! else through the public HTTP API.

/// One file of the page.
#[derive(Debug)]
pub struct PageFile {
    /// The name of the file below `/assets/`.
    pub name: &'static str,
    pub content_type: &'static str,
    pub bytes: &'static [u8],
}

/// All files of the page, as `build.rs` found them in the folder `assets`.
pub const FILES: &[PageFile] = include!(concat!(env!("OUT_DIR"), "/files.rs"));

/// The file that the server sends for every address of the page.
pub const INDEX: &str = "index.html";

/// The rules that a browser applies to the page. The page loads nothing from other servers, runs no code that is written
/// into the document or made of text, and no other page can show it in a frame.
pub const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
    img-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
    require-trusted-types-for 'script'; trusted-types lit-html handover-worker";

/// Returns the file with this name.
pub fn file(name: &str) -> Option<&'static PageFile> {
    FILES.iter().find(|file| file.name == name)
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use sha2::{Digest as _, Sha256};

    use super::*;

    /// The maximum number of bytes of all files together.
    const BYTES_MAX: usize = 150 * 1_024;
    /// The SHA-256 of `lit.js`, the only file that other people wrote. `assets/README.md` tells how it was made.
    const LIT_SHA256: &str = include_str!("lit.sha256");

    #[test]
    fn every_name_in_a_file_of_the_page_is_a_file_of_the_page() {
        for page in FILES.iter().filter(|page| page.name != "lit.js") {
            let text = std::str::from_utf8(page.bytes).unwrap();
            let absolute = text.split("/assets/").skip(1);
            let relative =
                text.lines().filter(|line| line.contains("import")).flat_map(|line| line.split("\"./").skip(1));
            for rest in absolute.chain(relative) {
                let name = rest.split(['"', '\'', '`', ')']).next().unwrap_or_default();
                assert!(file(name).is_some(), "{} names {name}", page.name);
            }
        }
        assert!(file(INDEX).is_some());
    }

    #[test]
    fn the_page_is_small() {
        let bytes: usize = FILES.iter().map(|file| file.bytes.len()).sum();
        assert!(bytes <= BYTES_MAX, "the files have {bytes} bytes, at most {BYTES_MAX}");
    }

    #[test]
    fn the_library_is_the_one_that_was_looked_at() {
        let hash = Sha256::digest(file("lit.js").unwrap().bytes).iter().fold(String::new(), |mut text, byte| {
            write!(text, "{byte:02x}").unwrap();
            text
        });
        assert_eq!(hash, LIT_SHA256.trim());
    }

    #[test]
    fn no_file_names_another_server() {
        for file in FILES.iter().filter(|file| file.name != "lit.js") {
            let text = std::str::from_utf8(file.bytes).unwrap();
            let named = ["http://", "https://"].iter().flat_map(|scheme| text.split(scheme).skip(1));
            let foreign: Vec<&str> = named.filter(|rest| !rest.starts_with("www.w3.org/")).collect();
            assert!(foreign.is_empty(), "{} names {}", file.name, foreign[0].lines().next().unwrap_or_default());
        }
    }
}
