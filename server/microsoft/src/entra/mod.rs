//! The sign-in: it gets access tokens and reads what a token says about its owner.
//! It must never write an access token anywhere, and must use a claim only as a default.

mod assertion;
mod authority;
mod certificate;
mod challenge;
mod claims;
mod delegated;
mod error;
mod exchange;
mod grant;
mod hops;
pub mod keys;
mod login;
mod record;
mod refusal;
mod renewing;
mod settings;
mod source;
mod token;
mod token_file;

pub use assertion::{check_key, split_pem, thumbprint_of};
pub(crate) use authority::form;
pub use authority::{Authority, DEFAULT_LOGIN_URL};
pub use certificate::{MAKE_A_NEW_ONE, Validity, day};
pub use challenge::claims_challenge;
pub use claims::{Claims, claims};
pub use error::{AuthError, AuthFailure};
pub use exchange::{EntraParts, SIGN_IN_RETRIES_MAX};
pub use login::{BrowserLogin, DeviceLogin, DevicePrompt, Judge, Redirects, SignedIn, check_agent_user};
pub use record::SignInRecord;
pub use settings::{
    AgentUser, AgentUserName, Algorithm, Auth, Delegated, KeyStoreKind, LoginBy, SignIn, Thumbprint,
};
pub use source::{graph_resource, token_source};
pub use token::{NoToken, StaticToken, TokenSource};
pub use token_file::FileToken;
