//! Why messages may not be coming, for the model, who tells its user.
//! It must never say that all is well because something is not known.

use std::sync::Arc;

use super::App;
use crate::config::Auth;
use crate::entra::TokenSource;
use crate::gate::Gate;
use crate::mcp;

/// Longest reason in a tool's answer.
const HEALTH_CHARS_MAX: usize = 300;
/// The same for a sign-in that failed, which names what somebody must do at its end.
const SIGN_IN_CHARS_MAX: usize = 700;

/// Why messages may not be coming, in words for the model, who tells its user.
pub(super) fn health(app: &App, tokens: &Arc<dyn TokenSource>, gate: Arc<Gate>) -> mcp::Health {
    let (teams, mail, tokens) = (app.teams_status.clone(), app.mail_status.clone(), tokens.clone());
    let clock = app.clock.clone();
    let (bot, listens) = (app.bot_status.clone(), app.can_listen());
    let reads = app.config.teams.enabled || app.config.mail.enabled;
    let standing = match (app.config.auth == Auth::None, reads) {
        // A bot needs no sign-in to Graph.
        _ if listens => None,
        (true, _) => Some(
            "there is no sign-in, so no messages come; tell your user to set `auth.mode` and to run `entraclaw login`, or to set ENTRACLAW_ACCESS_TOKEN",
        ),
        (false, false) => Some("`teams.enabled` and `mail.enabled` are false, so no messages come"),
        (false, true) => None,
    };
    let nobody = move |gate: &Gate| {
        let how = if gate.pairs() {
            "let somebody write to the agent and run `entraclaw pair` with the code they are told"
        } else {
            "run `entraclaw allow`, or add [[allow]] to the configuration"
        };
        format!("nobody is allowed to write to you; tell your user to {how}")
    };
    let signs_in = app.config.auth != Auth::None;
    let short = |text: String| text.chars().take(HEALTH_CHARS_MAX).collect::<String>();
    let first = move || {
        if let Some(standing) = standing {
            return Some(standing.to_owned());
        }
        if let Some(error) = tokens.trouble().filter(|_| signs_in) {
            let error: String = error.to_string().chars().take(SIGN_IN_CHARS_MAX).collect();
            return Some(format!("the agent can't sign in, so no messages come; tell your user: {error}"));
        }
        if let Some(trouble) = gate.trouble() {
            return Some(short(format!("{trouble}; tell your user")));
        }
        if gate.is_closed() {
            return Some(nobody(&gate));
        }
        let now = clock.now();
        [("Teams", &teams), ("mail", &mail)].into_iter().find_map(|(name, status)| {
            let state = status.get();
            if let Some(error) = state.serious(now) {
                let error = short(error.to_owned());
                return Some(format!(
                    "{name} can't be read at the moment, so messages may come late: {error}"
                ));
            }
            let secs = state.silence(now)?.as_secs();
            Some(format!("{name} has not answered for {secs} s, so messages may come late"))
        })
    };
    Arc::new(move || {
        let texts: Vec<String> = first().into_iter().chain(bot.get().error.map(short)).collect();
        (!texts.is_empty()).then(|| texts.join("; "))
    })
}
