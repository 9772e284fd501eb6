//! Each claim of the fake about Microsoft Graph, as data: its text, its source, and how sure it is.
//! The fake must have no behaviour that is not in this table; a test compares the two.

use serde::{Serialize, Serializer};

/// How sure a rule is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Mark {
    /// The vendor's documentation says so.
    Doc,
    /// Another project observed it.
    Peer,
    /// There is no source; the first run against the real service must check it.
    Guess,
}

/// One claim about Graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Rule {
    /// The rule that states the claim.
    pub id: RuleId,
    /// The claim as text.
    pub says: &'static str,
    /// The source of the claim; documentation pages are named by their path under learn.microsoft.com.
    pub source: &'static str,
    /// How sure the claim is.
    pub mark: Mark,
}

/// All claims, in the order of the file.
pub fn rules() -> &'static [Rule] {
    TABLE
}

macro_rules! rules {
    ($( $variant:ident $id:literal $mark:ident $source:literal $says:literal; )*) => {
        /// The name of a rule.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum RuleId {
            $( #[doc = concat!("`", $id, "`; [`rules`] has what it says.")] $variant, )*
        }

        impl RuleId {
            /// The name in logs, which never changes.
            pub fn as_str(self) -> &'static str {
                match self { $( Self::$variant => $id, )* }
            }
        }

        static TABLE: &[Rule] = &[
            $( Rule { id: RuleId::$variant, says: $says, source: $source, mark: Mark::$mark }, )*
        ];
    };
}

impl Serialize for RuleId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

