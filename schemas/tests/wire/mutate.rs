//! Small changes to messages: a removed member, another type, an unknown member, another method. Equal seeds
//! give equal changes, so that a difference can be reproduced.

use std::mem::discriminant;

use serde_json::{Value, json};

/// Makes changed copies.
pub(crate) struct Mutator {
    state: u64,
    methods: Vec<Value>,
    values: Vec<Value>,
}

impl Mutator {
    /// Methods and parts are taken from the given messages.
    pub(crate) fn new<'a>(messages: impl Iterator<Item = &'a Value>) -> Self {
        let mut methods = vec![json!("vendor/unknown"), json!("initialize"), json!("ping"), json!(5)];
        let mut values = vec![
            json!(null),
            json!(true),
            json!(-1),
            json!(0),
            json!(0.5),
            json!(3.0),
            json!(99_999_999_999_i64),
            json!(""),
            json!("text"),
            json!("https://contoso.com/a b"),
            json!("user"),
            json!("input_required"),
            json!([]),
            json!(["x"]),
            json!([1]),
            json!({}),
            json!({ "type": "text", "text": "t" }),
            json!({ "type": "object" }),
        ];
        for message in messages {
            methods.extend(message.get("method").cloned());
            parts(message, &mut values);
        }
        methods.sort_by_key(ToString::to_string);
        methods.dedup();
        values.sort_by_key(ToString::to_string);
        values.dedup();
        Self { state: 0x2545_F491_4F6C_DD1D, methods, values }
    }

    /// A copy with this many changes.
    pub(crate) fn change(&mut self, message: &Value, times: usize) -> Value {
        let mut out = message.clone();
        for _ in 0..times {
            self.once(&mut out);
        }
        out
    }

    fn below(&mut self, bound: usize) -> usize {
        // Xorshift: it only has to spread and to repeat.
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        usize::try_from(self.state >> 33).unwrap_or(0) % bound.max(1)
    }

    /// A value for a place; half of the time it has the kind of the present one, so that many messages stay
    /// valid.
    fn value(&mut self, there: Option<&Value>) -> Value {
        let alike = self.below(2) == 0;
        loop {
            let at = self.below(self.values.len());
            let value = &self.values[at];
            if !alike || there.is_none_or(|there| discriminant(there) == discriminant(value)) {
                return value.clone();
            }
        }
    }

    fn once(&mut self, message: &mut Value) {
        if self.below(12) == 0 && message.get("method").is_some() {
            let at = self.below(self.methods.len());
            message["method"] = self.methods[at].clone();
            return;
        }
        let mut places = Vec::new();
        pointers(message, String::new(), &mut places);
        let at = self.below(places.len());
        let place = places[at].clone();
        let kind = self.below(5);
        let value = self.value(message.pointer(&place));
        let Some(target) = message.pointer_mut(&place) else { return };
        match (kind, target) {
            (0, Value::Object(members)) if !members.is_empty() => {
                let key = members.keys().nth(self.below(members.len())).cloned().unwrap_or_default();
                members.shift_remove(&key);
            }
            (1, Value::Object(members)) => {
                members.insert("unknown".into(), value);
            }
            (2, Value::Array(items)) => items.push(value),
            (3, Value::Object(members)) if !members.is_empty() => {
                let key = members.keys().nth(self.below(members.len())).cloned().unwrap_or_default();
                members.insert(key, value);
            }
            (_, target) if !place.is_empty() => *target = value,
            _ => {}
        }
    }
}

/// Every copy with one member or item removed, one unknown member, or one value of another kind. Unless `all`
/// kinds are requested, two that differ from place to place.
pub(crate) fn each(message: &Value, all: bool) -> Vec<Value> {
    let kinds =
        [json!(null), json!(true), json!(-1), json!(0.5), json!("text"), json!([]), json!(["x"]), json!({})];
    let mut places = Vec::new();
    pointers(message, String::new(), &mut places);
    let mut out = Vec::new();
    for (index, place) in places.iter().enumerate().filter(|(_, place)| !place.is_empty()) {
        let some = [&kinds[index % kinds.len()], &kinds[(index + 3) % kinds.len()]];
        for kind in kinds.iter().filter(|kind| all || some.contains(kind)) {
            let mut changed = message.clone();
            if let Some(target) = changed.pointer_mut(place) {
                *target = kind.clone();
                out.push(changed);
            }
        }
        let (holder, name) = place.rsplit_once('/').unwrap_or_default();
        let mut changed = message.clone();
        match changed.pointer_mut(holder) {
            Some(Value::Object(members)) => {
                members.shift_remove(&name.replace("~1", "/").replace("~0", "~"));
            }
            Some(Value::Array(items)) => {
                items.pop();
            }
            _ => {}
        }
        out.push(changed);
    }
    for place in &places {
        let mut changed = message.clone();
        if let Some(Value::Object(members)) = changed.pointer_mut(place) {
            members.insert("unknown".into(), json!(1));
            out.push(changed);
        }
    }
    out
}

fn parts(value: &Value, found: &mut Vec<Value>) {
    match value {
        Value::Object(members) => members.values().for_each(|member| {
            found.push(member.clone());
            parts(member, found);
        }),
        Value::Array(items) => items.iter().for_each(|item| {
            found.push(item.clone());
            parts(item, found);
        }),
        _ => {}
    }
}

fn pointers(value: &Value, at: String, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            for (key, member) in members {
                pointers(member, format!("{at}/{}", key.replace('~', "~0").replace('/', "~1")), found);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                pointers(item, format!("{at}/{index}"), found);
            }
        }
        _ => {}
    }
    found.push(at);
}
