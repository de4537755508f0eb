//! Lets an agent draft a plan. The agent reads the repository and answers with a plan in YAML. An invalid draft is sent
//! back to the agent with its problems.

mod judge;
mod prompt;
mod room;

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use engine::id::{Ids, ReviewId};
use engine::turn::{Spent, TurnEnd};

pub use self::judge::DraftedPlan;
pub use self::room::{ReadingRoom, RoomError};
use crate::ask::{AskedEnd, AskedTexts, Question, ask_until_valid};
use crate::outcome::RepairLimits;
use crate::review::Provider;
use crate::review::program::{ProviderProgram, ReviewError};
use agents::adapter::AdapterKind;
use agents::program::CutReason;
use base::ground::random;
use base::project::settings::TeamSettings;

/// The number of times that an invalid draft is sent back to the agent. If the last draft is still invalid, there is no
/// plan.
const REPAIRS_MAX: u32 = 3;

/// A request for a plan.
#[derive(Debug, Clone, Copy)]
pub struct DraftOrder<'a> {
    /// The goal, in the words of the person who asks.
    pub goal: &'a str,
    /// The largest number of tasks that the plan may have.
    pub tasks_max: u32,
    /// The folder that the agent reads. Its program starts there.
    pub room: &'a Path,
    /// Handover's state folder on this machine. The files of the agent's program are in it.
    pub state: &'a Path,
    /// The address of the store.
    pub store: &'a str,
}

/// The result of asking one agent for a plan.
#[derive(Debug)]
pub struct DraftResult {
    pub end: DraftEnd,
    /// The cost and the time of all starts of the agent's program.
    pub spent: Spent,
}

#[derive(Debug)]
pub enum DraftEnd {
    Drafted(Box<DraftedPlan>),
    /// The agent's last draft was still invalid. Each problem is one text.
    Invalid {
        problems: Vec<String>,
        repairs: u32,
    },
    /// The program did not answer, for example because it cannot start or is not logged in.
    Silent {
        end: TurnEnd,
        reason: Option<String>,
    },
    /// A person stopped the program.
    Cut,
}

/// Returns the slugs of the agents that may draft a plan, the best first. The agent that judges other agents' outputs
/// comes last, because it is usually not set up to read a repository.
pub fn planners(settings: &TeamSettings) -> Vec<String> {
    let evaluator = settings.evaluator.as_ref().map(|evaluator| evaluator.agent.as_str());
    let mut slugs: Vec<&str> = settings.agents.iter().map(|agent| agent.slug.as_str()).collect();
    slugs.sort_by_key(|slug| Some(*slug) == evaluator);
    slugs.into_iter().map(str::to_owned).collect()
}

/// Asks an agent for a plan until the plan is valid. `cut` is ready when the program must stop.
pub async fn draft<C: Future<Output = CutReason> + Send + Unpin>(
    provider: &Provider,
    order: DraftOrder<'_>,
    cut: C,
) -> Result<DraftResult, ReviewError> {
    let question = DraftQuestion {
        kind: provider.member.settings.adapter,
        who: &provider.member.who,
        goal: order.goal,
        tasks_max: usize::try_from(order.tasks_max).unwrap_or(usize::MAX),
        last: Mutex::default(),
    };
    // No stored review has this id. It marks all processes that the agent's program starts, so that they may only read,
    // like the processes of a reviewer.
    let mark = ReviewId::next(&mut Ids::new(random::seed()?));
    let around = (order.state, order.store, None);
    let mut program = ProviderProgram::new(provider, mark, around, Spent::default(), cut).in_room(order.room);
    let asked = ask_until_valid(&mut program, &question, None, question.resumes()).await?;
    let end = match asked.end {
        AskedEnd::Valid(drafted) => DraftEnd::Drafted(drafted),
        AskedEnd::Invalid { problems, repairs } => {
            let problems = problems.into_iter().map(|(place, words)| format!("{place}: {words}"));
            DraftEnd::Invalid { problems: problems.collect(), repairs }
        }
        AskedEnd::Silent { end, reason } => DraftEnd::Silent { end, reason },
        AskedEnd::Cut(_) => DraftEnd::Cut,
    };
    Ok(DraftResult { end, spent: asked.spent })
}

/// The question that asks an agent for a plan.
struct DraftQuestion<'a> {
    kind: AdapterKind,
    who: &'a wire::prompt::PromptAgent,
    goal: &'a str,
    tasks_max: usize,
    /// The agent's last invalid answer. A program that does not remember its conversation gets this answer again, with
    /// its problems.
    last: Mutex<Option<String>>,
}

impl DraftQuestion<'_> {
    fn resumes(&self) -> bool {
        self.kind != AdapterKind::Exec
    }
}

impl Question for DraftQuestion<'_> {
    type Answer = Box<DraftedPlan>;

    fn limits(&self) -> RepairLimits {
        RepairLimits { repairs: REPAIRS_MAX, restarts: 0 }
    }

    fn retries_silence(&self) -> bool {
        false
    }

    fn texts(&self, problems: &[(String, String)], resume: Option<String>) -> AskedTexts {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let message = match (problems.is_empty(), &resume) {
            (true, _) => prompt::message(self.goal, self.tasks_max),
            (false, Some(_)) => prompt::repair(problems),
            (false, None) => prompt::message_again(self.goal, self.tasks_max, last.as_deref(), problems),
        };
        AskedTexts { system: prompt::system(self.who), message, resume }
    }

    fn judge(&self, answer: &[u8]) -> Result<Self::Answer, Vec<(String, String)>> {
        let judged = judge::judge(answer, self.tasks_max);
        if judged.is_err() {
            let text = String::from_utf8_lossy(answer).into_owned();
            *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(text);
        }
        judged.map(Box::new)
    }
}
