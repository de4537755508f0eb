//! The race of browsers for one code: the code connects exactly one of them.

use std::sync::Arc;

use engine::{Caller, Command, Refusal, Reply, Rights};

use super::race::{CALLERS, RaceField};

/// The number of codes that the browsers race for, one after the other.
const CODES: usize = 20;

impl RaceField {
    /// Lets all browsers come with the same code at once, again and again. In every second round they also have the same
    /// key.
    pub(super) async fn browsers(self: &Arc<Self>) {
        for round in 0..CODES {
            let code = format!("race code {round}");
            let offered = self.act(round, person(), Command::OfferCode { hash: code.clone() }).await.reply;
            assert!(matches!(offered, Ok(Reply::CodeOffered { .. })), "{offered:?}");
            let answers = self.all(|field, caller| {
                let code = code.clone();
                async move {
                    let key = if round % 2 == 0 { caller } else { 0 };
                    let key = format!("race key {round} {key}");
                    let enrol = Command::EnrolBrowser { code, key, name: format!("browser {caller}") };
                    field.act(caller, person(), enrol).await.reply
                }
            });
            let answers = answers.await;
            let enrolled = answers.iter().filter(|reply| matches!(reply, Ok(Reply::BrowserEnrolled { .. }))).count();
            let refused = answers.iter().filter(|reply| matches!(reply, Err(Refusal::CodeInvalid))).count();
            assert_eq!((enrolled, refused), (1, CALLERS - 1), "{code}: {answers:?}");
        }
    }
}

fn person() -> Caller {
    Caller::with_rights(Rights::Person)
}
