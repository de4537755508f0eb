//! Chooses linker options for the `handover` program. The compiled code stays the same.

use std::io::Write as _;
use std::process::Command;

/// The first version of the GNU C library (glibc) that can read packed relocations.
const GLIBC_MIN: (u32, u32) = (2, 36);

/// Asks the linker to pack the program's relocations. A program reads its relocations at each start and keeps them in
/// memory. The relocations of `handover` take over a megabyte, or some kilobytes when they are packed. This function
/// packs them only in release builds, and only when the C library of this machine can read packed relocations.
fn main() -> std::io::Result<()> {
    let mut out = std::io::stdout();
    writeln!(out, "cargo::rerun-if-changed=build.rs")?;
    let is = |name: &str, value: &str| std::env::var(name).is_ok_and(|found| found == value);
    let target = is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu");
    let is_native = std::env::var_os("HOST") == std::env::var_os("TARGET");
    if is("PROFILE", "release") && target && is_native && glibc().is_some_and(|found| found >= GLIBC_MIN) {
        writeln!(out, "cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs")?;
    }
    Ok(())
}

/// Returns the version of this machine's GNU C library, which `getconf` prints as `glibc 2.36`; `None` when `getconf`
/// reports no such version.
#[expect(
    clippy::disallowed_methods,
    reason = "a build has no runner; it asks in the folder and environment cargo gives it"
)]
fn glibc() -> Option<(u32, u32)> {
    let said = Command::new("getconf").arg("GNU_LIBC_VERSION").output().ok()?;
    let said = String::from_utf8(said.stdout).ok()?;
    let (major, minor) = said.trim().strip_prefix("glibc ")?.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}
