//! The stack of open elements. It keeps the places of each kind, so that no search is needed.
//! It must never hold more than its bound.

use super::body::OnClose;
use super::css::Style;
use super::elements::{self, Element};

/// Most nested elements; a deeper one replaces the deepest.
const MAX_OPEN_ELEMENTS: usize = 256;

/// An open element.
pub(super) struct Open {
    pub(super) element: &'static Element,
    /// The style that its content inherits.
    pub(super) style: Style,
    /// The serial number of the outermost hidden element around it.
    pub(super) hidden: Option<u32>,
    pub(super) on_close: OnClose,
    /// Whether it had a summary; only the first one is shown.
    pub(super) has_summary: bool,
}

/// The open elements, outermost first.
pub(super) struct Stack {
    open: Vec<Open>,
    /// The places of each open element by its id, outermost first.
    places: Vec<Vec<usize>>,
    blocks: Vec<usize>,
    scopes: Vec<usize>,
}

impl Default for Stack {
    fn default() -> Self {
        let places = vec![Vec::new(); elements::COUNT];
        Self { open: Vec::new(), places, blocks: Vec::new(), scopes: Vec::new() }
    }
}

impl Stack {
    pub(super) fn len(&self) -> usize {
        self.open.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Whether an element has to be popped before the next push.
    pub(super) fn is_full(&self) -> bool {
        self.open.len() >= MAX_OPEN_ELEMENTS
    }

    pub(super) fn push(&mut self, open: Open) {
        let at = self.open.len();
        self.places[open.element.id].push(at);
        if open.element.is_block() {
            self.blocks.push(at);
        }
        if open.element.is_table_scope() {
            self.scopes.push(at);
        }
        self.open.push(open);
    }

    pub(super) fn pop(&mut self) -> Option<Open> {
        let open = self.open.pop()?;
        self.places[open.element.id].pop();
        if open.element.is_block() {
            self.blocks.pop();
        }
        if open.element.is_table_scope() {
            self.scopes.pop();
        }
        Some(open)
    }

    /// The innermost place of any of these elements.
    pub(super) fn last_of(&self, ids: &[usize]) -> Option<usize> {
        ids.iter().filter_map(|&id| self.places[id].last().copied()).max()
    }

    pub(super) fn last_block(&self) -> Option<usize> {
        self.blocks.last().copied()
    }

    pub(super) fn last_scope(&self) -> Option<usize> {
        self.scopes.last().copied()
    }

    /// Takes what the end of the element at this place writes, so that it is written once.
    pub(super) fn take_on_close(&mut self, at: usize) -> Option<OnClose> {
        let open = self.open.get_mut(at)?;
        Some(std::mem::replace(&mut open.on_close, OnClose::Nothing))
    }

    /// The innermost open element.
    pub(super) fn last_mut(&mut self) -> Option<&mut Open> {
        self.open.last_mut()
    }

    /// The style that new content inherits.
    pub(super) fn style(&self) -> Style {
        self.open.last().map_or_else(Style::default, |open| open.style.clone())
    }

    /// The serial number of the outermost hidden element around new content.
    pub(super) fn hidden(&self) -> Option<u32> {
        self.open.last().and_then(|open| open.hidden)
    }
}
