//! A fake Microsoft Entra: the token, device code and authorization endpoints of one tenant, as a state
//! machine. It must follow no rule that is not in [`rules`], accept no signature without verifying it, and
//! grant nothing by default.

mod assertion;
mod credential;
mod fault;
mod federation;
mod form;
mod given;
mod grant;
mod grants;
mod people;
mod refuse;
mod rules;
mod shared;
mod spec;
mod state;

pub use credential::Credential;
pub use fault::{EntraFault, EntraFaultAction, EntraFaultBody};
pub use grant::Grant;
pub use rules::{EntraRule, EntraRuleId, rules};
pub use shared::{EntraServer, SharedEntra, serve};
pub use spec::{AuthKind, EntraSpec, SignatureAlgorithm};
pub use state::{DEFAULT_LOGIN_URL, EntraCall, EntraIds, FakeEntra};
