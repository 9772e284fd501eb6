//! Keeps secrets as files with mode 0600 in the home folder's `keys`, for machines without a system store.
//! It must never be used unless the configuration says so, and never read a file that other users may read.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use futures_util::future::{self, BoxFuture};

use super::given::check_private;
use super::{AuthError, KeyName, KeyStore, SECRET_BYTES_MAX, store_error};
use entraclaw_seams::secret::Secret;
use entraclaw_seams::storage::Storage;

const FOLDER: &str = "keys";

/// The key store of files.
pub struct FileKeyStore {
    storage: Arc<dyn Storage>,
    /// The home folder, needed to check the files' modes.
    home: PathBuf,
}

impl FileKeyStore {
    /// A store in `home`, whose files `storage` reads and writes.
    pub fn new(storage: Arc<dyn Storage>, home: PathBuf) -> Self {
        Self { storage, home }
    }

    fn path(name: &KeyName) -> String {
        format!("{FOLDER}/{}", name.text())
    }

    fn read(&self, name: &KeyName) -> Result<Option<Secret>, AuthError> {
        let path = Self::path(name);
        let full = self.home.join(&path);
        let failed = |why: String| {
            store_error(format!("{} can't be read: {why}", full.display()), "run `entraclaw login` again")
        };
        let found = match fs::symlink_metadata(&full) {
            Ok(found) => found,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(error.to_string())),
        };
        if !found.is_file() {
            return Err(failed("it is not a file".to_owned()));
        }
        check_private(&full, &found)?;
        let bytes =
            self.storage.read(&path, 0, SECRET_BYTES_MAX).map_err(|error| failed(error.to_string()))?;
        String::from_utf8(bytes)
            .map(|text| Some(Secret::new(text)))
            .map_err(|_| failed("it is no text".to_owned()))
    }

    fn write(&self, name: &KeyName, secret: &Secret) -> Result<(), AuthError> {
        let path = Self::path(name);
        let written = self
            .storage
            .create_dir(FOLDER)
            .and_then(|()| self.storage.replace(&path, secret.expose().as_bytes()));
        written.map_err(|error| {
            let problem = format!("{} can't be written: {error}", self.home.join(&path).display());
            store_error(problem, "see that there is room and that the folder is yours")
        })
    }
}

impl KeyStore for FileKeyStore {
    fn name(&self) -> String {
        format!("files in {}", self.home.join(FOLDER).display())
    }

    fn get<'a>(&'a self, name: &'a KeyName) -> BoxFuture<'a, Result<Option<Secret>, AuthError>> {
        Box::pin(future::ready(self.read(name)))
    }

    fn put<'a>(&'a self, name: &'a KeyName, secret: &'a Secret) -> BoxFuture<'a, Result<(), AuthError>> {
        Box::pin(future::ready(self.write(name, secret)))
    }

    fn remove<'a>(&'a self, name: &'a KeyName) -> BoxFuture<'a, Result<bool, AuthError>> {
        let path = Self::path(name);
        let removed = self.storage.len(&path).and_then(|there| {
            self.storage.remove(&path)?;
            Ok(there.is_some())
        });
        Box::pin(future::ready(
            removed.map_err(|error| {
                store_error(format!("{path} can't be removed: {error}"), "remove it by hand")
            }),
        ))
    }
}

#[cfg(all(test, unix))]
#[expect(clippy::disallowed_methods, reason = "the test makes the files that are refused")]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::super::Kept;
    use super::super::given::read_pem;
    use super::*;
    use entraclaw_inbox::gate::Guid;
    use entraclaw_seams::storage::DiskStorage;

    fn name(kept: Kept) -> KeyName {
        let id = Guid::parse("aaaaaaaa-0000-0000-0000-000000000001").unwrap();
        KeyName { kept, tenant_id: id.clone(), client_id: id }
    }

    #[tokio::test]
    async fn secrets_are_kept_replaced_and_forgotten_in_private_files() {
        let home = tempfile::tempdir().unwrap();
        let root = home.path().join("home");
        let store = FileKeyStore::new(Arc::new(DiskStorage::open(&root).unwrap()), root.clone());
        let name = name(Kept::RefreshToken);
        assert_eq!(store.get(&name).await.unwrap(), None);
        for text in ["one", "two"] {
            store.put(&name, &Secret::new(text)).await.unwrap();
            assert_eq!(store.get(&name).await.unwrap(), Some(Secret::new(text)));
        }
        let path = root.join(FileKeyStore::path(&name));
        let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&path), mode(&root.join(FOLDER))), (0o600, 0o700));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        let error = store.get(&name).await.unwrap_err().to_string();
        assert!(error.contains("mode 640") && error.contains("chmod 600"), "{error}");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        fs::write(&path, b"\xff").unwrap();
        let error = store.get(&name).await.unwrap_err().to_string();
        assert!(error.contains("it is no text") && error.contains(&*path.to_string_lossy()), "{error}");
        assert!(store.remove(&name).await.unwrap() && !store.remove(&name).await.unwrap());
        fs::create_dir(&path).unwrap();
        let error = store.get(&name).await.unwrap_err().to_string();
        assert!(
            error.contains("it is not a file") && error.contains("run `entraclaw login` again"),
            "{error}"
        );
    }

    #[test]
    fn a_key_file_that_others_can_read_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key.pem");
        fs::write(&path, "pem").unwrap();
        for (mode, private, good) in
            [(0o600, true, true), (0o400, true, true), (0o644, true, false), (0o644, false, true)]
        {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(read_pem(&path, private).is_ok(), good, "{mode:o}");
        }
        assert!(read_pem(folder.path(), true).unwrap_err().to_string().contains("is not a file"));
        assert!(
            read_pem(&folder.path().join("none"), true).unwrap_err().to_string().contains("can't be read")
        );
    }
}
