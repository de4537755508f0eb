//! Tests of notices about things that need a person. The tests move the clock themselves.

use base::people::attention::{self, AttentionSurroundings};
use engine::Json;
use engine::condition::ConditionKind;
use engine::put_off::ItemDelay;

use super::*;

/// Settings with a command that stores every notice in the file `told`.
const KEEPS: &str = "[notify]\ndesktop = false\ncommand = [\"sh\", \"-c\", \"cat >> told\"]\n";

impl NotifyScene {
    /// Creates an item that needs a person: records that the program of this agent cannot work, because it is not
    /// logged in.
    async fn rests(&self, agent: &str) {
        let set = Command::SetCondition {
            kind: ConditionKind::AgentRests,
            subject: agent.to_owned(),
            title: format!("{agent} rests: not logged in"),
            detail: Json::from_stored("{}".to_owned()),
        };
        self.service.execute(Caller::with_rights(Rights::Runner), set).await.unwrap();
    }

    /// Puts off all items for this number of seconds.
    async fn put_off(&self, seconds: i64) {
        let facts = attention::gather(&self.service, &AttentionSurroundings::default()).await.unwrap();
        for item in attention::items(&facts, &LocalClock::here_at(self.service.now())) {
            let until = Some(Timestamp(self.service.now().0 + seconds * 1_000));
            let put_off = Command::PutOff(ItemDelay { item: item.name, until });
            self.service.execute(Caller::with_rights(Rights::Person), put_off).await.unwrap();
        }
    }

    /// Returns the notices that arrived: the type and the text of each.
    fn heard(&self) -> Vec<(String, String)> {
        let told = std::fs::read_to_string(self.folder.path().join("root/told")).unwrap_or_default();
        let notice = |line: &str| {
            let notice: serde_json::Value = serde_json::from_str(line).unwrap();
            (notice["type"].as_str().unwrap().to_owned(), notice["text"].as_str().unwrap().to_owned())
        };
        told.lines().map(notice).collect()
    }
}

fn waiting(text: &str) -> (String, String) {
    ("items.waiting".to_owned(), text.to_owned())
}

fn end(run: &str) -> RunEndNotice {
    RunEndNotice { run: run.to_owned(), text: "The run is done after 4 s.".to_owned() }
}

#[tokio::test]
async fn an_item_is_told_once_and_items_of_the_same_minute_together() {
    let scene = NotifyScene::new(KEEPS).await;
    scene.trust();
    let notifier = scene.notifier();
    assert_eq!(notifier.tell_items().await.unwrap(), 0, "nothing needs a person");
    scene.rests("codex").await;
    assert_eq!((notifier.tell_items().await.unwrap(), notifier.tell_items().await.unwrap()), (1, 0));
    scene.pass(10);
    scene.rests("gemini").await;
    scene.rests("goose").await;
    assert_eq!(notifier.tell_items().await.unwrap(), 0, "the minute is not over");
    scene.pass(49);
    assert_eq!(notifier.tell_items().await.unwrap(), 0, "the minute is not over");
    scene.pass(1);
    assert_eq!((notifier.tell_items().await.unwrap(), notifier.tell_items().await.unwrap()), (1, 0));
    assert_eq!(scene.heard(), [waiting("codex is not logged in"), waiting("3 things need you")]);
}

