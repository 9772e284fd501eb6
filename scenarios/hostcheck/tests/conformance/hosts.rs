//! Tools that a host leaves out, cuts or never calls: a server whose tools break one known rule of a host
//! fails the row for it on that host, and passes on hosts that accept them. A feature that was not tried on a
//! host is reported as unknown.

use std::rc::Rc;
use std::sync::Arc;

use hostcheck::conformance::{self, Findings, Outcome, Plan, Target, Wishes};
use rstest::rstest;
use schemas::Version;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream};

/// A server of the older era: its tools, the version in its answer if it is not the host's, the code of its
/// refusals, and its `serverInfo`.
#[derive(Clone)]
struct Older {
    fault: &'static str,
    tools: Value,
    version: Option<&'static str>,
    refuses_with: i64,
    info: Value,
}

/// A server that starts longer than Codex lets its first turn wait for tools.
const SLOW_START: &str = "slow start";

/// A server whose calls last longer than a run waits for them.
const SLOW_CALL: &str = "slow call";

/// A server that a probe breaks: it is silent to it and ends at the next request.
const ENDS_AFTER_A_PROBE: &str = "ends after a probe";

/// What a server on FastMCP of the Python SDK 1 writes for `ctx.info`, without declaring `logging`.
const ROOTS: &str = concat!(r#"{"jsonrpc":"2.0","id":"r","method":"roots/list"}"#, "\n");
const SAMPLING: &str = concat!(
    r#"{"jsonrpc":"2.0","id":"s","method":"sampling/createMessage","params":{"messages":[],"maxTokens":9}}"#,
    "\n"
);
const LOG: &str = concat!(
    r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"working"}}"#,
    "\n"
);

/// A server of the older era with these tools.
fn with_tools(tools: Value) -> Older {
    Older {
        fault: "",
        tools,
        version: None,
        refuses_with: -32601,
        info: json!({"name": "tools", "version": "1"}),
    }
}

async fn serve(server: Older, input: DuplexStream, mut output: DuplexStream) -> i32 {
    if server.fault == SLOW_START {
        tokio::time::sleep(std::time::Duration::from_secs(2)).await;
    }
    let mut lines = BufReader::new(input).lines();
    let mut broken = false;
    while let Ok(Some(line)) = lines.next_line().await {
        let message: Value = serde_json::from_str(&line).expect("hosts write JSON");
        let Some(id) = message.get("id") else { continue };
        if broken {
            break;
        }
        broken = server.fault == ENDS_AFTER_A_PROBE && message["method"] == "server/discover";
        if broken {
            continue;
        }
        if server.fault == SLOW_CALL && message["method"] == "tools/call" {
            tokio::time::sleep(std::time::Duration::from_secs(60)).await;
        }
        let answer = match message["method"].as_str() {
            Some("initialize") => json!({"result": {
                "protocolVersion": server.version.map_or_else(|| message["params"]["protocolVersion"].clone(), Value::from),
                "capabilities": {"tools": {}},
                "serverInfo": server.info,
            }}),
            Some("tools/list") => json!({"result": {"tools": server.tools}}),
            Some("tools/call") => json!({"result": {"content": [{"type": "text", "text": "done"}]}}),
            _ => json!({"error": {"code": server.refuses_with, "message": "no such method"}}),
        };
        let mut answer = answer;
        answer["jsonrpc"] = json!("2.0");
        answer["id"] = id.clone();
        let line = with_fault(server.fault, message["method"].as_str().unwrap_or_default(), answer, &message);
        if output.write_all(&line).await.is_err() {
            break;
        }
    }
    0
}

