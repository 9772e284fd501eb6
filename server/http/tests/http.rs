//! Plays clients over HTTP against a connection with one small provider: both eras, who is let in, what is told.

use std::sync::Arc;
use std::time::Duration;

use entraclaw_http::{Entry, serve};
use entraclaw_mcp::message::Object;
use entraclaw_mcp::{
    Answer, Begun, Call, Caller, Connection, Offer, Offers, Options, Provider, Refusal, Word,
};
use reqwest::{Client, RequestBuilder, Response, StatusCode};
use rmcp::model::{Resource, Tool};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::LocalSet;
use tokio::time::sleep;

const TOKEN: &str = "a-token-for-tests-only";

/// A provider that counts, asks, waits for its cancel, and has a resource that changes.
struct Counter {
    cancelled: watch::Sender<u32>,
}

impl Provider for Counter {
    fn offers(&self) -> Offers {
        let tool = |name: &'static str| {
            Offer::new(
                "count",
                Tool::new(
                    name,
                    "Counts.",
                    Arc::new(Object::from_iter([("type".to_owned(), json!("object"))])),
                ),
            )
        };
        Offers {
            tools: ["count", "ask", "wait", "change"].map(tool).into(),
            resources: vec![Resource::new("count://now", "now")],
            ..Offers::default()
        }
    }

    fn call(&mut self, call: Call<'_>, connection: &mut Connection) -> Result<Begun, Refusal> {
        let (progress, user, mut cancellation) = (call.progress, call.user, call.cancellation);
        let cancelled = self.cancelled.clone();
        Ok(match call.tool {
            "count" => Begun::work(async move {
                for step in 1..=3 {
                    progress.tell(step, Some(3), "counting");
                    sleep(Duration::from_millis(5)).await;
                }
                Answer::text("counted")
            }),
            "ask" => Begun::work(async move {
                let word = user.permits("May it count?".to_owned(), "Permit", Duration::from_secs(5)).await;
                Answer::text(if word == Word::Yes { "permitted" } else { "not permitted" })
            }),
            "change" => {
                connection.resource_changed("count://now");
                Begun::work(async { Answer::text("changed") })
            }
            _ => Begun::work(async move {
                cancellation.cancelled().await;
                cancelled.send_modify(|count| *count += 1);
                Answer::text("cancelled")
            }),
        })
    }

    fn notification(&mut self, method: &str, params: &Object, connection: &mut Connection) {
        if method == "notifications/counted"
            && let Some(uri) = params.get("uri").and_then(Value::as_str)
        {
            connection.resource_changed(uri);
        }
    }

    fn read(&mut self, uri: &str, caller: &Caller, connection: &mut Connection) -> bool {
        let contents = json!({"contents": [{"uri": uri, "mimeType": "text/plain", "text": "3"}], "ttlMs": 0, "cacheScope": "private"});
        connection.answer(&caller.route, Ok(contents), Vec::new());
        true
    }
}

struct Server {
    url: String,
    client: Client,
    cancelled: watch::Receiver<u32>,
}

impl Server {
    fn request(&self, body: &Value) -> RequestBuilder {
        let request = self.client.post(&self.url).bearer_auth(TOKEN).body(body.to_string());
        let request = request.header("Content-Type", "application/json");
        let request = request.header("Accept", "application/json, text/event-stream");
        match body["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"].as_str() {
            Some(version) => {
                let method = body["method"].as_str().unwrap();
                let request = request.header("MCP-Protocol-Version", version).header("Mcp-Method", method);
                match body["params"]["name"].as_str().or(body["params"]["uri"].as_str()) {
                    Some(name) => request.header("Mcp-Name", name),
                    None => request,
                }
            }
            None => request,
        }
    }

    async fn session(&self, capabilities: Value) -> Session<'_> {
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": {"name": "vscode", "version": "1"}});
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params});
        let response = self.request(&body).send().await.unwrap();
        let id = response.headers()["Mcp-Session-Id"].to_str().unwrap().to_owned();
        let said = Events::of(response).next().await.unwrap();
        assert_eq!(said["result"]["protocolVersion"], "2025-11-25");
        let session = Session { server: self, id };
        let ready = session.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
        assert_eq!(ready.status(), StatusCode::ACCEPTED);
        session
    }
}

