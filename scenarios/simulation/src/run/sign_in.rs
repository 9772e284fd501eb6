//! The server's means to sign in: settings, and the secrets that `entraclaw login` would have put in the key store.
//! It must never give a token that the scenario's way of signing in would not have.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use entraclaw_inbox::gate::Guid;
use entraclaw_microsoft::entra::keys::{FileKeyStore, Kept, KeyName, KeyStore as _, MemoryKeyStore};
use entraclaw_seams::storage::DiskStorage;
use entraclaw_session::config::Secret;
use fake_microsoft::entra::{AuthKind, EntraSpec, FakeEntra, SignatureAlgorithm};

use crate::token::TOKEN;

const KEPT: [Kept; 3] = [Kept::PrivateKey, Kept::Certificate, Kept::RefreshToken];

/// The key store and the settings of a way to sign in.
pub(crate) fn prepare(spec: &EntraSpec, entra: &mut FakeEntra) -> (MemoryKeyStore, BTreeMap<String, String>) {
    let mut settings = BTreeMap::new();
    let mut set = |name: &str, value: &str| settings.insert(name.to_owned(), value.to_owned());
    let mut keys = MemoryKeyStore::default();
    match spec.auth {
        AuthKind::Static => {
            set("ENTRACLAW_AUTH", "static");
            set("ENTRACLAW_ACCESS_TOKEN", TOKEN);
        }
        AuthKind::AgentUser => {
            let ids = entra.ids();
            set("ENTRACLAW_AUTH", "agent-user");
            set("ENTRACLAW_BLUEPRINT_APP_ID", &ids.blueprint_id);
            set("ENTRACLAW_AGENT_ID", &ids.agent_id);
            set("ENTRACLAW_AGENT_USER_ID", &ids.agent_user_id);
            let algorithm = match spec.algorithm {
                SignatureAlgorithm::Ps256 => "PS256",
                SignatureAlgorithm::Rs256 => "RS256",
            };
            set("ENTRACLAW_AUTH_ALGORITHM", algorithm);
            let secrets = [
                (Kept::PrivateKey, spec.agent_key.key_pem()),
                (Kept::Certificate, spec.agent_key.certificate_pem()),
            ];
            for (kept, pem) in secrets {
                let name = name(kept, &ids.tenant_id, &ids.blueprint_id);
                keys = name.map_or(keys.clone(), |name| keys.with(name, Secret::new(pem)));
            }
        }
        AuthKind::DeviceCode => {
            let refresh_token = entra.signed_in_before();
            let ids = entra.ids();
            set("ENTRACLAW_AUTH", "device-code");
            set("ENTRACLAW_CLIENT_ID", &ids.client_id);
            let name = name(Kept::RefreshToken, &ids.tenant_id, &ids.client_id);
            keys = name.map_or(keys.clone(), |name| keys.with(name, Secret::new(refresh_token)));
        }
    }
    (keys, settings)
}

fn name(kept: Kept, tenant_id: &str, client_id: &str) -> Option<KeyName> {
    Some(KeyName { kept, tenant_id: Guid::parse(tenant_id)?, client_id: Guid::parse(client_id)? })
}

/// Puts the secrets of a simulated store into the file store of a real home folder.
pub(crate) async fn write(
    home: &Path,
    keys: &MemoryKeyStore,
    environment: &mut BTreeMap<String, String>,
) -> anyhow::Result<()> {
    let id_of = |names: &[&str]| {
        names.iter().find_map(|name| environment.get(*name)).and_then(|text| Guid::parse(text))
    };
    let tenant_id = id_of(&["ENTRACLAW_IDENTITY_TENANT_ID"]);
    let client_id = id_of(&["ENTRACLAW_BLUEPRINT_APP_ID", "ENTRACLAW_CLIENT_ID"]);
    let (Some(tenant_id), Some(client_id)) = (tenant_id, client_id) else { return Ok(()) };
    let store = FileKeyStore::new(Arc::new(DiskStorage::open(home)?), home.to_owned());
    for kept in KEPT {
        let name = KeyName { kept, tenant_id: tenant_id.clone(), client_id: client_id.clone() };
        if let Some(secret) = keys.get(&name).await? {
            store.put(&name, &secret).await?;
        }
    }
    environment.insert("ENTRACLAW_AUTH_KEY_STORE".to_owned(), "file".to_owned());
    Ok(())
}
