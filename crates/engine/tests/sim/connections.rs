//! The connections of the simulated callers: processes that talk over stdio on machines that sleep, the command line,
//! and tokens that agents share or own. Connections end, and their clients come back over new connections. The clients
//! must then get their agents back.

use engine::caller::Standing;
use engine::command::SessionEnd;
use engine::id::{AgentId, SessionId, TokenId};
use engine::token::Scope;
use engine::{Caller, Command, Rights};

use crate::crew::{Crew, Order};
use chance::SeededRandom;

/// The kind of a connection, which decides how the connection ends and whether a machine can watch its process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ConnectionKind {
    /// One process of one client. The machine of the process knows whether the process is alive.
    Stdio,
    /// The command line of one user. This connection never closes.
    CommandLine,
    /// A token for calls outside of an MCP session. Several agents share the token.
    SharedToken,
    /// A token that belongs to one agent.
    BoundToken,
}

#[derive(Debug, Clone)]
pub(crate) struct CrewConnection {
    pub(crate) kind: ConnectionKind,
    pub(crate) session: SessionId,
    principal: String,
    pub(crate) host: usize,
    /// The process of the connection makes no call before this time, in milliseconds.
    pub(crate) asleep_until: i64,
    token: Option<TokenId>,
    /// The agent to which the token of the connection belongs. `None` until that agent has registered.
    bound: Option<AgentId>,
}

/// The knowledge of the simulated machines about which processes are alive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HostView {
    /// All processes run on one machine. The machine knows which of them are alive. A stopped process counts as alive.
    OneMachine,
    /// Two machines report to each other which of their processes are alive. A machine that sleeps reports nothing.
    TwoMachines,
    /// No machine knows which processes are alive, so only the leases show which agents are alive.
    Unwatched,
}

impl CrewConnection {
    pub(crate) fn all(rng: &mut SeededRandom, view: HostView) -> Vec<Self> {
        let mut ids = engine::id::Ids::new(rng.seed());
        let kinds = [
            (ConnectionKind::Stdio, "user:u", 0),
            (ConnectionKind::Stdio, "user:u", 1),
            (ConnectionKind::Stdio, "user:v", 1),
            (ConnectionKind::CommandLine, "user:u", 0),
            (ConnectionKind::SharedToken, "token:s", 0),
            (ConnectionKind::BoundToken, "token:b", 0),
        ];
        let made = kinds.map(|(kind, principal, host)| Self {
            kind,
            session: SessionId::next(&mut ids),
            principal: principal.to_owned(),
            host: if view == HostView::TwoMachines { host } else { 0 },
            asleep_until: 0,
            token: None,
            bound: None,
        });
        made.to_vec()
    }

    pub(crate) fn is_asleep(&self, now: i64) -> bool {
        self.asleep_until > now
    }

    /// Returns a caller that uses this connection. Its calls name `agent`, or no agent.
    pub(crate) fn caller(&self, agent: Option<AgentId>) -> Caller {
        let (agent, standing) = match self.kind {
            ConnectionKind::Stdio => (agent, Standing::Client),
            ConnectionKind::CommandLine | ConnectionKind::SharedToken => (agent, Standing::Shared),
            // A call that names no agent, or the agent to which the token belongs, counts as a call of that agent. A
            // call that names another agent is treated as on a shared connection.
            ConnectionKind::BoundToken if agent.is_none() || agent == self.bound => (self.bound, Standing::Vouched),
            ConnectionKind::BoundToken => (agent, Standing::Shared),
        };
        let principal = Some(self.principal.clone());
        Caller { agent, standing, principal, session: Some(self.session), ..Caller::with_rights(Rights::Agent) }
    }

    pub(crate) fn bind(&mut self, agent: AgentId) {
        if self.kind == ConnectionKind::BoundToken && self.bound.is_none() {
            self.bound = Some(agent);
        }
    }
}

