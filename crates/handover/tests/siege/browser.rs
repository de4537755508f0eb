//! Tests the login of a person's browser with real P-256 keys: only a fresh code of this machine enrols a key, only a
//! fresh signature for this origin gets a token, and a revoked key ends everything that it began.

use std::sync::Arc;
use std::time::{Duration, Instant};

use base::ground::clock::ManualClock;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use engine::{Caller, Command, Rights, Timestamp};
use handover::http::HttpLimits;
use handover::token;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use serde_json::{Value, json};

use crate::busy::patience;
use crate::http::{Answer, Connection};
use crate::inside::Inside;

const MINUTE: i64 = 60_000;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
/// The longest time until an open stream has ended after its key was revoked.
const REVOKED_MAX: Duration = Duration::from_secs(5);

/// A browser with a key that only it has.
pub(crate) struct Browser {
    pair: EcdsaKeyPair,
    random: SystemRandom,
}

impl Browser {
    pub(crate) fn new() -> Self {
        let random = SystemRandom::new();
        let document = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, document.as_ref(), &random).unwrap();
        Self { pair, random }
    }

    fn public_key(&self) -> String {
        URL_SAFE_NO_PAD.encode(self.pair.public_key().as_ref())
    }

    fn sign(&self, origin: &str, nonce: &str) -> String {
        let text = format!("handover browser token\n{origin}\n{nonce}");
        URL_SAFE_NO_PAD.encode(self.pair.sign(&self.random, text.as_bytes()).unwrap().as_ref())
    }

    pub(crate) fn enrol(&self, port: u16, code: &str) -> Answer {
        let body = json!({"code": code, "public_key": self.public_key(), "name": "Firefox on Linux"});
        post(port, "keys", &body)
    }

    /// Asks for a nonce, signs it for an origin, and asks for a token.
    fn log_in_at(&self, port: u16, origin: &str) -> Answer {
        let nonce = nonce(port);
        let signature = self.sign(origin, &nonce);
        post(port, "token", &json!({"public_key": self.public_key(), "nonce": nonce, "signature": signature}))
    }

    pub(crate) fn log_in(&self, port: u16) -> Answer {
        self.log_in_at(port, &origin(port))
    }
}

fn origin(port: u16) -> String {
    format!("http://127.0.0.1:{port}")
}

fn nonce(port: u16) -> String {
    let answer = post(port, "challenge", &json!({}));
    assert_eq!(answer.status, 200, "{}", answer.text());
    text(&answer.json()["nonce"])
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("{value} is no text")).to_owned()
}

/// Sends a request of a page that the server on this port shows.
fn post(port: u16, route: &str, body: &Value) -> Answer {
    post_as(port, route, body, (&format!("127.0.0.1:{port}"), &origin(port)))
}

/// Sends a request with these values of the headers `Host` and `Origin`.
fn post_as(port: u16, route: &str, body: &Value, (host, origin): (&str, &str)) -> Answer {
    let headers = [("Host", host), ("Origin", origin), ("Content-Type", "application/json")];
    let target = format!("/api/v1/browser/{route}");
    Connection::open(port).request("POST", &target, &headers, body.to_string().as_bytes()).unwrap()
}

fn refused(answer: &Answer, code: &str) {
    assert_eq!((answer.status, answer.code().as_str()), (403, code), "{}", answer.text());
}

/// A server inside the test process, whose time the test sets.
struct Login {
    clock: Arc<ManualClock>,
    inside: Inside,
}

impl Login {
    fn new() -> Self {
        let clock = Arc::new(ManualClock::starting_at(Timestamp(1_800_000_000_000)));
        let inside = Inside::start_at(HttpLimits::default(), clock.clone());
        Self { clock, inside }
    }

    fn port(&self) -> u16 {
        self.inside.port
    }

    /// Makes a code as `handover open` does.
    fn code(&self) -> String {
        self.inside.run(token::browser::offer_code(&self.inside.service)).unwrap()
    }

    /// Enrols a new browser, and returns it with the id of its key.
    fn browser(&self) -> (Browser, String) {
        let browser = Browser::new();
        let answer = browser.enrol(self.port(), &self.code());
        assert_eq!(answer.status, 201, "{}", answer.text());
        (browser, text(&answer.json()["key_id"]))
    }

