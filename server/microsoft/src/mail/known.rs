//! The agent's own addresses, which the source learns and the mail service needs.
//! A model must never be able to set anything in here.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use serde_json::Value;

use super::auth::House;
use crate::graph::{Failure, GraphClient, GraphError, Scope};
use entraclaw_inbox::gate::MailAddress;

/// The most addresses of one account.
const ADDRESSES_MAX: usize = 100;

/// The agent's own addresses, shared between the source and the mail service.
#[derive(Debug, Default)]
pub struct MailKnown(Mutex<Option<BTreeSet<MailAddress>>>);

impl MailKnown {
    /// The addresses that are known so far.
    pub(super) fn own(&self) -> BTreeSet<MailAddress> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone().unwrap_or_default()
    }

    /// The agent's own mail system.
    pub(super) fn house(&self, authserv_id: Option<&str>) -> House {
        House {
            domains: self.own().iter().map(|address| address.host().to_owned()).collect(),
            authserv_id: authserv_id.map(str::to_owned),
        }
    }

    /// Asks Graph once for the agent's own addresses. Without them the agent's own mails are refused as not
    /// on the allowlist, and internal mail is not believed.
    pub async fn identify(&self, client: &GraphClient) -> Result<(), GraphError> {
        if self.0.lock().unwrap_or_else(PoisonError::into_inner).is_some() {
            return Ok(());
        }
        let url = client.url(&["me"], &[("$select", "id,mail,userPrincipalName,proxyAddresses")]);
        let addresses = match client.get_once(&url, Scope::Common).await {
            Ok(answer) => addresses(&answer),
            Err(error)
                if matches!(error.failure, Failure::Forbidden | Failure::NotFound | Failure::BadRequest) =>
            {
                tracing::warn!(%error, "graph does not say which addresses the agent has; add the scope User.Read");
                BTreeSet::new()
            }
            Err(error) => return Err(error),
        };
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(addresses);
        Ok(())
    }
}

fn addresses(user: &Value) -> BTreeSet<MailAddress> {
    let proxies = user.get("proxyAddresses").and_then(Value::as_array).into_iter().flatten();
    let proxies = proxies.filter_map(Value::as_str).filter_map(|proxy| {
        let (kind, address) = proxy.split_once(':')?;
        kind.eq_ignore_ascii_case("smtp").then_some(address)
    });
    let names = ["mail", "userPrincipalName"].into_iter().filter_map(|name| user.get(name)?.as_str());
    names.chain(proxies).filter_map(MailAddress::parse).take(ADDRESSES_MAX).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn all_addresses_of_the_account_are_its_own() {
        let user = json!({"mail": null, "userPrincipalName": "Agent@contoso.com", "proxyAddresses":
            ["SMTP:agent@contoso.com", "smtp:helper@fabrikam.com", "x500:/o=contoso", 7]});
        let own: Vec<String> = addresses(&user).iter().map(|a| a.as_str().to_owned()).collect();
        assert_eq!(own, ["agent@contoso.com", "helper@fabrikam.com"]);
    }
}
