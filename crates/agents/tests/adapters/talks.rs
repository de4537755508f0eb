//! Tests conversations with agents that behave in ways that no recorded conversation shows.

use std::time::Duration;

use agents::adapter::acp::{self, Way};
use agents::adapter::{AdapterKind, AgentEnd, Exit, Permissions, TurnOrder, TurnSaid};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};

use super::replay::{Desk, order, runtime};

/// Plays an agent that answers the greeting and begins a conversation. After it got the prompt, it sends the lines of
/// `after_prompt`.
fn scripted(after_prompt: &[String], order: &TurnOrder) -> (TurnSaid, Desk) {
    let mut script = vec![
        "> ".to_owned(),
        r#"< {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"agentCapabilities":{"loadSession":false}}}"#.into(),
        "> ".into(),
        r#"< {"jsonrpc":"2.0","id":2,"result":{"sessionId":"s1"}}"#.into(),
        "> ".into(),
    ];
    script.extend(after_prompt.iter().cloned());
    let mut desk = Desk::new(order.permissions);
    let talked = runtime().block_on(super::replay::converse(order, script.join("\n").as_bytes(), &mut desk));
    (talked.end(Exit::Code(0), ""), desk)
}

fn answered(stop_reason: &str) -> String {
    format!("< {}", json!({"jsonrpc": "2.0", "id": 3, "result": {"stopReason": stop_reason}}))
}

fn ask(options: &[(&str, &str)]) -> String {
    let options: Vec<Value> =
        options.iter().map(|(id, kind)| json!({"optionId": id, "name": id, "kind": kind})).collect();
    let call =
        json!({"toolCallId": "c1", "title": "cargo test", "kind": "execute", "rawInput": {"command": "cargo test"}});
    let params = json!({"sessionId": "s1", "options": options, "toolCall": call});
    format!("< {}", json!({"jsonrpc": "2.0", "id": "ask-1", "method": "session/request_permission", "params": params}))
}

fn said_to(desk: &Desk, id: &str) -> Value {
    let ours = desk.said.iter().filter(|(way, _)| *way == Way::ToAgent);
    let messages = ours.map(|(_, line)| serde_json::from_str::<Value>(line).unwrap());
    messages.into_iter().find(|message| message["id"] == id).unwrap()
}