    fn token(&self, browser: &Browser) -> String {
        let answer = browser.log_in(self.port());
        assert_eq!(answer.status, 200, "{}", answer.text());
        text(&answer.json()["token"])
    }

    fn get(&self, token: &str, target: &str) -> Answer {
        let bearer = format!("Bearer {token}");
        Connection::open(self.port()).request("GET", target, &[("Authorization", &bearer)], b"").unwrap()
    }

    fn revoke(&self, key: &str) {
        self.inside.run(token::revoke(&self.inside.service, key.parse().unwrap())).unwrap();
        // The server keeps a valid token in mind for a tenth of a second of its own clock.
        self.clock.advance(100);
    }

    fn status(&self, token: &str) -> u16 {
        self.get(token, "/api/v1/workflows").status
    }
}

#[test]
fn a_code_and_a_signature_give_the_rights_of_a_person() {
    let login = Login::new();
    let browser = Browser::new();
    let now = login.clock_now();
    let enrolled = browser.enrol(login.port(), &login.code());
    let key = text(&enrolled.json()["key_id"]);
    assert_eq!((enrolled.status, enrolled.json()), (201, json!({"key_id": key, "expires_at": now + 30 * DAY})));
    let answer = browser.log_in(login.port());
    let token = text(&answer.json()["token"]);
    let expected = json!({"token": token, "expires_at": now + 15 * MINUTE, "key_id": key, "name": "Firefox on Linux",
        "scope": "person"});
    assert_eq!((answer.status, answer.json()), (200, expected));
    assert_eq!(login.status(&token), 200);
    // Only a person reads the mail of people.
    assert_eq!(login.get(&token, "/api/v1/log/agents/human").status, 200);
    // A browser manages no tokens, as every other token of scope person.
    assert_eq!(login.get(&token, "/api/v1/tokens").status, 403);
    let listed = login.inside.run(token::list(&login.inside.service)).unwrap();
    let browsers: Vec<_> = listed.iter().filter(|row| row.used().is_some()).collect();
    assert_eq!(browsers.len(), 1, "{listed:?}");
    assert_eq!((browsers[0].id.to_string(), browsers[0].name.as_str()), (key, "Firefox on Linux"));
    assert!(listed.iter().all(|row| row.kind_word() != "code"), "{listed:?}");
}

impl Login {
    fn clock_now(&self) -> i64 {
        self.inside.service.now().0
    }
}

#[test]
fn a_code_is_used_once_within_a_minute_and_on_its_own_machine() {
    let login = Login::new();
    let code = login.code();
    assert_eq!(Browser::new().enrol(login.port(), &code).status, 201);
    refused(&Browser::new().enrol(login.port(), &code), "CODE_INVALID");
    let late = login.code();
    login.clock.advance(MINUTE);
    refused(&Browser::new().enrol(login.port(), &late), "CODE_INVALID");
    let last_moment = login.code();
    login.clock.advance(MINUTE - 1);
    assert_eq!(Browser::new().enrol(login.port(), &last_moment).status, 201);
    refused(&Browser::new().enrol(login.port(), "nothing"), "CODE_INVALID");
    // A person's terminal on another machine that shares the store made this code.
    let hash = token::browser::code_hash("elsewhere", "another machine");
    let offer = Command::OfferCode { hash };
    login.inside.run(login.inside.service.execute(Caller::with_rights(Rights::Person), offer)).unwrap();
    refused(&Browser::new().enrol(login.port(), "elsewhere"), "CODE_INVALID");
}

#[test]
fn of_two_browsers_with_one_code_one_is_enrolled() {
    let login = Login::new();
    let (code, port) = (login.code(), login.port());
    let statuses: Vec<u16> = std::thread::scope(|scope| {
        let code = &code;
        let all: Vec<_> = (0..8).map(|_| scope.spawn(move || Browser::new().enrol(port, code).status)).collect();
        all.into_iter().map(|one| one.join().unwrap()).collect()
    });
    assert_eq!(statuses.iter().filter(|status| **status == 201).count(), 1, "{statuses:?}");
    assert!(statuses.iter().all(|status| [201, 403].contains(status)), "{statuses:?}");
}

