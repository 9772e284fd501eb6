//! The file of the policy, `policy.json`: it is read whole, replaced whole, and changed under a lock. A
//! broken file must never be used, and a file of a newer version of this program must never be overwritten.

use std::io;

use super::policy::{POLICY_VERSION, Policy};
use entraclaw_seams::storage::{Storage, read_whole};

/// The file that keeps the policy.
pub const POLICY_FILE: &str = "policy.json";
/// The file that keeps the newest policy that could not be read.
pub const BROKEN_POLICY_FILE: &str = "policy.json.broken";
const LOCK: &str = "policy.lock";
/// The largest policy file that is read; a full one has about 500 kB.
const POLICY_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// The result of reading the policy file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// No file, which is an empty policy.
    Nothing,
    /// A readable policy.
    Good(Policy),
    /// A file that does not hold a policy, and why.
    Broken(String),
    /// A file of a newer version of this program.
    Newer(u32),
}

/// Why the policy could not be changed.
#[derive(Debug, thiserror::Error)]
pub enum PolicyError {
    /// Another process is changing the policy.
    #[error("policy.json is being changed by another process; try again")]
    Busy,
    /// A newer version of this program wrote the policy.
    #[error("policy.json has version {0}, this program knows {POLICY_VERSION}; use the newer entraclaw")]
    Newer(u32),
    /// The changed policy would have too many entries.
    #[error("policy.json is full: {0}; remove entries that nobody needs")]
    Full(String),
    /// The disk refused.
    #[error("policy.json can't be used: {0}{fix}", fix = disk_fix(.0))]
    Storage(#[from] io::Error),
}

/// What the user can do about a disk error.
fn disk_fix(error: &io::Error) -> &'static str {
    match error.kind() {
        // The refusals of this program already say what to do.
        _ if error.to_string().contains(';') => "",
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            "; nothing was changed: make the home folder writable for you, or name another with --home or ENTRACLAW_HOME"
        }
        io::ErrorKind::StorageFull => "; nothing was changed: free some space under the home folder",
        _ => "; nothing was changed: run `entraclaw doctor`",
    }
}

/// A change of the policy that was made.
#[derive(Debug)]
pub struct Changed<T> {
    /// The result of the change.
    pub outcome: T,
    /// The problem of the former file, which is kept aside now.
    pub was_broken: Option<String>,
}

/// Reads the policy. Only disk errors are returned as errors.
pub fn read(storage: &dyn Storage) -> io::Result<Found> {
    match read_whole(storage, POLICY_FILE, POLICY_BYTES_MAX) {
        Ok(None) => Ok(Found::Nothing),
        Ok(Some(bytes)) => Ok(parse(&bytes)),
        Err(error) if error.kind() == io::ErrorKind::FileTooLarge => Ok(Found::Broken(error.to_string())),
        Err(error) => Err(error),
    }
}

fn parse(bytes: &[u8]) -> Found {
    #[derive(serde::Deserialize)]
    struct Version {
        v: u32,
    }
    match serde_json::from_slice::<Version>(bytes) {
        Ok(Version { v }) if v > POLICY_VERSION => return Found::Newer(v),
        Ok(Version { v: POLICY_VERSION }) => {}
        Ok(Version { v }) => return Found::Broken(format!("`v` is {v}, not {POLICY_VERSION}")),
        Err(error) => return Found::Broken(error.to_string()),
    }
    match serde_json::from_slice::<Policy>(bytes) {
        Ok(policy) => policy.problem().map_or(Found::Good(policy), Found::Broken),
        Err(error) => Found::Broken(error.to_string()),
    }
}

/// Reads, changes and replaces the policy under one lock. A broken policy is kept aside, and the change
/// starts from an empty one.
pub fn change<T>(
    storage: &dyn Storage,
    lock_wait_ms: u64,
    change: impl FnOnce(&mut Policy) -> T,
) -> Result<Changed<T>, PolicyError> {
    let _lock = storage.lock(LOCK, lock_wait_ms)?.ok_or(PolicyError::Busy)?;
    let (before, was_broken) = match read(storage)? {
        Found::Nothing => (Policy::default(), None),
        Found::Good(policy) => (policy, None),
        Found::Newer(version) => return Err(PolicyError::Newer(version)),
        Found::Broken(problem) => {
            storage.rename(POLICY_FILE, BROKEN_POLICY_FILE)?;
            (Policy::default(), Some(problem))
        }
    };
    let mut after = before.clone();
    let outcome = change(&mut after);
    if let Some(problem) = after.problem() {
        return Err(PolicyError::Full(problem));
    }
    if after != before || was_broken.is_some() {
        let mut bytes = serde_json::to_vec_pretty(&after).map_err(io::Error::other)?;
        bytes.push(b'\n');
        storage.replace(POLICY_FILE, &bytes)?;
    }
    Ok(Changed { outcome, was_broken })
}

