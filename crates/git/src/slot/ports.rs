//! Chooses the network ports of a slot (a reusable worktree). Servers and checks of two slots run at the same time, so
//! each slot needs ports of its own.

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, TcpListener};

/// The number of network ports that belong to one slot (worktree). A project may need them for a server, its database
/// and so on.
pub const PORTS_PER_SLOT: u16 = 10;
/// The first port, and the number of port blocks, from which slots (worktrees) get their ports. The range is above the
/// usual ports of development servers and below the ports that operating systems use for outgoing connections.
const FIRST: u16 = 20_000;
const BLOCKS: u16 = 1_000;

/// Ten network ports in a row that belong to one slot (a reusable worktree).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SlotPorts {
    pub first: u16,
}

impl SlotPorts {
    pub fn numbers(self) -> impl Iterator<Item = u16> {
        self.first..self.first + PORTS_PER_SLOT
    }

    /// Chooses ports that no program uses now and that no other slot (worktree) of the repository has. The search
    /// starts at a number that depends on `seed`, so that the slots of different repositories rarely get the same
    /// ports.
    pub(super) fn choose(taken: &BTreeSet<u16>, seed: u64) -> Option<Self> {
        let start = u16::try_from(seed % u64::from(BLOCKS)).unwrap_or_default();
        let blocks = (0..BLOCKS).map(|step| FIRST + (start + step) % BLOCKS * PORTS_PER_SLOT);
        let mut ports = blocks.filter(|first| !taken.contains(first)).map(|first| Self { first });
        ports.find(|ports| ports.numbers().all(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_used_port_and_another_slots_ports_are_passed_by() {
        let first = SlotPorts::choose(&BTreeSet::new(), 7).unwrap();
        let second = SlotPorts::choose(&BTreeSet::from([first.first]), 7).unwrap();
        assert!(second.first >= first.first + PORTS_PER_SLOT, "{first:?} {second:?}");
        let _used = TcpListener::bind((Ipv4Addr::LOCALHOST, first.first + 9)).unwrap();
        assert_ne!(SlotPorts::choose(&BTreeSet::new(), 7), Some(first));
        assert_eq!(SlotPorts::choose(&(FIRST..FIRST + BLOCKS * PORTS_PER_SLOT).collect(), 7), None);
    }
}
