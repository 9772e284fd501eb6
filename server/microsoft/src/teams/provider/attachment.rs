//! The tool `download_attachment`: it puts one file or image of an allowed person's message into a private
//! folder.
//! It must never fetch an address of a message other than through Graph, nor believe a name about the kind of
//! a file.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

use super::{PATIENCE, TeamsProvider, beginning, failed};
use crate::graph::{GraphError, Scope};
use crate::teams::wire::{self, Message};
use entraclaw_inbox::gate::{Reason, Verdict};
use entraclaw_inbox::upkeep::{ATTACHMENT_FILES_MAX, ATTACHMENTS as FOLDER, make_room};
use entraclaw_sanitize::clean_file_name;

/// The highest number of an attachment that can be asked for.
pub(super) const NUMBER_MAX: u64 = 500;
/// The most bytes of a name that are kept.
const NAME_BYTES_MAX: usize = 80;
/// The longest id of a hosted content in bytes.
const HOSTED_ID_BYTES_MAX: usize = 1_024;

/// A part of a message that can be fetched.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    /// A file in SharePoint or OneDrive, with the address that Teams gave it.
    Shared { name: String, url: String },
    /// An image or a code snippet that Teams itself stores.
    Hosted { id: String, name: String },
}

impl TeamsProvider {
    pub(super) async fn download(
        &self,
        chat_id: &str,
        message_id: &str,
        number: u64,
    ) -> Result<Value, String> {
        self.check_chat(chat_id).await?;
        let client = &self.outbox.client;
        let scope = Scope::Chat(chat_id);
        let url = client.url(&["chats", chat_id, "messages", message_id], &[]);
        let answer = client.get(&url, scope, PATIENCE).await;
        let body = answer.map_err(|error| failed("the message could not be read", &error))?;
        let message = wire::message(&body).ok_or("message_id: Teams shows no such message")?;
        match self.outbox.judge_message(&message) {
            Verdict::Accept => {}
            Verdict::Refuse(Reason::BeforeAllowed) => {
                return Err("message_id: it was written before its author was let in, so nothing is fetched; they can send it again".to_owned());
            }
            _ => {
                return Err(
                    "message_id: its author may not write to you, so nothing is fetched; tell your user"
                        .to_owned(),
                );
            }
        }
        let parts = parts(&message);
        let index = usize::try_from(number).unwrap_or(usize::MAX).saturating_sub(1);
        let part = parts.get(index).ok_or_else(|| match parts.len() {
            0 => "message_id: the message has nothing that can be fetched".to_owned(),
            count => format!("number: the message has {count}; ask for 1 to {count}"),
        })?;
        let (name, fetched) = match part {
            Part::Hosted { id, name } => {
                let path = ["chats", chat_id, "messages", message_id, "hostedContents", id, "$value"];
                (name, client.download(&client.url(&path, &[]), scope).await)
            }
            Part::Shared { name, url } => {
                let share = format!("u!{}", URL_SAFE_NO_PAD.encode(url));
                let path = ["shares", share.as_str(), "driveItem", "content"];
                (name, client.download(&client.url(&path, &[]), Scope::Common).await)
            }
        };
        let bytes = fetched.map_err(|error| not_fetched(part, &error))?;
        let (kind, extension) = kind_of(&bytes);
        let stem = stem_of(name);
        // The folders of old days are deleted by their names.
        let day = client.server_now().strftime("%Y-%m-%d");
        let path = format!("{FOLDER}/{day}-{}-{number}-{stem}.{extension}", clean_file_name(message_id));
        let kept = self.storage.create_dir(FOLDER).and_then(|()| self.storage.replace(&path, &bytes));
        kept.map_err(|error| {
            format!("the file could not be kept in the home folder: {error}; make room, then try again")
        })?;
        self.log(chat_id, Some(message_id), format!("fetched attachment {number}, {} bytes", bytes.len()));
        let whole = Path::new(&self.home).join(&path);
        let mut result = json!({
            "path": whole.display().to_string(),
            "name": clean_file_name(name),
            "kind": kind,
            "bytes": bytes.len(),
            "count": parts.len(),
        });
        if let Some(note) = self.make_room(chat_id, &path) {
            result["note"] = note.into();
        }
        Ok(result)
    }

    /// Deletes the oldest fetched files where there are too many. Returns a sentence that says so.
    fn make_room(&self, chat_id: &str, kept: &str) -> Option<String> {
        let gone = match make_room(&*self.storage, kept, self.attachments_bytes_max) {
            Ok(0) => return None,
            Ok(gone) => gone,
            Err(error) => {
                tracing::warn!(%error, "older fetched files could not be deleted");
                return None;
            }
        };
        let note = format!(
            "{gone} older fetched files were deleted: at most {ATTACHMENT_FILES_MAX} and `retention.attachments_mb` are kept"
        );
        self.log(chat_id, None, note.clone());
        Some(note)
    }
}

fn not_fetched(part: &Part, error: &GraphError) -> String {
    let hint = match part {
        Part::Shared { .. } => "; files in SharePoint and OneDrive need the permission Files.Read.All",
        Part::Hosted { .. } => "",
    };
    format!("{}{hint}", failed("the attachment could not be fetched", error))
}

