//! Finds the operation for a URL and a verb; an unknown or hostile URL gets `Unknown`.
//! It must never look at the state of the world.

use percent_encoding::percent_decode_str;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use url::Url;

/// The operation that a request asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// `GET /me`.
    Me,
    /// `GET /me/chats`, `/chats`, `/users/{id}/chats`.
    ListChats,
    /// `GET …/chats/{id}`.
    GetChat,
    /// `GET …/chats/{id}/messages`.
    ListMessages,
    /// `GET …/chats/{id}/messages/{id}`.
    GetMessage,
    /// `POST …/chats/{id}/messages`.
    SendMessage,
    /// `POST …/messages/replyWithQuote`.
    ReplyWithQuote,
    /// `PATCH …/messages/{id}`.
    EditMessage,
    /// `POST …/messages/{id}/softDelete`.
    SoftDelete,
    /// `POST …/messages/{id}/setReaction` and `unsetReaction`.
    React,
    /// `POST …/chats`.
    CreateChat,
    /// `POST …/chats/{id}/markChatReadForUser`.
    MarkRead,
    /// `GET …/messages/{id}/hostedContents/{id}/$value`.
    HostedContent,
    /// `GET /shares/{id}/driveItem/content`.
    ShareContent,
    /// `GET` at the file store, without a token.
    StoredFile,
    /// `GET …/chats/{id}/members`.
    ListMembers,
    /// `POST …/chats/{id}/members`.
    AddMember,
    /// `GET /servicePrincipals/{id}/microsoft.graph.agentIdentity/sponsors`.
    ListSponsors,
    /// `GET …/chats/getAllMessages`, with or without `/delta`.
    GetAllMessages,
    /// `GET …/chats/{id}/messages/delta`.
    ChatDelta,
    /// `GET …/mailFolders/{id}/messages/delta`.
    MailDelta,
    /// `GET …/mailFolders/{id}/messages`.
    ListMail,
    /// `GET …/messages/{id}`.
    GetMail,
    /// `POST …/messages`.
    CreateMail,
    /// `PATCH …/messages/{id}`.
    EditMail,
    /// `POST …/messages/{id}/createReply`.
    CreateReply,
    /// `POST …/messages/{id}/reply`.
    ReplyMail,
    /// `POST …/messages/{id}/send`.
    SendDraft,
    /// Any other request.
    Unknown,
}

/// The owner of the chats that a path names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Owner {
    Unnamed,
    Me,
    User(String),
}

/// The parts of a path.
#[derive(Debug, Clone)]
pub(super) struct Route {
    pub(super) operation: Operation,
    pub(super) owner: Owner,
    pub(super) chat: Option<String>,
    pub(super) message: Option<String>,
    /// The last step of the path, which tells whether a reaction is set or removed.
    pub(super) action: Option<String>,
    /// The service principal that the path names.
    pub(super) principal: Option<String>,
    /// Whether the path exists but only takes other verbs.
    pub(super) wrong_method: bool,
}

impl Operation {
    /// Whether the operation is on the mailbox.
    pub(super) fn is_of_mail(self) -> bool {
        matches!(
            self,
            Self::MailDelta
                | Self::ListMail
                | Self::GetMail
                | Self::CreateMail
                | Self::EditMail
                | Self::CreateReply
                | Self::ReplyMail
                | Self::SendDraft
        )
    }
}

impl Route {
    fn nowhere() -> Self {
        Self {
            operation: Operation::Unknown,
            owner: Owner::Unnamed,
            chat: None,
            message: None,
            action: None,
            principal: None,
            wrong_method: false,
        }
    }
}

