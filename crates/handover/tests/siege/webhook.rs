//! Tests webhooks over real TLS: a notice about an approval is sent only when the system trusts the receiver's
//! certificate.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::process::Stdio;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::{Value, json};

use crate::place::Place;
use crate::serve::Server;

const SECRET: &str = "sixteen bytes and more";

/// A receiver of webhooks with a self-signed certificate. A sender accepts this certificate only if it trusts the
/// certificate's file.
struct Receiver {
    port: u16,
    certificate: String,
    /// The result of each connection to the receiver: the request, or the reason why no request came.
    heard: mpsc::Receiver<Result<String, String>>,
}

impl Receiver {
    fn named(name: &str) -> Self {
        let own = rcgen::generate_simple_self_signed([name.to_owned()]).unwrap();
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(own.signing_key.serialize_der()));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
        let config = config.with_no_client_auth().with_single_cert(vec![own.cert.der().clone()], key).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (tell, heard) = mpsc::channel();
        let config = Arc::new(config);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let stream = StreamOwned::new(ServerConnection::new(Arc::clone(&config)).unwrap(), stream.unwrap());
                if tell.send(answer(stream).map_err(|error| error.to_string())).is_err() {
                    break;
                }
            }
        });
        Self { port, certificate: own.cert.pem(), heard }
    }

    fn hears(&self) -> Result<String, String> {
        self.heard.recv_timeout(Duration::from_secs(40)).unwrap()
    }
}

fn answer(mut stream: StreamOwned<ServerConnection, std::net::TcpStream>) -> std::io::Result<String> {
    let mut text = String::new();
    // The body is one JSON object, so its closing brace ends the request.
    while !text.ends_with('}') {
        let mut bytes = [0; 4_096];
        let count = stream.read(&mut bytes)?;
        if count == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        text.push_str(&String::from_utf8_lossy(&bytes[..count]));
    }
    stream.write_all(b"HTTP/1.1 204 Done\r\nContent-Length: 0\r\n\r\n")?;
    stream.flush()?;
    Ok(text)
}

/// Sets up a trusted project with a pending approval, and starts a server that sends a notice about it to the receiver.
fn told(receiver: &Receiver, roots: &str) -> (Place, Server, String) {
    let place = Place::new();
    let port = receiver.port;
    let settings = format!(
        "[[gate]]\ncommand = [\"git\", \"push\"]\ndecision = \"ask\"\n\n[notify.webhook]\n\
         url = \"https://localhost:{port}/hook\"\nsecret_file = \"secret\"\nallow = [\"localhost:{port}\"]\nprivate = true\n"
    );
    std::fs::create_dir_all(place.root().join(".handover")).unwrap();
    std::fs::write(place.root().join(".handover/config.toml"), settings).unwrap();
    std::fs::write(place.root().join("secret"), SECRET).unwrap();
    let file = place.outside().join("roots.pem");
    std::fs::write(&file, roots).unwrap();
    let offered = place.json(&["trust", "--json"]);
    assert_eq!(place.run(&["trust", "--sha256", offered["sha256"].as_str().unwrap()]).code, Some(0));
    let call = json!({
        "hook_event_name": "PreToolUse", "session_id": "s", "cwd": place.root(), "tool_name": "Bash",
        "tool_input": {"command": "git push"},
    });
    let mut hook = place.program();
    let mut hook = hook.args(["hook", "PreToolUse"]).stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    hook.stdin.take().unwrap().write_all(call.to_string().as_bytes()).unwrap();
    assert!(hook.wait().unwrap().success());
    let waits = place.json(&["approval", "list", "--json"]);
    let id = waits["approvals"][0]["id"].as_str().unwrap().to_owned();
    let mut program = place.program();
    program.env("SSL_CERT_FILE", file).env_remove("SSL_CERT_DIR");
    let server = Server::start_as(&place, program);
    (place, server, id)
}

/// Waits for the result of the first attempt to send the notice, and returns that notice.
fn notice(place: &Place, id: &str) -> Value {
    let begun = Instant::now();
    loop {
        let found = place.json(&["approval", "show", id, "--json"]);
        let notice = found["notices"][0].clone();
        if notice["problem"].is_string() || found["shown"] != json!([]) {
            return notice;
        }
        assert!(begun.elapsed() < Duration::from_secs(40), "{found}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_notice_over_tls_arrives_where_the_certificate_is_trusted() {
    let receiver = Receiver::named("localhost");
    let (place, server, id) = told(&receiver, &receiver.certificate);
    let heard = receiver.hears().unwrap();
    let (head, body) = heard.split_once("\r\n\r\n").unwrap();
    let header = |name: &str| {
        let line = head.lines().find(|line| line.to_lowercase().starts_with(&format!("{name}:"))).unwrap();
        line.split_once(": ").unwrap().1.to_owned()
    };
    assert_eq!(header("host"), format!("localhost:{}", receiver.port));
    let at = header("webhook-timestamp").parse().unwrap();
    assert_eq!(header("webhook-signature"), handover::notify::signature(SECRET, &id, at, body).unwrap());
    assert_eq!(notice(&place, &id)["problem"], Value::Null);
    assert_eq!(place.json(&["approval", "show", &id, "--json"])["shown"], json!(["notify_webhook"]));
    server.stop();
}

/// A receiver whose certificate cannot be verified gets no notice, and `approval show` says why.
#[test]
fn a_certificate_of_another_name_or_of_nobody_is_refused() {
    let stranger = Receiver::named("elsewhere.example");
    let unknown = Receiver::named("localhost");
    for (receiver, roots) in [(&stranger, &stranger.certificate), (&unknown, &stranger.certificate)] {
        let (place, server, id) = told(receiver, roots);
        assert!(receiver.hears().is_err(), "a notice was sent");
        let notice = notice(&place, &id);
        assert!(notice["problem"].as_str().unwrap().starts_with("TLS: "), "{notice}");
        assert_eq!((&notice["channel"], &notice["tries"]), (&json!("webhook"), &json!(1)));
        let shown = place.run(&["approval", "show", &id]).out;
        assert!(shown.contains("TLS: "), "{shown}");
        server.stop();
    }
}