struct Session<'a> {
    server: &'a Server,
    id: String,
}

impl Session<'_> {
    async fn say(&self, body: &Value) -> Response {
        self.server.request(body).header("Mcp-Session-Id", &self.id).send().await.unwrap()
    }

    async fn call(&self, id: u64, tool: &str) -> Events {
        let params = json!({"name": tool, "arguments": {}, "_meta": {"progressToken": "mine"}});
        Events::of(
            self.say(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})).await,
        )
    }
}

/// The messages of a response, as they come.
struct Events {
    response: Response,
    text: String,
}

impl Events {
    fn of(response: Response) -> Self {
        Self { response, text: String::new() }
    }

    async fn next(&mut self) -> Option<Value> {
        loop {
            if let Some((line, rest)) = self.text.split_once('\n') {
                let found =
                    line.trim().strip_prefix("data:").and_then(|data| serde_json::from_str(data.trim()).ok());
                self.text = String::from(rest);
                if found.is_some() {
                    return found;
                }
                continue;
            }
            match self.response.chunk().await.unwrap() {
                Some(chunk) => self.text.push_str(std::str::from_utf8(&chunk).unwrap()),
                // An answer may come without a stream.
                None => return serde_json::from_str(&std::mem::take(&mut self.text)).ok(),
            }
        }
    }
}

fn modern(id: u64, method: &str, mut params: Value) -> Value {
    let forms = params.as_object_mut().unwrap().remove("forms").is_some();
    let mut meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "vscode", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": if forms { json!({"elicitation": {"form": {}}}) } else { json!({}) },
    });
    if let Some(token) = params.as_object_mut().unwrap().remove("token") {
        meta["progressToken"] = token;
    }
    params["_meta"] = meta;
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

async fn with_server<F: Future<Output = ()>>(test: impl FnOnce(Server) -> F) {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let entry = Entry::new(TOKEN, address, Vec::new(), Vec::new()).unwrap();
    let (counts, cancelled) = watch::channel(0);
    let server = Server { url: format!("http://{address}/mcp"), client: Client::new(), cancelled };
    let serves = serve(listener, entry, move |pipe| {
        let providers: Vec<Box<dyn Provider>> = vec![Box::new(Counter { cancelled: counts.clone() })];
        Box::pin(async move {
            entraclaw_mcp::serve(Options::default(), providers, pipe.reader, pipe.writer).await;
        })
    });
    let local = LocalSet::new();
    local
        .run_until(async {
            tokio::select! {
                never = serves => match never {},
                () = test(server) => {}
            }
        })
        .await;
}

#[tokio::test]
async fn only_the_token_and_no_web_page_is_let_in() {
    with_server(|server| async move {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
        let without = server.client.post(&server.url).body(body.to_string()).send().await.unwrap();
        assert_eq!(without.status(), StatusCode::UNAUTHORIZED);
        assert_eq!(without.headers()["WWW-Authenticate"], "Bearer");
        let page = server.request(&body).header("Origin", "https://contoso.com").send().await.unwrap();
        assert_eq!(page.status(), StatusCode::FORBIDDEN);
        let neighbour = server.request(&body).header("Origin", "http://127.0.0.1:1").send().await.unwrap();
        assert_eq!(neighbour.status(), StatusCode::FORBIDDEN);
        let own = server.url.replace("/mcp", "");
        let itself = server.request(&body).header("Origin", own).send().await.unwrap();
        assert_ne!(itself.status(), StatusCode::FORBIDDEN);
        let named = server.request(&body).header("Host", "agents.contoso.com").send().await.unwrap();
        assert_eq!(named.status(), StatusCode::FORBIDDEN);
        let elsewhere = server.client.get(server.url.replace("/mcp", "/")).bearer_auth(TOKEN);
        assert_eq!(elsewhere.send().await.unwrap().status(), StatusCode::NOT_FOUND);
        let unknown = server.request(&body).header("Mcp-Session-Id", "none").send().await.unwrap();
        assert_eq!(unknown.status(), StatusCode::NOT_FOUND);
    })
    .await;
}

