//! The stack of open elements, with the places of each kind at hand so that nothing is ever searched for.
//! It must never hold more than its bound.

use super::body::OnClose;
use super::css::Style;
use super::elements::{self, Element};

/// Most elements inside each other; a deeper one takes the place of the deepest.
const MAX_OPEN_ELEMENTS: usize = 256;

/// An open element.
pub(super) struct Open {
    pub(super) element: &'static Element,
    /// What it hands down to its content.
    pub(super) style: Style,
    /// The outermost hidden element that it is in, by its serial number.
    pub(super) hidden: Option<u32>,
    pub(super) on_close: OnClose,
    /// Whether its summary was seen; only the first one is shown.
    pub(super) has_summary: bool,
}

/// The open elements, outermost first.
pub(super) struct Stack {
    open: Vec<Open>,
    /// By element id: where it is open, outermost first.
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

    /// Whether something has to be popped before the next push.
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

    /// What the end of the element at this place brings, once.
    pub(super) fn take_on_close(&mut self, at: usize) -> Option<OnClose> {
        let open = self.open.get_mut(at)?;
        Some(std::mem::replace(&mut open.on_close, OnClose::Nothing))
    }

    /// The innermost element.
    pub(super) fn last_mut(&mut self) -> Option<&mut Open> {
        self.open.last_mut()
    }

    /// The style that new content inherits.
    pub(super) fn style(&self) -> Style {
        self.open.last().map_or_else(Style::default, |open| open.style.clone())
    }

    /// The outermost hidden element that new content is in.
    pub(super) fn hidden(&self) -> Option<u32> {
        self.open.last().and_then(|open| open.hidden)
    }
}
