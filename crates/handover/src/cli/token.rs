//! `handover token`: creates, lists and revokes the tokens that callers need to use the HTTP server.

use std::process::ExitCode;

use base::Service;
use clap::Subcommand;
use engine::id::TokenId;
use engine::token::Scope;
use handover::office::Office;
use handover::person::{self, NotAPerson};
use handover::token::{self, ShownToken, TokenHolder};
use wire::json::{Value, object};

use super::failure::CommandFailure;
use super::{say, show};

pub(super) const COLUMNS: [&str; 6] = ["id", "name", "scope", "agent", "last_used_at", "revoked"];

#[derive(Debug, Subcommand)]
pub(crate) enum TokenVerb {
    /// Create a token and print its secret, which is shown only once
    ///
    /// A token of scope agent stands for the agent called NAME: its bearer is that agent and no other. With --shared
    /// several agents use it, such as behind one gateway, and they can act for each other. Only a person can
    /// create tokens of the other scopes.
    Create {
        /// The purpose of the token; with scope agent the name of the agent that it stands for
        name: String,
        /// The rights of the token's bearer [agent, coordinator, person, admin]
        #[arg(long, default_value = "agent", value_parser = scope)]
        scope: Scope,
        /// The agent that the token stands for, by its name or id, when the agent is not called NAME
        #[arg(long, conflicts_with = "shared")]
        agent: Option<String>,
        /// Let several agents use the token; they can act for each other
        #[arg(long)]
        shared: bool,
        /// Print the token as JSON
        #[arg(long)]
        json: bool,
    },
    /// List tokens without their secrets, and the browsers that are connected
    List {
        /// Print the list as JSON
        #[arg(long)]
        json: bool,
    },
    /// Revoke a token, or disconnect a browser; its bearer loses access at once
    Revoke {
        /// The id of the token, such as tok_0123456789ab
        id: TokenId,
        /// Print the reply as JSON
        #[arg(long)]
        json: bool,
    },
}

fn scope(text: &str) -> Result<Scope, String> {
    Scope::parse(text).ok_or_else(|| "must be agent, coordinator, person or admin".to_owned())
}

pub(super) async fn run(office: &Office, verb: TokenVerb) -> anyhow::Result<ExitCode> {
    let service = office.desk.service();
    match verb {
        TokenVerb::Create { name, scope, agent, shared, json } => {
            let holder = match (agent, scope) {
                (Some(agent), _) => TokenHolder::Agent(agent),
                (None, Scope::Agent) if !shared => TokenHolder::Named(name.clone()),
                (None, Scope::Agent) => TokenHolder::Shared,
                (None, Scope::Coordinator | Scope::Person | Scope::Admin) => {
                    anyhow::ensure!(!shared, "--shared is for tokens of scope agent; leave it out");
                    TokenHolder::Shared
                }
            };
            let agent = token::holder(service, &holder).await?;
            let made = token::create(service, &name, scope, agent).await?;
            if json {
                say(&object([("id", made.id.to_string().into()), ("token", made.secret.as_str().into())]).to_string())?;
            } else {
                eprintln!(
                    "Created the token {} of scope {scope}. Save its secret below: it is not shown again.",
                    made.id
                );
                say(&made.secret)?;
            }
        }
        TokenVerb::List { json } => {
            let rows: Vec<Value> = token::list(service).await?.iter().map(row).collect();
            if json {
                say(&object([("tokens", Value::List(rows))]).to_string())?;
            } else if rows.is_empty() {
                say("there are no tokens; `handover serve` creates one for this machine")?;
            } else {
                say(&show::table(&COLUMNS, &rows))?;
            }
        }
        TokenVerb::Revoke { id, json } => {
            let scope = match token::known(service, id).await {
                Ok(token) => token.scope,
                Err(error) => return show::refused("token", error, json),
            };
            if let Err(stranger) = may_revoke(service, scope).await? {
                return Err(CommandFailure::by_text(&stranger.to_string()).into());
            }
            token::revoke(service, id).await?;
            say(&if json { object([("success", true.into())]).to_string() } else { format!("{id} is revoked") })?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Tells whether this caller may revoke a token of this scope. A script may revoke an agent's token. Only a person may
/// revoke any other token.
async fn may_revoke(service: &Service, scope: Scope) -> anyhow::Result<Result<(), NotAPerson>> {
    match scope {
        Scope::Agent => Ok(Ok(())),
        Scope::Coordinator | Scope::Person | Scope::Admin => Ok(person::decider(service).await?.map(|_| ())),
    }
}

fn row(token: &ShownToken) -> Value {
    object([
        ("id", token.id.to_string().into()),
        ("name", token.name.as_str().into()),
        ("scope", token.scope.as_str().into()),
        ("agent", token.agent.map(|agent| agent.to_string()).into()),
        ("created_at", Value::Number(token.created.0.into())),
        ("kind", token.kind_word().into()),
        ("last_used_at", token.used().map(|at| Value::Number(at.0.into())).into()),
        ("revoked", token.revoked.is_some().into()),
    ])
}
