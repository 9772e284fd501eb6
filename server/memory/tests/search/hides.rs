//! No secret leaves the search, nor gets into its files.

use std::fmt::Write as _;

use entraclaw_memory::search::{Filter, IndexPlace};
use entraclaw_seams::random::{Random, SplitMix};

use crate::machine::{Machine, OLD, files, search, terms};

#[test]
fn no_secret_is_answered_or_kept() {
    let machine = Machine::new();
    let secrets = [
        "ghp_0123456789abcdefABCDEF",
        "password: hunter2hunter2",
        "https://alice:hunter2hunter2@contoso.com/",
        "Authorization: Bearer hunter2hunter2",
    ];
    for (n, secret) in secrets.iter().enumerate() {
        machine.say("one", "user", &format!("marker{n} {secret} end"), OLD);
    }
    let mut memory = machine.open();
    for n in 0..secrets.len() {
        let answer = search(&mut memory, &format!("marker{n}"));
        let shown = format!("{answer:?}");
        assert!(shown.contains(&format!("marker{n}")), "{shown}");
        assert!(!shown.contains("abcdefABCDEF") && !shown.contains("hunter2"), "{shown}");
    }
    assert!(search(&mut memory, "hunter2hunter2").sessions.is_empty());
    memory.flush().unwrap();
    assert!(search(&mut memory, "hunter2hunter2").sessions.is_empty());
    let catalog = machine.storage.bytes("memory/catalog.json").unwrap();
    assert!(!String::from_utf8_lossy(&catalog).contains("hunter2"));
}

/// Secrets of every kind that the list of secrets knows, each with a part that appears nowhere else.
fn secrets() -> Vec<(String, String)> {
    const PREFIXES: [&str; 12] = [
        "ghp_",
        "github_pat_",
        "gho_",
        "sk-ant-",
        "sk-proj-",
        "xoxb-",
        "glpat-",
        "npm_",
        "AKIA",
        "hf_",
        "pypi-",
        "AIza",
    ];
    const NAMES: [&str; 8] = [
        "password",
        "api_key",
        "client_secret",
        "access_token",
        "refresh_token",
        "secret",
        "passwd",
        "private_key",
    ];
    let random = SplitMix::seeded(21);
    let unique = |len: usize| -> String {
        let letters: Vec<char> = ('a'..='z').chain('A'..='Z').chain('0'..='9').collect();
        (0..len).map(|_| letters[(random.next_u64() >> 33) as usize % letters.len()]).collect()
    };
    let mut all = Vec::new();
    while all.len() < 500 {
        for prefix in PREFIXES {
            let own = unique(40);
            all.push((format!("{prefix}{own}"), own));
        }
        for name in NAMES {
            let own = unique(24);
            all.push((format!("{name}={own}"), own));
            let own = unique(24);
            all.push((format!("\"{name}\": \"{own}\""), own));
        }
        let own = unique(20);
        all.push((format!("https://alice:{own}@contoso.com/repository"), own));
        let own = unique(30);
        all.push((format!("Authorization: Bearer {own}"), own));
        let own = unique(60);
        all.push((format!("-----BEGIN PRIVATE KEY-----\n{own}\n-----END PRIVATE KEY-----"), own));
        let own = unique(32);
        all.push((format!("DefaultEndpointsProtocol=https;AccountName=a;AccountKey={own}=="), own));
        // The parts of a token are split like words.
        let (head, own) = (unique(12), unique(40));
        all.push((format!("eyJ{head}.eyJ{own}.{own}"), own));
    }
    all
}

#[test]
fn five_hundred_secrets_are_in_no_answer_and_in_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let machine = Machine { index: IndexPlace::Folder(folder.path().to_owned()), ..Machine::new() };
    let secrets = secrets();
    for (n, (written, _)) in secrets.iter().enumerate() {
        let session = format!("s{}", n % 25);
        machine.say(
            &session,
            if n % 2 == 0 { "user" } else { "assistant" },
            &format!("marker{n} {written} end"),
            OLD,
        );
        let call = serde_json::json!({
            "type": "assistant",
            "message": {"content": [{"type": "tool_use", "name": "Bash", "input": {"command": format!("echo '{written}'")}}]},
        });
        machine.raw(&session, &call.to_string());
        machine.raw(
            &session,
            &serde_json::json!({"type": "summary", "summary": format!("about {written}")}).to_string(),
        );
    }
    let mut memory = machine.open();
    let refreshed = memory.refresh().unwrap();
    memory.flush().unwrap();
    let mut said = format!("{refreshed:?}");
    for (n, (written, _)) in secrets.iter().enumerate() {
        for query in [format!("marker{n}"), written.clone(), format!("\"marker{n}\" echo")] {
            let answer = memory.search(&query, &Filter::default(), 50).unwrap();
            write!(said, "{answer:?}").unwrap();
        }
    }
    assert!(said.contains("marker499"));
    let kept =
        files(folder.path()).into_iter().map(|(_, _, bytes)| String::from_utf8_lossy(&bytes).into_owned());
    let catalog = String::from_utf8(machine.storage.bytes("memory/catalog.json").unwrap()).unwrap();
    let everything: Vec<String> =
        kept.chain([catalog, terms(folder.path()), said]).map(|text| text.to_lowercase()).collect();
    let is_shown = |own: &str| everything.iter().any(|text| text.contains(&own.to_lowercase()));
    let shown: Vec<&String> =
        secrets.iter().filter(|(_, own)| is_shown(own)).map(|(written, _)| written).collect();
    assert!(shown.is_empty(), "{} of {}: {:?}", shown.len(), secrets.len(), &shown[..shown.len().min(20)]);
}