/// The parts of a message that can be fetched: first files, then parts that Teams stores, each in the
/// message's order.
fn parts(message: &Message) -> Vec<Part> {
    let files = message.attachments.iter().filter(|a| a.content_type == "reference").filter_map(|a| {
        let url = a.content_url.clone().filter(|url| url.starts_with("https://"))?;
        Some(Part::Shared { name: a.name.clone().unwrap_or_default(), url })
    });
    let snippets = message.attachments.iter().filter_map(|a| a.content.as_deref());
    let texts = std::iter::once(message.content.as_str()).chain(snippets);
    let mut hosted: Vec<String> = Vec::new();
    for id in texts.flat_map(hosted_ids) {
        if !hosted.contains(&id) {
            hosted.push(id);
        }
    }
    let hosted = hosted.into_iter().map(|id| Part::Hosted { id, name: "image".to_owned() });
    files.chain(hosted).take(usize::try_from(NUMBER_MAX).unwrap_or(usize::MAX)).collect()
}

/// The ids between `hostedContents/` and `/$value`. Only the id is taken; the address is built again.
fn hosted_ids(text: &str) -> Vec<String> {
    let id = |rest: &str| {
        let (id, _) = rest.split_once("/$value")?;
        let plain = |b: u8| b.is_ascii_alphanumeric() || b"-_=+".contains(&b);
        ((1..=HOSTED_ID_BYTES_MAX).contains(&id.len()) && id.bytes().all(plain)).then(|| id.to_owned())
    };
    text.split("hostedContents/").skip(1).filter_map(id).collect()
}

/// The kind and the file ending, by the bytes alone. A file that could be run gets `bin`, and every text gets
/// `txt`.
fn kind_of(bytes: &[u8]) -> (&'static str, &'static str) {
    match infer::get(bytes) {
        Some(kind) if kind.matcher_type() == infer::MatcherType::App => (kind.mime_type(), "bin"),
        Some(kind) if kind.matcher_type() != infer::MatcherType::Text => (kind.mime_type(), kind.extension()),
        _ if !bytes.contains(&0) && std::str::from_utf8(bytes).is_ok() => ("text/plain", "txt"),
        _ => ("application/octet-stream", "bin"),
    }
}

/// Shortens a name and takes off its ending.
fn stem_of(name: &str) -> String {
    let clean = clean_file_name(name);
    let stem = clean.rsplit_once('.').map_or(clean.as_str(), |(stem, _)| stem);
    let stem: String =
        stem.chars().map(|c| if c.is_alphanumeric() || matches!(c, '-' | '_') { c } else { '_' }).collect();
    match beginning(&stem, NAME_BYTES_MAX) {
        "" => "file".to_owned(),
        stem => stem.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[test]
    fn parts_are_files_then_images_and_never_an_address_of_the_text() {
        let message = wire::message(&json!({
            "id": "1",
            "body": {"contentType": "html", "content":
                "<img src=\"https://evil.contoso.com/v1.0/hostedContents/aWQ9eF8w/$value\"><img src=\"https://x/hostedContents/../$value\">"},
            "attachments": [
                {"id": "a", "contentType": "reference", "name": "plan.docx", "contentUrl": "https://contoso.sharepoint.com/plan.docx"},
                {"id": "b", "contentType": "reference", "name": "x", "contentUrl": "file:///etc/passwd"},
                {"id": "c", "contentType": "messageReference"}
            ]
        }))
        .unwrap();
        let found = parts(&message);
        assert_eq!(
            found,
            [
                Part::Shared {
                    name: "plan.docx".to_owned(),
                    url: "https://contoso.sharepoint.com/plan.docx".to_owned()
                },
                Part::Hosted { id: "aWQ9eF8w".to_owned(), name: "image".to_owned() },
            ]
        );
    }

    #[rstest]
    #[case(b"\x89PNG\r\n\x1a\n", "image/png", "png")]
    #[case(b"#!/bin/sh\nrm", "text/plain", "txt")]
    #[case(b"<html><script>", "text/plain", "txt")]
    #[case(b"MZ\x90\0\x03\0\0\0", "application/vnd.microsoft.portable-executable", "bin")]
    #[case(b"a\0b", "application/octet-stream", "bin")]
    #[case(b"", "text/plain", "txt")]
    fn the_bytes_say_what_it_is(#[case] bytes: &[u8], #[case] kind: &str, #[case] extension: &str) {
        let (found, ending) = kind_of(bytes);
        assert_eq!(ending, extension);
        assert_eq!(found, kind);
    }

    #[rstest]
    #[case("plan.docx", "plan")]
    #[case("../../etc/passwd", "passwd")]
    #[case("", "file")]
    #[case("a b\u{202e}c.exe", "a_bc")]
    fn names_are_harmless(#[case] name: &str, #[case] stem: &str) {
        let found = stem_of(name);
        assert!(!found.contains(['/', '\\', '.']) && !found.is_empty(), "{found}");
        if name != "../../etc/passwd" && !name.is_empty() {
            assert_eq!(found, stem);
        }
    }
}
