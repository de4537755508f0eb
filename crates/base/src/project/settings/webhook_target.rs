//! Parses and checks the address of a webhook when the settings are read.

use http::Uri;
use http::uri::Scheme;

use super::Webhook;

/// The parts of a webhook's URL. The list `allow` of the settings contains its host and port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookTarget {
    pub host: String,
    pub port: u16,
    pub secure: bool,
    pub path: String,
}

impl WebhookTarget {
    /// Returns the parts of a webhook's URL, or the reason why the URL is refused.
    pub fn of(webhook: &Webhook) -> Result<Self, String> {
        let uri: Uri = webhook.url.parse().map_err(|_| "url is not a URL".to_owned())?;
        let secure = match uri.scheme() {
            Some(scheme) if *scheme == Scheme::HTTPS => true,
            Some(scheme) if *scheme == Scheme::HTTP => false,
            Some(_) | None => return Err("url must begin with https:// or http://".to_owned()),
        };
        let authority = uri.authority().ok_or("url names no host")?;
        if authority.as_str().contains('@') {
            return Err("url must not hold a user or a password".to_owned());
        }
        let host = authority.host().trim_start_matches('[').trim_end_matches(']').to_lowercase();
        if host.is_empty() {
            return Err("url names no host".to_owned());
        }
        let port = authority.port_u16().unwrap_or(if secure { 443 } else { 80 });
        let listed = |entry: &String| {
            let Some((name, number)) = entry.rsplit_once(':') else { return false };
            let name = name.trim_start_matches('[').trim_end_matches(']');
            name.eq_ignore_ascii_case(&host) && number.parse() == Ok(port)
        };
        if !webhook.allow.iter().any(listed) {
            return Err(format!(
                "{host}:{port} is not in `allow`; add \"{host}:{port}\" there if Handover may call it"
            ));
        }
        let path = uri.path_and_query().map_or_else(|| "/".to_owned(), ToString::to_string);
        Ok(Self { host, port, secure, path })
    }
}
