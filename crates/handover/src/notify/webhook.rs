//! Sends a notice by a webhook: one signed POST to an allowed host, at an IP address that was checked. Redirects are
//! not followed.
//!
//! The signature follows standardwebhooks.com, with three headers: `webhook-id`, `webhook-timestamp` and
//! `webhook-signature`. The signature is `v1,` and the HMAC-SHA256, in base64, of the id, the time and the body with
//! dots between them.

use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use hmac::{Hmac, KeyInit as _, Mac as _};
use http::{Request, header};
use http_body_util::Full;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use sha2::Sha256;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::address::is_public;
use base::project::settings::{Webhook, WebhookTarget};

/// The longest time for one step (name lookup, connection, or answer). If a step takes longer, this attempt to send the
/// notice fails.
const STEP_MAX: Duration = Duration::from_secs(8);
/// The maximum number of addresses of one host name that are tried; further addresses are ignored.
const ADDRESSES_MAX: usize = 3;
/// The fewest bytes of a signing secret. A shorter secret is refused, because it can be guessed.
const SECRET_BYTES_MIN: usize = 16;
const SECRET_BYTES_MAX: u64 = 4_096;

/// The content of one POST request that sends a notice.
#[derive(Debug, Clone, Copy)]
pub(super) struct Letter<'a> {
    /// The id of the notice. All attempts to send the notice have the same id, so that a receiver recognises a notice
    /// that it already has.
    pub(super) id: &'a str,
    /// The time of sending the notice, in seconds since 1970.
    pub(super) at: i64,
    pub(super) body: &'a str,
}

/// Looks up the addresses of the host once and checks each of them. The request goes to exactly these addresses, so a
/// later change of the host name's addresses has no effect.
async fn addresses(target: &WebhookTarget, private: bool) -> Result<Vec<SocketAddr>, String> {
    let found: Vec<SocketAddr> = match target.host.parse::<IpAddr>() {
        Ok(address) => vec![SocketAddr::new(address, target.port)],
        Err(_) => {
            let found = timely(
                "finding the address of the webhook's host",
                tokio::net::lookup_host((target.host.as_str(), target.port)),
            );
            found.await?.map_err(|error| format!("the address of {} is not found: {error}", target.host))?.collect()
        }
    };
    checked(target, found, private)
}

/// Refuses the host when one of its addresses is forbidden. A name that mixes allowed and forbidden addresses may be an
/// attempt to redirect the request.
fn checked(target: &WebhookTarget, found: Vec<SocketAddr>, private: bool) -> Result<Vec<SocketAddr>, String> {
    if let Some(refused) = found.iter().find(|found| !is_public(found.ip(), private)) {
        return Err(format!(
            "{} is at {}, which is not a public address; `private = true` in [notify.webhook] allows private networks",
            target.host,
            refused.ip()
        ));
    }
    if found.is_empty() {
        return Err(format!("{} has no address", target.host));
    }
    Ok(found.into_iter().take(ADDRESSES_MAX).collect())
}

/// Returns the value of the HTTP header `Host` for a webhook request.
fn host_header(target: &WebhookTarget) -> String {
    let host = if target.host.contains(':') { format!("[{}]", target.host) } else { target.host.clone() };
    match (target.secure, target.port) {
        (true, 443) | (false, 80) => host,
        (_, port) => format!("{host}:{port}"),
    }
}

/// Returns `v1,` and the HMAC-SHA256 of `id.at.body` in base64. If the secret starts with `whsec_`, the text after this
/// prefix is the key in base64.
pub fn signature(secret: &str, id: &str, at: i64, body: &str) -> Result<String, String> {
    let key = match secret.strip_prefix("whsec_") {
        Some(coded) => {
            STANDARD.decode(coded).map_err(|_| "the webhook's secret after `whsec_` is not base64".to_owned())?
        }
        None => secret.as_bytes().to_vec(),
    };
    if key.len() < SECRET_BYTES_MIN {
        return Err(format!("the webhook's secret has less than {SECRET_BYTES_MIN} bytes; use a longer one"));
    }
    let mut mac =
        Hmac::<Sha256>::new_from_slice(&key).map_err(|_| "the webhook's secret cannot be used as a key".to_owned())?;
    mac.update(format!("{id}.{at}.{body}").as_bytes());
    Ok(format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes())))
}

