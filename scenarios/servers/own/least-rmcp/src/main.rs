//! The least server on rmcp.

use rmcp::handler::server::wrapper::Parameters;
use rmcp::transport::stdio;
use rmcp::{ServiceExt, schemars, tool, tool_router};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Numbers {
    a: i64,
    b: i64,
}

struct Least;

#[tool_router(server_handler)]
impl Least {
    #[tool(description = "Adds two numbers.", annotations(read_only_hint = true))]
    fn add(&self, Parameters(Numbers { a, b }): Parameters<Numbers>) -> String {
        (a + b).to_string()
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    Least.serve(stdio()).await?.waiting().await?;
    Ok(())
}
