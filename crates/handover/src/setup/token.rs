//! The token of a client that reaches Handover over HTTP. Setup makes the token once, finds it again in the client's
//! own configuration, and revokes it when setup removes Handover's entry from that configuration.

use std::path::Path;

use engine::id::TokenId;
use engine::token::Scope;

use super::client::ClientProgram;
use super::entry::{HttpEntry, TO_BE_MADE};
use super::plan::{SetupPlan, SetupReach, SetupSurroundings, secrets};
use super::problem::SetupProblem;
use crate::office::{self, Office};
use crate::token::{self, TokenHolder};
use git::program::{Git, GitCall};

/// The tokens of one client: the tokens in its configuration, and the token that this setup makes.
pub(super) struct ClientTokens {
    client: ClientProgram,
    /// The store that the command line names; `None` when it names none.
    store: Option<String>,
    /// The opened store; `None` until a token has to be looked up or made.
    office: Option<Office>,
    /// The tokens' secrets in the client's configuration, each with the id of its token. The id is `None` if the store
    /// has no valid token of this client with this secret.
    found: Vec<(String, Option<TokenId>)>,
    /// The token that this setup made; `None` when it made none.
    made: Option<TokenId>,
}

impl ClientTokens {
    /// Finds the tokens in a client's configuration. The store is opened only when the configuration has a token.
    pub(super) async fn of(
        client: ClientProgram,
        reach: SetupReach,
        around: &SetupSurroundings,
        store: Option<&str>,
    ) -> anyhow::Result<Self> {
        let mut tokens = Self { client, store: store.map(str::to_owned), office: None, found: Vec::new(), made: None };
        for secret in secrets(client, reach, around)? {
            let office = tokens.office().await?;
            let known = token::find(office.desk.service(), &secret).await?;
            let own = known.filter(|token| token.scope == Scope::Agent && token.agent.is_some());
            let own = own.filter(|token| token.name == client.as_str());
            tokens.found.push((secret, own.map(|token| token.id)));
        }
        Ok(tokens)
    }

    async fn office(&mut self) -> anyhow::Result<&Office> {
        let office = match self.office.take() {
            Some(office) => office,
            None => office::open(self.store.as_deref()).await?,
        };
        Ok(self.office.insert(office))
    }

    /// Returns the HTTP entry for the client. If the configuration has a valid token already, the entry keeps it.
    pub(super) fn entry(&self, url: &str) -> HttpEntry {
        let known = self.found.iter().find(|(_, token)| token.is_some());
        match known {
            Some((secret, _)) => HttpEntry { url: url.to_owned(), secret: secret.clone() },
            None => HttpEntry::new(url),
        }
    }

    /// Creates a token if the entry has only the placeholder, and writes its secret into the entry. Returns a note for
    /// the user about the new token.
    pub(super) async fn make(&mut self, entry: &mut HttpEntry) -> anyhow::Result<Option<String>> {
        if entry.secret != TO_BE_MADE {
            return Ok(None);
        }
        let name = self.client.as_str();
        let service = self.office().await?.desk.service();
        let agent = token::holder(service, &TokenHolder::Named(name.to_owned())).await?;
        let made = token::create(service, name, Scope::Agent, agent).await?;
        entry.secret = made.secret;
        self.made = Some(made.id);
        Ok(Some(format!("created the token {} for the agent {name}; --undo revokes it", made.id)))
    }

    /// Revokes the token that this setup made. Setup calls this function when it could not write the client's
    /// configuration.
    pub(super) async fn take_back(&mut self) -> anyhow::Result<()> {
        if let Some(made) = self.made.take() {
            token::revoke(self.office().await?.desk.service(), made).await?;
        }
        Ok(())
    }

    /// Revokes the tokens that were found in the client's configuration, and returns notes for the user about them.
    pub(super) async fn revoke(&mut self) -> anyhow::Result<Vec<String>> {
        let mut said = Vec::new();
        for (_, token) in std::mem::take(&mut self.found) {
            let Some(token) = token else {
                said.push(
                    "the removed token was not created by setup in this store, so it is not revoked; find it with \
                     `handover token list` on the machine of its server"
                        .to_owned(),
                );
                continue;
            };
            token::revoke(self.office().await?.desk.service(), token).await?;
            said.push(format!("revoked the token {token}"));
        }
        Ok(said)
    }
}

/// Refuses a plan that would write a token into a file that git tracks or would add with `git add`.
pub(super) async fn is_private(plan: &SetupPlan, undo: bool) -> Result<(), SetupProblem> {
    for edit in plan.edits.iter().filter(|edit| !undo && edit.private && edit.changes()) {
        if is_taken_by_git(&edit.target).await {
            return Err(SetupProblem::Shared { path: edit.path.clone() });
        }
    }
    Ok(())
}

/// Tells whether `git add` would add a file: it is in a repository, and git does not ignore it.
async fn is_taken_by_git(file: &Path) -> bool {
    let Some(folder) = file.ancestors().skip(1).find(|folder| folder.is_dir()) else { return false };
    let inside = GitCall::read(folder, &["rev-parse", "--is-inside-work-tree"]).run(&Git::default()).await;
    // If git is not installed, or the file is in no repository, then git cannot add the file.
    if !inside.is_ok_and(|inside| inside.is_success() && inside.text().trim() == "true") {
        return false;
    }
    let ignored = GitCall::read(folder, &["check-ignore", "--quiet", "--"]).and(file).run(&Git::default()).await;
    !ignored.is_ok_and(|ignored| ignored.is_success())
}
