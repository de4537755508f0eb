//! Reads the versions of the resources that a client of the new era (revision 2026-07-28 or later) wants to follow,
//! before `rmcp` (the MCP library) confirms the request to the client.
//!
//! When `rmcp` asks the handler to listen, the client may already have read the confirmation and changed a resource. If
//! the handler read the version only then, it would already see the change and send no notice of it. So the versions
//! are read earlier: for a pipe before the request reaches the handler, and over HTTP while the body is read.

use rmcp::model::{
    ClientNotification, ClientRequest, ProtocolVersion, ServerConfig, ServerResult, SubscriptionsListenRequest,
};
use rmcp::service::{NotificationContext, RequestContext};
use rmcp::{ErrorData, RoleServer, Service};
use std::borrow::Cow;
use tokio::sync::watch;

use super::Handler;
use crate::backend::{Backend, BackendProblem, CallerIdentity};
use crate::limits::SUBSCRIPTIONS_MAX;
use crate::passage::SeenResources;

/// Returns the URIs of the resources that the client asks to follow. When the client names more than
/// `SUBSCRIPTIONS_MAX` resources, the last of them are left out.
pub(crate) fn wanted(request: &SubscriptionsListenRequest) -> Vec<String> {
    let uris = request.params.notifications.resource_subscriptions.iter().flatten();
    uris.take(SUBSCRIPTIONS_MAX).cloned().collect()
}

pub(crate) async fn look<B: Backend>(backend: &B, who: &CallerIdentity, uris: Vec<String>) -> SeenResources {
    let mut seen = SeenResources::default();
    for uri in uris {
        let found = versions(backend, who, &uri).await;
        seen.insert(uri, found);
    }
    seen
}

/// Returns a receiver of the versions of a resource. Only changes after this call count as new for the receiver.
pub(crate) async fn versions<B: Backend>(
    backend: &B,
    who: &CallerIdentity,
    uri: &str,
) -> Result<watch::Receiver<u64>, BackendProblem> {
    let mut versions = backend.watch(who, uri).await?;
    versions.mark_unchanged();
    Ok(versions)
}

/// The handler of requests for a pipe. When a client asks to follow resources, this handler reads the current versions
/// of these resources before it passes the request to the inner handler.
pub(crate) struct Listening<B>(pub(crate) Handler<B>);

impl<B: Backend> Service<RoleServer> for Listening<B> {
    async fn handle_request(
        &self,
        request: ClientRequest,
        mut context: RequestContext<RoleServer>,
    ) -> Result<ServerResult, ErrorData> {
        if let ClientRequest::SubscriptionsListenRequest(listen) = &request {
            let seen = look(self.0.backend(), &CallerIdentity::Pipe, wanted(listen)).await;
            context.extensions.insert(seen);
        }
        self.0.handle_request(request, context).await
    }

    async fn handle_notification(
        &self,
        notification: ClientNotification,
        context: NotificationContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.0.handle_notification(notification, context).await
    }

    fn get_info(&self) -> ServerConfig {
        Service::get_info(&self.0)
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Service::supported_protocol_versions(&self.0)
    }
}
