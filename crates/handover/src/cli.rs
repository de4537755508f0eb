//! The command line: what an operator needs of the store itself. The other doors come with the tools they serve.

use std::fs::File;
use std::io::{BufReader, Read, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context;
use clap::{CommandFactory, Parser, Subcommand};
use handover::place;
use store::{Fault, Head, Store};

/// Hands work between AI agents without dropping it.
#[derive(Debug, Parser)]
#[command(version, about, long_about = None)]
struct Arguments {
    /// The store: a path to an SQLite file, or a URL that begins with postgres://. Without it: `store` in
    /// .handover/config.toml, .handover/state/ of the repository's main worktree, or the user's data folder
    #[arg(long, global = true, env = "HANDOVER_STORE", hide_env_values = true)]
    store: Option<String>,
    #[command(subcommand)]
    command: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Write settings, example cards, skills and contracts into .handover/; what is there is kept
    Init {
        /// Print what was written as JSON
        #[arg(long)]
        json: bool,
    },
    /// The agents' cards
    Card {
        #[command(subcommand)]
        command: CardVerb,
    },
    #[command(flatten)]
    Stored(StoredVerb),
    /// Judge a document of one of the protocols, and say how to repair it
    #[command(after_long_help = crate::check::HELP)]
    Check(Box<crate::check::Check>),
    /// Print completions for a shell, to be kept where it looks for them
    Completions { shell: clap_complete::Shell },
    /// Print the manual page
    Man,
}

/// What needs the store.
#[derive(Debug, Subcommand)]
enum StoredVerb {
    /// Write everything in the store as JSON lines
    Export {
        /// Where to write; standard output without it
        #[arg(long, short)]
        output: Option<PathBuf>,
    },
    /// Read an export into an empty store, all or nothing
    Import {
        /// The export; standard input without it
        input: Option<PathBuf>,
    },
    /// Check the record of everything that happened
    Log {
        #[command(subcommand)]
        command: LogVerb,
    },
}

#[derive(Debug, Subcommand)]
enum CardVerb {
    /// List the cards of this project and whether each is valid; exit code 1 when one is not
    List {
        /// Print them as JSON
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Subcommand)]
enum LogVerb {
    /// Recompute every hash; name the first entry that was changed, removed, inserted or moved
    Verify {
        /// Heads that were kept elsewhere (from `handover log head`): finds a log that was rewritten or shortened
        #[arg(long)]
        heads: Option<PathBuf>,
    },
    /// Print the head of every topic, one JSON line each, for keeping elsewhere
    Head,
}

/// What needs neither store nor runtime is done before either is set up.
pub(crate) fn run() -> anyhow::Result<ExitCode> {
    let arguments = Arguments::parse();
    match arguments.command {
        Verb::Check(check) => crate::check::run(&check),
        Verb::Init { json } => crate::begin::init(json),
        Verb::Card { command: CardVerb::List { json } } => crate::begin::cards(json),
        Verb::Completions { shell } => {
            let mut out = Vec::new();
            clap_complete::generate(shell, &mut Arguments::command(), "handover", &mut out);
            std::io::stdout().write_all(&out)?;
            Ok(ExitCode::SUCCESS)
        }
        Verb::Man => {
            clap_mangen::Man::new(Arguments::command()).render(&mut std::io::stdout())?;
            Ok(ExitCode::SUCCESS)
        }
        Verb::Stored(verb) => {
            let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
            runtime.block_on(with_store(arguments.store.as_deref(), verb))
        }
    }
}

async fn with_store(named: Option<&str>, verb: StoredVerb) -> anyhow::Result<ExitCode> {
    let place = place(named)?;
    place::prepare(&place).context("make the folder of the store")?;
    // Without its name: a URL may hold a password.
    let store = open(&place.store).await.context("open the store")?;
    match verb {
        StoredVerb::Export { output } => export(&*store, output).await,
        StoredVerb::Import { input } => import(&*store, input).await,
        StoredVerb::Log { command: LogVerb::Verify { heads } } => verify(&*store, heads).await,
        StoredVerb::Log { command: LogVerb::Head } => head(&*store).await,
    }
}

/// Where this user's store is, from here.
fn place(named: Option<&str>) -> anyhow::Result<place::Place> {
    let folder = std::env::current_dir().context("find the folder we are in")?;
    let data = std::env::var_os("XDG_DATA_HOME").filter(|data| !data.is_empty()).map(PathBuf::from);
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".local/share"));
    let data = data.or_else(home);
    Ok(place::find(place::Surroundings { named, folder: &folder, data: data.as_deref() })?)
}

async fn open(url: &str) -> anyhow::Result<Arc<dyn Store>> {
    Ok(store::open(url, handover::random::store_seed()?).await?)
}

async fn export(store: &dyn Store, output: Option<PathBuf>) -> anyhow::Result<ExitCode> {
    let out: Box<dyn Write + Send> = match &output {
        Some(path) => {
            Box::new(std::io::BufWriter::new(File::create(path).with_context(|| format!("create {}", path.display()))?))
        }
        None => Box::new(std::io::stdout()),
    };
    let rows = store::export(store, out).await?;
    eprintln!("exported {rows} rows");
    Ok(ExitCode::SUCCESS)
}

async fn import(store: &dyn Store, input: Option<PathBuf>) -> anyhow::Result<ExitCode> {
    let source: Box<dyn Read + Send> = match &input {
        Some(path) => Box::new(File::open(path).with_context(|| format!("open {}", path.display()))?),
        None => Box::new(std::io::stdin()),
    };
    match store::import(store, BufReader::new(source)).await {
        Ok(()) => {
            eprintln!("imported");
            Ok(ExitCode::SUCCESS)
        }
        Err(Fault::Import { problem }) => {
            eprintln!("handover: not imported, the store is as it was: {problem}");
            Ok(ExitCode::from(1))
        }
        Err(fault) => Err(fault.into()),
    }
}

async fn verify(store: &dyn Store, heads: Option<PathBuf>) -> anyhow::Result<ExitCode> {
    let kept = match heads {
        None => Vec::new(),
        Some(path) => {
            let text = std::fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
            let lines = text.lines().filter(|line| !line.trim().is_empty());
            lines
                .map(serde_json::from_str)
                .collect::<Result<Vec<Head>, _>>()
                .with_context(|| format!("read heads from {}", path.display()))?
        }
    };
    let verdict = store::verify(store, &kept).await?;
    for finding in &verdict.findings {
        say(&finding.to_string())?;
    }
    if verdict.findings.is_empty() {
        say(&format!("verified {} entries of {} topics", verdict.entries, verdict.topics))?;
        return Ok(ExitCode::SUCCESS);
    }
    Ok(ExitCode::from(1))
}

async fn head(store: &dyn Store) -> anyhow::Result<ExitCode> {
    let mut after = String::new();
    loop {
        let heads = store.heads(after.clone(), 500).await?;
        let Some(last) = heads.last() else { return Ok(ExitCode::SUCCESS) };
        after.clone_from(&last.topic);
        for head in &heads {
            say(&serde_json::to_string(head)?)?;
        }
    }
}

fn say(line: &str) -> anyhow::Result<()> {
    Ok(writeln!(std::io::stdout(), "{line}")?)
}