/// An answer as bytes, with a fault: its name, and after `@` the only method that it is shown at.
fn with_fault(fault: &str, method: &str, mut answer: Value, asked: &Value) -> Vec<u8> {
    let (name, only) = fault.split_once('@').unwrap_or((fault, ""));
    if !only.is_empty() && only != method {
        return format!("{answer}\n").into_bytes();
    }
    let (lists, calls) = (method == "tools/list", method == "tools/call");
    let (mut before, mut after) = ("", "\n");
    match name {
        "string id" if asked["id"].is_number() => answer["id"] = json!(asked["id"].to_string()),
        "no jsonrpc" => drop(answer.as_object_mut().and_then(|members| members.remove("jsonrpc"))),
        "another member" => answer["more"] = json!(1),
        "null error" if answer.get("result").is_some() => answer["error"] = Value::Null,
        "error without a code" if calls => {
            answer = json!({"jsonrpc": "2.0", "id": asked["id"], "error": {"message": "no"}});
        }
        "null result" if calls => answer["result"] = Value::Null,
        "null cursor" if lists => answer["result"]["nextCursor"] = Value::Null,
        "same cursor" if lists => answer["result"]["nextCursor"] = json!("again"),
        "endless list" if lists => {
            let page = asked.pointer("/params/cursor").and_then(Value::as_str).map_or(0, str::len);
            answer["result"]["nextCursor"] = json!("c".repeat(page + 1));
            if page > 0 {
                answer["result"]["tools"] = json!([]);
            }
        }
        "content is a text" if calls => answer["result"]["content"] = json!("done"),
        "no content" if calls => answer["result"] = json!({}),
        "null isError" if calls => answer["result"]["isError"] = Value::Null,
        "isError is a text" if calls => answer["result"]["isError"] = json!("false"),
        "banner" => before = "Starting up\n",
        "empty line" => before = "\n",
        "undeclared log" => before = LOG,
        "asks for roots" => before = ROOTS,
        "asks for sampling" => before = SAMPLING,
        "declared log" if method == "initialize" => answer["result"]["capabilities"]["logging"] = json!({}),
        "declared log" if calls => before = LOG,
        "log line" => before = "{\"level\":\"info\"}\n",
        "null id" => {
            before = "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,\"message\":\"no\"}}\n";
        }
        "byte order mark" => before = "\u{feff}",
        "batch" => (before, after) = ("[", "]\n"),
        "Latin-1" => {
            let mut line = format!("{answer}\n").into_bytes();
            let text =
                line.windows(4).position(|bytes| bytes == b"dddd" || bytes == b"done").expect("a text");
            line[text + 3] = 0xe9;
            return line;
        }
        _ => {}
    }
    format!("{before}{answer}{after}").into_bytes()
}

/// The newest versions, in the order of the columns below.
const NEWEST: [&str; 6] = [
    "claude-code@2.1.330",
    "copilot-cli@1.0.102",
    "codex@0.169.0",
    "gemini-cli@0.61.0",
    "opencode@1.18.33",
    "qwen-code@0.24.4",
];

/// What was seen on the real programs: `+` works, `-` does not, `.` can't be asked, as the host does not open.
#[rstest]
#[case("string id", "hosts.opens", "++++++")]
#[case("string id", "hosts.lines", "++++++")]
#[case("string id@tools/call", "hosts.call", "++++++")]
#[case("no jsonrpc@initialize", "hosts.opens", "------")]
#[case("another member@initialize", "hosts.opens", "-++---")]
#[case("another member@tools/call", "hosts.call", "-++---")]
#[case("null error@initialize", "hosts.opens", "-+----")]
#[case("null error@tools/call", "hosts.call", "-+----")]
#[case("byte order mark@initialize", "hosts.opens", "-++---")]
#[case("byte order mark@tools/call", "hosts.call", "-++---")]
#[case("Latin-1@tools/list", "hosts.tools", "+.-+++")]
#[case("Latin-1@tools/call", "hosts.call", "+--+++")]
#[case("batch@tools/call", "hosts.call", "------")]
#[case("banner@initialize", "hosts.opens", "++++++")]
#[case("banner@tools/list", "hosts.tools", "+++-++")]
#[case("banner@tools/call", "hosts.call", "++++++")]
#[case("banner@tools/call", "hosts.lines", "++++++")]
#[case("log line@tools/list", "hosts.tools", "+++-++")]
#[case("empty line@tools/list", "hosts.tools", "+++-++")]
#[case("undeclared log@tools/list", "hosts.tools", "++++++")]
#[case("undeclared log@tools/list", "hosts.lines", "++++++")]
#[case("undeclared log@tools/call", "hosts.call", "++++++")]
#[case("undeclared log@tools/call", "hosts.lines", "++++++")]
// Some of these hosts have not declared it, and answer it nevertheless.
#[case("asks for roots@tools/call", "hosts.call", "++++++")]
#[case("asks for roots@tools/call", "hosts.lines", "++++++")]
#[case("asks for sampling@tools/call", "hosts.call", "++++++")]
#[case("null id@initialize", "hosts.opens", "+--+++")]
#[case("null id@tools/call", "hosts.call", "++++++")]
#[case("null cursor", "hosts.tools", "-++---")]
#[case("same cursor", "hosts.tools", "+--+--")]
#[case("endless list", "hosts.tools", "+--+-+")]
#[case("content is a text", "hosts.call", "------")]
#[case("no content", "hosts.call", "+--+++")]
#[case("null isError", "hosts.call", "-++---")]
#[case("isError is a text", "hosts.call", "------")]
#[case("null result", "hosts.call", "------")]
#[case("error without a code", "hosts.call", "------")]
fn a_fault_costs_what_it_was_seen_to_cost(
    #[case] fault: &'static str,
    #[case] row: &str,
    #[case] seen: &str,
) {
    let server = Older { fault, ..with_tools(described(10)) };
    cells(&server, row, seen);
}

