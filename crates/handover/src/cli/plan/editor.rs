//! Opens a file in the person's editor.

use std::path::Path;

use anyhow::Context as _;
use spawn::{StartEnvironment, StartFolder};

/// Opens the file in the program that `VISUAL` or `EDITOR` names, else in `vi`, and waits until the program ends. The
/// value may have arguments, such as `code --wait`, so a shell reads it, as git does.
pub(super) fn open(file: &Path) -> anyhow::Result<()> {
    let named = ["VISUAL", "EDITOR"].iter().find_map(|name| std::env::var(name).ok().filter(|text| !text.is_empty()));
    let editor = named.unwrap_or_else(|| "vi".to_owned());
    let status = spawn::command("sh", StartFolder::Own, StartEnvironment::Whole)
        .args(["-c", &format!("{editor} \"$1\""), "sh"])
        .arg(file)
        .status()
        .with_context(|| format!("start the editor {editor}"))?;
    if !status.success() {
        anyhow::bail!("the editor {editor} ended with {status}; set VISUAL or EDITOR to the editor that you use");
    }
    Ok(())
}
