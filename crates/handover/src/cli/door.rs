//! `handover mcp` and `handover serve`.

use std::process::ExitCode;
use std::sync::Arc;

use clap::{Args, ValueEnum};
use engine::Rights;
use handover::keeper::Keeper;
use handover::mcp;
use handover::office::{self, Office};
use handover::reception::{Offer, Reception, new_session};

/// What the person who starts a server lets its client do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum As {
    /// Work on tasks it holds
    Agent,
    /// Act on tasks of others, too
    Coordinator,
    /// Everything a person may
    Person,
}

#[derive(Debug, Args)]
pub(crate) struct Mcp {
    /// What the client may do to tasks it does not hold
    #[arg(long = "as", value_enum, default_value = "agent")]
    rights: As,
    /// Which tools it is offered: default, full, or names with commas between them
    #[arg(long, default_value = "default", value_parser = Offer::parse)]
    tools: Offer,
}

#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// The port; 0 takes a free one
    #[arg(long)]
    port: Option<u16>,
    /// Which tools MCP clients are offered: default, full, or names with commas between them
    #[arg(long, default_value = "default", value_parser = Offer::parse)]
    tools: Offer,
}

pub(super) fn mcp(named: Option<&str>, asked: &Mcp) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let rights = match asked.rights {
        As::Agent => Rights::Agent,
        As::Coordinator => Rights::Coordinator,
        As::Person => Rights::Person,
    };
    runtime.block_on(async {
        let Office { desk, live, .. } = office::open(named).await?;
        let session = new_session()?;
        let seat = desk.seat().await?;
        let keeper = Keeper::start(desk.clone(), live, seat.is_none().then_some(session))?;
        let reception = Reception::new(desk, &asked.tools).with_pipe(session, rights, keeper).below_a_turn(seat);
        mcp::serve_stdio(Arc::new(reception), mcp::asked_to_stop()).await;
        anyhow::Ok(())
    })?;
    // A thread that reads a terminal or a file cannot be waited for.
    runtime.shutdown_background();
    Ok(ExitCode::SUCCESS)
}

pub(super) async fn serve(office: Office, asked: &Serve) -> anyhow::Result<ExitCode> {
    let port = asked.port;
    let limits = handover::http::Limits::default();
    handover::http::serve(office, handover::http::Wanted { port, offer: asked.tools.clone(), limits }).await?;
    Ok(ExitCode::SUCCESS)
}
