//! Asks people on behalf of an attempt at a task: sends questions, requests approvals, and reports problems that block
//! the task.

use std::path::Path;

use engine::approval::Source;
use engine::command::{AskApproval, Target};
use engine::id::TurnId;
use engine::inbox::{MailboxOwner, MessageDraft, MessageKind, RecipientMatch, Recipients};
use engine::task::{Priority, TaskState};
use engine::view::AttemptView as Facts;
use engine::{Command, Need, Reply, approval};
use wire::card::Via;
use wire::handoff::{HandoffApproval, HandoffContract, HandoffStatus};
use wire::output::AgentOutput;
use wire::shape::NonBlank;
use wire::translate::{self, TurnFence};

use super::attempt::{AttemptError, AttemptRun, cut};
use super::place::WorkPlace;
use super::route::{self, To};
use super::shop::What;
use crate::approvals;
use crate::seal::{Seal, sealed_input};
use agents::adapter::acp::PermissionQuestion;

impl AttemptRun {
    /// Returns the commands for the engine that follow from the output of a turn.
    fn acts(&self, turn: TurnId) -> Result<Vec<Command>, AttemptError> {
        let text = self.answer(turn)?;
        let of = TurnFence { task: self.task, attempt: self.attempt };
        let acts = self.read(turn, &text, |output| match output {
            AgentOutput::Handoff(verdict) => verdict.contract.as_ref().map(|contract| translate::handoff(contract, of)),
            AgentOutput::Envelope(judged) => judged.value.as_ref().map(|envelope| translate::output(envelope, of)),
            AgentOutput::Missing => None,
        });
        acts.map(|acts| acts.commands).ok_or_else(|| AttemptError::Other("the output cannot be read again".to_owned()))
    }

    /// Pauses the task first and asks the person second. In the other order, the person could answer before the task is
    /// paused.
    #[expect(clippy::wildcard_enum_match_arm, reason = "an output becomes few of the commands there are")]
    pub(super) async fn ask(&self, facts: &Facts, turn: TurnId) -> Result<(), AttemptError> {
        for command in self.acts(turn)? {
            match command {
                Command::Move { .. } if matches!(facts.task.state, TaskState::Paused { .. }) => {}
                Command::Move { .. } => drop(self.execute(command).await?),
                Command::Send { ref draft, .. } if self.is_gated(&draft.body) => {
                    let question = draft.body.clone();
                    self.ask_exec_gate(facts, &question).await?;
                    self.pass_on(facts, &question).await;
                }
                Command::Send { ref draft, .. } => {
                    let question = draft.body.clone();
                    self.shop.service.execute(self.shop.once(self.seat.agent, turn, "question"), command).await?;
                    self.pass_on(facts, &question).await;
                    self.tell(facts, What::Asks { question });
                }
                _ => drop(self.execute(command).await?),
            }
        }
        Ok(())
    }

    pub(super) async fn ask_approval(&self, facts: &Facts, turn: TurnId) -> Result<(), AttemptError> {
        let text = self.answer(turn)?;
        let contract = self.read(turn, &text, |output| match output {
            AgentOutput::Handoff(verdict) => verdict.contract.clone(),
            AgentOutput::Envelope(_) | AgentOutput::Missing => None,
        });
        let place = self.place(facts).await?;
        let Some(request) = contract.as_ref().and_then(|contract| request(contract, place.path())) else {
            return Err(AttemptError::Other("the output asks for nothing that could be approved".to_owned()));
        };
        let operation = request.operation.clone();
        let fingerprint = self.seal(&request);
        let waits = Some((self.task, self.attempt));
        let ask = AskApproval { source: Source::Handoff, waits, request, fingerprint };
        let reply = self.execute(Command::AskApproval(Box::new(ask))).await?;
        let Reply::ApprovalAsked { approval, .. } = reply else { return Err(crate::Error::unexpected(&reply).into()) };
        self.tell(facts, What::WantsApproval { approval: approval.to_string(), operation });
        Ok(())
    }

    /// Returns a request for approval of a call that the program was not allowed to make. The request has the exact
    /// bytes of the program's call, without a command's caption and time limit.
    fn permission(worktree: &Path, asked: &PermissionQuestion) -> approval::ApprovalRequest {
        let paths: Vec<String> = asked.paths.iter().map(|path| path.display().to_string()).collect();
        approval::ApprovalRequest {
            operation: asked.title.clone(),
            content: asked.input.as_deref().map(sealed_input).unwrap_or_default(),
            scope: paths.join("\n"),
            directory: worktree.display().to_string(),
            ..approval::ApprovalRequest::default()
        }
    }

    /// Consumes a person's approval of exactly this call. Returns false when there is no such approval.
    pub(super) async fn is_approved(&self, worktree: &Path, asked: &PermissionQuestion) -> bool {
        let fingerprint = self.seal(&Self::permission(worktree, asked));
        let need = Need::ApprovalSealed(fingerprint.clone());
        let found =
            self.shop.service.view(move |world| Ok(world.approvals(&need)?.first().map(|found| found.id))).await;
        let Ok(Some(approval)) = found else { return false };
        self.execute(Command::ConsumeApproval { approval, fingerprint }).await.is_ok()
    }

