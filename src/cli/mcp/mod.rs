//! `hookgate mcp`: what an agent itself may do, as an MCP server over stdio.
//!
//! It talks to a running gateway's admin API for one session, and can do no more there than its [`tools`] say: it proposes, and
//! never approves.
mod tools;

use super::CliError;
use super::admin_client::{AdminClient, Target};
use clap::Args;
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::{RequestContext, RoleServer, ServiceExt as _};
use std::process::ExitCode;
use tools::{TOOLS, Whose};

/// What the client's model is told of the server.
const INSTRUCTIONS: &str = "The other agents of this session, messages to them, and what was learned and approved. What you \
    propose to remember is read by people before any session sees it.";

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  hookgate mcp --session 8f3a --agent reviewer")]
pub(super) struct Mcp {
    #[command(flatten)]
    target: Target,
    /// The session; without it every call names one
    #[arg(long, env = "HOOKGATE_SESSION")]
    session: Option<String>,
    /// The agent that this server is for
    #[arg(long, env = "HOOKGATE_AGENT", default_value = "main")]
    agent: String,
    /// Whose, when several tenants have a session of this id
    #[arg(long)]
    tenant: Option<String>,
}

/// Why there is no conversation with a client.
#[derive(Debug, thiserror::Error)]
pub(super) enum McpError {
    /// It could not begin.
    #[error("MCP: {0}")]
    Begin(String),
    /// It broke off.
    #[error("MCP: {0}")]
    Lost(#[from] tokio::task::JoinError),
}

impl Mcp {
    pub(super) fn run(self) -> Result<ExitCode, CliError> {
        let Self { target, session, agent, tenant } = self;
        let server = Server { client: target.client()?, whose: Whose { session, agent, tenant } };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let served = runtime.block_on(server.converse());
        // A read of stdin that waits can't be ended.
        runtime.shutdown_background();
        served?;
        Ok(ExitCode::SUCCESS)
    }
}

/// The server of one agent.
struct Server {
    client: AdminClient,
    whose: Whose,
}

impl Server {
    async fn converse(self) -> Result<(), McpError> {
        let begun = self.serve(rmcp::transport::stdio()).await;
        let running = match begun {
            Ok(running) => running,
            // A client that leaves before it has said anything has no trouble with it.
            Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
            Err(error) => return Err(McpError::Begin(error.to_string())),
        };
        running.waiting().await?;
        Ok(())
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("hookgate", env!("CARGO_PKG_VERSION")))
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, rmcp::ErrorData> {
        let tool = |tool: &tools::Known| Tool::new(tool.name, tool.about, tool.schema());
        Ok(ListToolsResult::with_all_items(TOOLS.iter().map(tool).collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, rmcp::ErrorData> {
        let known = TOOLS.iter().find(|tool| tool.name == request.name);
        let tool = known.ok_or_else(|| rmcp::ErrorData::invalid_params(format!("no tool {:?}", request.name), None))?;
        let arguments = request.arguments.unwrap_or_default();
        let result = match tool.call(&self.client, &self.whose, &arguments).await {
            Ok(said) => CallToolResult::structured(said),
            // The model reads it, and may ask better.
            Err(error) => CallToolResult::error(vec![ContentBlock::text(error.to_string())]),
        };
        Ok(result.into())
    }
}
