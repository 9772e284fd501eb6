//! Notifications on the desktop, if there is one.
//! It must never delay the terminal, never pass a stranger's markup to the desktop, and complain at most once.

use tokio::task::JoinHandle;

use super::line::{cut, first_line};
use entraclaw_inbox::record::Record;
use entraclaw_sanitize::clean_line;

/// Most columns of a notification's title and of its text.
const TITLE_COLUMNS: usize = 60;
const TEXT_COLUMNS: usize = 200;

/// Shows one notification at a time; messages that come meanwhile are only in the terminal.
#[derive(Default)]
pub(super) struct Toaster {
    under_way: Option<JoinHandle<Result<(), String>>>,
    complained: bool,
}

impl Toaster {
    /// Shows the newest of these messages, and the number of the others.
    pub(super) fn show(&mut self, records: &[Record]) {
        let Some((newest, others)) = records.split_last() else { return };
        if self.under_way.is_none() {
            let (title, text) = words(newest, others.len());
            self.under_way = Some(tokio::task::spawn_blocking(move || notify(&title, &text)));
        }
    }

    /// The problem of the last notification, if it is over and the problem was not reported yet.
    pub(super) async fn trouble(&mut self) -> Option<String> {
        let over = self.under_way.take_if(|task| task.is_finished())?;
        // A panic in a system's library also means that notifications don't work.
        let problem = over.await.unwrap_or_else(|error| Err(error.to_string())).err()?;
        if std::mem::replace(&mut self.complained, true) {
            return None;
        }
        Some(clean_line(&format!("no notification could be shown: {problem}; the lines here go on")))
    }
}

fn notify(title: &str, text: &str) -> Result<(), String> {
    let mut notification = notify_rust::Notification::new();
    notification.appname("entraclaw").summary(title).body(text);
    notification.show().map(drop).map_err(|error| error.to_string())
}

/// The title and the text.
fn words(newest: &Record, others: usize) -> (String, String) {
    let more = if others == 0 { String::new() } else { format!(" (+{others} more)") };
    let title =
        format!("{} by {}{more}", cut(&clean_line(&newest.from), TITLE_COLUMNS), newest.channel.as_str());
    let text = if newest.deleted {
        "took a message back".to_owned()
    } else {
        cut(&first_line(&newest.content_text_sanitized).0, TEXT_COLUMNS)
    };
    (unmarked(&title), unmarked(&text))
}

/// Replaces markup by look-alike characters: some desktops interpret markup and some don't, so escaping is no answer.
fn unmarked(text: &str) -> String {
    text.replace('<', "‹").replace('>', "›").replace('&', "＆")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use entraclaw_inbox::record::Channel;

    #[test]
    fn a_notification_is_short_plain_text() {
        let mut record = Record {
            v: 1,
            after: None,
            seq: 1,
            key: "teams/19:a/1".to_owned(),
            id: "1".to_owned(),
            received_at: "2026-11-21T10:00:01Z".to_owned(),
            channel: Channel::Teams,
            chat_id: "19:a@thread.v2".to_owned(),
            from: "Alice <b>".to_owned(),
            ts: "2026-11-21T10:00:00Z".to_owned(),
            content_text_sanitized: "&lt;img src=\"http://contoso.com\"&gt; &amp;lt;b&amp;gt;\nmore"
                .to_owned(),
            meta: BTreeMap::new(),
            edit_of: None,
            restored: false,
            deleted: false,
            consumed_by: Vec::new(),
        };
        let (title, text) = words(&record, 3);
        assert_eq!(title, "Alice ‹b› by teams (+3 more)");
        assert_eq!(text, "‹img src=\"http://contoso.com\"› ＆lt;b＆gt;");
        record.content_text_sanitized = "x".repeat(5_000);
        assert_eq!(words(&record, 0).1.chars().count(), TEXT_COLUMNS);
        record.deleted = true;
        assert_eq!(words(&record, 0).1, "took a message back");
    }
}
