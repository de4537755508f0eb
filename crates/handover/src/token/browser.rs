//! Connects browsers: offers one-time codes, enrols a browser's key with a code, and finds the key again.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use engine::id::TokenId;
use engine::token::Token;
use engine::{Caller, Command, Refusal, Reply, Rights};

use base::error::Error;
use base::ground::{digest, machine, random};
use base::service::Service;

/// The key of a browser that may act for its person, with the name of the browser.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrowserIdentity {
    pub key: TokenId,
    pub name: String,
}

/// Makes a code that enrols one browser on this machine, and stores its hash. The code has 256 random bits.
pub async fn offer_code(service: &Service) -> Result<String, Error> {
    let bytes = [random::seed()?.to_le_bytes(), random::seed()?.to_le_bytes()].concat();
    let code = URL_SAFE_NO_PAD.encode(bytes);
    let offer = Command::OfferCode { hash: code_hash(&code, &machine::identity()) };
    let reply = service.execute(Caller::with_rights(Rights::Person), offer).await?;
    let Reply::CodeOffered { .. } = reply else { return Err(Error::unexpected(&reply)) };
    Ok(code)
}

/// Returns the hash of a code. The identity of the machine is a part of it, so that of several servers that share a
/// store only those on the machine of the person's terminal accept the code.
pub fn code_hash(code: &str, machine: &str) -> String {
    digest::sha256(format!("handover browser code\n{machine}\n{code}").as_bytes())
}

/// Returns the hash of a public key. Its first words differ from those of other hashes, so that no text is the secret of
/// a token and the key of a browser at once.
fn key_hash(public_key: &[u8]) -> String {
    digest::sha256(&[b"handover browser key\n", public_key].concat())
}

/// Uses up a code of this machine and stores the public key of a browser.
pub async fn enrol(service: &Service, code: &str, public_key: &[u8], name: &str) -> Result<TokenId, Error> {
    let (code, key) = (code_hash(code, &machine::identity()), key_hash(public_key));
    let enrol = Command::EnrolBrowser { code, key, name: name.to_owned() };
    let reply = service.execute(Caller::with_rights(Rights::Person), enrol).await?;
    let Reply::BrowserEnrolled { token } = reply else { return Err(Error::unexpected(&reply)) };
    Ok(token)
}

/// Finds the valid key of a browser by its public key, and records that it was used. Before this call, the caller must
/// have checked that the browser has the private half of the key.
pub async fn use_key(service: &Service, public_key: &[u8]) -> Result<BrowserIdentity, Error> {
    let used = Command::UseBrowserKey { key: key_hash(public_key) };
    let reply = service.execute(Caller::with_rights(Rights::Person), used).await?;
    let Reply::BrowserKeyUsed { token, name } = reply else { return Err(Error::unexpected(&reply)) };
    Ok(BrowserIdentity { key: token, name })
}

/// Returns the key of a browser by its id, unless it is revoked or was not used for too long.
pub async fn find_key(service: &Service, key: TokenId) -> Result<Option<Token>, Error> {
    let now = service.now();
    match service.view(move |world| Ok(Some(world.token(key)?.clone()).filter(|token| token.is_valid_key(now)))).await {
        Err(Error::Refused(Refusal::TokenNotFound { .. })) => Ok(None),
        found => found,
    }
}