/// Keeps a broken policy aside, if it is still broken. Returns whether it did.
pub fn keep_aside(storage: &dyn Storage, lock_wait_ms: u64) -> io::Result<bool> {
    let Some(_lock) = storage.lock(LOCK, lock_wait_ms)? else { return Ok(false) };
    if !matches!(read(storage)?, Found::Broken(_)) {
        return Ok(false);
    }
    storage.rename(POLICY_FILE, BROKEN_POLICY_FILE)?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::gate::Person;
    use entraclaw_seams::storage::MemoryStorage;

    fn holding(text: &str) -> MemoryStorage {
        let storage = MemoryStorage::new();
        storage.set_bytes(POLICY_FILE, text.as_bytes());
        storage
    }

    #[rstest]
    #[case("")]
    #[case("{")]
    #[case("[]")]
    #[case("{}")]
    #[case(r#"{"v":0}"#)]
    #[case(r#"{"v":1,"alow":[]}"#)]
    #[case(r#"{"v":1,"allow":[{}]}"#)]
    #[case(r#"{"v":1,"allow":[{"tenant_id":"aaaaaaaa-0000-0000-0000-000000000001"}]}"#)]
    #[case(r#"{"v":1,"deny":[{"tenant_id":"x","object_id":"y"}]}"#)]
    #[case(r#"{"v":1,"chats":{"c":"loud"}}"#)]
    #[case("\u{0}\u{0}\u{0}")]
    fn a_file_that_is_no_policy_is_broken_and_kept_aside(#[case] text: &str) {
        let storage = holding(text);
        assert!(matches!(read(&storage).unwrap(), Found::Broken(_)), "{text}");
        assert!(keep_aside(&storage, 0).unwrap());
        assert_eq!(storage.bytes(BROKEN_POLICY_FILE).unwrap(), text.as_bytes());
        assert_eq!(read(&storage).unwrap(), Found::Nothing);
        assert!(!keep_aside(&storage, 0).unwrap());
    }

    #[test]
    fn a_change_is_whole_private_and_seen_by_its_stamp() {
        let storage = MemoryStorage::new();
        let alice = Person { mail: Some("alice@contoso.com".to_owned()), ..Person::default() };
        let before = storage.stamp(POLICY_FILE).unwrap();
        change(&storage, 0, |policy| policy.let_in(alice.clone())).unwrap();
        assert_ne!(storage.stamp(POLICY_FILE).unwrap(), before);
        let Found::Good(policy) = read(&storage).unwrap() else { panic!("a policy") };
        assert_eq!(policy.allow, [alice]);
        let before = storage.stamp(POLICY_FILE).unwrap();
        change(&storage, 0, |_| ()).unwrap();
        assert_eq!(storage.stamp(POLICY_FILE).unwrap(), before, "nothing changed, nothing is written");
    }

    #[rstest]
    #[case(io::ErrorKind::PermissionDenied, "make the home folder writable")]
    #[case(io::ErrorKind::ReadOnlyFilesystem, "--home")]
    #[case(io::ErrorKind::StorageFull, "free some space")]
    #[case(io::ErrorKind::Other, "entraclaw doctor")]
    fn a_change_that_the_disk_refuses_says_what_helps(#[case] kind: io::ErrorKind, #[case] fix: &str) {
        let says = PolicyError::from(io::Error::from(kind)).to_string();
        assert!(says.contains("; nothing was changed: ") && says.contains(fix), "{says}");
        let own = PolicyError::from(io::Error::new(kind, "it is a link; remove it")).to_string();
        assert_eq!(own, "policy.json can't be used: it is a link; remove it");
    }

    #[test]
    fn a_newer_file_is_left_alone() {
        let text = r#"{"v":2,"allow":"whatever"}"#;
        let storage = holding(text);
        assert_eq!(read(&storage).unwrap(), Found::Newer(2));
        assert!(matches!(change(&storage, 0, |_| ()), Err(PolicyError::Newer(2))));
        assert!(!keep_aside(&storage, 0).unwrap());
        assert_eq!(storage.bytes(POLICY_FILE).unwrap(), text.as_bytes());
    }

    #[test]
    fn a_process_does_not_change_the_file_while_another_does() {
        let storage = MemoryStorage::new();
        let _held = storage.new_process().try_lock(LOCK).unwrap().unwrap();
        assert!(matches!(change(&storage, 0, |_| ()), Err(PolicyError::Busy)));
    }
}
