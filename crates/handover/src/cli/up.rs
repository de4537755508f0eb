//! `handover up`: the server and the agents in one process, until a person stops them.

use std::process::ExitCode;

use base::ground::local_time::LocalClock;
use base::people::attention::{self, AttentionSurroundings};
use clap::Args;
use handover::http::{HttpLimits, HttpServer, PortChoice, ServeOptions};
use handover::keeper::{Keeper, OwnSession};
use handover::office::Office;
use handover::reception::Offer;
use runner::attempt::shared::RunnerOrder;
use runner::claim::over::RunScope;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::run::missing::{self, RunPlace};
use super::run::{self, RunArguments, signals};
use super::show::plain;
use super::{open, say};

pub(super) const HELP: &str = "\
The agents take every task that is ready, also those that you add later. The server has the page, MCP at /mcp and the HTTP API below
/api/v1, as `handover serve` does. When another program uses the port, the next free one is taken.

At a terminal, the page is opened in your browser with a link that connects it, as `handover open` does. A service prints no link.

Ctrl-C lets the running tasks finish and starts nothing new. A second Ctrl-C stops them, gives them back and exits with 130.
`handover run` beside it starts nothing itself: it follows the work here, and ends when that work is done.";

#[derive(Debug, Args)]
pub(crate) struct UpArguments {
    /// The port to listen on, or the next free one after it; 0 chooses any free port
    #[arg(long)]
    port: Option<u16>,
    /// The largest number of turns that run at once
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    agents: Option<u32>,
}

pub(super) async fn run(office: &Office, asked: &UpArguments) -> anyhow::Result<ExitCode> {
    missing::start(office.place.root.as_deref(), RunPlace::Worktrees).await?;
    let (orders, order) = watch::channel(RunnerOrder::Work);
    let opened =
        run::opened(office, &RunArguments::with_agents(asked.agents), order).await.map_err(missing::failure)?;
    let offer = Offer::parse("default").map_err(anyhow::Error::msg)?;
    let options = ServeOptions { port: asked.port, offer, limits: HttpLimits::default() };
    let server = HttpServer::bind(office, options, PortChoice::NextFree).await?;
    let _keeper = Keeper::start(office.desk.clone(), OwnSession::Runner(opened.shared.session)).await?;
    tokio::spawn(signals::listen(orders));
    let root = office.place.root.as_deref().and_then(|root| root.file_name()).unwrap_or_default();
    let (port, stop) = (server.port, CancellationToken::new());
    // The server must answer before the browser is opened.
    let served = tokio::spawn(server.run(stop.clone().cancelled_owned()));
    say(&format!("{}: agents, server and page are up. Ctrl-C stops them.", plain(&root.to_string_lossy())))?;
    open::announce(office.desk.service(), port).await.iter().try_for_each(|line| say(line))?;
    say(&needs(office).await?)?;
    let shown = Box::pin(run::show(opened, RunScope::Stay, false)).await;
    stop.cancel();
    let _ended = served.await;
    let shown = shown?;
    // A person normally ends this command with one Ctrl-C, so the exit code is then a success. It is not a success when
    // a second signal ended running turns.
    Ok(if shown.order == RunnerOrder::Finish { ExitCode::SUCCESS } else { shown.code })
}

/// Returns the line about the things that wait for the person.
async fn needs(office: &Office) -> anyhow::Result<String> {
    let facts = attention::gather(office.desk.service(), &AttentionSurroundings::default()).await?;
    let items = attention::items(&facts, &LocalClock::here());
    let needed = items.iter().filter(|item| item.stops_agents && !item.is_put_off()).count();
    Ok(match needed {
        0 => "Nothing needs you. Add work with `handover add` or in the page.".to_owned(),
        1 => "1 thing needs you: handover status".to_owned(),
        more => format!("{more} things need you: handover status"),
    })
}
