//! Why `copilot` ends before its model is asked.

use crate::invocation::Invocation;
use crate::script::Script;

use super::args::Args;
use super::texts;

/// The variables that can hold a token, in the order in which they are looked at.
const TOKENS: [&str; 3] = ["COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN"];

/// Nobody is signed in, or there is no provider.
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

/// The model does not exist. A provider of the user's own takes every name.
pub(super) fn of_the_model(script: &Script, invocation: &Invocation, args: &Args) -> Option<String> {
    let model = args.model.as_deref()?;
    let known = model == "auto" || script.models.is_empty() || script.models.iter().any(|one| one == model);
    let own_provider = invocation.variable("COPILOT_PROVIDER_BASE_URL").is_some();
    (!known && !own_provider).then(|| format!("Error: Model \"{model}\" from --model flag is not available."))
}