fn secret(root: &Path, webhook: &Webhook) -> Result<String, String> {
    let text = match (&webhook.secret_file, &webhook.secret_env) {
        (Some(file), _) => {
            let path = root.join(file);
            let size = std::fs::metadata(&path).map_err(|error| format!("{}: {error}", path.display()))?.len();
            if size > SECRET_BYTES_MAX {
                return Err(format!("{} is too long for a webhook's secret", path.display()));
            }
            std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?
        }
        (None, Some(name)) => std::env::var(name).map_err(|_| {
            format!(
                "the environment variable {name} is not set, \
            which should hold the webhook's secret"
            )
        })?,
        (None, None) => {
            return Err("the settings name no secret for the webhook; give secret_file or secret_env".to_owned());
        }
    };
    Ok(text.trim().to_owned())
}

pub(super) async fn post(root: &Path, webhook: &Webhook, letter: &Letter<'_>) -> Result<(), String> {
    let target = WebhookTarget::of(webhook)?;
    let signature = signature(&secret(root, webhook)?, letter.id, letter.at, letter.body)?;
    let addresses = addresses(&target, webhook.private).await?;
    let mut problem = String::new();
    for address in addresses {
        match timely("connecting", TcpStream::connect(address)).await {
            Ok(Ok(stream)) => return send(&target, stream, letter, &signature).await,
            Ok(Err(error)) => problem = format!("{address}: {error}"),
            Err(late) => problem = late,
        }
    }
    Err(problem)
}

async fn send(target: &WebhookTarget, stream: TcpStream, letter: &Letter<'_>, signature: &str) -> Result<(), String> {
    let request = Request::post(&target.path)
        .header(header::HOST, host_header(target))
        .header(header::CONTENT_TYPE, "application/json")
        .header(header::USER_AGENT, concat!("handover/", env!("CARGO_PKG_VERSION")))
        .header("webhook-id", letter.id)
        .header("webhook-timestamp", letter.at)
        .header("webhook-signature", signature)
        .body(Full::new(Bytes::from(letter.body.to_owned())))
        .map_err(|error| error.to_string())?;
    if !target.secure {
        return exchange(stream, request).await;
    }
    let name = ServerName::try_from(target.host.clone()).map_err(|_| format!("{} is not a host name", target.host))?;
    let stream = timely("the TLS handshake", tls()?.connect(name, stream)).await?;
    exchange(stream.map_err(|error| format!("TLS: {error}"))?, request).await
}

/// Returns a TLS connector that trusts only the certificates of the system.
fn tls() -> Result<TlsConnector, String> {
    let mut roots = rustls::RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let builder = builder.map_err(|error| format!("TLS: {error}"))?;
    Ok(TlsConnector::from(Arc::new(builder.with_root_certificates(roots).with_no_client_auth())))
}

async fn exchange<S>(stream: S, request: Request<Full<Bytes>>) -> Result<(), String>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let shaken = timely("the start of the HTTP connection", http1::handshake(TokioIo::new(stream))).await?;
    let (mut sender, connection) = shaken.map_err(|error| error.to_string())?;
    // A separate async task drives the HTTP connection. It is aborted after the answer.
    let driver = tokio::spawn(connection);
    let answered = timely("the webhook's answer", sender.send_request(request)).await;
    driver.abort();
    let status = answered?.map_err(|error| error.to_string())?.status();
    match status.as_u16() {
        200..300 => Ok(()),
        300..400 => Err(format!(
            "the webhook answered {status}; redirects are not followed, so configure the final \
            URL"
        )),
        _ => Err(format!("the webhook answered {status}")),
    }
}

