//! The two certificates of the tests, which give access to nothing.
//! The fake itself must never read a private key.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject as _;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// A certificate with its key.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Credential {
    /// The blueprint's own certificate.
    #[default]
    Blueprint,
    /// A certificate that does not belong to the blueprint.
    Other,
}

impl Credential {
    /// The private key as PEM.
    pub fn key_pem(self) -> &'static str {
        match self {
            Self::Blueprint => include_str!("credentials/blueprint.key.pem"),
            Self::Other => include_str!("credentials/other.key.pem"),
        }
    }

    /// The certificate as PEM.
    pub fn certificate_pem(self) -> &'static str {
        match self {
            Self::Blueprint => include_str!("credentials/blueprint.cert.pem"),
            Self::Other => include_str!("credentials/other.cert.pem"),
        }
    }

    pub(super) fn certificate(self) -> Option<CertificateDer<'static>> {
        CertificateDer::from_pem_slice(self.certificate_pem().as_bytes()).ok()
    }

    /// The thumbprint of the certificate, as in `x5t#S256`.
    pub fn thumbprint(self) -> String {
        self.certificate().map(|der| URL_SAFE_NO_PAD.encode(Sha256::digest(&der))).unwrap_or_default()
    }
}
