//! What LM Studio says of its models: <https://lmstudio.ai/docs/developer/rest/list> since 0.4.0, before that
//! <https://lmstudio.ai/docs/developer/rest/endpoints>.

use serde_json::Value;

use super::wire::Wire;
use crate::model::{Facts, ModelError};

/// The models of LM Studio; nothing if another server answers.
pub(crate) async fn models(wire: &Wire) -> Result<Option<Vec<Facts>>, ModelError> {
    let newer = wire.get("/api/v1/models").await?;
    if let Some(models) = newer.as_ref().and_then(|list| list.get("models")).and_then(Value::as_array)
        && models.iter().all(|model| model.get("loaded_instances").is_some())
    {
        return Ok(Some(models.iter().filter_map(of_v1).collect()));
    }
    let older = wire.get("/api/v0/models").await?;
    let models = older.as_ref().and_then(|list| list.get("data")).and_then(Value::as_array);
    let Some(models) = models.filter(|models| models.iter().all(|model| model.get("state").is_some())) else {
        return Ok(None);
    };
    Ok(Some(models.iter().filter_map(of_v0).collect()))
}

/// The longest context of a model is not the one in force, so it is no fact here.
fn of_v1(model: &Value) -> Option<Facts> {
    if model.get("type").and_then(Value::as_str) == Some("embedding") {
        return None;
    }
    let loaded = model.get("loaded_instances")?.as_array()?.first();
    let name = loaded.and_then(|loaded| loaded.get("id")).or_else(|| model.get("key"))?.as_str()?;
    Some(Facts {
        model: name.to_owned(),
        context_tokens: loaded
            .and_then(|loaded| loaded.pointer("/config/context_length"))
            .and_then(Value::as_u64),
        tools: model.pointer("/capabilities/trained_for_tool_use").and_then(Value::as_bool),
        is_loaded: Some(loaded.is_some()),
        continues: None,
        holds: Some(false),
    })
}

fn of_v0(model: &Value) -> Option<Facts> {
    if model.get("type").and_then(Value::as_str) == Some("embeddings") {
        return None;
    }
    let abilities = model.get("capabilities").and_then(Value::as_array);
    Some(Facts {
        model: model.get("id")?.as_str()?.to_owned(),
        context_tokens: model.get("loaded_context_length").and_then(Value::as_u64),
        tools: abilities.map(|all| all.iter().any(|one| one == "tool_use")),
        is_loaded: Some(model.get("state")?.as_str()? == "loaded"),
        continues: None,
        holds: Some(false),
    })
}
