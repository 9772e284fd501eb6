//! The working folder of a question: the first folder that the host tells as its own.
//! It must never keep a question waiting for a host that does not tell, nor take what is no folder here.

use std::path::PathBuf;
use std::time::Duration;

use entraclaw_mcp::Roots;

use crate::find::{Finder, Place};

/// How long a question waits for the host's answer about its folders.
const ROOTS_WAIT: Duration = Duration::from_secs(1);

/// The first folder of the host that exists here; `None` leaves the server's own.
pub(crate) async fn folder(roots: Roots, finder: &dyn Finder) -> Option<PathBuf> {
    let uris = roots.within(ROOTS_WAIT).await;
    uris.iter().filter_map(|uri| path(uri)).find(|path| finder.place(path) == Place::Folder)
}

/// The path of a `file:` address. An address of another machine has none.
fn path(uri: &str) -> Option<PathBuf> {
    let url = url::Url::parse(uri).ok().filter(|url| url.scheme() == "file")?;
    // A path that is no text can't be written into the job's request.
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
