//! Each claim of the fake about the Bot Framework, as data: its text, its source, and how sure it is.
//! The fake must have no behaviour that is not in this table.

use serde::Serialize;

use crate::graph::Mark;

/// One claim about the Bot Framework.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct BotRule {
    /// A name that never changes.
    pub id: &'static str,
    /// The claim as text.
    pub says: &'static str,
    /// The source of the claim: a public page, or a heading of `docs/src/facts`.
    pub source: &'static str,
    /// How sure the claim is.
    pub mark: Mark,
}

const AUTHENTICATION: &str = "https://learn.microsoft.com/en-us/azure/bot-service/rest-api/bot-framework-rest-connector-authentication";

macro_rules! rules {
    ($( $id:literal $mark:ident $source:expr, $says:literal; )*) => {
        /// All claims of the fake.
        pub const BOT_RULES: &[BotRule] =
            &[$( BotRule { id: $id, says: $says, source: $source, mark: Mark::$mark }, )*];
    };
}

rules! {
    "bearer" Doc AUTHENTICATION, "every activity comes with a bearer token";
    "metadata" Doc AUTHENTICATION, "the OpenID metadata names issuer and jwks_uri";
    "issuer" Doc AUTHENTICATION, "iss is https://api.botframework.com";
    "audience" Doc AUTHENTICATION, "aud is the bot's application id";
    "signature" Doc AUTHENTICATION, "RS256 by a published key that kid names";
    "life" Doc AUTHENTICATION, "a token has nbf and exp, one hour apart; clocks may differ by five minutes";
    "service-url" Doc AUTHENTICATION, "the claim serviceurl is the activity's serviceUrl";
    "endorsements" Doc AUTHENTICATION, "a key lists the channels that it may sign for";
    "roll-over" Doc AUTHENTICATION, "keys change; a bot keeps them for at most five days";
    "connector-token" Doc AUTHENTICATION,
        "client credentials for https://api.botframework.com/.default at the tenant's v2.0 token endpoint";
    "connector-send" Doc "https://learn.microsoft.com/en-us/azure/bot-service/rest-api/bot-framework-rest-connector-api-reference",
        "POST /v3/conversations/{id}/activities[/{replyTo}] answers 201 with the id of the new activity";
    "connector-401" Doc AUTHENTICATION, "a token that is missing, unknown or over answers 401";
    "connector-gone" Guess "facts/bot#a-conversation-that-is-gone",
        "a conversation that the channel never had answers 404";
    "connector-throttled" Doc "https://learn.microsoft.com/en-us/microsoftteams/platform/bots/how-to/rate-limit", "too many messages answer 429 with Retry-After";
    "activity-shape" Guess "facts/bot#shape-of-an-activity",
        "id, timestamp, serviceUrl, channelId, from with aadObjectId, conversation, recipient, entities, channelData";
    "mention-shape" Doc "https://learn.microsoft.com/en-us/microsoftteams/platform/bots/how-to/conversations/channel-and-group-conversations",
        "a mention is <at>Name</at> in the text and an entity with the same text and the account that is meant";
    "edit-shape" Doc "https://learn.microsoft.com/en-us/microsoftteams/platform/bots/how-to/conversations/conversation-messages",
        "an edit is messageUpdate, a deletion messageDelete, both with the id of the message";
    "token-shape" Guess "facts/entra#the-token-endpoint-answers-as-others-do",
        "access_token, expires_in, token_type; a refusal has error and error_description";
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::BOT_RULES;

    #[test]
    fn every_rule_has_a_name_and_says_where_it_comes_from() {
        let ids: BTreeSet<_> = BOT_RULES.iter().map(|rule| rule.id).collect();
        assert_eq!(ids.len(), BOT_RULES.len());
        assert!(BOT_RULES.iter().all(|rule| !rule.source.is_empty() && !rule.says.is_empty()));
    }
}
