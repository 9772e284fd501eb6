//! The sockets of Qwen Code's protocol on a real machine: what is written to the session, what is received, and the checks
//! of both ends. Unix only, as other systems don't have this wake-up.
#![cfg(unix)]
#![expect(clippy::disallowed_methods, reason = "tests make and look at real files")]

use std::collections::BTreeMap;
use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use entraclaw::wake_ups::ProductionWakeUps;
use entraclaw_inbox::wake_up::{PeerHost, Receipt, ReceiptStatus, WakeUpError, WakeUpRequest, WakeUps as _};
use entraclaw_session::config::Secret;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{UnixListener, UnixStream};

/// A session's inbox in a folder of its own.
struct Session {
    folder: TempDir,
    listener: UnixListener,
}

impl Session {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(folder.path().join("session.sock")).unwrap();
        Self { folder, listener }
    }

    fn socket(&self) -> PathBuf {
        self.folder.path().join("session.sock")
    }

    fn own(&self) -> PathBuf {
        self.folder.path().join("run")
    }

    fn wake_ups(&self) -> ProductionWakeUps {
        wake_ups(self.socket(), vec![self.own()])
    }

    /// The two lines of one message.
    async fn message(&self) -> (Value, Value) {
        let (mut stream, _) = self.listener.accept().await.unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).await.unwrap();
        let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        <[Value; 2]>::try_from(lines).unwrap().into()
    }
}

fn wake_ups(socket: PathBuf, folders: Vec<PathBuf>) -> ProductionWakeUps {
    let host = PeerHost { socket, token: Secret::new("theirs"), folders };
    ProductionWakeUps::new(BTreeMap::new()).with_peer(Some(host))
}

fn request(id: &str) -> WakeUpRequest {
    WakeUpRequest::Peer { id: id.to_owned(), text: "[Entraclaw] secret words\n> ü".to_owned() }
}

fn mode(path: &Path) -> u32 {
    std::fs::symlink_metadata(path).unwrap().permissions().mode() & 0o777
}

async fn say(to: &Value, token: &Value, status: &str, id: &str) {
    let mut stream = UnixStream::connect(to.as_str().unwrap()).await.unwrap();
    let auth = json!({"msgV": 1, "type": "auth", "token": token});
    let frame = json!({
        "msgV": 1, "msgId": "r", "type": "control", "action": "delivery_status", "status": status,
        "origMsgId": id, "from": "/x.sock", "reason": "why",
    });
    stream.write_all(format!("{auth}\n{frame}\n").as_bytes()).await.unwrap();
}

#[tokio::test]
async fn a_message_is_sent_and_its_receipt_comes_to_a_private_socket() {
    let session = Session::new();
    let wake_ups = session.wake_ups();
    assert!(wake_ups.has_peer() && !ProductionWakeUps::new(BTreeMap::new()).has_peer());
    let (sent, (auth, frame)) = tokio::join!(wake_ups.wake(request("ec1")), session.message());
    sent.unwrap();
    assert_eq!(auth, json!({"msgV": 1, "type": "auth", "token": "theirs"}));
    assert_eq!((&frame["type"], &frame["msgId"], &frame["msgV"]), (&json!("user"), &json!("ec1"), &json!(1)));
    assert_eq!(frame["message"], json!({"role": "user", "content": "[Entraclaw] secret words\n> ü"}));
    assert_eq!((frame.get("toSessionId"), frame["replyToken"].as_str().unwrap().len()), (None, 64));
    let inbox = PathBuf::from(frame["from"].as_str().unwrap());
    assert_eq!((mode(&inbox), mode(inbox.parent().unwrap())), (0o600, 0o700));

    say(&frame["from"], &json!("guessed"), "delivered", "ec1").await;
    UnixStream::connect(&inbox).await.unwrap().write_all(&vec![0xff; 100_000]).await.unwrap_or_default();
    say(&frame["from"], &frame["replyToken"], "held", "ec1").await;
    let held = Receipt { ids: vec!["ec1".to_owned()], status: ReceiptStatus::Held };
    assert_eq!(wake_ups.receipt().await, held);
    // Dropping the future in between loses no receipt.
    drop(wake_ups.receipt());
    say(&frame["from"], &frame["replyToken"], "delivered", "ec1").await;
    assert_eq!(wake_ups.receipt().await.status, ReceiptStatus::Delivered);
    drop(wake_ups);
    assert!(!inbox.exists(), "it is removed at the end");
}

