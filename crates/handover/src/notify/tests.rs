//! Tests that really send notices: to a program that stores its input, and to a server that answers with given
//! statuses.

mod items;

use std::sync::{Arc, Mutex};

use engine::Timestamp;
use engine::approval::{ApprovalDecision, ApprovalRequest, Source, Via};
use engine::command::{AskApproval, Register};
use engine::notice::Notice;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::*;
use base::ground::clock::{Clock, ManualClock};
use base::people::seal::Seal;

const SECRET: &str = "sixteen bytes and more";

struct NotifyScene {
    folder: tempfile::TempDir,
    service: Service,
    clock: Arc<ManualClock>,
    agent: engine::id::AgentId,
}

impl NotifyScene {
    async fn new(settings: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("root/.handover")).unwrap();
        std::fs::write(folder.path().join("root/.handover/config.toml"), settings).unwrap();
        std::fs::write(folder.path().join("root/secret"), format!("{SECRET}\n")).unwrap();
        let clock = Arc::new(ManualClock::starting_at(Timestamp(1_700_000_000_000)));
        let service = Service::new(store::open("memory:", 1).await.unwrap(), Arc::clone(&clock) as Arc<dyn Clock>);
        let register = Register::named("amy", "test");
        let reply = service.execute(Caller::with_rights(Rights::Agent), Command::Register(register)).await.unwrap();
        let Reply::Registered { agent, .. } = reply else { panic!("{reply:?}") };
        Self { folder, service, clock, agent }
    }

    fn notifier(&self) -> Notifier {
        Notifier::new(self.service.clone(), self.folder.path().join("root"), Some(self.folder.path().join("data")))
    }

    fn trust(&self) {
        let root = self.folder.path().join("root");
        let data = self.folder.path().join("data");
        trust::accept(&data, &trust::view(&root, Some(&data)).unwrap()).unwrap();
    }

    async fn ask(&self, operation: &str) -> ApprovalId {
        let request = ApprovalRequest {
            operation: operation.to_owned(),
            content: "the exact content".to_owned(),
            risk: "HIGH".to_owned(),
            ..ApprovalRequest::default()
        };
        let seal = Seal { request: &request, task: None, attempt: None, agent: Some(self.agent) };
        let fingerprint = seal.fingerprint();
        let ask = AskApproval { source: Source::Gate, waits: None, request, fingerprint };
        let ask = Command::AskApproval(Box::new(ask));
        let reply = self.service.execute(Caller::agent(self.agent), ask).await.unwrap();
        let Reply::ApprovalAsked { approval, .. } = reply else { panic!("{reply:?}") };
        approval
    }

    async fn notice(&self, id: ApprovalId, channel: Channel) -> Option<Notice> {
        self.service.view(move |world| Ok(world.notice(id, channel)?.cloned())).await.unwrap()
    }

    async fn shown(&self, id: ApprovalId) -> Vec<Via> {
        base::people::approvals::show(&self.service, id).await.unwrap().shown
    }

    fn pass(&self, seconds: i64) {
        self.clock.advance(seconds * 1_000);
    }
}

/// Starts a server that answers with these statuses, one after the other, and stores the requests.
async fn receiver(statuses: &'static [&'static str]) -> (u16, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let heard = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&heard);
    tokio::spawn(async move {
        for status in statuses {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut text = String::new();
            // The body of the webhook request is one line of JSON, so its closing brace ends the request.
            while !text.ends_with('}') {
                let mut bytes = [0; 4_096];
                let count = stream.read(&mut bytes).await.unwrap();
                text.push_str(&String::from_utf8_lossy(&bytes[..count]));
            }
            kept.lock().unwrap().push(text);
            let answer = format!("HTTP/1.1 {status}\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n");
            stream.write_all(answer.as_bytes()).await.unwrap();
        }
    });
    (port, heard)
}

fn webhook(port: u16, more: &str) -> String {
    format!(
        "[notify.webhook]\nurl = \"http://127.0.0.1:{port}/hook\"\nsecret_file = \"secret\"\n\
         allow = [\"127.0.0.1:{port}\"]\n{more}\n"
    )
}

