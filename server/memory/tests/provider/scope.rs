//! Which workspace a call means, and which it may name.

use std::path::PathBuf;

use serde_json::json;

use crate::support::Machine;

/// The path of the context file that `init_context` makes.
async fn begins(client: &mut crate::support::Client, arguments: serde_json::Value) -> String {
    client.done("init_context", arguments).await["path"].as_str().unwrap().to_owned()
}

fn machine() -> Machine {
    let machine = Machine::new();
    for folder in ["other", "project/sub", "secret"] {
        machine.storage.set_bytes(&format!("home/alice/{folder}/file"), b"");
    }
    machine
}

#[tokio::test(start_paused = true)]
async fn the_order_is_parameter_variable_root_repository_and_folder() {
    let mut machine = machine();
    let mut client = machine.modern();
    assert_eq!(begins(&mut client, json!({})).await, "/home/alice/project/context.md");
    let below = begins(&mut client, json!({"workspace": "/home/alice/project/sub"})).await;
    assert_eq!(below, "/home/alice/project/sub/context.md");
    let relative = client.refused("init_context", json!({"workspace": "sub"})).await;
    assert!(relative.starts_with("FILE_EXISTS: /home/alice/project/sub/"), "{relative}");

    let mut client = machine.legacy(&["/gone", "/home/alice/other"]).await;
    assert_eq!(begins(&mut client, json!({})).await, "/home/alice/other/context.md");
    // A host that sets the variable as the document's examples do, and one that leaves a placeholder in it.
    machine.scope.workspace = Some("/home/alice/secret".to_owned());
    let mut client = machine.legacy(&["/home/alice/other"]).await;
    assert_eq!(begins(&mut client, json!({})).await, "/home/alice/secret/context.md");
    let named = client.refused("init_context", json!({"workspace": "/home/alice/project"})).await;
    assert!(named.starts_with("FILE_EXISTS: /home/alice/project/"), "{named}");
    machine.scope.workspace = Some("${workspaceFolder}".to_owned());
    let mut client = machine.legacy(&["/home/alice/other"]).await;
    let found = client.refused("init_context", json!({"workspace": "${PWD}"})).await;
    assert!(found.starts_with("FILE_EXISTS: /home/alice/other/"), "{found}");
}

#[tokio::test(start_paused = true)]
async fn a_folder_that_no_person_has_opened_is_refused() {
    let mut machine = machine();
    machine.storage.set_bytes("home/alice/secret/context.md", b"# Mine\n");
    let mut client = machine.modern();
    for workspace in
        ["/home/alice/secret", "../secret", "/home/alice", "/", "/home/alice/project/../secret", "/gone"]
    {
        for tool in ["read_context", "init_context", "get_context_summary"] {
            let text = client.refused(tool, json!({"workspace": workspace})).await;
            assert!(text.starts_with("INVALID_PARAMS: workspace: "), "{tool} {workspace}: {text}");
            assert!(!text.contains("Mine"), "{text}");
        }
    }
    let text = client.refused("read_context", json!({"workspace": "/home/alice/secret"})).await;
    assert!(text.contains("entraclaw context init"), "{text}");
    machine.scope.more = vec![PathBuf::from("/home/alice/secret")];
    let mut client = machine.modern();
    let read = client.done("read_context", json!({"workspace": "/home/alice/secret"})).await;
    assert_eq!(read["content"], "# Mine\n");
    // Without a repository only the working folder itself is open.
    machine.scope =
        entraclaw_memory::provider::Scope { cwd: PathBuf::from("/home/alice"), ..Default::default() };
    let mut client = machine.modern();
    let text = client.refused("read_context", json!({"workspace": "secret"})).await;
    assert!(text.starts_with("INVALID_PARAMS: "), "{text}");
    assert_eq!(begins(&mut client, json!({})).await, "/home/alice/context.md");
}

#[tokio::test(start_paused = true)]
async fn a_workspace_with_a_context_file_of_ours_is_open_everywhere() {
    let mut machine = machine();
    machine.scope.cwd = PathBuf::from("/home/alice/other");
    machine.modern().done("init_context", json!({})).await;
    machine.scope.cwd = PathBuf::from("/home/alice/project");
    let mut client = machine.modern();
    let read = client.done("read_context", json!({"workspace": "/home/alice/other"})).await;
    assert_eq!(read["metadata"]["path"], "/home/alice/other/context.md");
}
