//! The socket of a project: who lets whom in, and what is refused.
#![cfg(unix)]

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::Path;

use entraclaw_bridge::{Address, Listener, SocketError, connect};

fn address(home: &Path) -> Address {
    fs::set_permissions(home, Permissions::from_mode(0o700)).unwrap();
    Address::of(home, Path::new("/home/alice/app"), None).unwrap()
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().mode() & 0o777
}

#[tokio::test]
async fn it_is_for_this_user_alone_and_goes_with_its_engine() {
    let home = tempfile::tempdir().unwrap();
    let address = address(home.path());
    let listener = Listener::open(&address).await.unwrap();
    assert_eq!((mode(&address.path), mode(address.path.parent().unwrap())), (0o600, 0o700));
    let (client, taken) = tokio::join!(connect(&address), listener.accept());
    assert!(client.is_ok() && taken.is_ok());
    // A second engine never takes the socket of the first.
    let error = Listener::open(&address).await.unwrap_err();
    assert!(matches!(error, SocketError::Taken { why: "another engine listens there", .. }), "{error}");
    drop(listener);
    assert!(!address.path.exists() && connect(&address).await.is_err());
}

#[tokio::test]
async fn a_socket_that_a_killed_engine_left_is_replaced() {
    let home = tempfile::tempdir().unwrap();
    let address = address(home.path());
    let listener = Listener::open(&address).await.unwrap();
    // As `kill -9` leaves it: the file stays, and nothing listens.
    let kept = address.path.with_extension("kept");
    fs::hard_link(&address.path, &kept).unwrap();
    drop(listener);
    fs::hard_link(&kept, &address.path).unwrap();
    assert!(connect(&address).await.is_err());
    let _listener = Listener::open(&address).await.unwrap();
    assert!(connect(&address).await.is_ok());
}

#[tokio::test]
async fn what_is_no_socket_of_this_user_is_neither_followed_nor_replaced() {
    let home = tempfile::tempdir().unwrap();
    let address = address(home.path());
    fs::create_dir(address.path.parent().unwrap()).unwrap();
    fs::set_permissions(address.path.parent().unwrap(), Permissions::from_mode(0o700)).unwrap();
    let precious = home.path().join("precious");
    #[expect(clippy::disallowed_methods, reason = "the test makes real files")]
    fs::write(&precious, "kept").unwrap();
    symlink(&precious, &address.path).unwrap();
    let error = Listener::open(&address).await.unwrap_err().to_string();
    assert!(error.contains("a symlink lies there") && error.contains("mcp.external.socket_path"), "{error}");
    assert!(connect(&address).await.is_err());
    #[expect(clippy::disallowed_methods, reason = "the test makes real files")]
    {
        fs::remove_file(&address.path).unwrap();
        fs::write(&address.path, "a file").unwrap();
    }
    let error = Listener::open(&address).await.unwrap_err().to_string();
    assert!(error.contains("a file lies there that is no socket"), "{error}");
    #[expect(clippy::disallowed_methods, reason = "the test looks at real files")]
    let kept = (fs::read_to_string(&precious).unwrap(), fs::read_to_string(&address.path).unwrap());
    assert_eq!(kept, ("kept".to_owned(), "a file".to_owned()));
}

#[tokio::test]
async fn a_folder_that_others_may_enter_is_refused() {
    let home = tempfile::tempdir().unwrap();
    let address = address(home.path());
    let folder = address.path.parent().unwrap();
    fs::create_dir(folder).unwrap();
    fs::set_permissions(folder, Permissions::from_mode(0o755)).unwrap();
    let error = Listener::open(&address).await.unwrap_err().to_string();
    assert!(error.contains("other users may enter it") && error.contains("chmod 700"), "{error}");
    let moved = home.path().join("elsewhere");
    fs::create_dir(&moved).unwrap();
    fs::set_permissions(&moved, Permissions::from_mode(0o700)).unwrap();
    fs::remove_dir(folder).unwrap();
    symlink(&moved, folder).unwrap();
    let error = Listener::open(&address).await.unwrap_err().to_string();
    assert!(error.contains("it is a symlink"), "{error}");
}