#[tokio::test]
async fn a_path_that_is_not_the_sessions_is_refused_before_anything_is_written() {
    let session = Session::new();
    let folder = session.folder.path();
    symlink(session.socket(), folder.join("link.sock")).unwrap();
    std::fs::write(folder.join("file.sock"), "").unwrap();
    let open = folder.join("open");
    std::fs::create_dir(&open).unwrap();
    let _open = UnixListener::bind(open.join("s.sock")).unwrap();
    std::fs::set_permissions(&open, Permissions::from_mode(0o777)).unwrap();
    let left = folder.join("left.sock");
    drop(UnixListener::bind(&left).unwrap());
    for (socket, wanted) in [
        (folder.join("link.sock"), "no socket"),
        (folder.join("file.sock"), "no socket"),
        (folder.join("gone.sock"), "No such file"),
        (open.join("s.sock"), "other users"),
        (left, "refused"),
        (PathBuf::from("rel.sock"), "absolute"),
    ] {
        let error = wake_ups(socket, vec![session.own()]).wake(request("ec1")).await.unwrap_err();
        assert!(error.is_certain() && error.to_string().contains(wanted), "{error}");
        assert!(!error.to_string().contains("secret") && !error.to_string().contains("theirs"), "{error}");
    }
    assert_eq!(std::fs::read_to_string(folder.join("file.sock")).unwrap(), "");
}

#[tokio::test]
async fn our_own_inbox_is_never_in_a_folder_that_others_can_enter() {
    let session = Session::new();
    let (open, linked) = (session.folder.path().join("open"), session.folder.path().join("linked"));
    std::fs::create_dir(&open).unwrap();
    std::fs::set_permissions(&open, Permissions::from_mode(0o755)).unwrap();
    std::fs::create_dir(session.own()).unwrap();
    std::fs::set_permissions(session.own(), Permissions::from_mode(0o700)).unwrap();
    symlink(session.own(), &linked).unwrap();
    let long = session.folder.path().join("l".repeat(100));
    for folder in [open.clone(), linked, long.clone(), PathBuf::from("/no/such/folder")] {
        let error = wake_ups(session.socket(), vec![folder]).wake(request("ec1")).await.unwrap_err();
        assert!(matches!(error, WakeUpError::Inbox { .. }) && error.is_certain(), "{error}");
    }
    let wake_ups = wake_ups(session.socket(), vec![open, long, session.own()]);
    let (sent, (_, frame)) = tokio::join!(wake_ups.wake(request("ec1")), session.message());
    sent.unwrap();
    assert!(Path::new(frame["from"].as_str().unwrap()).starts_with(session.own()));
}

#[tokio::test]
async fn sockets_of_ended_processes_are_removed_and_others_stay() {
    let session = Session::new();
    std::fs::create_dir(session.own()).unwrap();
    std::fs::set_permissions(session.own(), Permissions::from_mode(0o700)).unwrap();
    let dead = session.own().join("qwen-1-00000000.sock");
    drop(UnixListener::bind(&dead).unwrap());
    let alive = session.own().join("qwen-2-00000000.sock");
    let _alive = UnixListener::bind(&alive).unwrap();
    std::fs::write(session.own().join("note.txt"), "mine").unwrap();
    let wake_ups = session.wake_ups();
    let (sent, _) = tokio::join!(wake_ups.wake(request("ec1")), session.message());
    sent.unwrap();
    assert!(!dead.exists() && alive.exists() && session.own().join("note.txt").exists());
}
