//! Finds the paths in a patch for `apply_patch`, the tool of Codex that changes files.
//!
//! ```text
//! *** Begin Patch
//! *** Update File: src/a.rs
//! *** Move to: src/b.rs
//! @@
//! -old
//! +new
//! *** End Patch
//! ```

/// The largest number of files in one patch. A patch with more files needs a person's approval.
const FILES_MAX: usize = 1_000;
const BEGIN: &str = "*** Begin Patch";
const END: &str = "*** End Patch";
const HEADERS: [&str; 4] = ["*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "];

/// Returns every path that a patch writes. The error says why the paths cannot be determined.
pub(super) fn paths(patch: &str) -> Result<Vec<String>, String> {
    let mut lines = patch.trim().lines();
    if lines.next().map(str::trim_end) != Some(BEGIN) {
        return Err(format!("it does not begin with {BEGIN:?}"));
    }
    let mut paths = Vec::new();
    let mut ended = false;
    for line in lines {
        if ended {
            return Err(format!("something follows {END:?}"));
        }
        let bare = line.trim();
        if bare == END {
            ended = true;
        } else if let Some(path) = HEADERS.iter().find_map(|header| line.strip_prefix(header)) {
            let path = path.trim();
            if path.is_empty() || path.contains('\0') {
                return Err("a header names no path".to_owned());
            }
            paths.push(path.to_owned());
        } else if line.starts_with("*** End of File") || line.is_empty() || line.starts_with(['+', '-', ' ', '@']) {
            // A line that begins with blanks and then looks like a header is refused. Another reader of patches may
            // ignore the blanks and take the line as a header.
            if line.starts_with(' ') && bare.starts_with("*** ") {
                return Err(format!("a line that may be a header: {bare:?}"));
            }
        } else {
            return Err(format!("a line that is neither header nor change: {line:?}"));
        }
        if paths.len() > FILES_MAX {
            return Err(format!("more than {FILES_MAX} files"));
        }
    }
    match (ended, paths.is_empty()) {
        (false, _) => Err(format!("it does not end with {END:?}")),
        (true, true) => Err("it names no file".to_owned()),
        (true, false) => Ok(paths),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_read_or_the_patch_is_refused() {
        let good = "*** Begin Patch\n*** Add File: a b.txt\n+x\n*** Update File: c\n*** Move to: d/e\n@@ fn\n-1\n+2\n\n \
                    kept\n*** End of File\n*** Delete File: f\n*** End Patch\n";
        let wanted = ["a b.txt", "c", "d/e", "f"].map(str::to_owned).to_vec();
        assert_eq!(paths(good), Ok(wanted));
        for bad in [
            "",
            "*** Begin Patch\n*** End Patch",
            "*** Begin Patch\n*** Add File: a\n+x",
            "*** Add File: a\n+x\n*** End Patch",
            "*** Begin Patch\n*** Add File: \n+x\n*** End Patch",
            "*** Begin Patch\n*** Create File: a\n+x\n*** End Patch",
            "*** Begin Patch\n*** Add File: a\n *** Add File: b\n*** End Patch",
            "*** Begin Patch\n*** Add File: a\n+x\n*** End Patch\n*** Add File: b",
            "*** Begin Patch\n*** Add File: a\nx\n*** End Patch",
        ] {
            assert!(paths(bad).is_err(), "{bad}");
        }
    }
}
