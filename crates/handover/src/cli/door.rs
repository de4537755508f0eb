//! `handover mcp` and `handover serve`: the commands that start the servers.

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context as _;
use base::project::trust::accepted_coordinators;
use clap::Args;
use handover::below::ClientRecord;
use handover::keeper::{Keeper, OwnSession};
use handover::office::{self, Office};
use handover::reception::{Offer, Reception, new_session};

/// The rights of an MCP client on tasks that it does not hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ClientRights {
    Agent,
    Coordinator,
}

fn client_rights(text: &str) -> Result<ClientRights, String> {
    match text {
        "agent" => Ok(ClientRights::Agent),
        "coordinator" => Ok(ClientRights::Coordinator),
        "person" => {
            Err("an MCP client cannot act as a person; a person decides with the command line, in a terminal"
                .to_owned())
        }
        _ => Err("give `agent`, or `coordinator` for a client that `[mcp] coordinators` in .handover/config.toml \
            names"
            .to_owned()),
    }
}

#[derive(Debug, Args)]
pub(crate) struct Mcp {
    /// The rights of the client on tasks that it does not hold [agent, coordinator]
    ///
    /// A coordinator is a client that `[mcp] coordinators` in .handover/config.toml names, by the name with which the
    /// client introduces itself.
    #[arg(long = "as", default_value = "agent", value_parser = client_rights)]
    rights: ClientRights,
    /// The tools that the client can use: default, full, or names of tools with commas between them
    #[arg(long, default_value = "default", value_parser = Offer::parse)]
    tools: Offer,
}

#[derive(Debug, Args)]
pub(crate) struct ServeArguments {
    /// The port to listen on; 0 chooses a free port
    #[arg(long)]
    port: Option<u16>,
    /// The tools that MCP clients can use: default, full, or names of tools with commas between them
    #[arg(long, default_value = "default", value_parser = Offer::parse)]
    tools: Offer,
}

pub(super) fn mcp(named: Option<&str>, asked: &Mcp) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let Office { desk, live, place, .. } = office::open(named).await?;
        let coordinators = match asked.rights {
            ClientRights::Agent => Vec::new(),
            ClientRights::Coordinator => {
                accepted_coordinators(place.root.as_deref(), base::project::place::data_folder().as_deref())?
            }
        };
        anyhow::ensure!(
            asked.rights == ClientRights::Agent || !coordinators.is_empty(),
            "no client may be a coordinator, because `[mcp] coordinators` in .handover/config.toml names none that a \
             person accepted; leave `--as coordinator` out, or name the client there and accept it with `handover \
             trust`"
        );
        let session = new_session()?;
        let seat = desk.seat().await?;
        let own = seat.is_none().then_some(session);
        // If the runner started this process for a turn (one run of an agent's program), the process has no session of
        // its own to keep alive: the runner renews the claim on the task.
        let keeper = Keeper::start(desk.clone(), own.map_or(OwnSession::Nobody, OwnSession::Connection)).await?;
        let _record = ClientRecord::keep(&live, own).context("record which client started this server")?;
        let reception = Reception::new(desk, &asked.tools).with_pipe(session, coordinators, keeper).below_a_turn(seat);
        mcp::serve_stdio(Arc::new(reception), mcp::asked_to_stop()).await;
        anyhow::Ok(())
    })?;
    // Stop without waiting for the runtime's threads: one of them may be blocked in a read of standard input.
    runtime.shutdown_background();
    Ok(ExitCode::SUCCESS)
}

pub(super) async fn serve(office: Office, asked: &ServeArguments) -> anyhow::Result<ExitCode> {
    let port = asked.port;
    let limits = handover::http::HttpLimits::default();
    handover::http::serve(office, handover::http::ServeOptions { port, offer: asked.tools.clone(), limits }).await?;
    Ok(ExitCode::SUCCESS)
}
