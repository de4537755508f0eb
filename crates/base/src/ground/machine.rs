//! The identity of this machine, which tells it apart from others that share a store.

/// Returns a text that is the same for all processes of this machine until it starts again, and that no other machine
/// has: the name of the machine and the id of its boot. Where the system has no such id, the name alone.
pub fn identity() -> String {
    // The variable HANDOVER_HOST is not read: a service and a person's shell may have different values of it.
    let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    boot().map_or(name.clone(), |boot| format!("{name} {boot}"))
}

/// Returns the id of the boot since which this machine runs. Returns `None` where the system has no such id.
pub fn boot() -> Option<String> {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(boot.trim().to_owned())
}