#[tokio::test]
async fn nothing_is_told_in_quiet_hours_and_everything_afterwards() {
    let now = Timestamp(1_700_000_000_000);
    let minute = LocalClock::here_at(now).minute_of_day();
    let time = |minute: u32| format!("{:02}:{:02}", minute % 1_440 / 60, minute % 60);
    let quiet = format!("{}-{}", time(minute), time(minute + 10));
    let scene = NotifyScene::new(&format!("{KEEPS}quiet = \"{quiet}\"\n")).await;
    scene.trust();
    let (notifier, id) = (scene.notifier(), scene.ask("push").await);
    scene.rests("codex").await;
    assert_eq!((notifier.round().await.unwrap(), notifier.tell_items().await.unwrap()), (0, 0));
    assert_eq!(notifier.tell_end(&end("one")).await.unwrap(), 0);
    assert!(scene.notice(id, Channel::Command).await.is_none(), "the approval is not taken, so it is told later");
    scene.pass(10 * 60);
    assert_eq!((notifier.round().await.unwrap(), notifier.tell_items().await.unwrap()), (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn of_several_processes_one_tells() {
    let scene = NotifyScene::new(KEEPS).await;
    scene.trust();
    let file = scene.folder.path().join("shared.db");
    let service = async || {
        let store = store::open(file.to_str().unwrap(), 1).await.unwrap();
        Service::new(store, Arc::clone(&scene.clock) as Arc<dyn Clock>)
    };
    let set = Command::SetCondition {
        kind: ConditionKind::AgentRests,
        subject: "codex".to_owned(),
        title: "codex rests: not logged in".to_owned(),
        detail: Json::from_stored("{}".to_owned()),
    };
    service().await.execute(Caller::with_rights(Rights::Runner), set).await.unwrap();
    let mut senders = Vec::new();
    for _ in 0..6 {
        // Each sender opens the database file by itself, as a separate process does.
        let notifier = Notifier { service: service().await, ..scene.notifier() };
        senders.push(tokio::spawn(async move { notifier.tell_items().await.unwrap() }));
    }
    let mut sent = 0;
    for sender in senders {
        sent += sender.await.unwrap();
    }
    assert_eq!((sent, scene.heard()), (1, vec![waiting("codex is not logged in")]));
}

#[tokio::test]
async fn a_run_that_ends_tells_what_is_due_or_else_its_end() {
    let scene = NotifyScene::new(KEEPS).await;
    scene.trust();
    let notifier = scene.notifier();
    assert_eq!(notifier.tell_end(&end("one")).await.unwrap(), 1);
    assert_eq!(notifier.tell_end(&end("one")).await.unwrap(), 0, "each run ends once");
    scene.rests("codex").await;
    assert_eq!(notifier.tell_items().await.unwrap(), 0, "the minute after the last notice is not over");
    assert_eq!(notifier.tell_end(&end("two")).await.unwrap(), 1, "this process cannot wait");
    assert_eq!(notifier.tell_end(&end("three")).await.unwrap(), 0, "people were told a moment ago");
    scene.pass(60);
    assert_eq!(notifier.tell_end(&end("three")).await.unwrap(), 1);
    let ended = ("run.ended".to_owned(), "The run is done after 4 s.".to_owned());
    assert_eq!(scene.heard(), [ended.clone(), waiting("codex is not logged in"), ended]);
}

#[tokio::test]
async fn a_notice_that_cannot_be_sent_is_given_back() {
    let settings = "[notify]\ndesktop = false\ncommand = [\"sh\", \"-c\", \"test ! -e refuse && cat >> told\"]\n";
    let scene = NotifyScene::new(settings).await;
    scene.trust();
    let refuse = scene.folder.path().join("root/refuse");
    std::fs::write(&refuse, "").unwrap();
    scene.rests("codex").await;
    let (broken, other) = (scene.notifier(), scene.notifier());
    assert_eq!(broken.tell_items().await.unwrap(), 0);
    std::fs::remove_file(refuse).unwrap();
    assert_eq!(broken.tell_items().await.unwrap(), 0, "this process does not try it again at once");
    assert_eq!(other.tell_items().await.unwrap(), 1, "another process sends it");
    assert_eq!(scene.heard(), [waiting("codex is not logged in")]);
}

#[tokio::test]
async fn a_notice_program_gets_the_variables_that_the_settings_pass() {
    let settings = "[notify]\ndesktop = false\ncommand = [\"sh\", \"-c\", \"cat > told; env > seen\"]\n\
                    [env]\npass = [\"CARGO_MANIFEST_DIR\"]\ndrop = [\"HOME\"]\n";
    let scene = NotifyScene::new(settings).await;
    scene.trust();
    scene.rests("codex").await;
    assert_eq!(scene.notifier().tell_items().await.unwrap(), 1);
    let seen = std::fs::read_to_string(scene.folder.path().join("root/seen")).unwrap();
    let names: Vec<&str> = seen.lines().filter_map(|line| Some(line.split_once('=')?.0)).collect();
    assert!(names.contains(&"CARGO_MANIFEST_DIR") && names.contains(&"PATH"), "{names:?}");
    assert!(!names.contains(&"HOME") && !names.contains(&"CARGO_PKG_NAME"), "{names:?}");
}

#[tokio::test]
async fn an_item_that_is_put_off_is_told_when_its_time_is_over() {
    let scene = NotifyScene::new(KEEPS).await;
    scene.trust();
    let notifier = scene.notifier();
    scene.rests("codex").await;
    assert_eq!(notifier.tell_items().await.unwrap(), 1);
    scene.put_off(3_600).await;
    scene.pass(120);
    scene.rests("gemini").await;
    assert_eq!(notifier.tell_items().await.unwrap(), 1, "the other item is told");
    scene.pass(3_479);
    assert_eq!(notifier.tell_items().await.unwrap(), 0, "the time is not over");
    scene.pass(1);
    assert_eq!((notifier.tell_items().await.unwrap(), notifier.tell_items().await.unwrap()), (1, 0));
    let told = ["codex is not logged in", "gemini is not logged in", "codex is not logged in"];
    let told = scene.heard().into_iter().zip(told).map(|(heard, expected)| (heard.1, expected));
    assert!(told.clone().all(|(heard, expected)| heard.contains(expected)), "{:?}", told.collect::<Vec<_>>());
}
