//! The client assertion: a short-lived JWT that proves possession of the certificate's private key.
//! The key must never leave this module, and an assertion must not stay valid for longer than its use takes.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use jiff::{SignedDuration, Timestamp};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::{CertifiedKey, SigningKey};
use rustls::{InconsistentKeys, SignatureAlgorithm, SignatureScheme};
use serde_json::json;
use sha2::{Digest as _, Sha256};

use super::{AuthError, AuthFailure};
use crate::entra::{Algorithm, Thumbprint};
use entraclaw_seams::hex;
use entraclaw_seams::secret::Secret;

/// How long an assertion is valid; Entra's documentation asks for five to ten minutes.
const LIFE: SignedDuration = SignedDuration::from_mins(9);

const AGAIN: &str = "bring the right file with `entraclaw login --key FILE`";

/// A certificate's private key, ready to sign.
pub(super) struct Credential {
    key: Arc<dyn SigningKey>,
    algorithm: Algorithm,
    /// The certificate's hash for `x5t#S256`.
    thumbprint: String,
}

impl Credential {
    /// Builds it from a PEM private key (RSA, PKCS#8 or PKCS#1, not encrypted) and its certificate, or only
    /// the certificate's SHA-256 thumbprint.
    pub(super) fn new(
        key_pem: &Secret,
        certificate_pem: Option<&Secret>,
        thumbprint: Option<&Thumbprint>,
        algorithm: Algorithm,
    ) -> Result<Self, AuthError> {
        let bad = |problem: &str, fix: &str| Err(AuthError::new(AuthFailure::KeyStore, problem, fix));
        let pem = key_pem.expose().as_bytes();
        let Ok(der) = PrivateKeyDer::from_pem_slice(pem) else {
            if key_pem.expose().contains("ENCRYPTED") {
                let fix = "write it without one (`openssl pkey -in FILE -out NEW`) and bring that with `entraclaw login --key NEW`";
                return bad("the private key is encrypted with a passphrase", fix);
            }
            return bad("what is kept as private key is no PEM private key", AGAIN);
        };
        let Ok(key) = rustls::crypto::ring::sign::any_supported_type(&der) else {
            return bad("the private key can't be used", "use an RSA key of 2048 to 4096 bits");
        };
        if key.algorithm() != SignatureAlgorithm::RSA {
            return bad("the private key is not an RSA key", "entra takes RSA keys of 2048 bits or more");
        }
        let certificate = certificate_pem.map(|pem| CertificateDer::from_pem_slice(pem.expose().as_bytes()));
        let own = match (certificate, thumbprint) {
            (Some(Err(_)), _) => {
                return bad(
                    "what is kept as certificate is no PEM certificate",
                    "bring one PEM file with both by `entraclaw login --key FILE`, or correct `auth.certificate_file` where it is set",
                );
            }
            (Some(Ok(der)), _) => {
                let pair = CertifiedKey::new(vec![der.clone()], key.clone());
                let mismatch = rustls::Error::InconsistentKeys(InconsistentKeys::KeyMismatch);
                if pair.keys_match().is_err_and(|error| error == mismatch) {
                    let problem = "the private key does not belong to the certificate";
                    return bad(
                        problem,
                        "bring the two that were made together with `entraclaw login --key FILE`",
                    );
                }
                URL_SAFE_NO_PAD.encode(Sha256::digest(&der))
            }
            (None, Some(thumbprint)) => URL_SAFE_NO_PAD.encode(thumbprint.0),
            (None, None) => {
                return bad(
                    "there is no certificate to the private key",
                    "set `auth.certificate_file`, or bring one PEM file with both by `entraclaw login --key FILE`",
                );
            }
        };
        Ok(Self { key, algorithm, thumbprint: own })
    }