#[test]
fn a_signature_counts_once_for_its_own_origin_nonce_and_key() {
    let login = Login::new();
    let port = login.port();
    let (browser, _) = login.browser();
    // A page on another port, or under another name, gets a signature that is worth nothing here.
    for other in [port.wrapping_add(1), port.wrapping_sub(1)].map(origin) {
        refused(&browser.log_in_at(port, &other), "SIGNATURE_INVALID");
    }
    refused(&browser.log_in_at(port, &format!("http://localhost:{port}")), "SIGNATURE_INVALID");
    // Nor may a program on another port pass the signature on and name its own address.
    let other = port.wrapping_add(1);
    let nonce = nonce(port);
    let signature = browser.sign(&origin(other), &nonce);
    let body = json!({"public_key": browser.public_key(), "nonce": nonce, "signature": signature});
    let answer = post_as(port, "token", &body, (&format!("127.0.0.1:{other}"), &origin(port)));
    refused(&answer, "SIGNATURE_INVALID");
    // The same page under another name of this machine.
    let nonce = self::nonce(port);
    let named = format!("http://localhost:{port}");
    let body = json!({"public_key": browser.public_key(), "nonce": nonce, "signature": browser.sign(&named, &nonce)});
    assert_eq!(post_as(port, "token", &body, (&format!("localhost:{port}"), &named)).status, 200);
    refused(&post_as(port, "token", &body, (&format!("localhost:{port}"), &named)), "SIGNATURE_INVALID");
    // A signature of another key, and a nonce that is too old or that the server never gave.
    let nonce = self::nonce(port);
    let signature = Browser::new().sign(&origin(port), &nonce);
    let body = json!({"public_key": browser.public_key(), "nonce": nonce, "signature": signature});
    refused(&post(port, "token", &body), "SIGNATURE_INVALID");
    let old = self::nonce(port);
    login.clock.advance(MINUTE);
    for nonce in [old, "0".repeat(32)] {
        let signature = browser.sign(&origin(port), &nonce);
        let body = json!({"public_key": browser.public_key(), "nonce": nonce, "signature": signature});
        refused(&post(port, "token", &body), "SIGNATURE_INVALID");
    }
    assert_eq!(browser.log_in(port).status, 200);
}

#[test]
fn a_key_gets_tokens_until_it_was_not_used_for_thirty_days() {
    let login = Login::new();
    let (browser, _) = login.browser();
    refused(&Browser::new().log_in(login.port()), "KEY_UNKNOWN");
    let token = login.token(&browser);
    login.clock.advance(15 * MINUTE - 1);
    assert_eq!(login.status(&token), 200);
    login.clock.advance(101);
    assert_eq!(login.status(&token), 401, "15 minutes are over");
    login.clock.advance(13 * HOUR);
    assert_eq!(login.status(&login.token(&browser)), 200);
    login.clock.advance(30 * DAY - HOUR);
    assert_eq!(login.status(&login.token(&browser)), 200);
    login.clock.advance(30 * DAY);
    refused(&browser.log_in(login.port()), "KEY_UNKNOWN");
    // A new code brings the browser back with the key that it has.
    assert_eq!(browser.enrol(login.port(), &login.code()).status, 201);
    assert_eq!(login.status(&login.token(&browser)), 200);
}

#[test]
fn a_revoked_key_ends_its_tokens_and_streams() {
    let login = Login::new();
    let (browser, key) = login.browser();
    let (other, _) = login.browser();
    let (token, kept) = (login.token(&browser), login.token(&other));
    let bearer = format!("Bearer {token}");
    let mut stream = Connection::open(login.port());
    assert!(stream.ask("GET", "/api/v1/events?after=0", &[("Authorization", &bearer)], b""));
    assert_eq!(stream.head().unwrap().status, 200);
    assert!(stream.chunk().is_some(), "the stream begins with the events so far");
    assert_eq!(login.status(&token), 200);
    login.revoke(&key);
    assert_eq!(login.status(&token), 401);
    refused(&browser.log_in(login.port()), "KEY_UNKNOWN");
    let revoked = Instant::now();
    while stream.chunk().is_some() {
        assert!(revoked.elapsed() < patience(REVOKED_MAX), "the stream goes on");
    }
    assert!(revoked.elapsed() < patience(REVOKED_MAX), "the stream ended after {:?}", revoked.elapsed());
    assert_eq!(login.status(&kept), 200, "another browser stays connected");
    // A new code does not bring a revoked key back, but a new key of the same browser.
    let code = login.code();
    refused(&browser.enrol(login.port(), &code), "KEY_UNKNOWN");
    assert_eq!(Browser::new().enrol(login.port(), &code).status, 201);
}

