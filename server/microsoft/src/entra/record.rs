//! `sign-in.json`: it records how the last `entraclaw login` was made and which store has its secrets.
//! It must never hold a secret, and two stores must never be mixed.

use std::io;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use entraclaw_seams::storage::{Storage, read_whole};

const FILE: &str = "sign-in.json";
const FILE_BYTES_MAX: u64 = 16 * 1024;

/// The last sign-in of a home folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "The last sign-in (sign-in.json in the home folder)")]
pub struct SignInRecord {
    /// Of this form; 1.
    pub version: u32,
    /// `agent-user`, `device-code` or `browser`.
    pub mode: String,
    /// The store that has the secrets: `system` or `file`.
    pub key_store: String,
    /// The tenant that was signed in to.
    pub tenant_id: String,
    /// The application that was signed in with.
    pub client_id: String,
    /// When; absent when a key was brought that has not signed in yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub signed_in_at: Option<Timestamp>,
}

impl SignInRecord {
    /// The record, if there is one that can be read.
    pub fn read(storage: &dyn Storage) -> Option<Self> {
        serde_json::from_slice(&read_whole(storage, FILE, FILE_BYTES_MAX).ok()??).ok()
    }

    /// Replaces the record.
    pub fn write(&self, storage: &dyn Storage) -> io::Result<()> {
        storage.replace(FILE, &serde_json::to_vec(self)?)
    }

    /// Removes the record.
    pub fn remove(storage: &dyn Storage) -> io::Result<()> {
        storage.remove(FILE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use entraclaw_seams::storage::MemoryStorage;

    fn record() -> SignInRecord {
        SignInRecord {
            version: 1,
            mode: "device-code".to_owned(),
            key_store: "system".to_owned(),
            tenant_id: "aaaaaaaa-0000-0000-0000-000000000001".to_owned(),
            client_id: "bbbbbbbb-0000-0000-0000-000000000002".to_owned(),
            signed_in_at: Some("2026-11-21T10:00:00Z".parse().unwrap()),
        }
    }

    #[test]
    fn a_record_is_written_read_and_removed() {
        let storage = MemoryStorage::new();
        assert_eq!(SignInRecord::read(&storage), None);
        record().write(&storage).unwrap();
        assert_eq!(SignInRecord::read(&storage), Some(record()));
        storage.replace(FILE, b"{").unwrap();
        assert_eq!(SignInRecord::read(&storage), None, "a broken one is as none");
        SignInRecord::remove(&storage).unwrap();
        assert_eq!(SignInRecord::read(&storage), None);
    }

    /// `UPDATE_SCHEMAS=1` rewrites the schema.
    #[test]
    #[expect(clippy::disallowed_methods, reason = "the test reads and writes the committed schema")]
    fn the_committed_schema_is_that_of_the_type() {
        const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../schemas/own/sign-in.schema.json");
        let schema = serde_json::to_string_pretty(&schemars::schema_for!(SignInRecord)).unwrap() + "\n";
        if std::env::var_os("UPDATE_SCHEMAS").is_some() {
            std::fs::write(PATH, &schema).unwrap();
        }
        assert_eq!(std::fs::read_to_string(PATH).unwrap(), schema, "run with UPDATE_SCHEMAS=1");
        for signed_in_at in [record().signed_in_at, None] {
            let document = serde_json::to_value(SignInRecord { signed_in_at, ..record() }).unwrap();
            assert_eq!(schemas::own::check("sign-in", &document), Ok(vec![]));
        }
    }
}