    /// A new assertion by `client_id` for the endpoint `audience`. No `jti` may be used twice.
    pub(super) fn assertion(
        &self,
        audience: &str,
        client_id: &str,
        jti: &str,
        now: Timestamp,
    ) -> Result<Secret, AuthError> {
        let (name, scheme) = match self.algorithm {
            Algorithm::Ps256 => ("PS256", SignatureScheme::RSA_PSS_SHA256),
            Algorithm::Rs256 => ("RS256", SignatureScheme::RSA_PKCS1_SHA256),
        };
        let header = json!({"alg": name, "typ": "JWT", "x5t#S256": self.thumbprint});
        let issued = now.as_second();
        let claims = json!({
            "aud": audience, "iss": client_id, "sub": client_id, "jti": jti,
            "nbf": issued, "iat": issued, "exp": issued.saturating_add(LIFE.as_secs()),
        });
        let part = |value: serde_json::Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let signed = format!("{}.{}", part(header), part(claims));
        let signature = self
            .key
            .choose_scheme(&[scheme])
            .and_then(|signer| signer.sign(signed.as_bytes()).ok())
            .ok_or_else(|| {
                let problem = format!("the private key can't sign with {name}");
                AuthError::new(
                    AuthFailure::KeyStore,
                    problem,
                    "set `auth.algorithm` to the other of PS256 and RS256",
                )
            })?;
        Ok(Secret::new(format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))))
    }
}

/// Checks that a private key can be used with its certificate, or with a certificate's thumbprint.
///
/// # Errors
/// The problem with the key or the certificate, with the fix.
pub fn check_key(
    key_pem: &Secret,
    certificate_pem: Option<&Secret>,
    thumbprint: Option<&Thumbprint>,
    algorithm: Algorithm,
) -> Result<(), AuthError> {
    Credential::new(key_pem, certificate_pem, thumbprint, algorithm).map(drop)
}

/// The private key and the certificate of a PEM file, each as a PEM text of its own.
pub fn split_pem(text: &Secret) -> Result<(Secret, Option<Secret>), AuthError> {
    let section = |label: &str| {
        let (begin, end) = (format!("-----BEGIN {label}-----"), format!("-----END {label}-----"));
        let rest = text.expose().get(text.expose().find(&begin)?..)?;
        let length = rest.find(&end)? + end.len();
        rest.get(..length).map(|section| Secret::new(format!("{section}\n")))
    };
    let key = ["PRIVATE KEY", "RSA PRIVATE KEY", "ENCRYPTED PRIVATE KEY"].into_iter().find_map(section);
    let key = key.ok_or_else(|| {
        let fix = "name a PEM file that has a line `-----BEGIN PRIVATE KEY-----`";
        AuthError::new(AuthFailure::KeyStore, "the file holds no PEM private key", fix)
    })?;
    Ok((key, section("CERTIFICATE")))
}

/// The SHA-256 thumbprint of a PEM certificate as hexadecimal digits, as portals show it.
pub fn thumbprint_of(certificate_pem: &Secret) -> Option<String> {
    let der = CertificateDer::from_pem_slice(certificate_pem.expose().as_bytes()).ok()?;
    Some(hex::of(&Sha256::digest(&der)).to_ascii_uppercase())
}

/// Random text for a PKCE verifier or a `state`: 256 bits from the operating system.
pub(super) fn unguessable() -> Result<Secret, AuthError> {
    let mut bytes = [0; 32];
    let filled = rustls::crypto::ring::default_provider().secure_random.fill(&mut bytes);
    filled.map_err(|_| {
        AuthError::new(AuthFailure::KeyStore, "the system gives no random numbers", "start the program again")
    })?;
    Ok(Secret::new(URL_SAFE_NO_PAD.encode(bytes)))
}

/// PKCE's `S256`: the hash of a verifier.
pub(super) fn challenge_of(verifier: &Secret) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(verifier.expose().as_bytes()))
}

