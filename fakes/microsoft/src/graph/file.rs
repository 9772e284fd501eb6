//! The images and files of messages: Teams keeps the images, and a file store keeps the files.
//! It must never give out an image or a file that no message names.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::read::message_of;
use super::reject::Rejection;
use super::rules::RuleId;
use super::state::{Call, FakeGraph, Reply};

/// The path of the file store on the fake's origin; a link there needs no token.
pub(super) const STORE_PATH: &str = "/_files/";
/// The first bytes of every PNG.
const PNG_HEAD: &[u8] = b"\x89PNG\r\n\x1a\n";

impl FakeGraph {
    /// Answers `GET …/hostedContents/{id}/$value` with an image.
    pub(super) fn hosted_content(&self, call: &mut Call<'_>) -> Result<Reply, Rejection> {
        let message = message_of(self.chat_of(call)?, call)?;
        let id = call.route.action.as_deref().unwrap_or_default();
        let address = format!("hostedContents/{id}/$value");
        let parts = message.attachments.iter().filter_map(|part| part["content"].as_str());
        if !std::iter::once(message.content.as_str()).chain(parts).any(|text| text.contains(&address)) {
            return Err(Rejection::new(RuleId::HostedContent, 404, "no such hosted content"));
        }
        call.trace.note(RuleId::HostedContent);
        Ok(Reply::Body(200, "image/png".to_owned(), [PNG_HEAD, id.as_bytes()].concat()))
    }

    /// Answers `GET /shares/{id}/driveItem/content` with a link to the file store.
    pub(super) fn share_content(&self, call: &mut Call<'_>) -> Result<Reply, Rejection> {
        let share = call.route.action.as_deref().unwrap_or_default();
        if self.shared_file(share).is_none() {
            return Err(Rejection::new(RuleId::ShareContent, 404, "the share does not exist"));
        }
        call.trace.note(RuleId::ShareContent);
        Ok(Reply::Elsewhere(format!("{}{STORE_PATH}{share}", self.base_url)))
    }

    /// Answers, as the file store, to a link that Graph gave out.
    pub(super) fn stored_file(&self, call: &mut Call<'_>) -> Result<Reply, Rejection> {
        let share = call.route.action.as_deref().unwrap_or_default();
        call.trace.note(RuleId::StoreWithoutToken);
        if call.request.header_value("authorization").is_some() {
            return Err(Rejection::new(RuleId::StoreWithoutToken, 401, "the link carries its own right"));
        }
        let name = self
            .shared_file(share)
            .ok_or_else(|| Rejection::new(RuleId::StoreWithoutToken, 404, "the link is not known or over"))?;
        let bytes = format!("the contents of {name}\n").into_bytes();
        Ok(Reply::Body(200, "application/octet-stream".to_owned(), bytes))
    }

    /// The name of the file with this share, if a message names the file.
    fn shared_file(&self, share: &str) -> Option<String> {
        let url = URL_SAFE_NO_PAD.decode(share.strip_prefix("u!")?).ok()?;
        let url = String::from_utf8(url).ok()?;
        let messages = self.chats.values().flat_map(super::chat::Chat::all);
        let mut parts = messages.flat_map(|message| &message.attachments);
        let part = parts.find(|part| part["contentUrl"].as_str() == Some(url.as_str()))?;
        Some(part["name"].as_str().unwrap_or("a file").to_owned())
    }
}