/// One of two tools is declared in a way that some hosts do not take.
#[rstest]
#[case(json!({"inputSchema": null}), "hosts.tools", "-+----")]
#[case(json!({"inputSchema": {"type": ["object", "null"], "properties": {}}}), "hosts.tools", "-++---")]
#[case(json!({"inputSchema": {"type": ["object", "null"], "properties": {}}}), "hosts.schemas", "-++---")]
#[case(json!({"inputSchema": {"type": "object", "properties": {"a": {"type": ["string", "null"]}}}}), "hosts.schemas", "++++++")]
#[case(json!({"description": null}), "hosts.tools", "-++---")]
#[case(json!({"outputSchema": null}), "hosts.tools", "-++-+-")]
#[case(json!({"description": 5}), "hosts.tools", "-+----")]
fn a_declaration_costs_what_it_was_seen_to_cost(
    #[case] declared: Value,
    #[case] row: &str,
    #[case] seen: &str,
) {
    cells(&with_tools(json!([tool("a", &json!({})), tool("b", &declared)])), row, seen);
}

#[rstest]
#[case("string id", "hosts.opens", "`faults.string_ids`")]
#[case("banner@tools/list", "hosts.tools", "`faults.noise`")]
#[case("undeclared log@tools/call", "hosts.call", "`faults.undeclared_logs`")]
#[case("undeclared log@tools/call", "hosts.lines", "`faults.undeclared_logs`")]
#[case("null cursor", "hosts.tools", "`faults.null_cursor`")]
#[case("another member@initialize", "hosts.opens", "`faults.extra_members`")]
fn a_fault_that_was_not_tried_on_a_version_is_unknown_there(
    #[case] fault: &'static str,
    #[case] row: &str,
    #[case] says: &str,
) {
    for host in ["claude-code@2.1.317", "copilot-cli@1.0.83"] {
        expect(Older { fault, ..with_tools(described(10)) }, host, row, (UNKNOWN, says));
    }
}

#[rstest]
#[case("string id", "hosts.opens", PASSES)]
#[case("banner@tools/list", "hosts.tools", PASSES)]
#[case("undeclared log@tools/call", "hosts.call", PASSES)]
#[case("null cursor", "hosts.tools", FAILS)]
#[case("another member@initialize", "hosts.opens", FAILS)]
#[case("endless list", "hosts.pages", FAILS)]
fn a_version_on_which_the_faults_were_tried_again_knows_them(
    #[case] fault: &'static str,
    #[case] row: &str,
    #[case] wanted: &str,
) {
    let server = Older { fault, ..with_tools(described(10)) };
    expect(server, "claude-code@2.0.73", row, (wanted, ""));
}

#[test]
fn a_log_message_that_was_declared_or_comes_before_the_opening_needs_no_fact() {
    for fault in ["declared log", "undeclared log@initialize"] {
        for row in ["hosts.opens", "hosts.call", "hosts.lines"] {
            let server = Older { fault, ..with_tools(described(10)) };
            expect(server, "claude-code@2.1.317", row, (PASSES, ""));
        }
    }
}

