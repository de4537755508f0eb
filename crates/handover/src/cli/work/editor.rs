//! Lets a person write a text in their editor, and returns the text.

use std::io::Write as _;

use anyhow::Context as _;
use spawn::{StartEnvironment, StartFolder};

/// The editor that is started when neither `VISUAL` nor `EDITOR` names one.
const EDITOR: &str = "vi";
/// The largest file, in bytes, that is read after the person edited it.
const BYTES_MAX: u64 = 32 << 20;

/// Opens the person's editor with a text, and returns the text that the person saved.
pub(super) fn edited(text: &str, ending: &str) -> anyhow::Result<String> {
    let mut file = tempfile::Builder::new().prefix("handover-").suffix(ending).tempfile().context("make a file")?;
    file.write_all(text.as_bytes()).and_then(|()| file.flush()).context("write the file to edit")?;
    let named = |name: &str| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
    let editor = named("VISUAL").or_else(|| named("EDITOR")).unwrap_or_else(|| EDITOR.to_owned());
    let mut command = spawn::command("sh", StartFolder::Own, StartEnvironment::Whole);
    // The value of `EDITOR` may have arguments, as in `code --wait`. Let a shell split it.
    let status = command.args(["-c", &format!("{editor} \"$1\""), "sh"]).arg(file.path()).status();
    let status = status.with_context(|| format!("start {editor}"))?;
    if !status.success() {
        anyhow::bail!("{editor} ended with {status}; nothing was sent");
    }
    // Many editors replace the file instead of writing into it. So read it by its path and not through the open file.
    let saved = std::fs::metadata(file.path()).context("read the edited file")?;
    if saved.len() > BYTES_MAX {
        anyhow::bail!("the edited file has more than {} MiB", BYTES_MAX >> 20);
    }
    let bytes = std::fs::read(file.path()).context("read the edited file")?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
