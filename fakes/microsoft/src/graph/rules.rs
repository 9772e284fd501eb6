//! Each claim of the fake about Microsoft Graph, as data: its text, its source, and how sure it is.
//! The fake must have no behaviour that is not in this table; a test compares the two.

use serde::Serialize;

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
    /// The source of the claim: a public page, or a heading of `docs/src/facts`.
    pub source: &'static str,
    /// How sure the claim is.
    pub mark: Mark,
}

/// All claims, in the order of the file.
pub fn rules() -> &'static [Rule] {
    TABLE
}

macro_rules! rules {
    ($( $variant:ident $mark:ident $source:literal $says:literal; )*) => {
        /// The name of a rule.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
        #[serde(rename_all = "kebab-case")]
        pub enum RuleId {
            $( #[doc = concat!("`", stringify!($variant), "`; [`rules`] has what it says.")] $variant, )*
        }

        static TABLE: &[Rule] = &[
            $( Rule { id: RuleId::$variant, says: $says, source: $source, mark: Mark::$mark }, )*
        ];
    };
}

rules! {
    // Transport and errors.
    ErrorEnvelope Doc "https://learn.microsoft.com/en-us/graph/errors"
        "a rejection carries error{code, message, innerError{date, request-id, client-request-id}}";
    ErrorLowerCase Doc "https://learn.microsoft.com/en-us/graph/errors"
        "some back ends write innererror in lower case and nest a second one with its own code";
    RequestIds Peer "https://github.com/dotnet/dev-proxy: mocks of Graph errors; facts/graph#ids-of-a-request"
        "every answer has request-id, echoes client-request-id, and is not to be stored";
    DateHeader Doc "https://learn.microsoft.com/en-us/entra/identity-platform/certificate-credentials"
        "the Date header is the clock of the service, which need not be the clock of the client";
    ForeignOrigin Guess "facts/graph#what-the-pages-do-not-say: the fake has one origin, like the service"
        "a request to another origin never reaches the service; with a token in it, it is a leak";
    UnknownPath Guess "facts/graph#what-the-pages-do-not-say: the page of errors lists 404 for what does not exist"
        "a path that the service does not know answers 404";
    WrongMethod Doc "https://learn.microsoft.com/en-us/graph/errors" "a verb that a path does not take answers 405";
    MalformedBody Doc "https://learn.microsoft.com/en-us/graph/errors" "a body that is not the JSON asked for answers 400";

    // Tokens and scopes.
    TokenMissing Doc "https://learn.microsoft.com/en-us/graph/errors" "no bearer token answers 401 with WWW-Authenticate";
    TokenWrong Doc "https://learn.microsoft.com/en-us/graph/errors" "a token that was never issued answers 401 with WWW-Authenticate";
    TokenExpired Doc "https://learn.microsoft.com/en-us/graph/errors" "a token past its life answers 401 with WWW-Authenticate";
    ClaimsChallenge Doc "https://learn.microsoft.com/en-us/entra/identity-platform/claims-challenge"
        "a session that policy ended answers 401 with error=insufficient_claims and base64 claims";
    ScopeMissing Doc "https://learn.microsoft.com/en-us/graph/permissions-reference: and the permission table of each reference page"
        "a token without one of the scopes of an operation answers 403";
    PreviewNeedsRead Doc "https://learn.microsoft.com/en-us/graph/api/chat-list"
        "expanding lastMessagePreview needs Chat.Read, Chat.ReadBasic is not enough";
    OtherUser Guess "facts/graph#a-delegated-token-speaks-for-one-user"
        "/users/{id} with the id of another user answers 403";
    Me Doc "https://learn.microsoft.com/en-us/graph/api/user-get" "GET /me shows the signed-in user; $select chooses fields";

    // Sponsors.
    SponsorsList Peer "facts/graph#sponsors-of-an-agent-identity"
        "the sponsors of an agent identity are listed with their ids and nothing else, on one page";
    SponsorsUnknown Guess "facts/graph#what-the-pages-do-not-say: the page of errors lists 404 for what does not exist"
        "the sponsors of anything else answer 404";

    // Chats.
    ChatIdShapes Doc "https://learn.microsoft.com/en-us/graph/api/chat-list"
        "19:{guid}_{guid}@unq.gbl.spaces, 19:{hex}@thread.v2, 19:meeting_{b64}@thread.v2";
    ChatFields Doc "https://learn.microsoft.com/en-us/graph/api/resources/chat"
        "id, topic (null in a 1:1), dates, chatType, webUrl, tenantId, onlineMeetingInfo, viewpoint";
    ChatsOrderby Doc "https://learn.microsoft.com/en-us/graph/api/chat-list"
        "the only $orderby is lastMessagePreview/createdDateTime desc, anything else answers 400";
    ChatsOrdered Doc "https://learn.microsoft.com/en-us/graph/api/chat-list" "with it the chat of the newest message comes first";
    ChatsOrderWithoutExpand Peer "facts/graph#what-several-clients-do"
        "it works without $expand, the dates it sorts by are then just not shown";
    ChatsUnordered Peer "facts/graph#chats-without-a-message-date" "without $orderby the order has no meaning";
    ChatsTop Doc "https://learn.microsoft.com/en-us/graph/api/chat-list" "$top is 1 to 50, else 400";
    ChatsTopDefault Guess "facts/graph#what-the-pages-do-not-say: the page size without $top is not documented"
        "a page has 20 chats when $top is absent";
    ChatsExpand Doc "https://learn.microsoft.com/en-us/graph/api/chat-list" "$expand takes members and lastMessagePreview only, else 400";
    ChatsOptions Guess "facts/graph#what-the-pages-do-not-say: the page lists no other option" "another OData option on a chat list answers 400";
    ChatsFilterIds Peer "facts/graph#what-several-clients-do" "$filter=id in ('...','...') chooses chats";
    ChatsFilterOther Guess "facts/graph#what-the-pages-do-not-say: the page says that $filter is supported, not with what"
        "another $filter on chats answers 400";
    PreviewAbsent Doc "https://learn.microsoft.com/en-us/graph/api/resources/chatmessageinfo" "lastMessagePreview is absent unless expanded";
    PreviewNull Doc "https://learn.microsoft.com/en-us/graph/api/resources/chatmessageinfo" "lastMessagePreview of an empty chat is null";
    PreviewShape Doc "https://learn.microsoft.com/en-us/graph/api/resources/chatmessageinfo"
        "it keeps the markers in the body, says isDeleted, and has no mentions and attachments";
    PreviewListOnly Doc "https://learn.microsoft.com/en-us/graph/api/resources/chatmessageinfo"
        "it exists when listing chats only, so a single chat refuses the expansion with 400";
    MembersCap Doc "https://learn.microsoft.com/en-us/graph/api/chat-list" "expanded members stop at 25 a chat";
    MembersList Doc "https://learn.microsoft.com/en-us/graph/api/chat-list-members"
        "members carry userId, roles, displayName, email and tenantId";
    FederatedMail Peer "facts/graph#people-of-other-tenants"
        "the e-mail of a member from another tenant can be null";
    UpdatedByMembership Peer "facts/graph#chats-without-a-message-date"
        "lastUpdatedDateTime of a chat moves on rename and membership, not on messages";
    NotAMember Guess "facts/graph#what-the-pages-do-not-say: whether 403 or 404 was not read anywhere"
        "a chat that the user has left or never saw answers 404";
    NextLink Doc "https://learn.microsoft.com/en-us/graph/api/chat-list; https://learn.microsoft.com/en-us/graph/paging"
        "a further page is an opaque link on the same origin that carries every option of the first call";
    NextLinkTampered Guess "facts/graph#what-the-pages-do-not-say: the token is opaque" "a page token that the service did not issue answers 400";

    // Messages.
    MessageFields Doc "https://learn.microsoft.com/en-us/graph/api/resources/chatmessage"
        "all documented fields are there; replyToId and channelIdentity are always null in a chat";
    MessageIds Doc "https://learn.microsoft.com/en-us/graph/api/resources/chatmessage"
        "an id is the creation time in milliseconds as a string, unique in its chat";
    MessagesOrder Doc "https://learn.microsoft.com/en-us/graph/api/chat-list-messages"
        "newest first by lastModifiedDateTime, or by createdDateTime when asked";
    MessagesOrderby Doc "https://learn.microsoft.com/en-us/graph/api/chat-list-messages"
        "$orderby takes lastModifiedDateTime or createdDateTime, descending; ascending answers 400";
    MessagesTop Doc "https://learn.microsoft.com/en-us/graph/api/chat-list-messages" "$top is 1 to 50, else 400";
    MessagesTopDefault Guess "facts/graph#what-the-pages-do-not-say: the page size without $top is not documented"
        "a page has 20 messages when $top is absent";
    MessagesOptions Doc "https://learn.microsoft.com/en-us/graph/api/chat-list-messages" "other OData options are not supported: 400";
    MessagesFilter Doc "https://learn.microsoft.com/en-us/graph/api/chat-list-messages" "$filter takes lastModifiedDateTime gt and lt";
    MessagesFilterCreated Doc "https://learn.microsoft.com/en-us/graph/api/chat-list-messages" "$filter takes createdDateTime lt";
    MessagesFilterIgnored Doc "https://learn.microsoft.com/en-us/graph/api/chat-list-messages"
        "$filter is ignored without a word unless $orderby names the same property";
    MessagesFilterOther Guess "facts/graph#what-the-pages-do-not-say: the page lists the operators, not the refusal"
        "another property or operator in $filter answers 400";
    MessageGone Doc "https://learn.microsoft.com/en-us/graph/errors" "a message that is not there answers 404";
    SystemUnknown Doc "https://learn.microsoft.com/en-us/graph/api/resources/chatmessage" "messageType of a system event is unknownFutureValue";
    SystemPrefer Doc "https://learn.microsoft.com/en-us/graph/api/resources/chatmessage"
        "with Prefer: include-unknown-enum-members it is systemEventMessage";
    SystemShape Doc "https://learn.microsoft.com/en-us/graph/api/resources/eventmessagedetail"
        "a system event has from null, body <systemEventMessage/>, details in eventDetail";
    UnknownType Doc "https://learn.microsoft.com/en-us/graph/api/resources/chatmessage"
        "an enumeration can grow: an unknown type is unknownFutureValue without Prefer";
    FromUser Doc "https://learn.microsoft.com/en-us/graph/api/resources/teamworkuseridentity"
        "from.user has id, displayName, userIdentityType, a tenant id at times, and never a UPN";
    FromNullName Peer "facts/graph#names-of-people-of-other-tenants-are-often-null" "displayName of a sender can be null";
    FromHomeId Peer "facts/graph#people-of-other-tenants"
        "a sender from another tenant shows the object id and tenant id of the home tenant";
    FromApplication Doc "https://learn.microsoft.com/en-us/graph/api/resources/chatmessage"
        "a bot or webhook writes as from.application, from.user is null";
    Tombstone Doc "https://learn.microsoft.com/en-us/graph/api/resources/chatmessage"
        "a deleted message stays, with deletedDateTime and an empty body";
    EtagChanges Doc "https://learn.microsoft.com/en-us/graph/api/resources/chatmessage" "etag changes on edit, reaction and deletion";
    EditDates Doc "https://learn.microsoft.com/en-us/graph/api/resources/chatmessage"
        "an edit sets lastEditedDateTime and moves lastModifiedDateTime";
    ReactionDates Doc "https://learn.microsoft.com/en-us/graph/api/resources/chatmessage"
        "a reaction moves lastModifiedDateTime and leaves lastEditedDateTime alone";
    LateVisibility Peer "facts/graph#messages-can-become-visible-late"
        "a message can appear after a newer one, with its own older dates";
    MentionShape Doc "https://learn.microsoft.com/en-us/graph/api/resources/chatmessagemention"
        "a mention is <at id=N> in the body and an entry with the same id in mentions";
    MentionSplit Peer "facts/graph#mentions-can-be-split"
        "a name of several words becomes one <at> per word, separate ids, same user";
    MentionEveryone Doc "https://learn.microsoft.com/en-us/graph/api/resources/chatmessagemention" "everyone is a conversation of type chat";
    QuoteShape Doc "https://learn.microsoft.com/en-us/graph/api/chatmessage-replywithquote"
        "a quote is an attachment messageReference with messageId, messagePreview and messageSender as a JSON string";
    ForwardShape Doc "https://learn.microsoft.com/en-us/graph/api/chatmessage-get"
        "a forward is forwardedMessageReference; its JSON string can hold raw newlines and so be invalid";
    FileShape Doc "https://learn.microsoft.com/en-us/graph/api/resources/chatmessageattachment"
        "a file is an attachment reference with contentUrl and name";
    CodeShape Doc "https://learn.microsoft.com/en-us/graph/api/resources/chatmessageattachment"
        "a snippet is an attachment with language and a codeSnippetUrl to fetch";
    CardShape Doc "https://learn.microsoft.com/en-us/graph/api/resources/chatmessageattachment"
        "cards, announcements and Loop components are attachments with their own content types";
    HostedImage Doc "https://learn.microsoft.com/en-us/graph/api/chat-list-messages"
        "an inline image is <img> with a hostedContents URL, and attachments stays empty";
    CustomEmoji Doc "https://learn.microsoft.com/en-us/graph/api/chat-list-messages" "an emoji is an element whose text is in alt";
    AllMessagesDelegated Peer "facts/graph#no-delta-for-a-persons-chats"
        "getAllMessages and its delta answer 412 to a delegated token";
    ChatDeltaUndocumented Guess "facts/graph#no-delta-for-a-persons-chats: not in the v1.0 reference, one public client uses it"
        "messages/delta of one chat answers 400";

    // Writing.
    Send Doc "https://learn.microsoft.com/en-us/graph/api/chat-post-messages" "a message that was sent answers 201 with the whole message";
    SendOwnAppears Doc "https://learn.microsoft.com/en-us/graph/api/chat-list-messages" "own messages appear in the lists like anyone's";
    SendInvalid Doc "https://learn.microsoft.com/en-us/graph/api/chat-post-messages; https://learn.microsoft.com/en-us/graph/errors"
        "a body without content, with a wrong contentType or importance answers 400";
    SendUnmatched Guess "facts/graph#what-the-pages-do-not-say: the page asks for matching ids and does not name the refusal"
        "an attachment or mention whose id has no marker in the body, or the reverse, answers 400";
    SendTooLarge Guess "facts/graph#size-of-a-message"
        "more than 28 KB of content and mentions answers 413";
    QuoteReply Doc "https://learn.microsoft.com/en-us/graph/api/chatmessage-replywithquote"
        "replyWithQuote answers 201 with the message, one messageReference per quoted id";
    QuoteLimit Doc "https://learn.microsoft.com/en-us/graph/api/chatmessage-replywithquote" "1 to 10 messageIds, else 400";
    EditOwn Guess "facts/graph#actions-on-messages"
        "PATCH of an own message answers 204";
    EditForeign Guess "facts/graph#actions-on-messages: delegated permissions cover own messages" "PATCH of another's message answers 403";
    SoftDelete Doc "https://learn.microsoft.com/en-us/graph/api/chatmessage-softdelete"
        "softDelete under /me or /users/{id} answers 204 and leaves a tombstone";
    SoftDeleteForm Peer "facts/graph#the-other-form-of-the-soft-delete" "softDelete under /chats answers 405";
    SoftDeleteForeign Guess "facts/graph#actions-on-messages: delegated permissions cover own messages"
        "softDelete of another's message answers 403";
    React Doc "https://learn.microsoft.com/en-us/graph/api/chatmessage-setreaction"
        "setReaction and unsetReaction with reactionType answer 204";
    CreateOneOnOne Peer "facts/graph#creating-a-chat; https://learn.microsoft.com/en-us/graph/api/chat-post"
        "POST chats of oneOnOne with two members answers 201, and the chat that exists when there is one";
    CreateGroup Doc "https://learn.microsoft.com/en-us/graph/api/chat-post"
        "POST chats of group answers 201 with a new chat each time; members bind users by URL and are owners or guests";
    CreateBroken Guess "facts/graph#creating-a-chat: the page lists what is required"
        "A chat without a type, without the caller, or with an unknown person answers 400";
    MarkRead Doc "https://learn.microsoft.com/en-us/graph/api/chat-markchatreadforuser"
        "markChatReadForUser with the user's id and tenant answers 204";
    MarkReadOther Guess "facts/graph#actions-on-messages: delegated permissions cover the own view" "Another user's id answers 403";
    HostedContent Doc "https://learn.microsoft.com/en-us/graph/api/chatmessagehostedcontent-get"
        "hostedContents/{id}/$value answers the bytes of what the message holds, else 404";
    ShareContent Doc "https://learn.microsoft.com/en-us/graph/api/shares-get; https://learn.microsoft.com/en-us/graph/api/driveitem-get-content"
        "shares/u!{base64url}/driveItem/content answers 302 with a link that carries its own right";
    StoreWithoutToken Doc "https://learn.microsoft.com/en-us/graph/api/driveitem-get-content" "The link of a 302 wants no Authorization header";
    AddMember Doc "https://learn.microsoft.com/en-us/graph/api/chat-post-members"
        "POST members with user@odata.bind answers 201; the chat gets a membersAdded event";

    // Mail.
    MailboxMissing Doc "https://learn.microsoft.com/en-us/graph/errors: Outlook"
        "a user without a mailbox answers 404 MailboxNotEnabledForRESTAPI";
    MailFields Doc "https://learn.microsoft.com/en-us/graph/api/resources/message"
        "the documented fields; uniqueBody only when it is selected; dates have whole seconds";
    MailHeadersSingle Guess "facts/graph#headers-of-a-mail"
        "internetMessageHeaders are not shown in a delta even when they are selected";
    MailAttachments Doc "https://learn.microsoft.com/en-us/graph/api/message-get"
        "$expand=attachments shows what is attached; nothing else can be expanded";
    MailImmutableId Doc "https://learn.microsoft.com/en-us/graph/outlook-immutable-id"
        "with Prefer: IdType=\"ImmutableId\" an id survives a move, and a draft keeps its id when it is sent";
    MailIdMoves Doc "https://learn.microsoft.com/en-us/graph/outlook-immutable-id" "without it the id of a mail changes when it is moved";
    MailInvitation Doc "https://learn.microsoft.com/en-us/graph/api/resources/eventmessage"
        "invitations are in the inbox as eventMessage, told apart by @odata.type";
    MailGone Doc "https://learn.microsoft.com/en-us/graph/errors: Outlook" "a mail that is not there answers 404 ErrorItemNotFound";
    MailList Doc "https://learn.microsoft.com/en-us/graph/api/user-list-messages"
        "the list of a folder shows what is in it, 10 mails a page or as many as $top says, up to 1,000, with a next link";
    MailListOptions Guess "facts/graph#what-the-pages-do-not-say: which options the service refuses together was not read"
        "the list takes $select, $top, $skip and $orderby receivedDateTime desc; other options answer 400";
    MailDelta Doc "https://learn.microsoft.com/en-us/graph/api/message-delta"
        "the delta is of one folder; it begins with everything that is there and goes on with what changed";
    MailDeltaLinks Doc "https://learn.microsoft.com/en-us/graph/delta-query-overview"
        "a page has a next link or a delta link, never both; both are opaque and carry the options of the first call";
    MailDeltaTampered Guess "facts/graph#what-the-pages-do-not-say: the token is opaque" "a token that the service did not issue answers 400";
    MailDeltaOptions Doc "https://learn.microsoft.com/en-us/graph/delta-query-messages"
        "$filter takes receivedDateTime ge or gt, $orderby receivedDateTime desc; other options answer 400";
    MailDeltaFilter Doc "https://learn.microsoft.com/en-us/graph/delta-query-messages"
        "a filtered series holds only what was received since, at most 5,000 mails";
    MailDeltaUnordered Doc "https://learn.microsoft.com/en-us/graph/delta-query-overview" "the order of the items means nothing";
    MailDeltaDuplicates Doc "https://learn.microsoft.com/en-us/graph/delta-query-overview" "an item can appear several times";
    MailDeltaReplay Doc "https://learn.microsoft.com/en-us/graph/delta-query-overview" "what was told in an earlier round can be told again";
    MailEmptyPage Doc "https://learn.microsoft.com/en-us/graph/delta-query-overview" "a page can be empty and have a next link";
    MailPartial Doc "https://learn.microsoft.com/en-us/graph/delta-query-messages"
        "a changed item shows its id and what changed; isRead is a text there in the documentation's sample";
    MailRemoved Doc "https://learn.microsoft.com/en-us/graph/delta-query-messages"
        "what left the folder is {id, @removed{reason: deleted or changed}}";
    MailPageSize Doc "https://learn.microsoft.com/en-us/graph/delta-query-messages"
        "Prefer: odata.maxpagesize bounds a page and has to be in every request";
    MailPageDefault Guess "facts/graph#what-the-pages-do-not-say: the page size without a wish is not documented"
        "a page has 10 mails when nothing is asked";
    MailDeltaGone Doc "https://learn.microsoft.com/en-us/graph/delta-query-overview"
        "a reset answers 410 with a Location that has an empty token";
    MailStateNotFound Doc "https://learn.microsoft.com/en-us/graph/delta-query-overview"
        "an expired token answers 40x with the code syncStateNotFound";
    MailDraft Doc "https://learn.microsoft.com/en-us/graph/api/user-post-messages" "POST messages makes a draft: 201 with the mail";
    MailInvalid Doc "https://learn.microsoft.com/en-us/graph/errors" "a mail with members of a wrong kind answers 400";
    MailOwnHeaders Doc "https://learn.microsoft.com/en-us/graph/outlook-create-send-messages"
        "custom headers begin with x- and can be given only when a mail is made";
    MailReplyDraft Doc "https://learn.microsoft.com/en-us/graph/api/message-createreply"
        "createReply makes a draft in the conversation, to Reply-To if there is one, else to From: 201 with the mail";
    MailReplyBoth Doc "https://learn.microsoft.com/en-us/graph/api/message-createreply"
        "a comment and a body of the message together answer 400";
    MailEditDraft Doc "https://learn.microsoft.com/en-us/graph/api/message-update"
        "PATCH changes subject, body and recipients of a draft only: 200 with the mail";
    MailSend Doc "https://learn.microsoft.com/en-us/graph/api/message-send" "send of a draft answers 202 without a body";
    MailSendOnce Guess "facts/graph#what-the-pages-do-not-say: what is no draft can't be sent"
        "send of a mail that was sent answers 400";
    MailSendNobody Guess "facts/graph#what-the-pages-do-not-say: a mail needs a recipient"
        "send of a draft without recipients answers 400 ErrorInvalidRecipients";
    MailSentLate Doc "https://learn.microsoft.com/en-us/graph/outlook-immutable-id"
        "a sent mail is in the sent items after a delay, and nowhere before";
    MailReply Doc "https://learn.microsoft.com/en-us/graph/api/message-reply" "reply drafts and sends at once: 202 without a body";
    MailToOneself Guess "facts/graph#what-the-pages-do-not-say: mail is delivered to whom it is addressed"
        "a mail to one's own address is in one's own inbox";

    // Throttling.
    ThrottleMailbox Doc "https://learn.microsoft.com/en-us/graph/throttling-limits: Outlook"
        "10,000 requests in ten minutes per app and mailbox";
    ThrottleMailboxConcurrency Doc "https://learn.microsoft.com/en-us/graph/throttling-limits: Outlook"
        "4 requests at a time per app and mailbox";
    ThrottleChat Doc "https://learn.microsoft.com/en-us/graph/throttling-limits: Teams"
        "1 request a second on one chat: reads, writes and members together";
    ThrottleGet Doc "https://learn.microsoft.com/en-us/graph/throttling-limits: Teams" "20 chat-message reads a second per app and tenant";
    ThrottlePost Doc "https://learn.microsoft.com/en-us/graph/throttling-limits: Teams" "20 chat-message writes a second per app and tenant";
    ThrottleUser Doc "https://learn.microsoft.com/en-us/graph/throttling-limits: Teams" "5 requests a second per user to list chats or get one";
    ThrottleOther Doc "https://learn.microsoft.com/en-us/graph/throttling-limits: Teams" "30 other requests a second per app and tenant";
    ThrottleMembers Doc "https://learn.microsoft.com/en-us/graph/throttling-limits: Teams" "4 membership changes a minute on one chat";
    RetryAfter Doc "https://learn.microsoft.com/en-us/graph/throttling; https://github.com/microsoft/kiota-http-go: its retry handler"
        "429 says Retry-After in seconds, as a date, or not at all";
    ThrottledCounts Doc "https://learn.microsoft.com/en-us/graph/throttling"
        "a throttled call counts as usage, so hammering prolongs the penalty";
    RetriedEarly Peer "https://github.com/dotnet/dev-proxy: enforcement of Retry-After"
        "a retry before Retry-After has passed is throttled again and recorded as a violation";

    // Faults that a scenario asks for.
    FaultStatus Peer "https://github.com/dotnet/dev-proxy: its random errors are 429, 500, 502, 503, 504 and 507"
        "a status at random, with or without Retry-After";
    FaultHtml Peer "facts/graph#faults-of-the-way: seen by clients of Graph behind its gateways" "an error of a gateway has an HTML body";
    FaultTruncated Guess "facts/graph#faults-of-the-way: any proxy can do it" "JSON that ends in the middle";
    FaultHalfCharacter Guess "facts/found#half-a-character"
        "half of a surrogate pair stands alone in a text";
    FaultEmptyBody Peer "facts/entra#entra-can-be-away: an empty 502 of the token endpoint" "an answer without a body";
    FaultContentType Guess "facts/graph#faults-of-the-way: any proxy can do it" "a wrong content type";
    FaultMissing Guess "facts/graph#fields-can-be-missing-or-malformed" "fields are missing";
    FaultSlow Guess "facts/graph#faults-of-the-way: any network can do it" "an answer comes late";
    FaultResetBefore Guess "facts/graph#faults-of-the-way: any network can do it" "the connection breaks before the request took effect";
    FaultResetAfter Guess "facts/graph#faults-of-the-way: any network can do it" "the connection breaks after the request took effect";
    FaultOrderby Peer "facts/graph#some-tenants-refuse-the-order"
        "/me/chats answers 400 to every $orderby";
    FaultForeignLink Guess "facts/graph#broken-links-of-a-page" "the next link points to another host";
    FaultHugePage Guess "facts/graph#rare-attachments: hosted content and cards can be large" "a page is very large";
    FaultDuplicatePage Doc "https://learn.microsoft.com/en-us/graph/delta-query-overview: replays" "the next link leads to the same page again";
    FaultEmptyPage Doc "https://learn.microsoft.com/en-us/graph/delta-query-overview" "a page is empty and has a next link all the same";
    FaultBody Guess "facts/graph#faults-of-the-way: anything can be on the other side" "a body that was written by the scenario";

    // Payloads that a scenario overwrites.
    RawOverride Doc "https://learn.microsoft.com/en-us/graph/api/chat-list-messages: its sample has a malformed timestamp"
        "payloads differ from their description: fields missing, null, of new values, dates malformed";
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_rule_says_where_it_comes_from() {
        for rule in rules() {
            assert!(!rule.source.is_empty() && !rule.says.is_empty(), "{:?}", rule.id);
        }
        assert_eq!(json!(RuleId::ChatsOrderby), "chats-orderby", "the names in logs never change");
    }
}