async fn timely<T>(what: &str, work: impl Future<Output = T>) -> Result<T, String> {
    let late = |_| format!("{what} took longer than {} s", STEP_MAX.as_secs());
    tokio::time::timeout(STEP_MAX, work).await.map_err(late)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn webhook(url: &str, allow: &[&str]) -> Webhook {
        let allow = allow.iter().map(|entry| (*entry).to_owned()).collect();
        Webhook { url: url.to_owned(), secret_file: None, secret_env: Some("X".to_owned()), allow, private: false }
    }

    /// Checks a signature with an example from the test data of the standardwebhooks.com libraries.
    #[test]
    fn a_signature_is_the_one_others_expect() {
        let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
        let body = r#"{"test": 2432232314}"#;
        let found = signature(secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, body);
        assert_eq!(found.as_deref(), Ok("v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="));
        assert!(signature("short", "a", 1, "b").is_err());
        assert!(signature("whsec_!!!!", "a", 1, "b").is_err());
    }

    #[test]
    fn only_hosts_of_the_list_are_called() {
        let good = [
            ("https://example.org/hook?a=b", "example.org:443", "/hook?a=b"),
            ("https://EXAMPLE.org", "example.org:443", "/"),
            ("http://example.org:8080/x", "Example.org:8080", "/x"),
            ("http://[::1]:9/x", "[::1]:9", "/x"),
        ];
        for (url, entry, path) in good {
            assert_eq!(
                WebhookTarget::of(&webhook(url, &[entry])).map(|target| target.path).as_deref(),
                Ok(path),
                "{url}"
            );
        }
        let bad = [
            ("https://example.org/", "example.org:80", "not in `allow`"),
            ("https://example.org.evil.net/", "example.org:443", "not in `allow`"),
            ("https://evil.net/example.org:443", "example.org:443", "not in `allow`"),
            ("https://example.org@evil.net/", "example.org:443", "password"),
            ("https://a:b@example.org/", "example.org:443", "password"),
            ("file:///etc/passwd", "example.org:443", ""),
            ("ftp://example.org/", "example.org:21", "https://"),
            ("example.org", "example.org:443", "https://"),
            ("https://example.org/", "example.org", "not in `allow`"),
            ("https://example.org/", "*:443", "not in `allow`"),
        ];
        for (url, entry, word) in bad {
            let problem = WebhookTarget::of(&webhook(url, &[entry])).err().unwrap_or_default();
            assert!(!problem.is_empty() && problem.contains(word), "{url}: {problem}");
        }
        assert!(WebhookTarget::of(&webhook("https://example.org/", &[])).is_err());
    }

    #[tokio::test]
    async fn an_address_that_is_not_public_is_not_called() {
        for host in ["127.0.0.1", "localhost", "169.254.169.254", "10.0.0.1", "[::1]", "[::ffff:7f00:1]", "0.0.0.0"] {
            let (url, entry) = (format!("http://{host}:9/x"), format!("{host}:9"));
            let target = WebhookTarget::of(&webhook(&url, &[&entry])).unwrap();
            let problem = addresses(&target, false).await.err().unwrap_or_default();
            assert!(problem.contains("not a public address"), "{host}: {problem}");
        }
        let target = WebhookTarget::of(&webhook("http://169.254.169.254/", &["169.254.169.254:80"])).unwrap();
        assert!(addresses(&target, true).await.is_err(), "metadata is refused in any case");
        let target = WebhookTarget::of(&webhook("http://localhost:9/", &["localhost:9"])).unwrap();
        assert!(addresses(&target, true).await.is_ok());
        // A host name with several addresses is not called at all when one of them is forbidden.
        let at = |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect::<Vec<SocketAddr>>();
        let public = ["93.184.215.14:443", "[2606:2800:21f:cb07::1]:443"];
        assert_eq!(checked(&target, at(&public), false), Ok(at(&public)));
        for bent in ["10.0.0.1:443", "127.0.0.1:443", "169.254.169.254:443", "[fd00::1]:443", "[fe80::1]:443"] {
            let problem = checked(&target, at(&[public[0], bent, public[1]]), false).unwrap_err();
            assert!(problem.contains("not a public address"), "{bent}: {problem}");
        }
        assert!(checked(&target, at(&["10.0.0.1:443", "169.254.169.254:443"]), true).is_err());
        assert!(checked(&target, Vec::new(), false).is_err());
    }
}