/// Finds the operation and the parts of the path.
pub(super) fn route(method: &str, url: &Url) -> Route {
    let steps: Vec<String> = url
        .path_segments()
        .map(|segments| segments.map(|s| percent_decode_str(s).decode_utf8_lossy().into_owned()).collect())
        .unwrap_or_default();
    let steps: Vec<&str> = steps.iter().map(String::as_str).collect();
    let mut route = Route::nowhere();
    let rest: &[&str] = match steps.as_slice() {
        ["_files", share] => {
            route.action = Some((*share).to_owned());
            return verbs(route, method, &[("GET", Operation::StoredFile)]);
        }
        ["v1.0", "shares", share, "driveItem", "content"] => {
            route.action = Some((*share).to_owned());
            return verbs(route, method, &[("GET", Operation::ShareContent)]);
        }
        ["v1.0", "me"] => return verbs(route, method, &[("GET", Operation::Me)]),
        ["v1.0", "me", rest @ ..] => {
            route.owner = Owner::Me;
            rest
        }
        ["v1.0", "users", user, rest @ ..] => {
            route.owner = Owner::User((*user).to_owned());
            rest
        }
        ["v1.0", "servicePrincipals", id, "microsoft.graph.agentIdentity", "sponsors"] => {
            route.principal = Some((*id).to_owned());
            return verbs(route, method, &[("GET", Operation::ListSponsors)]);
        }
        ["v1.0", rest @ ..] => rest,
        _ => return route,
    };
    if route.owner != Owner::Unnamed
        && let Some(known) = mail_verbs(&mut route, rest)
    {
        return verbs(route, method, known);
    }
    let ["chats", rest @ ..] = rest else { return route };
    if let ["getAllMessages"] | ["getAllMessages", "delta"] = rest {
        return verbs(route, method, &[("GET", Operation::GetAllMessages)]);
    }
    let [chat, rest @ ..] = rest else {
        return verbs(route, method, &[("GET", Operation::ListChats), ("POST", Operation::CreateChat)]);
    };
    route.chat = Some((*chat).to_owned());
    match rest {
        [] => verbs(route, method, &[("GET", Operation::GetChat)]),
        ["members"] => {
            verbs(route, method, &[("GET", Operation::ListMembers), ("POST", Operation::AddMember)])
        }
        ["messages"] => {
            verbs(route, method, &[("GET", Operation::ListMessages), ("POST", Operation::SendMessage)])
        }
        ["markChatReadForUser"] => verbs(route, method, &[("POST", Operation::MarkRead)]),
        ["messages", message, "hostedContents", hosted, "$value"] => {
            route.message = Some((*message).to_owned());
            route.action = Some((*hosted).to_owned());
            verbs(route, method, &[("GET", Operation::HostedContent)])
        }
        ["messages", "delta"] => verbs(route, method, &[("GET", Operation::ChatDelta)]),
        ["messages", "replyWithQuote"] => verbs(route, method, &[("POST", Operation::ReplyWithQuote)]),
        ["messages", message] => {
            route.message = Some((*message).to_owned());
            verbs(route, method, &[("GET", Operation::GetMessage), ("PATCH", Operation::EditMessage)])
        }
        ["messages", message, action @ ("softDelete" | "setReaction" | "unsetReaction")] => {
            route.message = Some((*message).to_owned());
            route.action = Some((*action).to_owned());
            let operation = if *action == "softDelete" { Operation::SoftDelete } else { Operation::React };
            verbs(route, method, &[("POST", operation)])
        }
        _ => Route { chat: None, ..route },
    }
}

/// The verbs that a path of the mailbox takes.
fn mail_verbs(route: &mut Route, rest: &[&str]) -> Option<&'static [(&'static str, Operation)]> {
    match rest {
        ["mailFolders", folder, "messages", "delta"] => {
            route.action = Some((*folder).to_owned());
            Some(&[("GET", Operation::MailDelta)])
        }
        ["mailFolders", folder, "messages"] => {
            route.action = Some((*folder).to_owned());
            Some(&[("GET", Operation::ListMail)])
        }
        ["messages"] => Some(&[("POST", Operation::CreateMail)]),
        ["messages", mail] => {
            route.message = Some((*mail).to_owned());
            Some(&[("GET", Operation::GetMail), ("PATCH", Operation::EditMail)])
        }
        ["messages", mail, action] => {
            route.message = Some((*mail).to_owned());
            match *action {
                "createReply" => Some(&[("POST", Operation::CreateReply)]),
                "reply" => Some(&[("POST", Operation::ReplyMail)]),
                "send" => Some(&[("POST", Operation::SendDraft)]),
                _ => None,
            }
        }
        _ => None,
    }
}

fn verbs(mut route: Route, method: &str, known: &[(&str, Operation)]) -> Route {
    match known.iter().find(|(verb, _)| *verb == method) {
        Some((_, operation)) => route.operation = *operation,
        None => route.wrong_method = true,
    }
    route
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(method: &str, path: &str) -> Route {
        route(method, &Url::parse("https://graph.test").unwrap().join(path).unwrap())
    }

    #[test]
    fn every_form_of_a_path_is_known() {
        assert_eq!(of("GET", "/v1.0/me").operation, Operation::Me);
        for path in ["/v1.0/me/chats", "/v1.0/chats?$top=1", "/v1.0/users/u/chats"] {
            assert_eq!(of("GET", path).operation, Operation::ListChats);
        }
        let route = of("GET", "/v1.0/chats/19%3Aab%40thread.v2/messages/17");
        assert_eq!(
            (route.operation, route.chat.as_deref()),
            (Operation::GetMessage, Some("19:ab@thread.v2"))
        );
        assert_eq!(of("POST", "/v1.0/me/chats/c/messages/1/softDelete").owner, Owner::Me);
        assert!(of("DELETE", "/v1.0/chats/c/messages").wrong_method);
        for path in ["/beta/me", "/v1.0", "/", "/v1.0/me/mail", "/v1.0/chats/c/x/y", "/v1.0//", "/%ff%00"] {
            assert_eq!(of("GET", path).operation, Operation::Unknown, "{path}");
        }
    }
}
