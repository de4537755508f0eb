//! `handover token`: who may come in over HTTP.

use std::process::ExitCode;

use clap::Subcommand;
use engine::id::{AgentId, TokenId};
use engine::token::Scope;
use handover::office::Office;
use handover::token::{self, Shown};
use wire::json::{Value, object};

use super::{say, show};

#[derive(Debug, Subcommand)]
pub(crate) enum TokenVerb {
    /// Make a token and print its secret, once
    Create {
        /// What it is for
        name: String,
        /// What its bearer may do [agent, coordinator, person, admin]
        #[arg(long, default_value = "agent", value_parser = scope)]
        scope: Scope,
        /// The only agent its bearer can be
        #[arg(long)]
        agent: Option<AgentId>,
        /// Print it as JSON
        #[arg(long)]
        json: bool,
    },
    /// List tokens, without their secrets
    List {
        /// Print them as JSON
        #[arg(long)]
        json: bool,
    },
    /// Revoke a token; whoever has it is shut out at once
    Revoke {
        /// Its id, such as tok_0123456789ab
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
        TokenVerb::Create { name, scope, agent, json } => {
            let made = token::create(service, &name, scope, agent).await?;
            if json {
                say(&object([("id", made.id.to_string().into()), ("token", made.secret.as_str().into())]).to_string())?;
            } else {
                eprintln!("{} may come in as {scope}. Keep the token: it is not shown again.", made.id);
                say(&made.secret)?;
            }
        }
        TokenVerb::List { json } => {
            let rows: Vec<Value> = token::list(service).await?.iter().map(row).collect();
            if json {
                say(&object([("tokens", Value::List(rows))]).to_string())?;
            } else if rows.is_empty() {
                say("no tokens; `handover serve` makes one for this machine")?;
            } else {
                say(&show::table(&["id", "name", "scope", "agent", "revoked"], &rows))?;
            }
        }
        TokenVerb::Revoke { id, json } => {
            token::revoke(service, id).await?;
            say(&if json { object([("success", true.into())]).to_string() } else { format!("{id} is revoked") })?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn row(token: &Shown) -> Value {
    object([
        ("id", token.id.to_string().into()),
        ("name", token.name.as_str().into()),
        ("scope", token.scope.as_str().into()),
        ("agent", token.agent.map(|agent| agent.to_string()).into()),
        ("created_at", Value::Number(token.created.0.into())),
        ("revoked", token.revoked.is_some().into()),
    ])
}
