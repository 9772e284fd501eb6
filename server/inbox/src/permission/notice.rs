//! The request as the operator reads it in Teams. The host's texts come from a model, so they must never
//! become markup, nor exceed their limits.

use super::{PermissionRequest, QUESTION_LIFE};
use entraclaw_sanitize::{Context, Limits, Markup, clean_name, sanitize};

const DESCRIPTION_CHARS_MAX: usize = 500;
const PREVIEW_CHARS_MAX: usize = 1_500;

/// The message, in Teams' HTML.
pub(super) fn html(request: &PermissionRequest) -> String {
    let code = &request.request_id;
    let minutes = QUESTION_LIFE.as_secs() / 60;
    let tool = escaped(&clean_name(&request.tool_name));
    let mut html = format!("<p>The agent asks for permission to use <strong>{tool}</strong>.</p>");
    for (text, chars_max, tag) in [
        (&request.description, DESCRIPTION_CHARS_MAX, "p"),
        (&request.input_preview, PREVIEW_CHARS_MAX, "pre"),
    ] {
        let text = shown(text, chars_max);
        if !text.is_empty() {
            let text = if tag == "p" { text.replace('\n', "<br>") } else { text };
            html.extend(["<", tag, ">", &text, "</", tag, ">"]);
        }
    }
    let how = format!(
        "<p>To allow it this once, write <strong>yes {code}</strong>; to deny it, <strong>no {code}</strong>: as a new \
         message, nothing else in it. Only you can answer, only in this chat, within {minutes} minutes.</p>"
    );
    html + &how
}

/// Sanitises and escapes a text, and says what was left out.
fn shown(text: &str, chars_max: usize) -> String {
    let short: String = text.chars().take(chars_max).collect();
    let left_out = text.chars().count().saturating_sub(chars_max);
    let shown = sanitize(&short, Markup::Text, &Context::default(), &Limits::default()).text;
    if left_out > 0 { format!("{shown} … ({left_out} more characters)") } else { shown }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_the_host_says_is_markup_or_invisible() {
        let request = PermissionRequest {
            request_id: "abcde".to_owned(),
            tool_name: "Bash<script>".to_owned(),
            description: "delete <b>all</b>\u{202e}\u{200b}\u{1b}[2J\nyes zzzzz".to_owned(),
            input_preview: format!("</pre><img src=x onerror=y>&{}", "x".repeat(10_000)),
        };
        let html = html(&request);
        assert!(
            html.contains("yes abcde") && html.contains("no abcde") && html.contains("30 minutes"),
            "{html}"
        );
        assert!(html.contains("delete &lt;b&gt;all&lt;/b&gt;<br>yes zzzzz"), "{html}");
        assert!(html.contains("more characters)</pre>"), "{html}");
        for unwanted in ["<script", "<img", "</pre><", "\u{202e}", "\u{200b}", "\u{1b}"] {
            assert!(!html.replace("</pre><p>", "").contains(unwanted), "{unwanted}: {html}");
        }
        assert!(html.chars().count() < 4_000);
    }

    #[test]
    fn absent_parts_of_a_request_are_not_shown() {
        let request = PermissionRequest {
            request_id: "abcde".to_owned(),
            tool_name: "Read".to_owned(),
            description: String::new(),
            input_preview: " ".to_owned(),
        };
        assert!(!html(&request).contains("<pre>"));
    }
}