#[test]
fn a_log_message_that_was_not_declared_breaks_the_protocol_although_it_costs_nothing() {
    let judge = |fault| {
        let server = Older { fault, ..with_tools(described(10)) };
        let found = find(server, "lifecycle.only-negotiated", &[]);
        let [judged] = found.protocol.as_slice() else { panic!("{:?}", found.protocol) };
        judged.outcome.clone()
    };
    let outcome = judge("undeclared log@tools/call");
    let Outcome::Failed(evidence) = &outcome else { panic!("{outcome:?}") };
    assert!(evidence[0].message.contains("needs the capability `logging`"), "{evidence:?}");
    assert_eq!(judge("declared log"), Outcome::Passed);
}

fn cells(server: &Older, row: &str, seen: &str) {
    let cells = NEWEST.iter().map(|host| match judged(server.clone(), host, row) {
        Outcome::Passed => '+',
        Outcome::Failed(_) => '-',
        Outcome::Unknown(_) => '?',
        Outcome::CouldNotRun(reason) if reason.contains("does not open") => '.',
        other => panic!("{row} on {host}: {other:?}"),
    });
    assert_eq!(cells.collect::<String>(), seen, "{} {row}: {NEWEST:?}", server.fault);
}

/// The outcome of one row on one host.
fn judged(server: Older, host: &str, row: &str) -> Outcome {
    let found = find(server, row, &[host]);
    let [judged] = found.hosts.as_slice() else { panic!("{row} on {host}: {:?}", found.hosts) };
    judged.outcome.clone()
}

/// What is found by one row. A row about hosts is asked on these, and a row of the protocol in the newest version of the
/// older era.
fn find(server: Older, row: &str, on: &[&str]) -> Findings {
    let rows = conformance::rows().expect("the rows are sound");
    let hosts = hostcheck::host::all().expect("the profiles are sound");
    let call_all_tools = server.fault != SLOW_START;
    let plan = Plan {
        target: Target::Inside(Rc::new(move |input, output| Box::pin(serve(server.clone(), input, output)))),
        name: None,
        wishes: Arc::new(Wishes { call_all_tools, ..Wishes::default() }),
        rows: rows.into_iter().filter(|placed| placed.row.id == row).collect(),
        versions: if on.is_empty() { vec![Version::V2025_11_25] } else { Vec::new() },
        full: true,
        named: on.is_empty(),
        demanded: false,
        hosts: hosts.iter().filter(|known| on.contains(&known.id.as_str())).cloned().collect(),
        at_once: 1,
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .expect("a runtime");
    tokio::task::LocalSet::new()
        .block_on(&runtime, conformance::judge(&plan, &|_| {}, &conformance::Stop::default()))
}

fn tool(name: &str, more: &Value) -> Value {
    let mut tool =
        json!({"name": name, "description": "does it", "inputSchema": {"type": "object", "properties": {}}});
    for (member, value) in more.as_object().into_iter().flatten() {
        tool[member] = value.clone();
    }
    tool
}

fn long_name() -> Value {
    json!([tool(&"n".repeat(127), &json!({}))])
}

fn two_names() -> Value {
    json!([tool("a.b", &json!({})), tool("a/b", &json!({}))])
}

fn same_names() -> Value {
    json!([tool("a", &json!({})), tool("a", &json!({}))])
}

fn two_long_names() -> Value {
    let long = "n".repeat(70);
    json!([tool(&format!("{long}one"), &json!({})), tool(&format!("{long}two"), &json!({}))])
}

fn described(characters: usize) -> Value {
    json!([tool("a", &json!({"description": "d".repeat(characters)}))])
}

fn task_only() -> Value {
    json!([tool("a", &json!({"execution": {"taskSupport": "required"}}))])
}

fn with_schema(schema: &Value) -> Value {
    json!([tool("a", &json!({"inputSchema": schema}))])
}

const FAILS: &str = "failed";
const PASSES: &str = "passed";
const UNKNOWN: &str = "unknown";
const NONE: &str = "not-applicable";

#[rstest]
#[case(long_name(), "claude-code@2.1.330", "hosts.names", FAILS, "more than 128 characters")]
#[case(long_name(), "copilot-cli@1.0.102", "hosts.names", PASSES, "")]
#[case(two_names(), "codex@0.169.0", "hosts.names-distinct", FAILS, "one name for the model")]
#[case(two_names(), "gemini-cli@0.61.0", "hosts.names-distinct", PASSES, "")]
#[case(same_names(), "gemini-cli@0.61.0", "hosts.names-distinct", FAILS, "several tools have one name")]
#[case(two_long_names(), "copilot-cli@1.0.102", "hosts.names-distinct", FAILS, "one name for the model")]
#[case(described(4_097), "claude-code@2.1.330", "hosts.descriptions", FAILS, "cuts descriptions")]
#[case(described(4_096), "claude-code@2.1.330", "hosts.descriptions", PASSES, "")]
#[case(described(2_049), "claude-code@2.1.237", "hosts.descriptions", FAILS, "cuts descriptions")]
#[case(described(20_000), "codex@0.169.0", "hosts.descriptions", PASSES, "")]
#[case(task_only(), "opencode@1.18.33", "hosts.task-tools", FAILS, "sends no call")]
#[case(task_only(), "opencode@1.18.33", "hosts.call", FAILS, "a call brings no answer")]
#[case(task_only(), "qwen-code@0.24.4", "hosts.task-tools", PASSES, "")]
#[case(task_only(), "qwen-code@0.24.4", "hosts.call", PASSES, "")]
#[case(task_only(), "claude-code@2.1.330", "hosts.task-tools", UNKNOWN, "schemas.task_only")]
#[case(described(10), "claude-code@2.1.330", "hosts.task-tools", NONE, "no tool runs as a task only")]
#[case(with_schema(&json!({"type": "object"})), "copilot-cli@1.0.102", "hosts.schemas", PASSES, "")]
#[case(
    with_schema(&json!({"type": "object"})),
    "claude-code@2.1.317",
    "hosts.schemas",
    UNKNOWN,
    "`schemas.without_properties` (as in `a`)"
)]
#[case(
    with_schema(&json!({"type": "object", "properties": {}, "anyOf": [{"required": ["a"]}]})),
    "copilot-cli@1.0.83",
    "hosts.schemas",
    UNKNOWN,
    "`schemas.root_union`"
)]
#[case(
    with_schema(&json!({"type": "object", "properties": {"a": {"type": "string"}}})),
    "opencode@1.18.33",
    "hosts.schemas",
    PASSES,
    ""
)]
fn a_tool_is_judged_by_the_known_facts_of_the_host(
    #[case] tools: Value,
    #[case] host: &str,
    #[case] row: &str,
    #[case] wanted: &str,
    #[case] says: &str,
) {
    expect(with_tools(tools), host, row, (wanted, says));
}

