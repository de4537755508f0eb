//! Asks people on behalf of an attempt: questions, approvals, and problems that block it.

use std::path::Path;

use engine::approval::Source;
use engine::command::{AskApproval, Target};
use engine::id::TurnId;
use engine::inbox::{Draft, Filter, MessageKind, Owner, Recipients};
use engine::task::{Priority, State};
use engine::view::Attempt as Facts;
use engine::{Command, Need, Reply, approval};
use wire::card::Via;
use wire::handoff::{Contract, Request, Status};
use wire::output::Output;
use wire::shape::NonBlank;
use wire::translate::{self, Turn};

use super::attempt::{Attempt, Trouble, cut};
use super::place::Place;
use super::route::{self, To};
use super::shop::What;
use crate::approvals;
use crate::seal::{Seal, sealed_input};
use agents::adapter::acp::Asked;

impl Attempt {
    /// Returns the engine's commands for the output of a turn.
    fn acts(&self, turn: TurnId) -> Result<Vec<Command>, Trouble> {
        let text = self.answer(turn)?;
        let of = Turn { task: self.task, attempt: self.attempt };
        let acts = self.read(turn, &text, |output| match output {
            Output::Handoff(verdict) => verdict.contract.as_ref().map(|contract| translate::handoff(contract, of)),
            Output::Envelope(judged) => judged.value.as_ref().map(|envelope| translate::output(envelope, of)),
            Output::Missing => None,
        });
        acts.map(|acts| acts.commands).ok_or_else(|| Trouble::Other("the output cannot be read again".to_owned()))
    }

