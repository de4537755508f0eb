//! Tests of the routes about costs and about items that a person puts off: what they answer, and to whom.

use std::sync::Arc;

use base::Service;
use base::ground::clock::SystemClock;
use engine::command::StartTurn;
use engine::id::{AgentId, TaskId};
use engine::turn::{Purpose, Spent, TurnEnd, TurnResult};
use engine::{Caller, Command, Reply, Rights};
use serde_json::{Value, json};

use crate::security::{Team, word};

const HOUR: i64 = 3_600_000;

/// Records a turn (one run of an agent's program) with a cost in the store of the server.
fn turn(team: &Team, spent: Spent, model: Option<&str>) {
    let task: TaskId = team.task(None).parse().unwrap();
    let agent: AgentId = team.amy.parse().unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    runtime.block_on(async {
        let file = team.place.state().join("handover.db").display().to_string();
        let service = Service::new(store::open(&file, 1).await.unwrap(), Arc::new(SystemClock));
        let runner = || Caller { agent: Some(agent), ..Caller::with_rights(Rights::Runner) };
        let (adapter, name) = ("exec".to_owned(), "here".to_owned());
        let start = StartTurn { task, attempt: 1, agent: None, purpose: Purpose::First, adapter, runner: name };
        let reply = service.execute(runner(), Command::StartTurn(start)).await.unwrap();
        let Reply::TurnStarted { turn, .. } = reply else { panic!("{reply:?}") };
        let ended = TurnResult {
            at: service.now(),
            end: TurnEnd::Finished,
            reason: None,
            conversation: None,
            spent,
            tool_calls: 0,
            stream: None,
            verdict: None,
            model: model.map(str::to_owned),
        };
        service.execute(runner(), Command::EndTurn { turn, ended: Box::new(ended) }).await.unwrap();
    });
}

fn is_refused(team: &Team, method: &str, target: &str, body: &Value) {
    for scope in ["agent", "bob", "coordinator", "admin"] {
        let answer = team.ask(scope, method, target, body);
        assert_eq!((answer.status, answer.code().as_str()), (403, "NOT_PERMITTED"), "{scope}: {}", answer.text());
    }
}

#[test]
fn a_person_sees_what_was_spent_and_unknown_costs_stay_unknown() {
    let team = Team::new();
    let known =
        Spent { usd_micros: Some(1_200), tokens: Some(13), tokens_in: Some(10), tokens_out: Some(3), ms: 5, turns: 1 };
    turn(&team, known, Some("opus\u{202e}"));
    turn(&team, Spent { ms: 7, turns: 1, ..Spent::default() }, None);
    let ask = |target: &str| team.ask("person", "GET", target, &Value::Null);
    let sum = |usd: Value, unknown: u32, tokens: [Value; 3], ms: u32| {
        let [all, read, written] = tokens;
        json!({"usd_micros": usd, "unknown_turns": unknown, "turns": 1, "tokens": all, "tokens_in": read,
            "tokens_out": written, "ms": ms})
    };
    let named = |key: Value, name: &str, mut sum: Value| {
        (sum["key"], sum["name"]) = (key, json!(name));
        sum
    };
    let found = ask("/api/v1/spend?by=model").json();
    let opus = sum(json!(1_200), 0, [json!(13), json!(10), json!(3)], 5);
    let unknown = sum(Value::Null, 1, [Value::Null, Value::Null, Value::Null], 7);
    assert_eq!(found["rows"][0]["usd_micros"], 1_200, "{found}");
    assert!(!found["rows"][0]["name"].as_str().unwrap().contains('\u{202e}'), "{found}");
    assert_eq!(found["rows"][1], named(Value::Null, "unknown", unknown));
    let mut total = opus;
    (total["turns"], total["unknown_turns"], total["ms"]) = (json!(2), json!(1), json!(12));
    assert_eq!((&found["total"], &found["is_cut"], &found["by"]), (&total, &json!(false), &json!("model")));
    let agents = ask("/api/v1/spend?by=agent").json();
    assert_eq!(agents["rows"], json!([named(json!(team.amy), "amy", total.clone())]));
    let days = ask("/api/v1/spend").json();
    assert_eq!((&days["by"], days["rows"].as_array().unwrap().len()), (&json!("day"), 1));
    let earlier = ask("/api/v1/spend?from=1&to=2").json();
    assert_eq!((&earlier["rows"], &earlier["total"]["usd_micros"]), (&json!([]), &Value::Null));
    for wrong in ["by=hour", "from=2&to=2", "from=x", "to=-1", "month=1"] {
        let answer = ask(&format!("/api/v1/spend?{wrong}"));
        assert_eq!((answer.status, answer.code().as_str()), (422, "INVALID_INPUT"), "{wrong}: {}", answer.text());
    }
    is_refused(&team, "GET", "/api/v1/spend?by=day", &Value::Null);
    team.server.stop();
}

#[test]
fn an_item_is_put_off_until_a_time_and_shown_again() {
    let team = Team::new();
    team.task(Some("blocked"));
    team.task(Some("blocked"));
    let now = || team.ask("person", "GET", "/api/v1/now", &Value::Null).json();
    let first = now();
    let items = |state: &Value| -> Vec<(String, Value)> {
        let rows = state["items"].as_array().unwrap();
        rows.iter().map(|item| (word(&item["name"]), item["put_off_until"].clone())).collect()
    };
    let shown = items(&first);
    assert_eq!(shown.iter().map(|(_, until)| until.clone()).collect::<Vec<_>>(), [Value::Null, Value::Null]);
    let put_off = |body: Value| team.ask("person", "POST", "/api/v1/items/put-off", &body);
    let until = first["at"].as_i64().unwrap() + HOUR;
    let answer = put_off(json!({"name": shown[0].0, "until": until}));
    assert_eq!((answer.status, answer.json()), (200, json!({"success": true, "put_off_until": until})));
    let expected = [shown[1].clone(), (shown[0].0.clone(), json!(until))];
    assert_eq!(items(&now()), expected, "the item stands below the others");
    let answer = put_off(json!({"name": shown[0].0, "until": null}));
    assert_eq!((answer.status, answer.json()), (200, json!({"success": true, "put_off_until": null})));
    assert_eq!(items(&now()), shown);
    let unknown = put_off(json!({"name": "question ms_000000000000", "until": until}));
    assert_eq!((unknown.status, unknown.code().as_str()), (404, "ITEM_NOT_FOUND"));
    assert!(word(&unknown.json()["suggestion"]).contains("handover status --json"), "{}", unknown.text());
    let far = until + 14 * 24 * HOUR;
    for wrong in [
        json!({"name": shown[0].0}),
        json!({"until": until}),
        json!({"name": shown[0].0, "until": "soon"}),
        json!({"name": shown[0].0, "until": far}),
        json!({"name": shown[0].0, "until": 1}),
        json!({"item": "x"}),
    ] {
        let answer = put_off(wrong.clone());
        assert_eq!((answer.status, answer.code().as_str()), (422, "INVALID_INPUT"), "{wrong}: {}", answer.text());
    }
    is_refused(&team, "POST", "/api/v1/items/put-off", &json!({"name": shown[0].0, "until": until}));
    team.server.stop();
}
