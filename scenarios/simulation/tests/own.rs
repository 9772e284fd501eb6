//! The shipped server, judged like any other: no required row may fail in any version, nor in any host.

use assert_cmd::Command;
use serde_json::Value;

#[test]
fn the_own_server_fails_no_row_in_any_version_nor_in_any_host() {
    let folder = tempfile::tempdir().expect("a folder");
    let binary = simulation::command::server_binary(None).expect("cargo works").expect("the server is built");
    let out = folder.path().join("out");
    let output = Command::new(assert_cmd::cargo::cargo_bin!("simulation"))
        .args(["run", "--json", "--timeless", "--full", "--strict", "--server"])
        .arg(format!("'{}' serve", binary.display()))
        .args(["--long-call", r#"wait_for_inbound_message={"timeout_s":12}"#])
        .arg("--env")
        .arg(format!("ENTRACLAW_HOME={}", folder.path().join("home").display()))
        // No server listens there, so the network gets no request.
        .args(["--env", "ENTRACLAW_GRAPH_URL=http://127.0.0.1:9", "--out"])
        .arg(&out)
        .output()
        .expect("it starts");
    let stdout = String::from_utf8_lossy(&output.stdout);
    let lines: Vec<Value> = stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let bad: Vec<String> = lines
        .iter()
        .filter(|line| ["failed", "flaky", "could-not-run"].iter().any(|bad| line["outcome"] == *bad))
        .map(Value::to_string)
        .collect();
    assert!(bad.is_empty(), "{}", bad.join("\n"));
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    for version in hostcheck::conformance::VERSIONS {
        let passed =
            lines.iter().filter(|line| line["column"] == version.as_str() && line["outcome"] == "passed");
        assert!(passed.count() > 70, "too few rows were passed in {version}");
    }
    assert!(lines.iter().any(|line| line["suite"] == "hosts" && line["row"] == "hosts.opens"));
    for file in ["protocol/report.html", "protocol/events.jsonl", "hosts/report.md", "hosts/junit.xml"] {
        assert!(out.join(file).is_file(), "{file}");
    }
}
