//! Asks an evaluator to judge the output of a task. The evaluator is another agent than the worker. It answers with an
//! output envelope (a JSON object).

use std::sync::Arc;

use engine::turn::{Purpose, Spent};
use engine::view::AttemptView as Facts;
use wire::json::Value;

use crate::ask::{AskedEnd, AskedProgram, AskedTexts, ProgramReply, Question, ask_until_valid};
use crate::attempt::{AttemptError, AttemptRun};
use crate::look::LookTurns;
use crate::outcome::RepairLimits;
use crate::verify::{self, EvaluatorAnswer, EvaluatorQuestion, Judgement};
use agents::adapter::AdapterKind;

/// The numbers of tries of an evaluator. An unusable answer is sent back for repair once. If the repaired answer is
/// unusable, too, the evaluation starts once more from the beginning.
const LIMITS: RepairLimits = RepairLimits { repairs: 1, restarts: 1 };

impl AttemptRun {
    /// Asks the evaluator for its judgement. The evaluator must be another agent than the worker.
    pub(crate) async fn evaluate(
        &self,
        facts: &Facts,
        question: &EvaluatorQuestion,
    ) -> Result<EvaluatorAnswer, AttemptError> {
        let named = self.shared.settings.evaluator.as_ref().map(|evaluator| evaluator.agent.as_str());
        let Some(judge) = named.and_then(|slug| self.shared.agents.get(slug)).cloned() else {
            let reason = "there is no evaluator; name an agent as [evaluator] in .handover/config.toml";
            return Ok(EvaluatorAnswer::NotAsked(reason.to_owned()));
        };
        if judge.agent == self.worker.agent {
            return Ok(EvaluatorAnswer::NotAsked(format!("{} may not evaluate its own work", judge.slug)));
        }
        let Ok(_room) = Arc::clone(&judge.room).acquire_owned().await else {
            return Ok(EvaluatorAnswer::NotAsked("the runner is stopping".to_owned()));
        };
        let resumes = judge.member.settings.adapter != AdapterKind::Exec;
        let turns = LookTurns { run: self, facts, judge: &judge, purpose: Purpose::Evaluation };
        let mut program = EvaluatorProgram(turns);
        let question = EvaluationPrompt { question, facts, resumes };
        let asked = ask_until_valid(&mut program, &question, None, resumes).await?;
        Ok(match asked.end {
            AskedEnd::Valid(judgement) => EvaluatorAnswer::Judged(judgement),
            AskedEnd::Invalid { problems, .. } => EvaluatorAnswer::Judged(Judgement::Unusable { codes: problems }),
            AskedEnd::Silent { end, reason } => {
                EvaluatorAnswer::NotAsked(format!("{end}: {}", reason.unwrap_or_default()))
            }
            AskedEnd::Cut(_) => EvaluatorAnswer::Stopped,
        })
    }
}

/// The question to an evaluator, in the form that the evaluator's kind of program reads.
struct EvaluationPrompt<'a> {
    question: &'a EvaluatorQuestion,
    facts: &'a Facts,
    resumes: bool,
}

impl Question for EvaluationPrompt<'_> {
    type Answer = Judgement;

    fn limits(&self) -> RepairLimits {
        LIMITS
    }

    fn retries_silence(&self) -> bool {
        true
    }

    fn texts(&self, problems: &[(String, String)], resume: Option<String>) -> AskedTexts {
        let mut message = self.question.message.clone();
        for (code, text) in problems {
            message.push_str(&format!("\nYour last answer could not be used: {code}: {text}\n"));
        }
        let message = if self.resumes { Some(message) } else { envelope(self.question, self.facts, problems) };
        AskedTexts { system: self.question.system.clone(), message: message.unwrap_or_default(), resume }
    }

    fn judge(&self, answer: &[u8]) -> Result<Judgement, Vec<(String, String)>> {
        match verify::judge(&String::from_utf8_lossy(answer)) {
            Judgement::Unusable { codes } => Err(codes),
            usable @ (Judgement::Pass(_) | Judgement::Fail(_)) => Ok(usable),
        }
    }
}

struct EvaluatorProgram<'a>(LookTurns<'a>);

impl AskedProgram for EvaluatorProgram<'_> {
    type StartError = AttemptError;

    async fn start(&mut self, texts: AskedTexts) -> Result<ProgramReply, AttemptError> {
        let (ran, _) = self.0.run(texts).await?;
        // The cost is not added up here, because the store records it with the turn.
        Ok(ProgramReply {
            end: ran.end,
            reason: ran.reason,
            answer: ran.said.text.into_bytes(),
            conversation: ran.said.conversation,
            spent: Spent::default(),
        })
    }
}

/// Returns the question to the evaluator as an input envelope (a JSON object), for a program that has no conversation.
fn envelope(asked: &EvaluatorQuestion, facts: &Facts, codes: &[(String, String)]) -> Option<String> {
    let codes = codes.iter().map(|(code, _)| Value::from(code.as_str())).collect();
    let params = vec![
        ("task_id".to_owned(), facts.task.id.to_string().into()),
        ("evaluate".to_owned(), asked.criterion.as_str().into()),
        ("output_ref".to_owned(), asked.output_ref.clone().into()),
        ("output".to_owned(), asked.output.as_str().into()),
        ("codes".to_owned(), Value::List(codes)),
    ];
    let envelope = wire::translate::input(wire::translate::TaskInput {
        feature: None,
        workflow: &facts.workflow.name,
        iteration: facts.task.attempt.max(1),
        action: "evaluate",
        params,
        paths: vec![("root".to_owned(), ".".to_owned())],
        notes: Vec::new(),
    });
    envelope.map(|envelope| wire::shape::Shape::render(&envelope).to_string())
}