/// Decodes base64 in both alphabets, with or without padding.
pub(super) fn lenient_base64(text: &str) -> Option<Vec<u8>> {
    let plain: String = text
        .trim()
        .trim_end_matches('=')
        .chars()
        .map(|c| match c {
            '-' => '+',
            '_' => '/',
            other => other,
        })
        .collect();
    let padded = format!("{plain}{}", "=".repeat((4 - plain.len() % 4) % 4));
    STANDARD.decode(padded).ok()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::Value;

    use super::*;

    const KEY: &str = include_str!("../../../../fakes/microsoft/src/entra/credentials/blueprint.key.pem");
    const CERTIFICATE: &str =
        include_str!("../../../../fakes/microsoft/src/entra/credentials/blueprint.cert.pem");
    const OTHER: &str = include_str!("../../../../fakes/microsoft/src/entra/credentials/other.cert.pem");

    fn credential(
        key: &str,
        certificate: Option<&str>,
        algorithm: Algorithm,
    ) -> Result<Credential, AuthError> {
        Credential::new(&Secret::new(key), certificate.map(Secret::new).as_ref(), None, algorithm)
    }

    #[rstest]
    #[case(Algorithm::Ps256, "PS256")]
    #[case(Algorithm::Rs256, "RS256")]
    fn an_assertion_says_who_for_whom_and_when(#[case] algorithm: Algorithm, #[case] name: &str) {
        let now: Timestamp = "2026-11-21T10:00:00.7Z".parse().unwrap();
        let credential = credential(KEY, Some(CERTIFICATE), algorithm).unwrap();
        let jwt = credential.assertion("https://login/token", "client", "id-1", now).unwrap();
        let parts: Vec<Vec<u8>> =
            jwt.expose().split('.').map(|part| URL_SAFE_NO_PAD.decode(part).unwrap()).collect();
        let header: Value = serde_json::from_slice(&parts[0]).unwrap();
        let claims: Value = serde_json::from_slice(&parts[1]).unwrap();
        assert_eq!((&header["alg"], &header["typ"]), (&json!(name), &json!("JWT")));
        assert_eq!(header["x5t#S256"].as_str().unwrap().len(), 43);
        assert_eq!(
            claims,
            json!({"aud": "https://login/token", "iss": "client", "sub": "client", "jti": "id-1",
                "nbf": 1_795_255_200, "iat": 1_795_255_200, "exp": 1_795_255_740})
        );
        assert_eq!(parts[2].len(), 256);
    }

    #[test]
    fn a_thumbprint_does_for_a_certificate() {
        let hex = thumbprint_of(&Secret::new(CERTIFICATE)).unwrap();
        let thumbprint = Thumbprint::parse(&hex).unwrap();
        let by_thumbprint =
            Credential::new(&Secret::new(KEY), None, Some(&thumbprint), Algorithm::Ps256).unwrap();
        assert_eq!(
            by_thumbprint.thumbprint,
            credential(KEY, Some(CERTIFICATE), Algorithm::Ps256).unwrap().thumbprint
        );
    }

    #[rstest]
    #[case(KEY, Some(OTHER), "does not belong to the certificate")]
    #[case(KEY, None, "there is no certificate")]
    #[case(KEY, Some("nonsense"), "no PEM certificate")]
    #[case("nonsense", Some(CERTIFICATE), "no PEM private key")]
    #[case("", Some(CERTIFICATE), "no PEM private key")]
    #[case(
        "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
        Some(CERTIFICATE),
        "can't be used"
    )]
    #[case(
        "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n",
        Some(CERTIFICATE),
        "encrypted with a passphrase"
    )]
    fn what_can_not_sign_says_why(#[case] key: &str, #[case] certificate: Option<&str>, #[case] why: &str) {
        let Err(error) = credential(key, certificate, Algorithm::Ps256) else { panic!("it can sign") };
        assert!(error.problem.contains(why), "{error}");
        assert_eq!(error.failure, AuthFailure::KeyStore);
    }

    #[test]
    fn one_file_with_both_is_taken_apart() {
        let (key, certificate) =
            split_pem(&Secret::new(format!("Bag Attributes\n{CERTIFICATE}\nx\n{KEY}"))).unwrap();
        assert!(credential(key.expose(), certificate.as_ref().map(Secret::expose), Algorithm::Ps256).is_ok());
        assert!(split_pem(&Secret::new(KEY)).unwrap().1.is_none());
        assert!(split_pem(&Secret::new(CERTIFICATE)).is_err());
        assert!(split_pem(&Secret::new("-----BEGIN PRIVATE KEY-----")).is_err());
    }

    #[test]
    fn pkce_is_that_of_the_standard() {
        // RFC 7636, appendix B.
        let verifier = Secret::new("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk");
        assert_eq!(challenge_of(&verifier), "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
        let (one, two) = (unguessable().unwrap(), unguessable().unwrap());
        assert!(one != two && one.expose().len() == 43);
    }
}
