//! A token in a file of its own, for hosts that pass few environment variables to their servers.
//! A file that other users may read must never be used, and the token may leave this module only to be sent.

use std::path::PathBuf;

use futures_util::future::{self, BoxFuture};

use super::keys::read_secret;
use super::{AuthError, AuthFailure, TokenSource};
use entraclaw_seams::secret::Secret;

/// A source that gives the current token of the file.
#[derive(Debug, Clone)]
pub struct FileToken(
    /// The file, which only this user may be able to read.
    pub PathBuf,
);

impl FileToken {
    fn read(&self) -> Result<Secret, AuthError> {
        let fix = "write an access token for Microsoft Graph into the file that `auth.token_file` names";
        let text = read_secret(&self.0, true, fix)?;
        let token = text.expose().trim();
        if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            let problem = format!("{} holds no token, or more than one", self.0.display());
            return Err(AuthError::new(AuthFailure::Interaction, problem, fix));
        }
        Ok(Secret::new(token))
    }
}

impl TokenSource for FileToken {
    fn token(&self) -> BoxFuture<'_, Result<Secret, AuthError>> {
        Box::pin(future::ready(self.read()))
    }

    fn refresh<'a>(&'a self, refused: &'a Secret) -> BoxFuture<'a, Result<Secret, AuthError>> {
        let read = self.read().and_then(|token| {
            if token != *refused {
                return Ok(token);
            }
            let problem = format!("graph refused the access token in {}", self.0.display());
            let fix = "get a new one and write it into that file; the server need not be started again";
            Err(AuthError::new(AuthFailure::Interaction, problem, fix))
        });
        Box::pin(future::ready(read))
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the file stands outside the server's own storage")]
mod tests {
    use super::*;

    fn file(text: &str, mode: u32) -> (tempfile::TempDir, FileToken) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        std::fs::write(&path, text).unwrap();
        close(&path, mode);
        (folder, FileToken(path))
    }

    #[cfg(unix)]
    fn close(path: &std::path::Path, mode: u32) {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }

    #[cfg(not(unix))]
    fn close(_path: &std::path::Path, _mode: u32) {}

    #[tokio::test]
    async fn a_new_token_is_found_without_a_new_start() {
        let (_folder, source) = file("first\n", 0o600);
        let first = source.token().await.unwrap();
        assert_eq!(first.expose(), "first");
        let refused = source.refresh(&first).await.unwrap_err();
        assert!(!refused.to_string().contains("first"), "{refused}");
        std::fs::write(&source.0, "second").unwrap();
        assert_eq!(source.refresh(&first).await.unwrap().expose(), "second");
        assert_eq!(source.token().await.unwrap().expose(), "second");
    }

    #[tokio::test]
    async fn what_is_no_single_token_is_refused_without_being_shown() {
        for text in ["", " \n", "two words", "a\u{7}b", "caf\u{e9}"] {
            let (_folder, source) = file(text, 0o600);
            let error = source.token().await.unwrap_err().to_string();
            assert!(error.contains("holds no token") && !error.contains("words"), "{error}");
        }
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn a_file_that_others_can_read_is_refused() {
        let (_folder, source) = file("token-1", 0o644);
        let error = source.token().await.unwrap_err().to_string();
        assert!(error.contains("chmod 600") && !error.contains("token-1"), "{error}");
    }
}
