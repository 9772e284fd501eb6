//! Why `copilot` ends before its model is asked.

use crate::invocation::Invocation;
use crate::script::Script;

use super::args::Args;
use super::texts;

/// The variables that can hold a token, in the order in which they are looked at.
const TOKENS: [&str; 3] = ["COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN"];

/// It is not signed in, or there is no provider.
pub(crate) fn before_a_session(script: &Script, invocation: &Invocation) -> Option<String> {
    if invocation.variable("COPILOT_PROVIDER_BASE_URL").is_some() {
        return None;
    }
    if invocation.variable("COPILOT_OFFLINE") == Some("true") {
        return Some(texts::OFFLINE.to_owned());
    }
    let token = TOKENS.into_iter().find_map(|name| Some((name, invocation.variable(name)?)));
    match token {
        Some((name, value)) if value.starts_with("ghp_") => Some(texts::classic_token(name)),
        None if !script.signed_in => Some(texts::NOT_SIGNED_IN.to_owned()),
        _ => None,
    }
}

/// Most tokens of a prompt. The program counts those of its own instructions with it.
const PROMPT_TOKENS_MAX: usize = 128_000;
/// How many tokens its own instructions and tools have, about.
const OWN_TOKENS: usize = 10_390;
/// How many bytes of a prompt make a token, about.
const TOKEN_BYTES: usize = 8;

/// The model is missing or does not exist, or the prompt is too long for it. A provider of the user's own takes every
/// name.
pub(super) fn of_the_model(
    script: &Script,
    invocation: &Invocation,
    args: &Args,
    prompt: &str,
) -> Option<String> {
    let own_provider = invocation.variable("COPILOT_PROVIDER_BASE_URL").is_some();
    match args.model.as_deref() {
        None if own_provider => return Some(texts::NO_MODEL.to_owned()),
        Some(model) if !own_provider && !is_known(script, model) => {
            return Some(format!("Error: Model \"{model}\" from --model flag is not available."));
        }
        _ => {}
    }
    let tokens = prompt.len() / TOKEN_BYTES + OWN_TOKENS;
    (tokens > PROMPT_TOKENS_MAX).then(|| texts::too_long(tokens))
}

fn is_known(script: &Script, model: &str) -> bool {
    model == "auto" || script.models.is_empty() || script.models.iter().any(|one| one == model)
}
