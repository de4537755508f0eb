//! Readers of the files that describe a project to its own tools: package.json, pyproject.toml, Cargo.toml, and the
//! workspaces that they declare.

pub(super) mod cargo;
pub(super) mod package_json;
pub(super) mod python;
pub(super) mod workspace;
