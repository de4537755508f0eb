//! `handover review run`: reads a review request of the feedback protocol from standard input, and writes the review as
//! a stream of JSON lines to standard output.

use std::io::{Read as _, Write as _};
use std::process::ExitCode;

use anyhow::Context as _;
use clap::Args;
use engine::review::Review;
use engine::turn::Spent;
use handover::office::Office;
use wire::feedback::{AskedParts, Response};
use wire::json::{Number, Value, object};
use wire::stream::Frame;

use super::{NOUN, caller, open, provider, round, session};
use crate::cli::show::{plain, refused};

/// The maximum number of bytes that are read of one request. This is one byte more than a request may have, so that a
/// request that is too long can be refused without reading all of it.
const REQUEST_BYTES_MAX: u64 = (1 << 20) + 1;

#[derive(Debug, Args)]
pub(crate) struct ReviewRun {
    /// The reviewer: an agent of .handover/config.toml, or a role
    #[arg(long, value_name = "PROVIDER")]
    agent: String,
    /// The format of the stream
    #[arg(long, default_value = "json", value_parser = ["json"])]
    format: String,
    /// The review that this request continues, such as ses_0123456789ab
    #[arg(long)]
    session: Option<String>,
}

/// Runs `review run`. If the reviewer fails, the stream nevertheless ends with one response, which reports the failure.
pub(super) async fn run(office: &Office, asked: &ReviewRun) -> anyhow::Result<ExitCode> {
    let known = match &asked.session {
        None => None,
        Some(text) => match continued(office, text).await? {
            Some(review) => Some(review),
            None => return Ok(ExitCode::from(2)),
        },
    };
    let provider = provider(office, &asked.agent)?;
    if let Some(known) = known.as_ref().filter(|known| known.provider != provider.slug()) {
        eprintln!(
            "handover: the reviewer of {} is {}, so no review was started; name this reviewer with --agent, or \
            leave --session out",
            known.id, known.provider
        );
        return Ok(ExitCode::from(2));
    }
    let caller = match caller(office).await? {
        Ok(caller) => caller,
        Err(said) => {
            eprintln!("{} {}; {}", said.code, said.message, said.suggestion);
            return Ok(ExitCode::from(1));
        }
    };
    if let (Some(known), engine::Rights::Agent) = (&known, caller.rights)
        && let Some(gate) = known.gate
    {
        let task = gate.task;
        eprintln!(
            "NOT_PERMITTED {} reviews the work of {task}, and Handover gathers this work itself; use `handover \
             review request --task-id {task}`, or the tool review_request with its task_id",
            known.id
        );
        return Ok(ExitCode::from(1));
    }
    let mut bytes = Vec::new();
    std::io::stdin().lock().take(REQUEST_BYTES_MAX).read_to_end(&mut bytes).context("read the request")?;
    let id = match known {
        Some(known) => known.id,
        None => match open(office, &caller, &provider, None).await {
            Ok(id) => id,
            Err(error) => return refused(NOUN, error, false),
        },
    };
    let mut out = Out { session: id.to_string(), office };
    out.start()?;
    let (text, spent) = match round(office, &caller, &provider, id, &bytes).await {
        Ok(Some(answered)) => (answered.text(), answered.spent),
        Ok(None) => return Ok(ExitCode::from(130)),
        Err(trouble) => {
            eprintln!("handover: {:#}", anyhow::Error::from(trouble));
            let asked = AskedParts::by(&bytes, None);
            let failure = Response::failure(
                &asked,
                "INTERNAL_ERROR",
                "the review failed, or its result could not be \
                recorded",
            );
            (failure.map(|response| response.render().to_string()).unwrap_or_default(), Spent::default())
        }
    };
    out.finish(&text, spent)?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the review that a request continues. When there is no such review, prints an error and returns `None`.
async fn continued(office: &Office, text: &str) -> anyhow::Result<Option<Review>> {
    let found = match text.parse() {
        Ok(id) => session(office, id).await?,
        Err(_) => None,
    };
    if found.is_none() {
        eprintln!(
            "handover: there is no review session {}, so no review was started; leave --session out for a new one",
            plain(text)
        );
    }
    Ok(found.map(|found| found.review))
}

/// The stream of a review's events on standard output. Each line is written immediately.
struct Out<'a> {
    session: String,
    office: &'a Office,
}

impl Out<'_> {
    fn line(&self, frame: &Frame) -> anyhow::Result<()> {
        let mut out = std::io::stdout().lock();
        out.write_all(frame.line().as_bytes())?;
        Ok(out.flush()?)
    }

    fn now(&self) -> Number {
        Number::from(self.office.desk.service().now().0)
    }

    fn part(kind: &str) -> Vec<(String, Value)> {
        vec![("type".to_owned(), kind.into())]
    }

    fn start(&mut self) -> anyhow::Result<()> {
        let (session, part) = (self.session.clone(), Self::part("step-start"));
        self.line(&Frame::Start { session, at_ms: self.now(), part })
    }

    fn finish(&mut self, text: &str, spent: Spent) -> anyhow::Result<()> {
        let (session, text, part) = (self.session.clone(), text.to_owned(), Self::part("text"));
        self.line(&Frame::Text { session, at_ms: self.now(), text, part })?;
        let usd = spent.usd_micros.map_or(0.0, base::project::budget::usd);
        let cost = Number::try_from(usd).unwrap_or_else(|_| 0_i64.into());
        let tokens = spent.tokens.map_or_else(|| Value::Object(Vec::new()), |all| object([("total", all.into())]));
        let (session, part) = (self.session.clone(), Self::part("step-finish"));
        self.line(&Frame::Finish { session, at_ms: self.now(), cost, tokens, part })
    }
}
