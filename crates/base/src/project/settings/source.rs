//! The origin of a setting's value: a settings file, or what Handover found on this machine.

/// The origin of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SettingSource {
    /// No file sets the value, and nothing was detected. The built-in default applies.
    #[default]
    Default,
    /// `config.toml` or `local.toml` sets the value.
    File,
    /// Handover found the value: in the files of the repository, or among the installed programs.
    Detected,
}
