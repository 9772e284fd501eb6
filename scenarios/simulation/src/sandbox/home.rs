//! The home folder that servers use in the sandbox: private, with a configuration that fits, gone afterwards.
//! It must never write into a folder that is a person's real home, nor put the page's token into a file that stays; the one
//! token in it opens nothing but the fake Graph.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;

use super::World;

/// The configuration's first line.
const MARK: &str = "# Written by `simulation play` for its sandbox; each start writes it anew.";
/// How that line ends, by which the sandbox knows its own, also where the program was called otherwise.
const MARK_END: &str = " play` for its sandbox; each start writes it anew.";
const CONFIG_FILE: &str = "config.toml";
const WAY_IN_FILE: &str = "open.html";
/// Hosts differ in what they hand a server of the environment, and every one lets it read its own folder.
const TOKEN_FILE: &str = "token";
/// Longest time that the folder of a sandbox that has ended is written into.
const WRITERS_END_WITHIN: Duration = Duration::from_secs(3);
const LOOK_AGAIN_AFTER: Duration = Duration::from_millis(100);

/// A home folder; a temporary one is deleted when this is dropped.
pub(crate) struct Home {
    path: PathBuf,
    temporary: Option<tempfile::TempDir>,
}

impl Home {
    /// The folder that was told, or a temporary one.
    pub(crate) fn open(told: Option<&Path>) -> anyhow::Result<Self> {
        let Some(told) = told else {
            let folder = private_folder("hostcheck-play-")?;
            return Ok(Self { path: folder.path().to_owned(), temporary: Some(folder) });
        };
        create(told).with_context(|| format!("--home: cannot create {}", told.display()))?;
        let path = std::path::absolute(told)?;
        let config = read(&path.join(CONFIG_FILE));
        let is_ours = config
            .as_deref()
            .is_some_and(|text| text.lines().next().is_some_and(|line| line.ends_with(MARK_END)));
        let is_empty = || std::fs::read_dir(&path).is_ok_and(|mut entries| entries.next().is_none());
        anyhow::ensure!(
            is_ours || is_empty(),
            "--home: {} is not empty and not a sandbox's; name a new folder",
            told.display()
        );
        Ok(Self { path, temporary: None })
    }

    /// Its path.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it is deleted when the sandbox ends.
    pub(crate) fn is_temporary(&self) -> bool {
        self.temporary.is_some()
    }