fn expect(server: Older, host: &str, row: &str, (wanted, says): (&str, &str)) {
    let outcome = judged(server, host, row);
    let (word, said) = match &outcome {
        Outcome::Passed => (PASSES, String::new()),
        Outcome::Failed(evidence) => {
            (FAILS, evidence.iter().map(|one| one.message.as_str()).collect::<Vec<_>>().join("\n"))
        }
        Outcome::Unknown(reason) => (UNKNOWN, reason.clone()),
        Outcome::NotApplicable(reason) => (NONE, reason.clone()),
        other => panic!("{row} on {host}: {other:?}"),
    };
    assert!(word == wanted && said.contains(says), "{row} on {host}: {outcome:?}");
}

/// One of two tools has a schema that MCP itself does not allow.
#[rstest]
#[case("opencode@1.18.33", "hosts.opens", PASSES, "")]
#[case("opencode@1.18.33", "hosts.tools", FAILS, "2 of 2 tools do not reach the model")]
#[case("opencode@1.18.33", "hosts.schemas", FAILS, "refuses the whole list")]
#[case("copilot-cli@1.0.60", "hosts.tools", FAILS, "2 of 2 tools")]
#[case("copilot-cli@1.0.102", "hosts.tools", PASSES, "")]
#[case("copilot-cli@1.0.83", "hosts.tools", UNKNOWN, "`schemas.root_not_object`")]
#[case("claude-code@2.1.330", "hosts.tools", FAILS, "2 of 2 tools")]
#[case("claude-code@2.1.317", "hosts.tools", UNKNOWN, "`schemas.root_not_object`")]
fn one_tool_without_a_type_costs_all_of_them_where_the_host_reads_by_a_schema(
    #[case] host: &str,
    #[case] row: &str,
    #[case] wanted: &str,
    #[case] says: &str,
) {
    let tools = json!([tool("a", &json!({})), tool("b", &json!({"inputSchema": {}}))]);
    expect(with_tools(tools), host, row, (wanted, says));
}

