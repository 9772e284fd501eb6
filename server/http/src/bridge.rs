//! Puts the requests of rmcp's HTTP server on a connection, and its answers back.
//!
//! It must never decide anything: what a request means is the connection's to say.

use std::sync::Arc;

use rmcp::handler::server::ServerHandler;
#[expect(deprecated, reason = "clients of the older protocol set a level")]
use rmcp::model::SetLevelRequestParams;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CancelTaskParams, CompleteRequestParams, CompleteResult,
    CustomNotification, CustomRequest, CustomResult, DiscoverResult, GetPromptRequestParams,
    GetPromptResponse, GetTaskParams, GetTaskResult, InitializeRequestParams, InitializeResult,
    ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult,
    PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse, ResultType, ServerCapabilities,
    ServerConfig, SubscribeRequestParams, SubscriptionFilter, UnsubscribeRequestParams, UpdateTaskParams,
};
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use crate::link::{Link, updates};
use crate::links::Links;

type Context = RequestContext<RoleServer>;

/// The handler of a session, or of one request that stands alone.
pub(crate) struct Bridge {
    links: Arc<Links>,
    own: OnceCell<Arc<Link>>,
}

impl Bridge {
    pub(crate) fn new(links: Arc<Links>) -> Self {
        Self { links, own: OnceCell::new() }
    }

    async fn link(&self) -> Result<Arc<Link>, ErrorData> {
        match self.own.get() {
            Some(link) => Ok(link.clone()),
            None => self.links.shared().await,
        }
    }

    async fn ask<T: DeserializeOwned>(
        &self,
        method: &str,
        params: impl Serialize,
        context: &Context,
    ) -> Result<T, ErrorData> {
        let params = serde_json::to_value(params).map_err(|error| wrong(&error))?;
        let answer = self.link().await?.ask(method, params, context).await?;
        serde_json::from_value(answer).map_err(|error| wrong(&error))
    }

    async fn notify(&self, method: &str, params: Value) {
        if let Ok(link) = self.link().await {
            link.notify(method, params).await;
        }
    }
}

fn wrong(error: &serde_json::Error) -> ErrorData {
    ErrorData::internal_error(format!("the answer can't be passed on: {error}"), None)
}

#[expect(deprecated, reason = "clients of the older protocol set a level")]
impl ServerHandler for Bridge {
    /// What rmcp itself asks before it accepts a subscription. A client is told what the connection says.
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_resources().enable_resources_subscribe();
        ServerConfig::new(capabilities.build())
    }

    async fn ping(&self, context: Context) -> Result<(), ErrorData> {
        let _: Value = self.ask("ping", json!({}), &context).await?;
        Ok(())
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: Context,
    ) -> Result<InitializeResult, ErrorData> {
        context.peer.set_peer_info(request.clone());
        let link = self.own.get_or_try_init(|| self.links.open()).await?;
        link.is_of(&context.peer);
        self.ask("initialize", request, &context).await
    }

    async fn discover(&self, context: Context) -> Result<DiscoverResult, ErrorData> {
        self.ask("server/discover", json!({}), &context).await
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: Context,
    ) -> Result<CompleteResult, ErrorData> {
        self.ask("completion/complete", request, &context).await
    }

    async fn set_level(&self, request: SetLevelRequestParams, context: Context) -> Result<(), ErrorData> {
        let _: Value = self.ask("logging/setLevel", request, &context).await?;
        Ok(())
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: Context,
    ) -> Result<GetPromptResponse, ErrorData> {
        Ok(GetPromptResponse::Complete(self.ask("prompts/get", request, &context).await?))
    }

    async fn list_prompts(
        &self,
        request: Option<PaginatedRequestParams>,
        context: Context,
    ) -> Result<ListPromptsResult, ErrorData> {
        self.ask("prompts/list", request, &context).await
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: Context,
    ) -> Result<ListResourcesResult, ErrorData> {
        self.ask("resources/list", request, &context).await
    }

    async fn list_resource_templates(
        &self,
        request: Option<PaginatedRequestParams>,
        context: Context,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        self.ask("resources/templates/list", request, &context).await
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: Context,
    ) -> Result<ReadResourceResponse, ErrorData> {
        Ok(ReadResourceResponse::Complete(self.ask("resources/read", request, &context).await?))
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        // The lists of this server do not change.
        let uris = requested.resource_subscriptions.clone().unwrap_or_default();
        Some(SubscriptionFilter::builder().resource_subscriptions(uris).build())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let link = self.link().await?;
        let (changes, mut changed) = updates();
        let params = json!({"notifications": context.accepted()});
        let asked = link.ask_with("subscriptions/listen", params, context.request_context(), Some(changes));
        tokio::pin!(asked);
        loop {
            tokio::select! {
                biased;
                () = context.cancelled() => return Ok(()),
                ended = &mut asked => return ended.map(|_| ()),
                Some(uri) = changed.recv() => {
                    if context.sink().notify_resource_updated(uri).await.is_err() {
                        return Ok(());
                    }
                }
            }
        }
    }

    async fn subscribe(&self, request: SubscribeRequestParams, context: Context) -> Result<(), ErrorData> {
        let _: Value = self.ask("resources/subscribe", request, &context).await?;
        Ok(())
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        context: Context,
    ) -> Result<(), ErrorData> {
        let _: Value = self.ask("resources/unsubscribe", request, &context).await?;
        Ok(())
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: Context,
    ) -> Result<CallToolResponse, ErrorData> {
        let answer: Value = self.ask("tools/call", request, &context).await?;
        let kind = answer["resultType"].as_str().unwrap_or_default();
        let response = if kind == ResultType::TASK.as_str() {
            serde_json::from_value(answer).map(CallToolResponse::Task)
        } else if kind == ResultType::INPUT_REQUIRED.as_str() {
            serde_json::from_value(answer).map(CallToolResponse::InputRequired)
        } else {
            serde_json::from_value(answer).map(CallToolResponse::Complete)
        };
        response.map_err(|error| wrong(&error))
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: Context,
    ) -> Result<ListToolsResult, ErrorData> {
        self.ask("tools/list", request, &context).await
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: Context,
    ) -> Result<CustomResult, ErrorData> {
        let params = request.params.unwrap_or_else(|| json!({}));
        self.ask(&request.method, params, &context).await
    }

    async fn on_initialized(&self, _context: NotificationContext<RoleServer>) {
        self.notify("notifications/initialized", json!({})).await;
    }

    async fn on_roots_list_changed(&self, _context: NotificationContext<RoleServer>) {
        self.notify("notifications/roots/list_changed", json!({})).await;
    }

    async fn on_custom_notification(
        &self,
        notification: CustomNotification,
        _context: NotificationContext<RoleServer>,
    ) {
        let params = notification.params.unwrap_or_else(|| json!({}));
        self.notify(&notification.method, params).await;
    }

    async fn get_task(&self, request: GetTaskParams, context: Context) -> Result<GetTaskResult, ErrorData> {
        self.ask("tasks/get", request, &context).await
    }

    async fn update_task(&self, request: UpdateTaskParams, context: Context) -> Result<(), ErrorData> {
        let _: Value = self.ask("tasks/update", request, &context).await?;
        Ok(())
    }

    async fn cancel_task(&self, request: CancelTaskParams, context: Context) -> Result<(), ErrorData> {
        let _: Value = self.ask("tasks/cancel", request, &context).await?;
        Ok(())
    }
}
