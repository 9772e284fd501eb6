//! The folders that the client of a session tells as its own.
//! It must never keep a call waiting for a client that does not tell, nor take the address of another machine for a folder.

use std::path::PathBuf;
use std::time::Duration;

use tokio::sync::watch;

/// The folders that the client of a session tells as its own, as they become known. Clones are cheap.
#[derive(Debug, Clone)]
pub struct Roots(watch::Receiver<Option<Vec<String>>>);

impl Roots {
    pub(crate) fn new(known: watch::Receiver<Option<Vec<String>>>) -> Self {
        Self(known)
    }

    /// Their addresses, in the client's order. It waits at most so long for an answer that is on its way, and is empty
    /// without one.
    pub async fn within(mut self, patience: Duration) -> Vec<String> {
        let known = tokio::time::timeout(patience, self.0.wait_for(Option::is_some)).await;
        known.ok().and_then(Result::ok).and_then(|known| known.clone()).unwrap_or_default()
    }

    /// Those of them that can be folders of this machine, in the client's order.
    pub async fn folders_within(self, patience: Duration) -> Vec<PathBuf> {
        self.within(patience).await.iter().filter_map(|uri| path(uri)).collect()
    }
}

/// The path of a `file:` address. An address of another machine has none.
fn path(uri: &str) -> Option<PathBuf> {
    let url = url::Url::parse(uri).ok().filter(|url| url.scheme() == "file")?;
    // A path that is no text can't be written into a document.
    url.to_file_path().ok().filter(|path| path.to_str().is_some_and(|path| !path.contains('\0')))
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("file:///home/alice/project", Some("/home/alice/project"))]
    #[case("file:///home/alice/my%20project/", Some("/home/alice/my project/"))]
    #[case("file://localhost/home/alice", Some("/home/alice"))]
    #[case("file://contoso.com/share", None)]
    #[case("https://contoso.com/home", None)]
    #[case("vscode-remote://ssh/home/alice", None)]
    #[case("/home/alice", None)]
    #[case("file:///a%00b", None)]
    #[case("file:///%ff", None)]
    #[case("", None)]
    fn only_a_file_address_of_this_machine_is_a_path(#[case] uri: &str, #[case] expected: Option<&str>) {
        assert_eq!(path(uri), expected.map(PathBuf::from));
    }
}
