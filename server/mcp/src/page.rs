//! Lists in pages. A list that fits on one page has no cursor, because some hosts follow none.

use serde_json::{Value, json};

use crate::era::Era;
use crate::message::{Object, RpcError};

/// Most items on one page.
const PAGE_ITEMS_MAX: usize = 500;

/// How long a client may keep a list, in milliseconds: lists change only with the program.
const LIST_TTL_MS: u64 = 600_000;

/// The page of a list that `params.cursor` asks for, or the first page.
///
/// # Errors
/// Fails if the cursor is not one of this list.
pub fn page(era: Era, params: &Object, name: &str, items: Vec<Value>) -> Result<Value, RpcError> {
    let pages = items.len().div_ceil(PAGE_ITEMS_MAX).max(1);
    let at = match params.get("cursor") {
        None | Some(Value::Null) => 0,
        Some(cursor) => {
            let number = cursor.as_str().and_then(|text| text.parse::<usize>().ok());
            number.filter(|at| (1..pages).contains(at)).ok_or_else(|| {
                let pages = if pages == 1 { "one page".to_owned() } else { format!("{pages} pages") };
                RpcError::invalid_params(format!("params.cursor: unknown cursor; the list has {pages}"))
            })?
        }
    };
    let items: Vec<Value> = items.into_iter().skip(at * PAGE_ITEMS_MAX).take(PAGE_ITEMS_MAX).collect();
    let mut list = json!({name: items});
    if at + 1 < pages {
        list["nextCursor"] = (at + 1).to_string().into();
    }
    Ok(cacheable(era, list, LIST_TTL_MS))
}

/// Adds the members that the modern era requires in results that may be cached.
pub fn cacheable(era: Era, mut result: Value, ttl_ms: u64) -> Value {
    if era == Era::Modern {
        result["ttlMs"] = ttl_ms.into();
        result["cacheScope"] = "private".into();
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    fn params(cursor: &Value) -> Object {
        let Value::Object(params) = json!({"cursor": cursor}) else { panic!("no object") };
        params
    }

    #[test]
    fn a_long_list_comes_whole_in_pages_and_a_short_one_without_a_cursor() {
        let items: Vec<Value> = (0..1_234).map(Value::from).collect();
        let (mut gathered, mut cursor) = (Vec::new(), Value::Null);
        for _ in 0..10 {
            let list = page(Era::Legacy, &params(&cursor), "items", items.clone()).unwrap();
            gathered.extend(list["items"].as_array().unwrap().clone());
            cursor = list.get("nextCursor").cloned().unwrap_or(Value::Null);
            if cursor.is_null() {
                break;
            }
        }
        assert_eq!(gathered, items);
        let short = page(Era::Modern, &Object::new(), "items", items[..3].to_vec()).unwrap();
        assert_eq!(short, json!({"items": [0, 1, 2], "ttlMs": LIST_TTL_MS, "cacheScope": "private"}));
    }

    #[test]
    fn an_unknown_cursor_is_refused() {
        for cursor in [json!("1"), json!("x"), json!(1), json!("0"), json!("")] {
            assert!(page(Era::Legacy, &params(&cursor), "items", vec![Value::Null]).is_err());
        }
    }
}