#[tokio::test]
async fn a_notice_arrives_signed_and_is_tried_again_until_then() {
    let (port, heard) = receiver(&["500 No", "302 Found", "204 Done"]).await;
    let scene = NotifyScene::new(&webhook(port, "private = true")).await;
    let (notifier, id) = (scene.notifier(), scene.ask("push with token=abcdefghijkl").await);
    assert_eq!(notifier.round().await.unwrap(), 0, "nobody trusted it yet");
    scene.trust();
    assert_eq!((notifier.round().await.unwrap(), notifier.round().await.unwrap()), (1, 0), "one try, then a pause");
    let notice = scene.notice(id, Channel::Webhook).await.unwrap();
    assert!(notice.problem.unwrap().contains("500"));
    scene.pass(10);
    assert_eq!(notifier.round().await.unwrap(), 1);
    let notice = scene.notice(id, Channel::Webhook).await.unwrap();
    assert!(notice.problem.unwrap().contains("redirects are not followed"));
    assert_eq!(scene.shown(id).await, []);
    scene.pass(20);
    assert_eq!(notifier.round().await.unwrap(), 1);
    assert_eq!(scene.shown(id).await, [Via::Webhook]);
    scene.pass(3_600);
    assert_eq!(notifier.round().await.unwrap(), 0, "it arrived");
    let heard = heard.lock().unwrap().clone();
    assert_eq!(heard.len(), 3);
    for text in &heard {
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        let header = |name: &str| {
            let line = head.lines().find(|line| line.to_lowercase().starts_with(&format!("{name}:"))).unwrap();
            line.split_once(": ").unwrap().1.to_owned()
        };
        assert_eq!(header("webhook-id"), id.to_string(), "the same for every try");
        let at = header("webhook-timestamp").parse().unwrap();
        assert_eq!(header("webhook-signature"), signature(SECRET, &id.to_string(), at, body).unwrap());
        assert!(!body.contains("abcdefghijkl") && !body.contains("the exact content"), "{body}");
        assert!(body.contains("push with token=[redacted]") && body.contains("\"agent\":\"amy\""), "{body}");
        assert!(head.starts_with("POST /hook HTTP/1.1"), "{head}");
    }
}

#[tokio::test]
async fn a_private_address_is_not_called_unless_that_is_allowed() {
    let (port, heard) = receiver(&["200 OK"]).await;
    let scene = NotifyScene::new(&webhook(port, "")).await;
    scene.trust();
    let id = scene.ask("push").await;
    assert_eq!(scene.notifier().round().await.unwrap(), 1);
    let problem = scene.notice(id, Channel::Webhook).await.unwrap().problem.unwrap();
    assert!(problem.contains("not a public address"), "{problem}");
    assert_eq!(*heard.lock().unwrap(), [""; 0]);
}

#[tokio::test]
async fn a_command_gets_the_notice_on_its_standard_input() {
    let scene = NotifyScene::new("[notify]\ncommand = [\"sh\", \"-c\", \"cat >> told; test ! -e refuse\"]\n").await;
    scene.trust();
    let root = scene.folder.path().join("root");
    std::fs::write(root.join("refuse"), "").unwrap();
    let id = scene.ask("push").await;
    assert_eq!(scene.notifier().round().await.unwrap(), 1);
    let problem = scene.notice(id, Channel::Command).await.unwrap().problem.unwrap();
    assert!(problem.contains("exit status: 1"), "{problem}");
    std::fs::remove_file(root.join("refuse")).unwrap();
    scene.pass(10);
    assert_eq!(scene.notifier().round().await.unwrap(), 1);
    assert_eq!(scene.shown(id).await, [Via::Command]);
    let told = std::fs::read_to_string(root.join("told")).unwrap();
    let lines: Vec<serde_json::Value> = told.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 2);
    assert_eq!((&lines[0]["approval_id"], &lines[0]["operation"]), (&id.to_string().into(), &"push".into()));
    // The settings file now names a new command, which no person has accepted. So the accepted command still sends the
    // notices.
    std::fs::write(root.join(".handover/config.toml"), "[notify]\ncommand = [\"touch\", \"owned\"]\n").unwrap();
    scene.ask("push elsewhere").await;
    assert_eq!(scene.notifier().round().await.unwrap(), 1);
    assert!(std::fs::read_to_string(root.join("told")).unwrap().contains("push elsewhere"));
    assert!(!root.join("owned").exists());
    let later = scene.ask("push again").await;
    scene.trust();
    base::people::approvals::decide(&scene.service, Rights::Person, later, ApprovalDecision::Approve).await.unwrap();
    assert_eq!(scene.notifier().round().await.unwrap(), 0);
    assert!(!root.join("owned").exists());
}

/// Uses a paused clock, which jumps ahead as soon as all async tasks only wait. So this test does not take the time of
/// the real limit.
#[tokio::test(start_paused = true)]
async fn a_command_that_does_not_end_is_ended() {
    let scene = NotifyScene::new("[notify]\ncommand = [\"sleep\", \"1000\"]\n").await;
    scene.trust();
    let id = scene.ask("push").await;
    assert_eq!(scene.notifier().round().await.unwrap(), 1);
    let notice = scene.notice(id, Channel::Command).await.unwrap();
    assert!(notice.problem.unwrap().contains("sleep was stopped because it ran longer than 20 s"));
    assert!(notice.next.is_some(), "it is tried again");
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_senders_one_sends() {
    let (port, heard) = receiver(&["200 OK", "200 OK", "200 OK", "200 OK"]).await;
    let scene = NotifyScene::new(&webhook(port, "private = true")).await;
    scene.trust();
    for operation in ["one", "two", "three"] {
        scene.ask(operation).await;
    }
    let rounds: Vec<_> = (0..8)
        .map(|_| {
            let notifier = scene.notifier();
            tokio::spawn(async move { notifier.round().await.unwrap() })
        })
        .collect();
    let mut sent = 0;
    for round in rounds {
        sent += round.await.unwrap();
    }
    assert_eq!((sent, heard.lock().unwrap().len()), (3, 3));
}
