//! The tools of a server that the host remembers. The catalog forgets no tool by itself; the machine decides
//! when.

use std::collections::{BTreeMap, BTreeSet};

use crate::names::Tool;

/// The remembered tools, and whether their list must be requested again.
#[derive(Debug, Default)]
pub(super) struct Catalog {
    /// The server's order, which the model sees.
    order: Vec<String>,
    tools: BTreeMap<String, Tool>,
    /// The list must be requested again before the next model request.
    pub(super) stale: bool,
    /// The list must be requested once more before the first call.
    pub(super) warm: bool,
    /// The server gave no `ttlMs` for the list.
    pub(super) uncached: bool,
    /// Keys of list requests for which the next call waits.
    pub(super) blocking: BTreeSet<String>,
}

impl Catalog {
    pub(super) fn new(warm: bool) -> Self {
        Self { warm, ..Self::default() }
    }

    /// Replaces the whole list.
    pub(super) fn replace(&mut self, tools: Vec<Tool>) {
        self.order.clear();
        self.tools.clear();
        for tool in tools {
            if !self.tools.contains_key(&tool.name) {
                self.order.push(tool.name.clone());
            }
            self.tools.insert(tool.name.clone(), tool);
        }
    }

    pub(super) fn clear(&mut self) {
        self.order.clear();
        self.tools.clear();
    }

    /// Finds a tool by the server's name or by the model's.
    pub(super) fn find(&self, name: &str) -> Option<&Tool> {
        self.tools.get(name).or_else(|| self.tools.values().find(|tool| tool.shown_name == name))
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.order.iter().map(String::as_str)
    }

    pub(super) fn tools(&self) -> impl Iterator<Item = &Tool> {
        self.order.iter().filter_map(|name| self.tools.get(name))
    }
}