#[tokio::test]
async fn a_session_calls_and_is_told_of_progress_and_changes() {
    with_server(|server| async move {
        let session = server.session(json!({"elicitation": {"form": {}}})).await;
        let mut call = session.call(2, "count").await;
        let mut done = Vec::new();
        let answer = loop {
            let said = call.next().await.unwrap();
            if said["id"] == 2 {
                break said;
            }
            assert_eq!(said["params"]["progressToken"], "mine");
            done.push(said["params"]["progress"].to_string());
        };
        assert_eq!((done, &answer["result"]["content"][0]["text"]), (["1.0", "2.0", "3.0"].map(str::to_owned).to_vec(), &json!("counted\n")));
        let stream = server.client.get(&server.url).bearer_auth(TOKEN).header("Mcp-Session-Id", &session.id);
        let stream = stream.header("Accept", "text/event-stream").send().await.unwrap();
        let mut stream = Events::of(stream);
        let subscribe = json!({"jsonrpc": "2.0", "id": 3, "method": "resources/subscribe", "params": {"uri": "count://now"}});
        Events::of(session.say(&subscribe).await).next().await.unwrap();
        session.call(4, "change").await.next().await.unwrap();
        let told = stream.next().await.unwrap();
        assert_eq!((&told["method"], &told["params"]["uri"]), (&json!("notifications/resources/updated"), &json!("count://now")));
        // A notification that MCP does not define, such as those of a host.
        let counted = json!({"jsonrpc": "2.0", "method": "notifications/counted", "params": {"uri": "count://now"}});
        assert_eq!(session.say(&counted).await.status(), StatusCode::ACCEPTED);
        let told = stream.next().await.unwrap();
        assert_eq!((&told["method"], &told["params"]["uri"]), (&json!("notifications/resources/updated"), &json!("count://now")));
        let mut call = session.call(5, "ask").await;
        let asked = stream.next().await.unwrap();
        assert_eq!(asked["method"], "elicitation/create");
        let said = json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"action": "accept", "content": {"permit": true}}});
        assert_eq!(session.say(&said).await.status(), StatusCode::ACCEPTED);
        assert_eq!(call.next().await.unwrap()["result"]["content"][0]["text"], "permitted\n");
        let ends = server.client.delete(&server.url).bearer_auth(TOKEN).header("Mcp-Session-Id", &session.id);
        assert!(ends.send().await.unwrap().status().is_success());
        let after = session.say(&json!({"jsonrpc": "2.0", "id": 6, "method": "ping"})).await;
        assert_eq!(after.status(), StatusCode::NOT_FOUND);
    })
    .await;
}