#[test]
fn no_part_of_a_login_is_a_secret_of_a_token() {
    let login = Login::new();
    let (browser, key) = login.browser();
    let code = login.code();
    let raw = String::from_utf8_lossy(browser.pair.public_key().as_ref()).into_owned();
    let parts =
        [code.clone(), browser.public_key(), key, nonce(login.port()), raw.replace(|c: char| c.is_control(), "")];
    for part in parts.iter().filter(|part| part.is_ascii()) {
        assert_eq!(login.status(part), 401, "{part} is taken for a token");
    }
    let name = token::browser::code_hash(&code, "another machine");
    assert_eq!(login.status(&name), 401);
    // A browser's token is no secret for the command line.
    let token = login.token(&browser);
    assert_eq!(login.inside.run(token::find(&login.inside.service, &token)).unwrap(), None);
}

#[test]
fn a_browser_is_no_mcp_client() {
    let login = Login::new();
    let (browser, _) = login.browser();
    let bearer = format!("Bearer {}", login.token(&browser));
    let opening = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params":
        {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "page", "version": "1"}}});
    let headers = [("Authorization", bearer.as_str()), ("Accept", "application/json, text/event-stream")];
    let answer = Connection::open(login.port()).request("POST", "/mcp", &headers, opening.to_string().as_bytes());
    refused(&answer.unwrap(), "NOT_PERMITTED");
}

#[test]
fn foreign_pages_wrong_bodies_and_too_many_strangers_are_refused() {
    let login = Login::new();
    let port = login.port();
    let own = format!("127.0.0.1:{port}");
    refused(&post_as(port, "challenge", &json!({}), (&own, "http://evil.example")), "FOREIGN_ORIGIN");
    refused(&post_as(port, "challenge", &json!({}), ("evil.example", &origin(port))), "FOREIGN_HOST");
    let browser = Browser::new();
    let key = browser.public_key();
    let short = URL_SAFE_NO_PAD.encode([4; 64]);
    let compressed = URL_SAFE_NO_PAD.encode([2; 65]);
    let wrong = [
        ("keys", json!({"public_key": key, "name": "n"}), "`code` is required"),
        ("keys", json!({"code": 1, "public_key": key, "name": "n"}), "`code` is required"),
        ("keys", json!({"code": "c", "public_key": short, "name": "n"}), "65 bytes"),
        ("keys", json!({"code": "c", "public_key": compressed, "name": "n"}), "65 bytes"),
        ("keys", json!({"code": "c", "public_key": "=", "name": "n"}), "base64url"),
        ("keys", json!({"code": "c", "public_key": key, "name": ""}), "name"),
        ("keys", json!({"code": "c", "public_key": key, "name": "n", "scope": "admin"}), "`scope` is not a field"),
        ("token", json!({"public_key": key, "nonce": "n", "signature": "!"}), "base64url"),
        ("token", json!({}), "`public_key` is required"),
        ("challenge", json!({"nonce": "mine"}), "`nonce` is not a field"),
        ("challenge", json!([]), "not a JSON object"),
    ];
    for (route, body, problem) in wrong {
        let answer = post(port, route, &body);
        assert_eq!((answer.status, answer.code().as_str()), (422, "INVALID_INPUT"), "{body}: {}", answer.text());
        assert!(answer.text().contains(problem), "{body}: {}", answer.text());
    }
    assert_eq!(post(port, "keys", &json!({"code": "c".repeat(5_000)})).code(), "TOO_LARGE");
    // The clock stands still, so all requests are in one second.
    let statuses: Vec<u16> = (0..210).map(|_| post(port, "challenge", &json!({})).status).collect();
    assert_eq!(statuses.last(), Some(&429), "{statuses:?}");
    login.clock.advance(1_000);
    assert_eq!(post(port, "challenge", &json!({})).status, 200);
}