impl Crew {
    /// Returns the connections that a machine reports as alive. These are the connections of its own processes,
    /// including stopped processes, and the connections that the other machine reports.
    pub(crate) fn alive(&self, host: usize) -> Vec<SessionId> {
        if self.mode.view == HostView::Unwatched {
            return Vec::new();
        }
        let lives = |connection: &&CrewConnection| {
            let watched = connection.kind == ConnectionKind::Stdio;
            watched && (connection.host == host || !connection.is_asleep(self.now))
        };
        self.connections.iter().filter(lives).map(|connection| connection.session).collect()
    }

    /// Stops one process, or all processes of a machine, often for longer than a lease.
    pub(crate) fn fall_asleep(&mut self) {
        let place = self.rng.below(self.connections.len());
        let until = self.now + self.rng.between(1_000, 150_000);
        let host = self.rng.percent(50).then_some(self.connections[place].host);
        for number in 0..self.connections.len() {
            let connection = &mut self.connections[number];
            let sleeps = number == place || Some(connection.host) == host;
            if sleeps && connection.kind == ConnectionKind::Stdio && !connection.is_asleep(self.now) {
                connection.asleep_until = until;
                // Let the first call after the sleep sometimes have a time stamp from before the sleep.
                let stamped = self.rng.percent(40).then_some(self.now);
                self.workers.iter_mut().filter(|worker| worker.connection == number).for_each(|worker| {
                    worker.stamped = stamped;
                });
            }
        }
    }

    /// Ends a connection. Its client comes back over a new connection. The client may remember its agent or have
    /// forgotten it.
    pub(crate) fn end_connection(&mut self) -> Order {
        let place = self.rng.below(self.connections.len());
        match self.connections[place].kind {
            ConnectionKind::CommandLine => self.sweep(),
            ConnectionKind::SharedToken | ConnectionKind::BoundToken => self.renew_token(place),
            ConnectionKind::Stdio => self.end_process(place),
        }
    }

    fn end_process(&mut self, place: usize) -> Order {
        let session = std::mem::replace(&mut self.connections[place].session, SessionId::next(&mut self.ids));
        self.connections[place].asleep_until = 0;
        let end = if self.rng.percent(60) { SessionEnd::Killed } else { SessionEnd::Closed };
        for worker in self.workers.iter_mut().filter(|worker| worker.connection == place) {
            worker.stamped = None;
            // Some clients remember their agent. Others register again, under the same name or as another agent.
            if self.rng.percent(60) {
                worker.id = None;
            }
        }
        if self.rng.percent(25) {
            // In a quarter of the cases, let no process notice that the connection ended. Then its claims end only when
            // their leases expire.
            return self.sweep();
        }
        let own = self.rng.percent(30);
        let caller = Caller {
            session: own.then_some(session),
            ..Caller::with_rights(if own { Rights::Agent } else { Rights::Engine })
        };
        self.order(caller, Command::CloseSession { session, end }, None)
    }

    /// Returns the command that creates a token for the connection. If the connection already has a token, returns the
    /// command that revokes this token. Revoking the token ends the connection.
    fn renew_token(&mut self, place: usize) -> Order {
        let person = Caller::with_rights(Rights::Person);
        if let Some(token) = self.connections[place].token.take() {
            return self.order(person, Command::RevokeToken { token }, None);
        }
        let name = format!("token {place}");
        let hash = format!("secret {}", self.serial);
        // The command names no agent. The simulator itself remembers to which agent the token belongs, as the HTTP
        // server does.
        let command = Command::CreateToken { name, hash, scope: Scope::Agent, agent: None };
        let mut order = self.order(person, command, None);
        order.step.caller.key = None;
        order.connection = Some(place);
        order
    }

    /// Records a new token of a connection. From now on, calls over the connection use the session that stands for the
    /// token.
    pub(crate) fn learn_token(&mut self, place: usize, token: TokenId) {
        let connection = &mut self.connections[place];
        (connection.token, connection.session) = (Some(token), SessionId::of_token(token));
    }
}
