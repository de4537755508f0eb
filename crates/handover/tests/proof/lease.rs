//! A second, minimal implementation of the rules for the lease of one task (its claim by an agent, which expires),
//! independent of the engine. For each call it computes the one correct answer.

use engine::Timestamp;
use engine::id::AgentId;

/// The request of a client about one task. The attempt is the number of the claim that the client believes it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Act {
    Claim,
    Note { attempt: Option<u32> },
    Complete { attempt: Option<u32> },
    Release { attempt: Option<u32> },
    Sweep,
    Look,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    Claimed {
        attempt: u32,
        until: Timestamp,
    },
    HeldBy(AgentId),
    Noted {
        sequence: u32,
    },
    Completed,
    Released,
    Swept {
        offered: u32,
    },
    Seen(State),
    /// The answer to a caller that does not hold the claim on the task any more.
    Lost {
        holder: Option<AgentId>,
    },
    /// The answer to a call that is refused, because the task is already completed.
    Refused,
}

/// The caller of a request, and the time by the caller's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct By {
    pub(crate) agent: AgentId,
    pub(crate) now: Timestamp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub(crate) struct State {
    /// The number of the task's last claim.
    pub(crate) attempt: u32,
    pub(crate) notes: u32,
    pub(crate) holder: Holder,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub(crate) enum Holder {
    #[default]
    Nobody,
    Lease {
        agent: AgentId,
        until: Timestamp,
    },
    /// The final state of the task: this agent completed it.
    Done(AgentId),
}

pub(crate) const LEASE_MS: u32 = 1_000;

impl State {
    /// Returns the only correct next state and answer for a call in this state.
    pub(crate) fn step(self, act: Act, by: By) -> (Self, Answer) {
        match act {
            Act::Look => (self, Answer::Seen(self)),
            Act::Sweep => match self.live(by.now) {
                None if matches!(self.holder, Holder::Lease { .. }) => (self.ended(), Answer::Swept { offered: 1 }),
                _ => (self, Answer::Swept { offered: 0 }),
            },
            Act::Claim => self.claim(by),
            Act::Note { attempt } => self.as_owner(attempt, by, |state| {
                let next = Self { notes: state.notes + 1, ..state.renewed(by) };
                (next, Answer::Noted { sequence: next.notes })
            }),
            Act::Release { attempt } => self.as_owner(attempt, by, |state| (state.ended(), Answer::Released)),
            Act::Complete { attempt } => match self.holder {
                // When the agent that completed the task repeats its call, it gets the same answer again.
                Holder::Done(agent) if agent == by.agent && attempt.is_none_or(|it| it == self.attempt) => {
                    (self, Answer::Completed)
                }
                Holder::Done(_) | Holder::Lease { .. } | Holder::Nobody => self.as_owner(attempt, by, |state| {
                    (Self { holder: Holder::Done(by.agent), ..state }, Answer::Completed)
                }),
            },
        }
    }

    fn claim(self, by: By) -> (Self, Answer) {
        if matches!(self.holder, Holder::Done(_)) {
            return (self, Answer::Refused);
        }
        match self.live(by.now) {
            Some(agent) if agent != by.agent => (self, Answer::HeldBy(agent)),
            Some(_) => self.renewed(by).claimed(),
            None => {
                let free = if matches!(self.holder, Holder::Lease { .. }) { self.ended() } else { self };
                let holder = Holder::Lease { agent: by.agent, until: Timestamp(by.now.0 + i64::from(LEASE_MS)) };
                Self { attempt: free.attempt + 1, holder, ..free }.claimed()
            }
        }
    }

    fn claimed(self) -> (Self, Answer) {
        let until = if let Holder::Lease { until, .. } = self.holder { until } else { Timestamp(0) };
        (self, Answer::Claimed { attempt: self.attempt, until })
    }

    fn as_owner(self, attempt: Option<u32>, by: By, act: impl Fn(Self) -> (Self, Answer)) -> (Self, Answer) {
        let holder = self.live(by.now);
        if holder == Some(by.agent) && attempt.is_none_or(|attempt| attempt == self.attempt) {
            return act(self);
        }
        (self, Answer::Lost { holder })
    }

    fn live(self, now: Timestamp) -> Option<AgentId> {
        match self.holder {
            Holder::Lease { agent, until } if until > now => Some(agent),
            Holder::Lease { .. } | Holder::Nobody | Holder::Done(_) => None,
        }
    }

    /// Returns the state after a claim ended without a result. Such an end adds a note to the task.
    fn ended(self) -> Self {
        Self { notes: self.notes + 1, holder: Holder::Nobody, ..self }
    }

    /// Returns the state after a call that shows that the agent is alive. Such a call renews the agent's lease (its
    /// claim, which expires) when at least a tenth of the lease has passed. It never shortens a lease.
    fn renewed(self, by: By) -> Self {
        let fresh = by.now.0 + i64::from(LEASE_MS);
        match self.holder {
            Holder::Lease { agent, until } if until.0 + i64::from(LEASE_MS / 10) <= fresh => {
                Self { holder: Holder::Lease { agent, until: Timestamp(fresh) }, ..self }
            }
            Holder::Lease { .. } | Holder::Nobody | Holder::Done(_) => self,
        }
    }
}