#[test]
fn a_permission_is_given_once_and_never_for_ever() {
    let all = [("a", "allow_always"), ("b", "allow_once"), ("c", "reject_once"), ("d", "reject_always")];
    let cases = [
        (Permissions::Edit, &all[..], json!({"outcome": "selected", "optionId": "b"})),
        (Permissions::Read, &all[..], json!({"outcome": "selected", "optionId": "c"})),
        // In the next two cases no option allows only this one call. So the call is not allowed, although the
        // permissions cover it.
        (Permissions::Edit, &[all[0], all[2]], json!({"outcome": "selected", "optionId": "c"})),
        (Permissions::Edit, &[all[0], all[3]], json!({"outcome": "cancelled"})),
        (Permissions::Read, &[all[0], all[1], all[3]], json!({"outcome": "cancelled"})),
        (Permissions::Read, &[], json!({"outcome": "cancelled"})),
    ];
    for (permissions, options, expected) in cases {
        let order = TurnOrder { permissions, ..order(AdapterKind::Acp) };
        let (said, desk) = scripted(&[ask(options), "> ".into(), answered("end_turn")], &order);
        assert_eq!(said_to(&desk, "ask-1")["result"]["outcome"], expected);
        assert_eq!(desk.asked[0].input.as_deref(), Some(r#"{"command":"cargo test"}"#));
        assert_eq!((said.end, said.tool_calls), (AgentEnd::Finished, 1));
    }
}

#[test]
fn files_and_terminals_are_refused() {
    for method in ["fs/read_text_file", "fs/write_text_file", "terminal/create", "elicitation/create"] {
        let request = format!("< {}", json!({"jsonrpc": "2.0", "id": "r", "method": method, "params": {}}));
        let (said, desk) = scripted(&[request, "> ".into(), answered("end_turn")], &order(AdapterKind::Acp));
        assert_eq!(said_to(&desk, "r")["error"]["code"], -32601);
        assert_eq!(said.end, AgentEnd::Finished);
    }
}

#[test]
fn every_stop_reason_has_its_end() {
    let failed = |reason: &str| AgentEnd::Failed { code: Some(0), reason: reason.into() };
    let table = [
        ("end_turn", AgentEnd::Finished),
        ("cancelled", failed("the program cancelled its turn itself")),
        ("max_tokens", failed("its answer was cut at the model's limit")),
        ("max_turn_requests", failed("the program reached the limit of requests for one turn")),
        ("refusal", failed("the model refused to continue")),
        ("tired", failed("the program stopped for an unknown reason: tired")),
    ];
    for (reason, end) in table {
        assert_eq!(scripted(&[answered(reason)], &order(AdapterKind::Acp)).0.end, end);
    }
}

#[test]
fn an_agent_that_cannot_resume_has_no_conversation() {
    let order = TurnOrder { resume: Some("s0".into()), ..order(AdapterKind::Acp) };
    assert_eq!(scripted(&[], &order).0.end, AgentEnd::NoConversation);
}

#[test]
fn an_agent_that_is_gone_ended_as_its_process_did() {
    let order = order(AdapterKind::Acp);
    let ends = [Exit::Signal(9), Exit::Code(0), Exit::Code(7)].map(|exit| {
        let mut desk = Desk::new(order.permissions);
        let talked = runtime().block_on(super::replay::converse(&order, b"> \n", &mut desk));
        talked.end(exit, "Error: no key\n").end
    });
    let closed = "the program closed its output before it answered";
    assert_eq!(
        ends,
        [
            AgentEnd::Signalled { signal: 9 },
            AgentEnd::Failed { code: Some(0), reason: closed.into() },
            AgentEnd::Failed { code: Some(7), reason: "Error: no key".into() },
        ]
    );
}

#[test]
fn an_agent_that_talks_before_it_reads_does_not_stop_a_long_prompt() {
    let order = TurnOrder { system: "s".repeat(400_000), message: "m".repeat(400_000), ..order(AdapterKind::Acp) };
    let chatter = json!({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s1", "update":
        {"sessionUpdate": "agent_thought_chunk", "content": {"type": "text", "text": "t".repeat(2000)}}}});
    runtime().block_on(async {
        let (ours, its) = tokio::io::duplex(4096);
        let agent = tokio::spawn(async move {
            let (read, mut write) = tokio::io::split(its);
            let mut read = BufReader::new(read);
            let mut line = String::new();
            for answer in [json!({"protocolVersion": 1}), json!({"sessionId": "s1"})] {
                line.clear();
                read.read_line(&mut line).await.unwrap();
                let id = serde_json::from_str::<Value>(&line).unwrap()["id"].clone();
                let answer = json!({"jsonrpc": "2.0", "id": id, "result": answer});
                write.write_all(format!("{answer}\n").as_bytes()).await.unwrap();
            }
            for _ in 0..200 {
                write.write_all(format!("{chatter}\n").as_bytes()).await.unwrap();
            }
            line.clear();
            read.read_line(&mut line).await.unwrap();
            write.write_all(format!("{}\n", &answered("end_turn")[2..]).as_bytes()).await.unwrap();
            line.len()
        });
        let mut desk = Desk::new(order.permissions);
        let (read, write) = tokio::io::split(ours);
        let talked = acp::converse(&order, (read, write), &mut desk, std::future::pending()).await;
        assert_eq!(talked.end(Exit::Code(0), "").end, AgentEnd::Finished);
        assert!(agent.await.unwrap() > 800_000);
    });
}

#[test]
fn a_cancelled_agent_is_told_and_waited_for_a_moment() {
    let order = order(AdapterKind::Acp);
    for obeys in [true, false] {
        let said = runtime().block_on(async {
            let (ours, its) = tokio::io::duplex(64 << 10);
            let agent = tokio::spawn(async move {
                let (read, mut write) = tokio::io::split(its);
                let mut read = BufReader::new(read).lines();
                for answer in [json!({"protocolVersion": 1}), json!({"sessionId": "s1"}), Value::Null] {
                    let line = read.next_line().await.unwrap().unwrap();
                    let id = serde_json::from_str::<Value>(&line).unwrap()["id"].clone();
                    let answer = json!({"jsonrpc": "2.0", "id": id, "result": answer});
                    if !answer["result"].is_null() {
                        write.write_all(format!("{answer}\n").as_bytes()).await.unwrap();
                    }
                }
                let cancel = read.next_line().await.unwrap().unwrap();
                assert!(cancel.contains("session/cancel"));
                if obeys {
                    write.write_all(format!("{}\n", &answered("cancelled")[2..]).as_bytes()).await.unwrap();
                }
                // The simulated agent keeps running after it was cancelled, as some real agents do.
                let mut rest = Vec::new();
                let _ = read.into_inner().read_to_end(&mut rest).await;
            });
            let mut desk = Desk::new(order.permissions);
            let (read, write) = tokio::io::split(ours);
            let cancel = tokio::time::sleep(Duration::from_secs(30));
            let talked = acp::converse(&order, (read, write), &mut desk, cancel).await;
            agent.await.unwrap();
            talked.end(Exit::Signal(9), "")
        });
        assert_eq!(said.end, AgentEnd::Cancelled);
    }
}