#[rstest]
#[case("opencode@1.18.33", FAILS, "`serverInfo` has no name or no version")]
#[case("codex@0.169.0", FAILS, "`serverInfo` has no name or no version")]
#[case("copilot-cli@1.0.60", FAILS, "`serverInfo` has no name or no version")]
#[case("claude-code@2.1.330", FAILS, "`serverInfo` has no name or no version")]
#[case("claude-code@2.1.317", UNKNOWN, "`schemas.server_info`")]
#[case("gemini-cli@0.61.0", FAILS, "`serverInfo` has no name or no version")]
fn a_server_that_does_not_say_its_version_is_given_up_where_the_host_wants_it(
    #[case] host: &str,
    #[case] wanted: &str,
    #[case] says: &str,
) {
    let server = Older { info: json!({"name": "tools"}), ..with_tools(described(10)) };
    expect(server, host, "hosts.opens", (wanted, says));
    expect(with_tools(described(10)), host, "hosts.opens", (PASSES, ""));
}

#[test]
fn a_server_of_an_older_version_is_asked_for_its_tools_in_that() {
    for version in ["2024-11-05", "2025-03-26"] {
        let server = Older { version: Some(version), ..with_tools(described(10)) };
        for row in ["hosts.tools", "hosts.call"] {
            let outcome = judged(server.clone(), "claude-code@2.1.330", row);
            assert_eq!(outcome, Outcome::Passed, "{row} in {version}");
        }
    }
}

#[test]
fn a_server_that_is_given_up_for_its_version_is_told_what_the_host_offers() {
    let server = Older { version: Some("2025-11-25"), ..with_tools(described(10)) };
    let outcome = judged(server, "gemini-cli@0.61.0", "hosts.opens");
    let Outcome::Failed(evidence) = &outcome else { panic!("{outcome:?}") };
    let message = &evidence[0].message;
    assert!(message.ends_with("\"2025-11-25\" is not supported; this host offers 2025-06-18"), "{message}");
    let right = evidence[0].expected.as_deref().unwrap_or_default();
    assert!(right.contains("2025-03-26, 2025-06-18"), "{right}");
}

#[test]
fn a_server_that_a_probe_breaks_is_told_of_the_probe() {
    let server = Older { fault: ENDS_AFTER_A_PROBE, ..with_tools(described(10)) };
    let says = "the server ended during the handshake, which begins with `server/discover`";
    expect(server.clone(), "claude-code@2.1.330", "hosts.opens", (FAILS, says));
    expect(server, "gemini-cli@0.61.0", "hosts.opens", (PASSES, ""));
}

#[test]
fn a_server_with_sessions_only_is_not_bound_to_the_codes_of_the_version_without() {
    let server = Older { refuses_with: -32002, ..with_tools(described(10)) };
    assert_eq!(judged(server, "claude-code@2.1.330", "hosts.lines"), Outcome::Passed);
}

#[test]
fn the_tools_of_a_slow_server_are_waited_for_though_the_first_turn_begins_without_them() {
    let server = Older { fault: SLOW_START, ..with_tools(described(10)) };
    assert_eq!(judged(server, "codex@0.169.0", "hosts.tools"), Outcome::Passed);
}

/// Codex waits five minutes for a call, and a run does not.
#[test]
fn of_a_call_that_lasts_longer_than_a_run_waits_nothing_is_known() {
    let server = || Older { fault: SLOW_CALL, ..with_tools(described(10)) };
    let Outcome::Unknown(reason) = judged(server(), "codex@0.169.0", "hosts.call") else {
        panic!("it is told")
    };
    assert!(reason.ends_with("still ran after 40 s, and this host waits longer"), "{reason}");
    let result = judged(server(), "codex@0.169.0", "hosts.result-whole");
    assert_eq!(result, Outcome::CouldNotRun("a call still ran when the host ended".to_owned()));
}