    /// Pauses the task, and then asks a person. In the other order, the question could be answered before the task is
    /// paused.
    #[expect(clippy::wildcard_enum_match_arm, reason = "an output becomes few of the commands there are")]
    pub(super) async fn ask(&self, facts: &Facts, turn: TurnId) -> Result<(), Trouble> {
        for command in self.acts(turn)? {
            match command {
                Command::Move { .. } if matches!(facts.task.state, State::Paused { .. }) => {}
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

    pub(super) async fn ask_approval(&self, facts: &Facts, turn: TurnId) -> Result<(), Trouble> {
        let text = self.answer(turn)?;
        let contract = self.read(turn, &text, |output| match output {
            Output::Handoff(verdict) => verdict.contract.clone(),
            Output::Envelope(_) | Output::Missing => None,
        });
        let place = self.place(facts).await?;
        let Some(request) = contract.as_ref().and_then(|contract| request(contract, place.path())) else {
            return Err(Trouble::Other("the output asks for nothing that could be approved".to_owned()));
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

    /// Returns the call that a program was not allowed to make as a request that a person can approve. It has the bytes
    /// of the program's own request, without a command's caption and time limit.
    fn permission(worktree: &Path, asked: &Asked) -> approval::Request {
        let paths: Vec<String> = asked.paths.iter().map(|path| path.display().to_string()).collect();
        approval::Request {
            operation: asked.title.clone(),
            content: asked.input.as_deref().map(sealed_input).unwrap_or_default(),
            scope: paths.join("\n"),
            directory: worktree.display().to_string(),
            ..approval::Request::default()
        }
    }

    /// Consumes a person's approval of exactly this call. Returns false when there is none.
    pub(super) async fn is_approved(&self, worktree: &Path, asked: &Asked) -> bool {
        let fingerprint = self.seal(&Self::permission(worktree, asked));
        let need = Need::ApprovalSealed(fingerprint.clone());
        let found =
            self.shop.service.view(move |world| Ok(world.approvals(&need)?.first().map(|found| found.id))).await;
        let Ok(Some(approval)) = found else { return false };
        self.execute(Command::ConsumeApproval { approval, fingerprint }).await.is_ok()
    }

    /// Creates a request for approval of a program's call. The task waits for a person's decision.
    pub(super) async fn ask_permission(&self, facts: &Facts, place: &Place, asked: &Asked) -> Result<(), Trouble> {
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

    fn seal(&self, request: &approval::Request) -> String {
        let (task, attempt, agent) = (Some(self.task), Some(self.attempt), Some(self.seat.agent));
        Seal { request, task, attempt, agent }.fingerprint()
    }

    /// Tells whether the card requires a person's approval for this question before the work continues.
    fn is_gated(&self, question: &str) -> bool {
        matches!(route::by_card(&self.seat.member.who, question), Some((_, Via::ExecGate)))
    }

    async fn ask_exec_gate(&self, facts: &Facts, question: &str) -> Result<(), Trouble> {
        let request = approval::Request {
            operation: approvals::first_line(question),
            content: question.to_owned(),
            scope: format!("task {} of workflow {}", facts.task.name, facts.workflow.name),
            directory: self.place(facts).await?.path().display().to_string(),
            ..approval::Request::default()
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
    pub(super) async fn block_as_said(&self, facts: &Facts, turn: TurnId) -> Result<(), Trouble> {
        let found = self.acts(turn)?.into_iter().find_map(|command| match command {
            Command::Move { to: Target::Blocked { kind, reason, .. }, .. } => Some((kind, reason)),
            _ => None,
        });
        let (kind, reason) = found.ok_or_else(|| Trouble::Other("the output does not say why".to_owned()))?;
        self.block(facts, kind, reason).await
    }

    /// Sends a question to a further agent or role, when the agent's card says so.
    async fn pass_on(&self, facts: &Facts, question: &str) {
        let subject = || format!("{} asks", facts.task.name);
        match route::by_card(&self.seat.member.who, question) {
            Some((To::Agent(slug), _)) => {
                let texts = (subject(), question.to_owned());
                self.tell_agent(facts, &slug, MessageKind::Question, texts).await;
            }
            Some((To::Role(role), _)) => {
                let filter = Filter { role: Some(role.clone()), include_silent: true, ..Filter::default() };
                let draft = self.draft(facts, MessageKind::Question, (subject(), question.to_owned()));
                if let Err(error) = self.execute(Command::Send { to: Recipients::All(filter), draft }).await {
                    self.tell(facts, What::Warning { text: format!("nobody with the role {role} was told: {error}") });
                }
            }
            Some((To::Person, _)) | None => {}
        }
    }

    pub(super) fn draft(&self, facts: &Facts, kind: MessageKind, (subject, body): (String, String)) -> Draft {
        Draft {
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

    /// Sends a message to one agent by its slug: an agent of this runner, else any agent with that slug.
    pub(super) async fn tell_agent(&self, facts: &Facts, slug: &str, kind: MessageKind, texts: (String, String)) {
        let draft = self.draft(facts, kind, texts);
        let to = match self.shop.seats.get(slug) {
            Some(seat) => Recipients::One(Owner::Agent(seat.agent)),
            None => Recipients::Slug(slug.to_owned()),
        };
        if let Err(error) = self.execute(Command::Send { to, draft }).await {
            self.tell(facts, What::Warning { text: format!("{slug} was not told: {error}") });
        }
    }
}

/// Returns the approval that a handoff asks for, with the folder to which it applies.
pub(crate) fn request(contract: &Contract, folder: &Path) -> Option<approval::Request> {
    let Status::ApprovalRequest { request } = contract.status() else { return None };
    let Request { rollback, verification, operation, exact_content, scope, risk_level, .. } = request;
    let text = |found: Option<&NonBlank>| found.map(ToString::to_string).unwrap_or_default();
    let operation = text(operation.get());
    Some(approval::Request {
        operation: if operation.is_empty() { contract.next_action().to_owned() } else { operation },
        content: text(exact_content.get()),
        scope: text(scope.get()),
        directory: folder.display().to_string(),
        risk: risk_level.get().map(|risk| risk.word().as_str().to_owned()).unwrap_or_default(),
        rollback: rollback.to_string(),
        verification: verification.to_string(),
    })
}
