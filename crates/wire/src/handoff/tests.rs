//! Tests of rules of handoff contracts that a code change can break although all test cases of the specification still
//! pass.

use super::*;

const EVIDENCE: &str = r#""patterns_checked":[],"files_checked":[],"commands_run":["ls",{"command":"cat","result":0}],"key_outputs":["k",{"x":1}],"verbatim_outputs":[],"cross_layer_impacts":[],"open_gaps":[]"#;
const STATUS: &str = r#""plan_status":"BLOCKED","agent_id":"ab7e4d2","pending_steps":[],"next_action":"go on""#;

/// Returns an agent's text with a valid handoff contract of status `BLOCKED`. `rest` is inserted at the end of the
/// contract and may make it invalid.
fn blocked(rest: &str) -> String {
    block(&format!(r#"{{"agent_status":{{{STATUS}}},"evidence_report":{{{EVIDENCE}}}{rest}}}"#))
}

fn block(body: &str) -> String {
    format!("Done.\n\n```agent_contract_handoff\n{body}\n```\n")
}

fn value(text: &str) -> Value {
    json::parse(text).expect("JSON").to_value()
}

fn codes(problems: &[HandoffProblem]) -> Vec<String> {
    problems.iter().map(HandoffProblem::code).collect()
}

#[test]
fn the_dispatch_decides_who_is_resumed() {
    let text = blocked("");
    let by = |text: &str, id| judge(text, &HandoffContext { input: None, dispatch_agent_id: id });
    assert!(by(&text, Some("ab7e4d2")).is_valid());
    assert!(by(&text, Some("not an id")).is_valid());
    let other = by(&text, Some("a99999"));
    assert_eq!(codes(&other.invalid), ["AGENT_ID:ab7e4d2"]);
    assert!(other.invalid[0].message().contains("found `ab7e4d2`, dispatched as `a99999`"));
    let dispatched = AgentId::parse("a99999").expect("an id");
    assert_eq!(other.repair, Repair::ResumeSameAgent(dispatched.clone()));
    assert_eq!(by("nothing", Some("a99999")).repair, Repair::ResumeSameAgent(dispatched));
    assert_eq!(by("nothing", Some("a9999")).repair, Repair::Escalate);
}

#[test]
fn a_syntax_error_has_its_place_in_the_body() {
    let verdict = judge(&block("{\n \"é\": 1,\n}"), &HandoffContext::default());
    let message = verdict.reason.as_ref().map(NoContractReason::message).expect("a reason");
    assert!(message.contains("line 3, column 1: "), "{message}");
    let column = judge(&block("{\"é\": x}"), &HandoffContext::default()).reason.as_ref().map(NoContractReason::message);
    assert!(column.is_some_and(|message| message.contains("line 1, column 7: ")));
}

#[test]
fn problems_know_their_place_in_the_text() {
    let text = blocked(r#","memory_suggestions":["a",77]"#).replace("\"ab7e4d2\"", "\"nobody\"");
    let verdict = judge(&text, &HandoffContext::default());
    let found = |problem: &HandoffProblem| problem.span().map(|span| span.of(&text).to_owned());
    assert_eq!(found(&verdict.invalid[0]).as_deref(), Some("\"nobody\""));
    assert_eq!(found(&verdict.warnings[0]).as_deref(), Some("77"));
    assert_eq!(
        verdict.warnings[0].message(),
        "`memory_suggestions[1]`: must be a string; it was skipped; found an integer"
    );
    assert_eq!(judge("", &HandoffContext::default()).missing[0].span(), None);
    assert!(verdict.body.is_some_and(|body| body.of(&text).starts_with('{') && body.of(&text).ends_with('}')));
}

#[test]
fn a_status_is_normalised_but_not_twice() {
    let status = |status: &str| judge(&blocked("").replace("BLOCKED", status), &HandoffContext::default());
    assert_eq!(status(" blocked,;. ").plan_status, Some(PlanStatus::Blocked));
    let twice = status("blocked .");
    assert_eq!(
        (codes(&twice.invalid), codes(&twice.warnings)),
        (vec!["PLAN_STATUS:BLOCKED ".into()], vec!["PLAN_STATUS_NORMALISED".into()])
    );
    let long = status(&"é".repeat(100));
    assert_eq!(codes(&long.invalid), [format!("PLAN_STATUS:{}", "é".repeat(64))]);
}

#[test]
fn warnings_come_row_by_row_and_once() {
    let entry = r#"{"description":"d","body":"b"}"#;
    let off = r#"{"description":"d","body":"b","class":1}"#;
    let text = blocked(&format!(
        r#","zz":0,"memorialize_suggestions":[{off},1,{entry},{off}],"update_contracts":[{{"contract":"q","payload":{{"ip":"10.0.0.1"}}}},2,{{"contract":"q","payload":{{}}}},{{"contract":"w","payload":{{}}}}]"#
    ));
    let input = value(r#"{"write_permissions":{"writable_sections":["w"]}}"#);
    let verdict = judge(&text, &HandoffContext { input: Some(&input), dispatch_agent_id: None });
    let wanted = [
        "MEMORIALIZE:1",
        "MEMORIALIZE_ENUM:0",
        "MEMORIALIZE_ENUM:3",
        "UPDATE_CONTRACTS:1",
        "UPDATE_CONTRACT_DENIED:q",
        "LIVE_STATE:/update_contracts/0/payload/ip",
        "UNKNOWN_FIELD:zz",
    ];
    assert_eq!(codes(&verdict.warnings), wanted);
    let contract = verdict.contract.expect("a valid contract");
    assert_eq!(contract.applied().map(ContractUpdate::index).collect::<Vec<_>>(), [3]);
    assert_eq!(contract.denied().map(ContractUpdate::index).collect::<Vec<_>>(), [0, 2]);
    assert_eq!(contract.memorials().len(), 3);
}

#[test]
fn a_contract_is_what_it_says() {
    let text = blocked(
        r#","user_facing_summary":"  Done. ","memory_suggestions":["m",1],"rollback_executed":"r","context_consumption":{"tokens_used":-0,"pct_window":1e2},"approval_request":{},"loop_state":{"iteration":1,"max_iterations":2,"metric":null}"#,
    );
    let contract = judge(&text, &HandoffContext::default()).contract.expect("a valid contract");
    assert_eq!(contract.status(), &HandoffStatus::Blocked);
    assert_eq!(contract.agent().as_str(), "ab7e4d2");
    assert_eq!(contract.summary(), Some("Done."));
    assert_eq!(contract.memory_suggestions(), ["m"]);
    assert_eq!(contract.rollback_executed(), Some("r"));
    assert_eq!(contract.request(), None);
    assert_eq!(contract.evidence().commands_run[0], EvidenceCommand::Line("ls".into()));
    assert!(contract.loop_state().is_some_and(LoopState::may_end));
    assert_eq!(contract.context_consumption().map(|used| used.pct_window().to_string()), Some("1e2".to_owned()));
}

#[test]
fn a_status_carries_what_it_needs() {
    let complete = blocked("")
        .replace("BLOCKED", "Complete.")
        .replace(r#""open_gaps":[]"#, r#""open_gaps":[],"verification":{"result":" PASS ","method":["t"]}"#);
    let contract = judge(&complete, &HandoffContext::default()).contract.expect("a valid contract");
    assert!(
        matches!(contract.status(), HandoffStatus::Complete { verification } if verification.extra().get("method").is_some())
    );
    let asking =
        blocked(r#","approval_request":{"rollback":"r","verification":"v","risk_level":"high","approval_id":7}"#)
            .replace("BLOCKED", "APPROVAL_REQUEST");
    let contract = judge(&asking, &HandoffContext::default()).contract.expect("a valid contract");
    let HandoffStatus::ApprovalRequest { request } = contract.status() else { panic!("{:?}", contract.status()) };
    assert_eq!(request.risk_level.get().map(Spelt::word), Some(Risk::High));
    assert_eq!(contract.request(), Some(request));
}

#[test]
fn nothing_is_lost() {
    let odd = [
        "",
        r#","zz":{"a":[1.50,-0,"\u00e9"]},"":null"#,
        r#","consolidation_report":null,"approval_request":null,"loop_state":null,"user_facing_summary":null"#,
        r#","approval_request":{}"#,
        r#","approval_request":{"rollback":"r","verification":"v","operation":5,"scope":null,"risk_level":"Odd","x":[]}"#,
        r#","consolidation_report":{"ownership_assessment":"owned_here","confirmed_findings":0,"suspected_findings":"","conflicts":{},"open_gaps":[],"next_best_agent":false,"x":1}"#,
        r#","loop_state":{"iteration":-1,"max_iterations":99999999999999999999,"metric":1e400,"threshold":null,"x":{}}"#,
        r#","user_facing_summary":" s\n","rollback_executed":"","context_consumption":{"tokens_used":1,"pct_window":0.5,"x":[1]}"#,
        r#","user_facing_summary":1,"rollback_executed":[],"context_consumption":{},"memory_suggestions":{},"update_contracts":"x","memorialize_suggestions":0"#,
        r#","memorialize_suggestions":[{"description":"d","body":"b","type":"atom","class":null,"slug":1},{"description":" "},[]]"#,
        r#","memorialize_suggestions":[{"description":"d","body":"b","type":"ATOM","class":{}}],"memory_suggestions":["",null,"x"]"#,
        r#","update_contracts":[{"contract":"c","payload":{"a":[1,{"b":null}]},"x":1},{"contract":"c"},null]"#,
    ];
    for rest in odd {
        for status in ["BLOCKED", " in_progress;"] {
            let text = blocked(rest).replace("BLOCKED", status).replace("\"go on\"", "\" go on\",\"x\":[{}]");
            let verdict = judge(&text, &HandoffContext::default());
            let contract = verdict.contract.as_ref().unwrap_or_else(|| panic!("{rest}: {:?}", codes(&verdict.invalid)));
            let body = value(verdict.body.expect("a body").of(&text));
            assert!(contract.render().same(&body), "{} is not {body}", contract.render());
        }
    }
}

#[test]
fn an_input_of_any_shape_is_borne() {
    for input in
        ["null", "1", "[]", "\"x\"", r#"{"write_permissions":{"writable_sections":"w"},"surface_routing":true}"#]
    {
        let input = value(input);
        let text = blocked(r#","update_contracts":[{"contract":"w","payload":{}}]"#);
        let verdict = judge(&text, &HandoffContext { input: Some(&input), dispatch_agent_id: None });
        assert_eq!((verdict.is_valid(), codes(&verdict.warnings)), (true, vec!["UPDATE_CONTRACT_DENIED:w".into()]));
    }
}

#[test]
fn the_size_of_a_body_is_tested_first() {
    let fill = |bytes: usize| block(&format!("{{{}", "x".repeat(bytes - 1)));
    let reason = |text: &str| judge(text, &HandoffContext::default()).reason.map(|reason| reason.code());
    assert_eq!(reason(&fill(BODY_BYTES_MAX)), Some("INVALID_JSON"));
    assert_eq!(reason(&fill(BODY_BYTES_MAX + 1)), Some("TOO_LARGE"));
    assert_eq!(reason(&fill(BODY_BYTES_MAX).replace('\n', "\r\n")), Some("INVALID_JSON"));
}