rules! {
    // Transport and errors.
    ErrorEnvelope "error-envelope" Doc "graph/errors"
        "a rejection carries error{code, message, innerError{date, request-id, client-request-id}}";
    ErrorLowerCase "error-lower-case" Doc "graph/errors"
        "some back ends write innererror in lower case and nest a second one with its own code";
    RequestIds "request-ids" Peer "dotnet/dev-proxy, Graph error mocks"
        "every answer has request-id, echoes client-request-id, and is not to be stored";
    DateHeader "date-header" Doc "entra identity-platform/certificate-credentials"
        "the Date header is the clock of the service, which need not be the clock of the client";
    ForeignOrigin "foreign-origin" Guess "the fake has one origin, like the service"
        "a request to another origin never reaches the service; with a token in it, it is a leak";
    UnknownPath "unknown-path" Guess "graph/errors lists 404 for what does not exist"
        "a path that the service does not know answers 404";
    WrongMethod "wrong-method" Doc "graph/errors"
        "a verb that a path does not take answers 405";
    MalformedBody "malformed-body" Doc "graph/errors"
        "a body that is not the JSON asked for answers 400";

    // Tokens and scopes.
    TokenMissing "token-missing" Doc "graph/errors"
        "no bearer token answers 401 with WWW-Authenticate";
    TokenWrong "token-wrong" Doc "graph/errors"
        "a token that was never issued answers 401 with WWW-Authenticate";
    TokenExpired "token-expired" Doc "graph/errors"
        "a token past its life answers 401 with WWW-Authenticate";
    ClaimsChallenge "claims-challenge" Doc "entra identity-platform/claims-challenge"
        "a session that policy ended answers 401 with error=insufficient_claims and base64 claims";
    ScopeMissing "scope-missing" Doc "permission tables of the reference pages"
        "a token without one of the scopes of an operation answers 403";
    PreviewNeedsRead "preview-needs-read" Doc "graph/api/chat-list"
        "expanding lastMessagePreview needs Chat.Read, Chat.ReadBasic is not enough";
    OtherUser "other-user" Guess "a delegated token speaks for one user"
        "/users/{id} with the id of another user answers 403";
    Me "me" Doc "graph/api/user-get"
        "GET /me shows the signed-in user; $select chooses fields";

    // Sponsors.
    SponsorsList "sponsors-list" Peer "microsoft/entrabot, sponsor resolution"
        "the sponsors of an agent identity are listed with their ids and nothing else, on one page";
    SponsorsUnknown "sponsors-unknown" Guess "graph/errors lists 404 for what does not exist"
        "the sponsors of anything else answer 404";

    // Chats.
    ChatIdShapes "chat-id-shapes" Doc "graph/api/chat-list"
        "19:{guid}_{guid}@unq.gbl.spaces, 19:{hex}@thread.v2, 19:meeting_{b64}@thread.v2";
    ChatFields "chat-fields" Doc "graph/resources/chat"
        "id, topic (null in a 1:1), dates, chatType, webUrl, tenantId, onlineMeetingInfo, viewpoint";
    ChatsOrderBy "chats-orderby" Doc "graph/api/chat-list"
        "the only $orderby is lastMessagePreview/createdDateTime desc, anything else answers 400";
    ChatsOrdered "chats-ordered" Doc "graph/api/chat-list"
        "with it the chat of the newest message comes first";
    ChatsOrderWithoutExpand "chats-order-without-expand" Peer "several public clients"
        "it works without $expand, the dates it sorts by are then just not shown";
    ChatsUnordered "chats-unordered" Peer "Microsoft Q&A 559578, 873489"
        "without $orderby the order has no meaning";
    ChatsTop "chats-top" Doc "graph/api/chat-list"
        "$top is 1 to 50, else 400";
    ChatsTopDefault "chats-top-default" Guess "the page size without $top is not documented"
        "a page has 20 chats when $top is absent";
    ChatsExpand "chats-expand" Doc "graph/api/chat-list"
        "$expand takes members and lastMessagePreview only, else 400";
    ChatsOptions "chats-options" Guess "the page lists no other option"
        "another OData option on a chat list answers 400";
    ChatsFilterIds "chats-filter-ids" Peer "several public clients"
        "$filter=id in ('...','...') chooses chats";
    ChatsFilterOther "chats-filter-other" Guess "the page says that $filter is supported, not with what"
        "another $filter on chats answers 400";
    PreviewAbsent "preview-absent" Doc "graph/resources/chatmessageinfo"
        "lastMessagePreview is absent unless expanded";
    PreviewNull "preview-null" Doc "graph/resources/chatmessageinfo"
        "lastMessagePreview of an empty chat is null";
    PreviewShape "preview-shape" Doc "graph/resources/chatmessageinfo"
        "it keeps the markers in the body, says isDeleted, and has no mentions and attachments";
    PreviewListOnly "preview-list-only" Doc "graph/resources/chatmessageinfo"
        "it exists when listing chats only, so a single chat refuses the expansion with 400";
    MembersCap "members-cap" Doc "graph/api/chat-list"
        "expanded members stop at 25 a chat";
    MembersList "members-list" Doc "graph/api/chat-list-members"
        "members carry userId, roles, displayName, email and tenantId";
    FederatedMail "federated-mail" Peer "microsoft/entrabot learnings"
        "the e-mail of a member from another tenant can be null";
    UpdatedByMembership "updated-by-membership" Peer "Microsoft Q&A 559578, 873489"
        "lastUpdatedDateTime of a chat moves on rename and membership, not on messages";
    NotAMember "not-a-member" Guess "whether 403 or 404 was not read anywhere"
        "a chat that the user has left or never saw answers 404";
    NextLink "next-link" Doc "graph/api/chat-list and graph/paging"
        "a further page is an opaque link on the same origin that carries every option of the first call";
    NextLinkTampered "next-link-tampered" Guess "the token is opaque"
        "a page token that the service did not issue answers 400";

    // Messages.
    MessageFields "message-fields" Doc "graph/resources/chatmessage"
        "all documented fields are there; replyToId and channelIdentity are always null in a chat";
    MessageIds "message-ids" Doc "graph/resources/chatmessage"
        "an id is the creation time in milliseconds as a string, unique in its chat";
    MessagesOrder "messages-order" Doc "graph/api/chat-list-messages"
        "newest first by lastModifiedDateTime, or by createdDateTime when asked";
    MessagesOrderBy "messages-orderby" Doc "graph/api/chat-list-messages"
        "$orderby takes lastModifiedDateTime or createdDateTime, descending; ascending answers 400";
    MessagesTop "messages-top" Doc "graph/api/chat-list-messages"
        "$top is 1 to 50, else 400";
    MessagesTopDefault "messages-top-default" Guess "the page size without $top is not documented"
        "a page has 20 messages when $top is absent";
    MessagesOptions "messages-options" Doc "graph/api/chat-list-messages"
        "other OData options are not supported: 400";
    MessagesFilter "messages-filter" Doc "graph/api/chat-list-messages"
        "$filter takes lastModifiedDateTime gt and lt";
    MessagesFilterCreated "messages-filter-created" Doc "graph/api/chat-list-messages"
        "$filter takes createdDateTime lt";
    MessagesFilterIgnored "messages-filter-ignored" Doc "graph/api/chat-list-messages"
        "$filter is ignored without a word unless $orderby names the same property";
    MessagesFilterOther "messages-filter-other" Guess "the page lists the operators, not the refusal"
        "another property or operator in $filter answers 400";
    MessageGone "message-gone" Doc "graph/errors"
        "a message that is not there answers 404";
    SystemUnknown "system-unknown" Doc "graph/resources/chatmessage"
        "messageType of a system event is unknownFutureValue";
    SystemPrefer "system-prefer" Doc "graph/resources/chatmessage"
        "with Prefer: include-unknown-enum-members it is systemEventMessage";
    SystemShape "system-shape" Doc "graph/resources/eventmessagedetail"
        "a system event has from null, body <systemEventMessage/>, details in eventDetail";
    UnknownType "unknown-type" Doc "graph/resources/chatmessage"
        "an enumeration can grow: a type that nobody knows is unknownFutureValue without Prefer";
    FromUser "from-user" Doc "graph/resources/teamworkuseridentity"
        "from.user has id, displayName, userIdentityType, a tenant id at times, and never a UPN";
    FromNullName "from-null-name" Peer "microsoft/entrabot, usual for federated people"
        "displayName of a sender can be null";
    FromHomeId "from-home-id" Peer "microsoft/entrabot learnings"
        "a sender from another tenant shows the object id and tenant id of the home tenant";
    FromApplication "from-application" Doc "graph/resources/chatmessage"
        "a bot or webhook writes as from.application, from.user is null";
    Tombstone "tombstone" Doc "graph/resources/chatmessage"
        "a deleted message stays, with deletedDateTime and an empty body";
    EtagChanges "etag-changes" Doc "graph/resources/chatmessage"
        "etag changes on edit, reaction and deletion";
    EditDates "edit-dates" Doc "graph/resources/chatmessage"
        "an edit sets lastEditedDateTime and moves lastModifiedDateTime";
    ReactionDates "reaction-dates" Doc "graph/resources/chatmessage"
        "a reaction moves lastModifiedDateTime and leaves lastEditedDateTime alone";
    LateVisibility "late-visibility" Peer "microsoft/entrabot learnings 16 and 17"
        "a message can appear after a newer one, with its own older dates";
    MentionShape "mention-shape" Doc "graph/resources/chatmessagemention"
        "a mention is <at id=N> in the body and an entry with the same id in mentions";
    MentionSplit "mention-split" Peer "floriscornel/teams-mcp"
        "a name of several words becomes one <at> per word, separate ids, same user";
    MentionEveryone "mention-everyone" Doc "graph/resources/chatmessagemention"
        "everyone is a conversation of type chat";
    QuoteShape "quote-shape" Doc "graph/api/chatmessage-replywithquote"
        "a quote is an attachment messageReference with messageId, messagePreview and messageSender as a JSON string";
    ForwardShape "forward-shape" Doc "graph/api/chatmessage-get"
        "a forward is forwardedMessageReference; its JSON string can hold raw newlines and so be invalid";
    FileShape "file-shape" Doc "graph/resources/chatmessageattachment"
        "a file is an attachment reference with contentUrl and name";
    CodeShape "code-shape" Doc "graph/resources/chatmessageattachment"
        "a snippet is an attachment with language and a codeSnippetUrl to fetch";
    CardShape "card-shape" Doc "graph/resources/chatmessageattachment"
        "cards, announcements and Loop components are attachments with their own content types";
    HostedImage "hosted-image" Doc "graph/api/chat-list-messages"
        "an inline image is <img> with a hostedContents URL, and attachments stays empty";
    CustomEmoji "custom-emoji" Doc "graph/api/chat-list-messages"
        "an emoji is an element whose text is in alt";
    AllMessagesDelegated "all-messages-delegated" Peer "two public clients; graph/api/chatmessage-delta lists application only"
        "getAllMessages and its delta answer 412 to a delegated token";
    ChatDeltaUndocumented "chat-delta-undocumented" Guess "not in the v1.0 reference; a peer uses it"
        "messages/delta of one chat answers 400";

    // Writing.
    Send "send" Doc "graph/api/chat-post-messages"
        "a message that was sent answers 201 with the whole message";
    SendOwnAppears "send-own-appears" Doc "graph/api/chat-list-messages"
        "own messages appear in the lists like anyone's";
    SendInvalid "send-invalid" Doc "graph/api/chat-post-messages and graph/errors"
        "a body without content, with a wrong contentType or importance answers 400";
    SendUnmatched "send-unmatched" Guess "the page asks for matching ids and does not name the refusal"
        "an attachment or mention whose id has no marker in the body, or the reverse, answers 400";
    SendTooLarge "send-too-large" Guess "about 28 KB is general knowledge; a peer stops at 28,000 characters"
        "more than 28 KB of content and mentions answers 413";
    QuoteReply "quote-reply" Doc "graph/api/chatmessage-replywithquote"
        "replyWithQuote answers 201 with the message, one messageReference per quoted id";
    QuoteLimit "quote-limit" Doc "graph/api/chatmessage-replywithquote"
        "1 to 10 messageIds, else 400";
    EditOwn "edit-own" Guess "peers edit this way; the status is general knowledge"
        "PATCH of an own message answers 204";
    EditForeign "edit-foreign" Guess "delegated permissions cover own messages"
        "PATCH of another's message answers 403";
    SoftDelete "soft-delete" Doc "graph/api/chatmessage-softdelete"
        "softDelete under /me or /users/{id} answers 204 and leaves a tombstone";
    SoftDeleteForm "soft-delete-form" Peer "microsoft/entrabot"
        "softDelete under /chats answers 405";
    SoftDeleteForeign "soft-delete-foreign" Guess "delegated permissions cover own messages"
        "softDelete of another's message answers 403";
    React "react" Doc "graph/api/chatmessage-setreaction"
        "setReaction and unsetReaction with reactionType answer 204";
    CreateOneOnOne "create-one-on-one" Peer "microsoft/entrabot; graph/api/chat-post"
        "POST chats of oneOnOne with two members answers 201, and the chat that exists when there is one";
    CreateGroup "create-group" Doc "graph/api/chat-post"
        "POST chats of group answers 201 with a new chat each time; members bind users by URL and are owners or guests";
    CreateBroken "create-broken" Guess "graph/api/chat-post lists what is required"
        "A chat without a type, without the caller, or with somebody unknown answers 400";
    MarkRead "mark-read" Doc "graph/api/chat-markchatreadforuser"
        "markChatReadForUser with the user's id and tenant answers 204";
    MarkReadOther "mark-read-other" Guess "delegated permissions cover the own view"
        "Another user's id answers 403";
    HostedContent "hosted-content" Doc "graph/api/chatmessagehostedcontent-get"
        "hostedContents/{id}/$value answers the bytes of what the message holds, else 404";
    ShareContent "share-content" Doc "graph/api/shares-get, graph/api/driveitem-get-content"
        "shares/u!{base64url}/driveItem/content answers 302 with a link that carries its own right";
    StoreWithoutToken "store-without-token" Doc "graph/api/driveitem-get-content"
        "The link of a 302 wants no Authorization header";
    AddMember "add-member" Doc "graph/api/chat-post-members"
        "POST members with user@odata.bind answers 201; the chat gets a membersAdded event";

    // Mail.
    MailboxMissing "mailbox-missing" Doc "graph/errors, Outlook"
        "a user without a mailbox answers 404 MailboxNotEnabledForRESTAPI";
    MailFields "mail-fields" Doc "graph/resources/message"
        "the documented fields; uniqueBody only when it is selected; dates have whole seconds";
    MailHeadersSingle "mail-headers-single" Guess "general knowledge: mostly on a single GET"
        "internetMessageHeaders are not shown in a delta even when they are selected";
    MailAttachments "mail-attachments" Doc "graph/api/message-get"
        "$expand=attachments shows what is attached; nothing else can be expanded";
    MailImmutableId "mail-immutable-id" Doc "graph/outlook-immutable-id"
        "with Prefer: IdType=\"ImmutableId\" an id survives a move, and a draft keeps its id when it is sent";
    MailIdMoves "mail-id-moves" Doc "graph/outlook-immutable-id"
        "without it the id of a mail changes when it is moved";
    MailInvitation "mail-invitation" Doc "graph/resources/eventmessage"
        "invitations are in the inbox as eventMessage, told apart by @odata.type";
    MailGone "mail-gone" Doc "graph/errors, Outlook"
        "a mail that is not there answers 404 ErrorItemNotFound";
    MailList "mail-list" Doc "graph/api/user-list-messages"
        "the list of a folder shows what is in it, 10 mails a page or as many as $top says, up to 1,000, with a next link";
    MailListOptions "mail-list-options" Guess "which options the service refuses together was not read"
        "the list takes $select, $top, $skip and $orderby receivedDateTime desc; other options answer 400";
    MailDelta "mail-delta" Doc "graph/api/message-delta"
        "the delta is of one folder; it begins with everything that is there and goes on with what changed";
    MailDeltaLinks "mail-delta-links" Doc "graph/delta-query-overview"
        "a page has a next link or a delta link, never both; both are opaque and carry the options of the first call";
    MailDeltaTampered "mail-delta-tampered" Guess "the token is opaque"
        "a token that the service did not issue answers 400";
    MailDeltaOptions "mail-delta-options" Doc "graph/delta-query-messages"
        "$filter takes receivedDateTime ge or gt, $orderby receivedDateTime desc; other options answer 400";
    MailDeltaFilter "mail-delta-filter" Doc "graph/delta-query-messages"
        "a filtered series holds only what was received since, at most 5,000 mails";
    MailDeltaUnordered "mail-delta-unordered" Doc "graph/delta-query-overview"
        "the order of the items means nothing";
    MailDeltaDuplicates "mail-delta-duplicates" Doc "graph/delta-query-overview"
        "an item can appear several times";
    MailDeltaReplay "mail-delta-replay" Doc "graph/delta-query-overview"
        "what was told in an earlier round can be told again";
    MailEmptyPage "mail-empty-page" Doc "graph/delta-query-overview"
        "a page can be empty and have a next link";
    MailPartial "mail-partial" Doc "graph/delta-query-messages"
        "a changed item shows its id and what changed; isRead is a text there in the documentation's sample";
    MailRemoved "mail-removed" Doc "graph/delta-query-messages"
        "what left the folder is {id, @removed{reason: deleted or changed}}";
    MailPageSize "mail-page-size" Doc "graph/delta-query-messages"
        "Prefer: odata.maxpagesize bounds a page and has to be in every request";
    MailPageDefault "mail-page-default" Guess "the page size without a wish is not documented"
        "a page has 10 mails when nothing is asked";
    MailDeltaGone "mail-delta-gone" Doc "graph/delta-query-overview"
        "a reset answers 410 with a Location that has an empty token";
    MailStateNotFound "mail-state-not-found" Doc "graph/delta-query-overview"
        "an expired token answers 40x with the code syncStateNotFound";
    MailDraft "mail-draft" Doc "graph/api/user-post-messages"
        "POST messages makes a draft: 201 with the mail";
    MailInvalid "mail-invalid" Doc "graph/errors"
        "a mail with members of a wrong kind answers 400";
    MailOwnHeaders "mail-own-headers" Doc "graph/outlook-create-send-messages"
        "custom headers begin with x- and can be given only when a mail is made";
    MailReplyDraft "mail-reply-draft" Doc "graph/api/message-createreply"
        "createReply makes a draft in the conversation, to Reply-To if there is one, else to From: 201 with the mail";
    MailReplyBoth "mail-reply-both" Doc "graph/api/message-createreply"
        "a comment and a body of the message together answer 400";
    MailEditDraft "mail-edit-draft" Doc "graph/api/message-update"
        "PATCH changes subject, body and recipients of a draft only: 200 with the mail";
    MailSend "mail-send" Doc "graph/api/message-send"
        "send of a draft answers 202 without a body";
    MailSendOnce "mail-send-once" Guess "what is no draft can't be sent; the status was not read anywhere"
        "send of a mail that was sent answers 400";
    MailSendNobody "mail-send-nobody" Guess "general knowledge"
        "send of a draft without recipients answers 400 ErrorInvalidRecipients";
    MailSentLate "mail-sent-late" Doc "graph/outlook-immutable-id"
        "a sent mail is in the sent items after a delay, and nowhere before";
    MailReply "mail-reply" Doc "graph/api/message-reply"
        "reply drafts and sends at once: 202 without a body";
    MailToOneself "mail-to-oneself" Guess "mail is delivered to whom it is addressed"
        "a mail to one's own address is in one's own inbox";

    // Throttling.
    ThrottleMailbox "throttle-mailbox" Doc "graph/throttling-limits, Outlook"
        "10,000 requests in ten minutes per app and mailbox";
    ThrottleMailboxConcurrency "throttle-mailbox-concurrency" Doc "graph/throttling-limits, Outlook"
        "4 requests at a time per app and mailbox";
    ThrottleChat "throttle-chat" Doc "graph/throttling-limits, Teams"
        "1 request a second on one chat: reads, writes and members together";
    ThrottleGet "throttle-get" Doc "graph/throttling-limits, Teams"
        "20 chat-message reads a second per app and tenant";
    ThrottlePost "throttle-post" Doc "graph/throttling-limits, Teams"
        "20 chat-message writes a second per app and tenant";
    ThrottleUser "throttle-user" Doc "graph/throttling-limits, Teams"
        "5 requests a second per user to list chats or get one";
    ThrottleOther "throttle-other" Doc "graph/throttling-limits, Teams"
        "30 other requests a second per app and tenant";
    ThrottleMembers "throttle-members" Doc "graph/throttling-limits, Teams"
        "4 membership changes a minute on one chat";
    RetryAfter "retry-after" Doc "graph/throttling; kiota-http-go retry handler"
        "429 says Retry-After in seconds, as a date, or not at all";
    ThrottledCounts "throttled-counts" Doc "graph/throttling"
        "a throttled call counts as usage, so hammering prolongs the penalty";
    RetriedEarly "retried-early" Peer "dotnet/dev-proxy, Retry-After enforcement"
        "a retry before Retry-After has passed is throttled again and recorded as a violation";

    // Faults that a scenario asks for.
    FaultStatus "fault-status" Peer "dotnet/dev-proxy chaos set: 429, 500, 502, 503, 504, 507"
        "a status at random, with or without Retry-After";
    FaultHtml "fault-html" Peer "seen by clients of Graph behind its gateways"
        "an error of a gateway has an HTML body";
    FaultTruncated "fault-truncated" Guess "any proxy can do it"
        "JSON that ends in the middle";
    FaultHalfCharacter "fault-half-character" Guess "any service that cuts UTF-16 at a length can do it"
        "half of a surrogate pair stands alone in a text";
    FaultEmptyBody "fault-empty-body" Peer "microsoft/entrabot, empty 502 of the token endpoint"
        "an answer without a body";
    FaultContentType "fault-content-type" Guess "any proxy can do it"
        "a wrong content type";
    FaultMissing "fault-missing" Guess "fields come and go with versions of the back end"
        "fields are missing";
    FaultSlow "fault-slow" Guess "any network can do it"
        "an answer comes late";
    FaultResetBefore "fault-reset-before" Guess "any network can do it"
        "the connection breaks before the request took effect";
    FaultResetAfter "fault-reset-after" Guess "any network can do it"
        "the connection breaks after the request took effect";
    FaultOrderBy "fault-orderby" Peer "microsoft/entrabot, against graph/api/chat-list"
        "/me/chats answers 400 to every $orderby";
    FaultForeignLink "fault-foreign-link" Guess "a hostile or broken proxy"
        "the next link points to another host";
    FaultHugePage "fault-huge-page" Guess "hosted content and cards can be large"
        "a page is very large";
    FaultDuplicatePage "fault-duplicate-page" Doc "graph/delta-query-overview, replays"
        "the next link leads to the same page again";
    FaultEmptyPage "fault-empty-page" Doc "graph/delta-query-overview"
        "a page is empty and has a next link all the same";
    FaultBody "fault-body" Guess "anything can be on the other side"
        "a body that was written by the scenario";

    // Payloads that a scenario overwrites.
    RawOverride "raw-override" Doc "graph/api/chat-list-messages has a malformed timestamp in its sample"
        "payloads differ from their description: fields missing, null, of new values, dates malformed";
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn ids_are_unique_and_every_rule_says_where_it_comes_from() {
        let ids: BTreeSet<_> = rules().iter().map(|rule| rule.id.as_str()).collect();
        assert_eq!(ids.len(), rules().len());
        for rule in rules() {
            assert!(!rule.source.is_empty() && !rule.says.is_empty(), "{}", rule.id.as_str());
            assert!(rule.id.as_str().bytes().all(|b| b.is_ascii_lowercase() || b == b'-'));
        }
    }
}
