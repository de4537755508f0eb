//! Tests the first commands of a person in a repository (`init`, `agent add`, `check set`) with the built program, real
//! git repositories and a terminal. The files `screens/*.txt` are the screens that a person sees.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test fails where something unforeseen happens")]

mod additions;
mod missing;
mod scene;
mod screens;
mod trusted;
