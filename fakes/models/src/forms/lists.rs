//! What servers say of themselves and of their models.

use serde_json::{Value, json};

use crate::script::{Kind, ModelSpec, Script};

/// The answer to a question about the server, if this server has this path.
pub(crate) fn list(
    script: &Script,
    method: &str,
    path: &str,
    body: &Value,
    has_loaded: impl Fn(&str) -> bool,
) -> Option<(u16, Value)> {
    let (kind, models) = (script.server, &script.models);
    let is = |wanted: &str| path.split('?').next() == Some(wanted);
    let found = match kind {
        Kind::Ollama if is("/api/version") => json!({"version": "0.13.0"}),
        Kind::Ollama | Kind::LlamaCpp if is("/api/tags") => {
            json!({"models": models.iter().map(tag).collect::<Vec<_>>()})
        }
        Kind::Ollama if is("/api/ps") => {
            let loaded = models.iter().filter(|model| model.loaded || has_loaded(&model.name));
            let one = |model: &ModelSpec| {
                let mut tag = tag(model);
                tag["context_length"] = model.context_tokens.into();
                tag
            };
            json!({"models": loaded.map(one).collect::<Vec<_>>()})
        }
        Kind::Ollama if is("/api/show") && method == "POST" => {
            let name = body.get("model").and_then(Value::as_str).unwrap_or_default();
            let Some(model) = models.iter().find(|model| model.name == name) else {
                return Some((404, json!({"error": format!("model '{name}' not found")})));
            };
            let mut abilities = vec!["completion"];
            abilities.extend(model.tools.then_some("tools"));
            abilities.extend(model.thinking.then_some("thinking"));
            json!({"details": {"family": "llama"}, "capabilities": abilities,
                "model_info": {"general.architecture": "llama", "llama.context_length": model.context_tokens_max}})
        }
        Kind::LlamaCpp if is("/health") => {
            if script.loading {
                return Some((503, loading()));
            }
            json!({"status": "ok"})
        }
        Kind::LlamaCpp if is("/props") => {
            if script.loading {
                return Some((503, loading()));
            }
            let model = models.first()?;
            json!({"default_generation_settings": {"n_ctx": model.context_tokens},
                "total_slots": script.slots.count, "model_path": format!("/models/{}.gguf", model.name),
                "chat_template_caps": {"supports_tools": model.tools, "supports_tool_calls": model.tools},
                "build_info": "b6800-fake"})
        }
        Kind::LmStudio if is("/api/v1/models") => {
            json!({"models": models.iter().map(studio).collect::<Vec<_>>()})
        }
        Kind::LmStudio | Kind::LmStudio03 if is("/api/v0/models") => {
            json!({"object": "list", "data": models.iter().map(old_studio).collect::<Vec<_>>()})
        }
        _ if is("/v1/models") => {
            json!({"object": "list", "data": models.iter().map(|model| plain(kind, model)).collect::<Vec<_>>()})
        }
        _ => return None,
    };
    Some((200, found))
}

pub(crate) fn loading() -> Value {
    json!({"error": {"code": 503, "message": "Loading model", "type": "unavailable_error"}})
}

fn tag(model: &ModelSpec) -> Value {
    json!({"name": model.name, "model": model.name, "size": 1, "digest": "0", "details": {"family": "llama"}})
}

fn plain(kind: Kind, model: &ModelSpec) -> Value {
    let owner = match kind {
        Kind::Ollama => "library",
        Kind::LlamaCpp => "llamacpp",
        Kind::LmStudio | Kind::LmStudio03 => "organization_owner",
        Kind::Vllm => "vllm",
        Kind::OpenAi => "somebody",
    };
    let mut one = json!({"id": model.name, "object": "model", "created": 1, "owned_by": owner});
    if kind == Kind::Vllm {
        one["max_model_len"] = model.context_tokens.into();
    }
    one
}

fn studio(model: &ModelSpec) -> Value {
    let loaded = json!([{"id": model.name, "config": {"context_length": model.context_tokens}}]);
    json!({"type": "llm", "publisher": "contoso", "key": model.name, "display_name": model.name,
        "loaded_instances": if model.loaded { loaded } else { json!([]) },
        "max_context_length": model.context_tokens_max, "format": "gguf",
        "capabilities": {"vision": false, "trained_for_tool_use": model.tools}})
}

fn old_studio(model: &ModelSpec) -> Value {
    let state = if model.loaded { "loaded" } else { "not-loaded" };
    json!({"id": model.name, "object": "model", "type": "llm", "publisher": "contoso", "arch": "llama",
        "compatibility_type": "gguf", "quantization": "Q4_K_M", "state": state,
        "max_context_length": model.context_tokens_max})
}
