//! Renews the leases of the runner's agents and records that the runner is alive. Runs in parallel to the runner's main
//! loop.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use engine::id::AgentId;
use engine::{Caller, Command, Rights};
use tokio::time::Instant;

use crate::attempt::shared::RunnerShared;
use base::error::Error;

/// The time between two signs of life that the runner records in the store. After half a minute without a sign, the
/// runner counts as gone.
const SIGN: Duration = Duration::from_secs(10);
/// The number of times that a lease is renewed before it would expire. With four renewals, a lease does not expire when
/// a slow disk delays one renewal.
const RENEWALS_IN_A_LEASE: u32 = 4;
const RENEWAL_MIN: Duration = Duration::from_millis(250);

/// The agents of the runner that hold tasks, and the shortest lease among them.
#[derive(Debug)]
pub(crate) struct HeldLeases {
    pub(crate) agents: BTreeSet<AgentId>,
    pub(crate) lease: Duration,
}

/// Renews the leases and records signs of life until this future is aborted. A renewal that fails is tried again at the
/// next interval.
pub(crate) async fn keep(shared: Arc<RunnerShared>, held: Arc<Mutex<HeldLeases>>) {
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
                let _again = shared.service.execute(shared.caller(agent), Command::Renew).await;
            }
        }
        if Instant::now() >= sign {
            let _again = show_life(&shared).await;
            sign = Instant::now() + SIGN;
        }
    }
}

pub(crate) async fn show_life(shared: &RunnerShared) -> Result<(), Error> {
    let see = Command::SeeRunner {
        name: shared.name.clone(),
        host: shared.name.clone(),
        pid: std::process::id(),
        agents: shared.agents.values().map(|worker| worker.slug.clone()).collect(),
    };
    shared.service.execute(Caller::with_rights(Rights::Runner), see).await.map(|_| ())
}
