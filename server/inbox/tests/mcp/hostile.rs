//! Whatever comes in, the session lives on, and every request gets exactly one answer.

use std::collections::BTreeMap;

use entraclaw_mcp::Exit;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::{Home, Host, modern_meta};

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap()
        .block_on(future)
}

/// Whether the session still answers; returns everything that came before.
async fn still_lives(host: &mut Host) -> Vec<Value> {
    host.send_bytes(b"\n").await;
    host.request("are you there", "ping", json!({})).await;
    let mut before = Vec::new();
    loop {
        let message = host.next().await;
        if message["id"] == "are you there" {
            assert_eq!(message["result"], json!({}), "{message}");
            return before;
        }
        before.push(message);
    }
}

/// Pieces that lines are made of: valid, nearly valid, and neither.
fn piece() -> impl Strategy<Value = Vec<u8>> {
    let word = prop_oneof![
        Just("{\"jsonrpc\":\"2.0\",\"id\":"),
        Just("7"),
        Just("\"a\""),
        Just(",\"method\":\"tools/call\""),
        Just(",\"method\":\"initialize\""),
        Just(",\"params\":{\"name\":\"inbox_pull\",\"arguments\":{}}"),
        Just("}"),
        Just("]"),
        Just("["),
        Just("{"),
        Just(","),
        Just("null"),
        Just("\n"),
        Just("\u{feff}"),
        Just("\"\\"),
    ];
    prop_oneof![
        3 => word.prop_map(|word| word.as_bytes().to_vec()),
        1 => proptest::collection::vec(any::<u8>(), 0..20),
    ]
}

/// A request of any kind, without its id.
fn request() -> impl Strategy<Value = Value> {
    let method = prop_oneof![
        Just("ping"),
        Just("initialize"),
        Just("server/discover"),
        Just("tools/list"),
        Just("tools/call"),
        Just("resources/list"),
        Just("resources/read"),
        Just("resources/subscribe"),
        Just("logging/setLevel"),
        Just("prompts/list"),
        Just("nonsense"),
    ];
    let tool = prop_oneof![
        Just("inbox_pull"),
        Just("inbound_queue_stats"),
        Just("wait_for_inbound_message"),
        Just("send_teams_message"),
        Just("nothing"),
    ];
    let arguments = prop_oneof![
        Just(json!({})),
        Just(json!({"timeout_s": 3})),
        Just(json!({"limit": "x"})),
        Just(json!({"chat_id": "c", "content": "x"})),
        Just(json!([])),
    ];
    (method, tool, arguments, any::<bool>(), any::<bool>()).prop_map(
        |(method, tool, arguments, modern, broken)| {
            let mut params =
                json!({"name": tool, "arguments": arguments, "uri": "entraclaw://inbox", "level": "info"});
            if modern {
                params["_meta"] = modern_meta("some-host");
            }
            let mut request = json!({"jsonrpc": "2.0", "method": method, "params": params});
            if broken {
                request["jsonrpc"] = "1.0".into();
            }
            request
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases / 4))]

    #[test]
    fn no_bytes_end_a_session(pieces in proptest::collection::vec(piece(), 0..60), opened: bool) {
        block_on(async {
            let home = Home::new();
            home.receive([1]);
            let mut host = if opened { home.host("some-host").await } else { home.connect() };
            for piece in pieces {
                host.send_bytes(&piece).await;
            }
            still_lives(&mut host).await;
            assert_eq!(host.finish().await.1, Exit::InputClosed);
        });
    }

    #[test]
    fn every_request_gets_exactly_one_answer(requests in proptest::collection::vec(request(), 1..40)) {
        block_on(async {
            let home = Home::new();
            home.receive(1..=3);
            let mut host = home.connect();
            let count = requests.len();
            for (id, mut request) in requests.into_iter().enumerate() {
                request["id"] = id.into();
                host.send(request).await;
            }
            // Longer than any call here waits.
            tokio::time::sleep(std::time::Duration::from_secs(60)).await;
            let mut answers: BTreeMap<u64, u32> = BTreeMap::new();
            for message in still_lives(&mut host).await {
                let Some(id) = message.get("id") else { continue };
                prop_assert!(message.get("result").is_some() != message.get("error").is_some(), "{}", message);
                *answers.entry(id.as_u64().unwrap()).or_default() += 1;
            }
            prop_assert_eq!(answers, (0..count as u64).map(|id| (id, 1)).collect::<BTreeMap<_, _>>());
            Ok(())
        })?;
    }
}