    /// Requests a person's approval for a program's call. The task waits for the decision.
    pub(super) async fn ask_permission(
        &self,
        facts: &Facts,
        place: &WorkPlace,
        asked: &PermissionQuestion,
    ) -> Result<(), AttemptError> {
        let mut request = Self::permission(place.path(), asked);
        if request.operation.trim().is_empty() {
            request.operation = "a tool".to_owned();
        }
        let operation = request.operation.clone();
        let fingerprint = self.seal(&request);
        let ask = AskApproval { source: Source::Acp, waits: Some((self.task, self.attempt)), request, fingerprint };
        let reply = self.execute(Command::AskApproval(Box::new(ask))).await?;
        let Reply::ApprovalAsked { approval, .. } = reply else { return Err(crate::Error::unexpected(&reply).into()) };
        self.tell(facts, What::WantsApproval { approval: approval.to_string(), operation });
        Ok(())
    }

    fn seal(&self, request: &approval::ApprovalRequest) -> String {
        let (task, attempt, agent) = (Some(self.task), Some(self.attempt), Some(self.seat.agent));
        Seal { request, task, attempt, agent }.fingerprint()
    }

    /// Tells whether the agent's card requires a person's approval for this question before the work continues.
    fn is_gated(&self, question: &str) -> bool {
        matches!(route::by_card(&self.seat.member.who, question), Some((_, Via::ExecGate)))
    }

    async fn ask_exec_gate(&self, facts: &Facts, question: &str) -> Result<(), AttemptError> {
        let request = approval::ApprovalRequest {
            operation: approvals::first_line(question),
            content: question.to_owned(),
            scope: format!("task {} of workflow {}", facts.task.name, facts.workflow.name),
            directory: self.place(facts).await?.path().display().to_string(),
            ..approval::ApprovalRequest::default()
        };
        let (operation, fingerprint) = (request.operation.clone(), self.seal(&request));
        let ask =
            AskApproval { source: Source::ExecGate, waits: Some((self.task, self.attempt)), request, fingerprint };
        let reply = self.execute(Command::AskApproval(Box::new(ask))).await?;
        let Reply::ApprovalAsked { approval, .. } = reply else { return Err(crate::Error::unexpected(&reply).into()) };
        self.tell(facts, What::WantsApproval { approval: approval.to_string(), operation });
        Ok(())
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "an output becomes few of the commands there are")]
    pub(super) async fn block_as_said(&self, facts: &Facts, turn: TurnId) -> Result<(), AttemptError> {
        let found = self.acts(turn)?.into_iter().find_map(|command| match command {
            Command::Move { to: Target::Blocked { kind, reason, .. }, .. } => Some((kind, reason)),
            _ => None,
        });
        let (kind, reason) = found.ok_or_else(|| AttemptError::Other("the output does not say why".to_owned()))?;
        self.block(facts, kind, reason).await
    }

    /// Sends a question also to the agent or role that the agent's card names for such a question.
    async fn pass_on(&self, facts: &Facts, question: &str) {
        let subject = || format!("{} asks", facts.task.name);
        match route::by_card(&self.seat.member.who, question) {
            Some((To::Agent(slug), _)) => {
                let texts = (subject(), question.to_owned());
                self.tell_agent(facts, &slug, MessageKind::Question, texts).await;
            }
            Some((To::Role(role), _)) => {
                let filter =
                    RecipientMatch { role: Some(role.clone()), include_silent: true, ..RecipientMatch::default() };
                let draft = self.draft(facts, MessageKind::Question, (subject(), question.to_owned()));
                if let Err(error) = self.execute(Command::Send { to: Recipients::All(filter), draft }).await {
                    self.tell(facts, What::Warning { text: format!("nobody with the role {role} was told: {error}") });
                }
            }
            Some((To::Person, _)) | None => {}
        }
    }

    pub(super) fn draft(&self, facts: &Facts, kind: MessageKind, (subject, body): (String, String)) -> MessageDraft {
        MessageDraft {
            kind,
            priority: Priority::FIRST,
            subject: Some(subject),
            body: cut(&body),
            body_json: false,
            action_required: true,
            workflow: Some(facts.workflow.id),
            task: Some(self.task),
            reply_to: None,
        }
    }

    /// Sends a message to the agent with this slug. Prefers an agent of this runner to other agents with the same slug.
    pub(super) async fn tell_agent(&self, facts: &Facts, slug: &str, kind: MessageKind, texts: (String, String)) {
        let draft = self.draft(facts, kind, texts);
        let to = match self.shop.seats.get(slug) {
            Some(seat) => Recipients::One(MailboxOwner::Agent(seat.agent)),
            None => Recipients::Slug(slug.to_owned()),
        };
        if let Err(error) = self.execute(Command::Send { to, draft }).await {
            self.tell(facts, What::Warning { text: format!("{slug} was not told: {error}") });
        }
    }
}

/// Returns the approval request in a handoff, with the folder to which the approval applies. Returns `None` for a
/// handoff without a request.
pub(crate) fn request(contract: &HandoffContract, folder: &Path) -> Option<approval::ApprovalRequest> {
    let HandoffStatus::ApprovalRequest { request } = contract.status() else { return None };
    let HandoffApproval { rollback, verification, operation, exact_content, scope, risk_level, .. } = request;
    let text = |found: Option<&NonBlank>| found.map(ToString::to_string).unwrap_or_default();
    let operation = text(operation.get());
    Some(approval::ApprovalRequest {
        operation: if operation.is_empty() { contract.next_action().to_owned() } else { operation },
        content: text(exact_content.get()),
        scope: text(scope.get()),
        directory: folder.display().to_string(),
        risk: risk_level.get().map(|risk| risk.word().as_str().to_owned()).unwrap_or_default(),
        rollback: rollback.to_string(),
        verification: verification.to_string(),
    })
}