    /// Deletes a temporary folder; says whether there was one.
    #[expect(clippy::disallowed_methods, reason = "the sandbox deletes its own real file")]
    pub(crate) async fn close(self) -> std::io::Result<bool> {
        // The address has died with the page; where there is no such file, none has to go.
        let _ = std::fs::remove_file(self.path.join(WAY_IN_FILE));
        let Some(folder) = self.temporary else { return Ok(false) };
        let path = folder.keep();
        let deadline = tokio::time::Instant::now() + WRITERS_END_WITHIN;
        loop {
            match std::fs::remove_dir_all(&path) {
                Ok(()) => return Ok(true),
                // A server that a host has just let go may still write.
                Err(_) if tokio::time::Instant::now() < deadline => {
                    tokio::time::sleep(LOOK_AGAIN_AFTER).await;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Writes the configuration that fits a sandbox.
    pub(crate) fn configure(&self, world: &World, graph_url: &str, access_token: &str) -> anyhow::Result<()> {
        let token = self.path.join(TOKEN_FILE);
        write(&token, access_token).with_context(|| format!("cannot write {}", token.display()))?;
        let path = self.path.join(CONFIG_FILE);
        write(&path, &config(world, graph_url, &token)?)
            .with_context(|| format!("cannot write {}", path.display()))
    }

    /// Writes a page that leads to an address, so that the address stands in no command line, and says where it is.
    pub(crate) fn write_way_in(&self, url: &str) -> anyhow::Result<PathBuf> {
        let path = self.path.join(WAY_IN_FILE);
        let text = format!(
            "<!doctype html><meta charset=\"utf-8\"><title>simulation play</title>\
             <meta http-equiv=\"refresh\" content=\"0;url={url}\"><a href=\"{url}\">Open the sandbox</a>\n"
        );
        write(&path, &text).with_context(|| format!("cannot write {}", path.display()))?;
        Ok(path)
    }
}

fn config(world: &World, graph_url: &str, token_file: &Path) -> anyhow::Result<String> {
    // A text of JSON is one of TOML too.
    let token_file = serde_json::to_string(&token_file.display().to_string())?;
    let allowed = world.allowed();
    let tenant_id = allowed.first().map(|person| person.tenant_id.clone()).unwrap_or_default();
    let mut text = format!(
        "{MARK}\n[auth]\nmode = \"static\"\ntoken_file = {token_file}\n\n[graph]\nurl = \"{graph_url}\"\n\n[identity]\ntenant_id = \"{tenant_id}\"\n\n\
         [teams]\npoll_interval = \"1s\"\n\n[mail]\nenabled = true\npoll_interval = \"1s\"\n"
    );
    for person in allowed {
        // A string takes everything.
        let _ = write!(
            text,
            "\n[[allow]]\nname = \"{}\"\ntenant_id = \"{}\"\nobject_id = \"{}\"\n\n[[allow]]\nmail = \"{}\"\n",
            person.name, person.tenant_id, person.object_id, person.mail
        );
    }
    Ok(text)
}

/// A temporary folder that no other user can look into.
pub(super) fn private_folder(prefix: &str) -> std::io::Result<tempfile::TempDir> {
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
    builder.prefix(prefix).tempdir()
}

/// Makes a folder that no other user can look into.
pub(super) fn create(folder: &Path) -> std::io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

#[expect(clippy::disallowed_methods, reason = "the sandbox reads a real file before it is replaced")]
fn read(path: &Path) -> Option<String> {
    std::fs::read_to_string(path).ok()
}

/// Replaces a file with one that only its owner can read.
pub(super) fn write(path: &Path, text: &str) -> std::io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    // A temporary file has mode 0600, and a reader sees the old text or the new one.
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    std::io::Write::write_all(&mut file, text.as_bytes())?;
    file.persist(path)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_configuration_is_one_that_the_server_takes() {
        let world = World::new("hush", jiff::Timestamp::UNIX_EPOCH).unwrap();
        let token_file = Path::new("/tmp/it's \"here\"/token");
        let text = config(&world, "http://127.0.0.1:4000", token_file).unwrap();
        let sources = entraclaw_session::config::Sources {
            file: Some(("config.toml".to_owned(), text.clone())),
            ..entraclaw_session::config::Sources::default()
        };
        let config = entraclaw_session::config::Config::load(&sources).expect(&text);
        assert_eq!(config.allow.len(), 4);
        assert!(config.mail.enabled && !text.contains("hush"), "{text}");
        assert_eq!(config.auth, entraclaw_session::config::Auth::TokenFile(token_file.to_owned()));
    }

    #[tokio::test]
    async fn a_folder_that_is_in_use_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let own = folder.path().join("new/sandbox");
        let world = World::new("hush", jiff::Timestamp::UNIX_EPOCH).unwrap();
        Home::open(Some(&own)).unwrap().configure(&world, "http://127.0.0.1:1", "hush").unwrap();
        let again = Home::open(Some(&own)).expect("a sandbox can be used again");
        let way_in = again.write_way_in("http://127.0.0.1:1/secret/").unwrap();
        assert!(
            !again.close().await.unwrap() && own.is_dir() && !way_in.exists(),
            "the address does not stay"
        );
        write(&own.join(CONFIG_FILE), "[teams]\n").unwrap();
        let error = Home::open(Some(&own)).map(|_| ()).unwrap_err().to_string();
        assert!(error.contains("name a new folder"), "{error}");
    }

    #[test]
    fn a_temporary_folder_goes() {
        let home = Home::open(None).unwrap();
        let path = home.path().to_owned();
        assert!(home.is_temporary() && path.is_dir());
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let way_in = home.write_way_in("http://127.0.0.1:1/secret/").unwrap();
            let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
            assert_eq!((mode(&path), mode(&way_in)), (0o700, 0o600));
        }
        drop(home);
        assert!(!path.exists());
    }
}