#[tokio::test]
async fn requests_that_stand_alone_share_a_connection_and_keep_their_own_ids() {
    with_server(|server| async move {
        let found =
            Events::of(server.request(&modern(7, "server/discover", json!({}))).send().await.unwrap())
                .next()
                .await;
        let found = found.unwrap();
        assert_eq!(
            (&found["id"], &found["result"]["supportedVersions"][0]),
            (&json!(7), &json!("2026-07-28"))
        );
        let both = [("a", 1), ("b", 1)].map(|(token, id)| {
            let call = modern(id, "tools/call", json!({"name": "count", "arguments": {}, "token": token}));
            let request = server.request(&call);
            async move {
                let mut events = Events::of(request.send().await.unwrap());
                loop {
                    let said = events.next().await.unwrap();
                    if said["id"] == id {
                        return said["result"]["content"][0]["text"].clone();
                    }
                    assert_eq!(said["params"]["progressToken"], token);
                }
            }
        });
        let [one, other] = both;
        assert_eq!(tokio::join!(one, other), (json!("counted\n"), json!("counted\n")));
        let read = modern(2, "resources/read", json!({"uri": "count://now"}));
        let read = Events::of(server.request(&read).send().await.unwrap()).next().await.unwrap();
        assert_eq!(read["result"]["contents"][0]["text"], "3");
        let unknown = modern(3, "no/such", json!({}));
        let unknown = server.request(&unknown).send().await.unwrap();
        assert_eq!(unknown.status(), StatusCode::NOT_FOUND);
        let filter = json!({"notifications": {"resourceSubscriptions": ["count://now"]}});
        let mut listens =
            Events::of(server.request(&modern(4, "subscriptions/listen", filter)).send().await.unwrap());
        let acknowledged = listens.next().await.unwrap();
        assert_eq!(acknowledged["method"], "notifications/subscriptions/acknowledged");
        sleep(Duration::from_millis(50)).await;
        let change = modern(5, "tools/call", json!({"name": "change", "arguments": {}}));
        Events::of(server.request(&change).send().await.unwrap()).next().await.unwrap();
        let told = listens.next().await.unwrap();
        assert_eq!(
            (&told["method"], &told["params"]["uri"]),
            (&json!("notifications/resources/updated"), &json!("count://now"))
        );
        assert_eq!(told["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 4);
    })
    .await;
}

#[tokio::test]
async fn what_the_server_refuses_is_refused_over_http_too() {
    with_server(|server| async move {
        for (method, params) in [
            ("tasks/get", json!({"taskId": "none"})),
            ("tasks/update", json!({"taskId": "none", "inputResponses": {}})),
            ("tasks/cancel", json!({"taskId": "none"})),
            ("prompts/get", json!({"name": "none"})),
            ("tools/call", json!({"name": "none", "arguments": {}})),
        ] {
            let response = server.request(&modern(1, method, params)).send().await.unwrap();
            let said = response.text().await.unwrap();
            assert!(said.contains(r#""error":{"#) && !said.contains(r#""result":"#), "{method}: {said}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_call_that_needs_something_of_the_user_comes_again() {
    with_server(|server| async move {
        let ask = |id: u64, more: Value| {
            let mut params = json!({"name": "ask", "arguments": {}, "forms": true});
            params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            server.request(&modern(id, "tools/call", params))
        };
        let needs = Events::of(ask(1, json!({})).send().await.unwrap()).next().await.unwrap();
        assert_eq!(needs["result"]["resultType"], "input_required", "{needs}");
        assert_eq!(needs["result"]["inputRequests"]["permit"]["params"]["message"], "May it count?");
        let said = json!({"permit": {"action": "accept", "content": {"permit": true}}});
        let again = json!({"requestState": needs["result"]["requestState"], "inputResponses": said});
        let answer = Events::of(ask(2, again).send().await.unwrap()).next().await.unwrap();
        assert_eq!(answer["result"]["content"][0]["text"], "permitted\n", "{answer}");
    })
    .await;
}

#[tokio::test]
async fn a_client_that_leaves_cancels_its_call() {
    with_server(|mut server| async move {
        let call = modern(1, "tools/call", json!({"name": "wait", "arguments": {}}));
        let left = tokio::time::timeout(Duration::from_millis(200), server.request(&call).send()).await;
        drop(left);
        let session = server.session(json!({})).await;
        let waits = session.call(2, "wait").await;
        let cancel =
            json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}});
        session.say(&cancel).await;
        drop(waits);
        let both = server.cancelled.wait_for(|count| *count == 2);
        tokio::time::timeout(Duration::from_secs(5), both).await.unwrap().unwrap();
    })
    .await;
}

#[tokio::test]
async fn a_session_beyond_the_bound_is_refused() {
    with_server(|server| async move {
        let mut sessions = Vec::new();
        for _ in 0..32 {
            sessions.push(server.session(json!({})).await);
        }
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "vscode", "version": "1"}});
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params});
        let said = Events::of(server.request(&body).send().await.unwrap()).next().await.unwrap();
        assert!(said["error"]["message"].as_str().unwrap().contains("32 sessions are open"), "{said}");
        let session = sessions.pop().unwrap();
        let ends = server.client.delete(&server.url).bearer_auth(TOKEN).header("Mcp-Session-Id", &session.id);
        ends.send().await.unwrap();
        sleep(Duration::from_millis(100)).await;
        server.session(json!({})).await;
    })
    .await;
}
