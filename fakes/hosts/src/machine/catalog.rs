//! The tools that the host remembers of a server.
//! It never forgets a tool by itself; the machine says when.

use std::collections::{BTreeMap, BTreeSet};

use crate::names::Tool;

/// Remembered tools, and what is owed about them.
#[derive(Debug, Default)]
pub(super) struct Catalog {
    /// In the server's order, for the model.
    order: Vec<String>,
    tools: BTreeMap<String, Tool>,
    /// The list is to be asked again before the next model request.
    pub(super) stale: bool,
    /// The list is to be asked once more before the first call.
    pub(super) warm: bool,
    /// No hint says how long the list is good.
    pub(super) uncached: bool,
    /// Keys of lists that the next call waits for.
    pub(super) blocking: BTreeSet<String>,
}

impl Catalog {
    pub(super) fn new(warm: bool) -> Self {
        Self { warm, ..Self::default() }
    }

    /// Takes a whole new list.
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

    /// A tool by the server's name or by the model's.
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
