//! The smallest provider with one of each kind: tools, a resource, a template and a prompt. Copy it to begin one.

use std::time::Duration;

use entraclaw_mcp::connection::Caller;
use entraclaw_mcp::message::{Object, RpcError};
use entraclaw_mcp::{Answer, Arguments, Begun, Call, Connection, Offer, Offers, Provider, Refusal, Word};
use rmcp::model::{Prompt, Resource, ResourceTemplate, Tool};
use serde_json::{Value, json};

/// A provider whose work takes as long as the call asks for.
#[expect(unreachable_pub, reason = "a provider of a crate is public")]
pub struct Toy;

fn tool(name: &'static str, description: &'static str, properties: &Value) -> Offer {
    let Value::Object(schema) = json!({"type": "object", "properties": properties}) else { unreachable!() };
    Offer::new("toy", Tool::new(name, description, std::sync::Arc::new(schema)))
}

impl Provider for Toy {
    fn offers(&self) -> Offers {
        let seconds = json!({"seconds": {"type": "integer", "description": "From 0 to 600."}});
        Offers {
            tools: vec![
                tool("count_down", "Counts down and tells how far it is.", &seconds),
                tool("greet", "Says hello.", &json!({})),
                tool("pour", "Pours water if the user permits it within so many seconds.", &seconds),
            ],
            resources: vec![Resource::new("toy://rules", "rules")],
            templates: vec![ResourceTemplate::new("toy://games/{id}", "game")],
            prompts: vec![Prompt::new("play", Some("Begins a game."), None)],
        }
    }

    fn call(&mut self, call: Call<'_>, _: &mut Connection) -> Result<Begun, Refusal> {
        let mut given = Arguments::new(call.arguments);
        let seconds = if call.tool == "greet" { 0 } else { given.integer("seconds", 3, 0, 600)? };
        given.finish()?;
        let user = call.user;
        if call.tool == "pour" {
            let patience = Duration::from_secs(seconds);
            return Ok(Begun::work(async move {
                let word = user.permits("Pour the water?".to_owned(), "Pour", patience).await;
                Answer::json(&json!({"can_be_asked": user.can_be_asked(), "poured": word == Word::Yes}))
            }));
        }
        let (until, progress, mut cancellation) = (call.until, call.progress, call.cancellation);
        Ok(Begun::work(async move {
            for second in 0..seconds {
                tokio::select! {
                    () = tokio::time::sleep(Duration::from_secs(1)) => {}
                    () = cancellation.cancelled() => return Answer::error("cancelled"),
                }
                // The answer comes before the host gives the call up.
                if until - tokio::time::Instant::now() < Duration::from_secs(5) {
                    return Answer::json(&json!({"ticket": "toy-1", "left": seconds - second}));
                }
                progress.tell(second + 1, Some(seconds), "counting");
            }
            Answer::json(&json!({"said": "hello"}))
        }))
    }

    fn read(&mut self, uri: &str, caller: &Caller, connection: &mut Connection) -> bool {
        let text = match uri.strip_prefix("toy://games/") {
            Some(id) => format!("game {id}"),
            None if uri == "toy://rules" => "none".to_owned(),
            None => return false,
        };
        let contents = json!({"contents": [{"uri": uri, "mimeType": "text/plain", "text": text}]});
        connection.answer(&caller.route, Ok(contents), Vec::new());
        true
    }

    fn prompt(&mut self, _name: &str, _arguments: &Object, _caller: &Caller) -> Result<Value, RpcError> {
        Ok(json!({"messages": [{"role": "user", "content": {"type": "text", "text": "Play with me."}}]}))
    }

    fn instructions(&self, _family: Option<&'static str>) -> Option<String> {
        Some("Play when you are asked to.".to_owned())
    }
}
