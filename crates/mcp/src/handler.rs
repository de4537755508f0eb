//! Implements the methods that `rmcp` (the MCP library) calls for each request: converts requests for the backend, and
//! converts the backend's answers back.

pub(crate) mod listening;

use std::borrow::Cow;
use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CompleteRequestMethod, CompleteRequestParams, CompleteResult,
    CustomRequest, CustomResult, DiscoverResult, ErrorCode, GetPromptRequestParams, GetPromptResponse, Implementation,
    InitializeRequestParams, InitializeResult, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult,
    ListToolsResult, PaginatedRequestParams, ProtocolVersion, ReadResourceRequestParams, ReadResourceResponse,
    ReadResourceResult, ResourceContents, ResourceUpdatedNotificationParam, ServerCapabilities, ServerConfig,
    SubscribeRequestParams, SubscriptionFilter, UnsubscribeRequestParams,
};
use rmcp::service::{RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::backend::{Backend, CallOutcome, CallerIdentity, McpCall, McpClient, McpProgress};
use super::catalog::Catalog;
use super::gate::{CallGate, WaitNotice};
use super::limits::SUBSCRIPTIONS_MAX;
use super::message::Arguments;
use super::passage::{Passage, SeenResources};
use super::subscriptions::{Subscriptions, follow};
use super::words;
use listening::versions;

type CallContext = RequestContext<RoleServer>;

/// The state of one connected client. A client is connected by a pipe or by an HTTP session. Each HTTP request without
/// a session has its own state.
#[derive(Debug, Default)]
pub(super) struct Connection {
    pub(super) gate: Arc<CallGate>,
    /// A cancellation token that is cancelled when the client of this connection is gone.
    pub(super) closing: CancellationToken,
    subscriptions: Subscriptions,
}

pub(super) struct Handler<B> {
    backend: Arc<B>,
    catalog: Arc<Catalog>,
    connection: Arc<Connection>,
}

impl<B: Backend> Handler<B> {
    pub(super) fn new(backend: Arc<B>, catalog: Arc<Catalog>, connection: Arc<Connection>) -> Self {
        Self { backend, catalog, connection }
    }

    fn gate(&self, context: &CallContext) -> Arc<CallGate> {
        Passage::of(context).map_or_else(|| Arc::clone(&self.connection.gate), |passage| Arc::clone(&passage.gate))
    }

    fn closing(&self, context: &CallContext) -> CancellationToken {
        Passage::of(context).map_or_else(|| self.connection.closing.clone(), |passage| passage.closing.clone())
    }

    fn introduce(&self, context: &CallContext, client: Implementation) {
        self.backend.introduced(&who(context), McpClient { name: client.name, version: client.version });
    }

    pub(super) fn backend(&self) -> &B {
        &self.backend
    }
}

fn who(context: &CallContext) -> CallerIdentity {
    context.extensions.get::<http::request::Parts>().map_or(CallerIdentity::Pipe, caller)
}

pub(super) fn caller(parts: &http::request::Parts) -> CallerIdentity {
    CallerIdentity::Http {
        session: Passage::within(parts).and_then(|passage| passage.session.clone()),
        parts: Arc::new(parts.clone()),
    }
}

impl<B: Backend> Handler<B> {
    /// Builds the tool call for the backend. Values are moved out of the request's context, instead of copied, if
    /// possible.
    fn call(&self, tool: String, arguments: String, context: &mut CallContext) -> McpCall {
        let token = context.meta.get_progress_token();
        McpCall {
            tool,
            arguments,
            progress: token.map(|token| McpProgress::new(context.peer.clone(), token)),
            meta: std::mem::take(&mut context.meta.0.0),
            act: context
                .extensions
                .remove::<WaitNotice>()
                .or_else(|| Passage::of(context).and_then(Passage::act))
                .unwrap_or_else(WaitNotice::unseen),
            who: who(context),
            cancelled: context.ct.clone(),
            closing: self.closing(context),
        }
    }
}

impl<B: Backend> ServerHandler for Handler<B> {
    fn get_info(&self) -> ServerConfig {
        let server = self.backend.server();
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_resources()
            .enable_resources_subscribe()
            .enable_prompts()
            .build();
        let identity = Implementation::new(server.name, server.version).with_title(server.title);
        ServerConfig::new(capabilities).with_server_info(identity).with_instructions(server.instructions)
    }

    /// Negotiates the protocol version. Stores the version on which both sides agreed, which may differ from the
    /// version that the client requested. The agreed version decides the shape of later answers.
    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: CallContext,
    ) -> Result<InitializeResult, ErrorData> {
        let answer = self.negotiate_initialize(&request)?;
        // For a pipe, the backend gets the client's name here. For HTTP, the session has no id yet, so the module
        // `sessions` passes the name to the backend later.
        if matches!(who(&context), CallerIdentity::Pipe) {
            self.introduce(&context, request.client_info.clone());
        }
        let mut agreed = request;
        agreed.protocol_version = answer.protocol_version.clone();
        context.peer.set_peer_info(agreed);
        Ok(answer)
    }

    async fn discover(&self, context: CallContext) -> Result<DiscoverResult, ErrorData> {
        if let Some(client) = context.meta.client_info() {
            self.introduce(&context, client);
        }
        Ok(DiscoverResult::from_server_info(ProtocolVersion::KNOWN_VERSIONS.to_vec(), self.get_info()))
    }

    /// Refuses a request with an unknown method. A known method with wrong parameters never gets here, because the
    /// module `message` has already refused it.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _context: CallContext,
    ) -> Result<CustomResult, ErrorData> {
        let method: String = request.method.chars().take(64).collect();
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, format!("unknown method: {method}"), None))
    }

    async fn complete(
        &self,
        _request: CompleteRequestParams,
        _context: CallContext,
    ) -> Result<CompleteResult, ErrorData> {
        Err(ErrorData::method_not_found::<CompleteRequestMethod>())
    }

    /// Accepts every log level and ignores it, because this server sends no log messages to clients.
    #[expect(deprecated, reason = "clients of the old era set a level, asked or not")]
    async fn set_level(
        &self,
        _request: rmcp::model::SetLevelRequestParams,
        _context: CallContext,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: CallContext,
    ) -> Result<ListToolsResult, ErrorData> {
        let (ttl_ms, cache_scope) = words::freshness(&context);
        Ok(ListToolsResult { ttl_ms, cache_scope, ..self.catalog.tools(&*self.backend, request)? })
    }

    async fn call_tool(
        &self,
        params: CallToolRequestParams,
        mut context: CallContext,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = context
            .extensions
            .remove::<Arguments>()
            .or_else(|| Passage::of(&context).and_then(Passage::take_arguments))
            .map_or_else(|| "{}".to_owned(), |arguments| arguments.0);
        if !self.catalog.has_tool(&params.name) {
            return Err(self.catalog.unknown_tool(&params.name));
        }
        let call = self.call(params.name.clone().into_owned(), arguments, &mut context);
        let who = call.who.clone();
        let outcome = tokio::select! {
            biased;
            // This error is sent to no client, because the client cancelled its request.
            () = context.ct.cancelled() => return Err(ErrorData::internal_error("cancelled", None)),
            outcome = self.backend.call(call) => outcome,
        };
        match outcome {
            CallOutcome::Reply(text) => Ok(words::reply(text, &who).into()),
            CallOutcome::Refused(text) | CallOutcome::Fault(text) => Ok(words::failed(text).into()),
            CallOutcome::UnknownTool => Err(self.catalog.unknown_tool(&params.name)),
        }
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: CallContext,
    ) -> Result<ListResourcesResult, ErrorData> {
        let cursor = request.and_then(|request| request.cursor);
        let page = self.backend.resources(&who(&context), cursor.as_deref()).await.map_err(words::error)?;
        Ok(words::resources(page))
    }

    async fn list_resource_templates(
        &self,
        request: Option<PaginatedRequestParams>,
        context: CallContext,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let (ttl_ms, cache_scope) = words::freshness(&context);
        Ok(ListResourceTemplatesResult { ttl_ms, cache_scope, ..self.catalog.templates(request)? })
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: CallContext,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let text = self.backend.read(&who(&context), &request.uri).await.map_err(words::error)?;
        let contents = ResourceContents::text(text, request.uri).with_mime_type("application/json");
        Ok(ReadResourceResult::new(vec![contents]).into())
    }

    async fn subscribe(&self, request: SubscribeRequestParams, context: CallContext) -> Result<(), ErrorData> {
        let (peer, uri) = (context.peer.clone(), request.uri.clone());
        let versions = versions(self.backend(), &who(&context), &request.uri).await.map_err(words::error)?;
        let following = follow(versions, self.gate(&context), move || {
            let (peer, uri) = (peer.clone(), uri.clone());
            async move { peer.notify_resource_updated(ResourceUpdatedNotificationParam::new(uri)).await.is_ok() }
        });
        if self.connection.subscriptions.add(request.uri, following) {
            return Ok(());
        }
        let words = format!(
            "{SUBSCRIPTIONS_MAX} resources are subscribed already, which is the limit; unsubscribe \
            from one"
        );
        Err(ErrorData::invalid_params(words, None))
    }

    async fn unsubscribe(&self, request: UnsubscribeRequestParams, _context: CallContext) -> Result<(), ErrorData> {
        self.connection.subscriptions.remove(&request.uri);
        Ok(())
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        let mut accepted = SubscriptionFilter::new();
        accepted.resource_subscriptions = requested
            .resource_subscriptions
            .as_ref()
            .map(|uris| uris.iter().take(SUBSCRIPTIONS_MAX).cloned().collect());
        Some(accepted)
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let mut following = Vec::new();
        let asked = context.request_context();
        let carried = Passage::of(asked).and_then(Passage::take_seen);
        let mut seen = carried.or_else(|| asked.extensions.get::<SeenResources>().cloned()).unwrap_or_default();
        for uri in context.accepted().resource_subscriptions.iter().flatten() {
            let versions = match seen.take(uri) {
                Some(versions) => versions,
                None => versions(self.backend(), &who(asked), uri).await,
            };
            let (sink, told) = (context.sink().clone(), uri.clone());
            let tell = move || {
                let (sink, uri) = (sink.clone(), told.clone());
                async move { sink.notify_resource_updated(uri).await.is_ok() }
            };
            following.push(follow(versions.map_err(words::error)?, self.gate(asked), tell));
        }
        let closing = self.closing(asked);
        tokio::select! {
            () = context.cancelled() => {}
            () = closing.cancelled() => {}
        }
        Ok(())
    }

    async fn list_prompts(
        &self,
        request: Option<PaginatedRequestParams>,
        context: CallContext,
    ) -> Result<ListPromptsResult, ErrorData> {
        let (ttl_ms, cache_scope) = words::freshness(&context);
        Ok(ListPromptsResult { ttl_ms, cache_scope, ..self.catalog.prompts(request)? })
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: CallContext,
    ) -> Result<GetPromptResponse, ErrorData> {
        let mut arguments = std::collections::BTreeMap::new();
        for (name, value) in request.arguments.unwrap_or_default() {
            let Value::String(text) = value else {
                return Err(ErrorData::invalid_params(format!("arguments.{name} must be a string"), None));
            };
            arguments.insert(name, text);
        }
        let said = self.backend.prompt(&who(&context), &request.name, arguments).await.map_err(words::prompt_error)?;
        Ok(words::prompt(said).into())
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(ProtocolVersion::KNOWN_VERSIONS)
    }
}
