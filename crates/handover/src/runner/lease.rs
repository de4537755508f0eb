//! Renews the leases of the runner's agents and records that the runner is alive. Runs in parallel to the runner's main
//! loop.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use engine::id::AgentId;
use engine::{Caller, Command, Rights};
use tokio::time::Instant;

use super::shop::Shop;
use crate::error::Error;

/// The time between two signs of life of the runner. After half a minute without a sign, the runner counts as gone.
const SIGN: Duration = Duration::from_secs(10);
/// The number of renewals during one lease. With four of them, a lease survives a renewal that a slow disk delays.
const RENEWALS_IN_A_LEASE: u32 = 4;
const RENEWAL_MIN: Duration = Duration::from_millis(250);

/// The agents that hold tasks, and the shortest lease among them.
#[derive(Debug)]
pub(super) struct HeldLeases {
    pub(super) agents: BTreeSet<AgentId>,
    pub(super) lease: Duration,
}

/// Renews the leases and records signs of life until this future is aborted. A renewal that fails is tried again at the
/// next interval.
pub(super) async fn keep(shop: Arc<Shop>, held: Arc<Mutex<HeldLeases>>) {
    let (mut sign, mut renewed) = (Instant::now() + SIGN, Instant::now());
    loop {
        // Sleeps only briefly, because a task may be claimed with a shorter lease than all tasks before it.
        tokio::time::sleep(RENEWAL_MIN).await;
        let (agents, lease) = {
            let held = held.lock().unwrap_or_else(PoisonError::into_inner);
            (held.agents.clone(), held.lease)
        };
        let pause = (lease / RENEWALS_IN_A_LEASE).clamp(RENEWAL_MIN, SIGN);
        if renewed.elapsed() >= pause {
            renewed = Instant::now();
            for agent in agents {
                let _again = shop.service.execute(shop.caller(agent), Command::Renew).await;
            }
        }
        if Instant::now() >= sign {
            let _again = show_life(&shop).await;
            sign = Instant::now() + SIGN;
        }
    }
}

pub(super) async fn show_life(shop: &Shop) -> Result<(), Error> {
    let see = Command::SeeRunner {
        name: shop.name.clone(),
        host: shop.name.clone(),
        pid: std::process::id(),
        agents: shop.seats.values().map(|seat| seat.slug.clone()).collect(),
    };
    shop.service.execute(Caller::with_rights(Rights::Runner), see).await.map(|_| ())
}
