//! The origin of a setting's value: a settings file, the detection on this machine, or the built-in default.

/// The origin of a setting's value.
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
