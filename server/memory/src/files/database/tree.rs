//! The rows of a table, which stand in a tree of pages by their numbers.
//!
//! Its form is that of <https://www.sqlite.org/fileformat2.html#b_tree_pages>. It must never follow a circle of pages
//! without end, nor read the overflow of a row that is not asked for.

use std::io;
use std::ops::ControlFlow;

use super::pages::{HEADER_BYTES, Pages, Walk, circle};
use super::record::Payload;
use super::{be_u16, be_u32, malformed, varint};

/// SQLite itself reads no deeper trees, so what is deeper is a circle.
const DEPTH_MAX: usize = 20;
const INTERIOR: u8 = 5;
const LEAF: u8 = 13;

/// A table's tree.
#[derive(Clone, Copy)]
pub(super) struct Tree<'p> {
    pub(super) pages: &'p Pages,
    pub(super) root: u32,
}

/// What is done with each row: its number, and what stands in it.
type Visit<'v> = dyn FnMut(i64, Payload<'_>) -> io::Result<ControlFlow<()>> + 'v;

impl Tree<'_> {
    /// Visits the rows in the order of their numbers.
    pub(super) fn each(&self, visit: &mut Visit<'_>) -> io::Result<()> {
        below(&Walk::through(self.pages), self.root, DEPTH_MAX, visit).map(drop)
    }

    /// Reads the row of a number; `None` if there is none.
    pub(super) fn find<T>(
        &self,
        row: i64,
        read: impl FnOnce(Payload<'_>) -> io::Result<T>,
    ) -> io::Result<Option<T>> {
        let walk = Walk::through(self.pages);
        let mut page = self.root;
        for _ in 0..=DEPTH_MAX {
            let node = Node::at(&walk, page)?;
            let at = node.first_at_or_after(row)?;
            if node.is_leaf {
                if at == node.cells {
                    return Ok(None);
                }
                let (found, payload) = node.row(at, &walk)?;
                return if found == row { read(payload).map(Some) } else { Ok(None) };
            }
            page = node.child(at)?.0;
        }
        Err(circle())
    }
}

fn below(
    walk: &Walk<'_>,
    page: u32,
    depth_left: usize,
    visit: &mut Visit<'_>,
) -> io::Result<ControlFlow<()>> {
    let node = Node::at(walk, page)?;
    if node.is_leaf {
        for at in 0..node.cells {
            let (row, payload) = node.row(at, walk)?;
            if visit(row, payload)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        return Ok(ControlFlow::Continue(()));
    }
    let depth_left = depth_left.checked_sub(1).ok_or_else(circle)?;
    for at in 0..=node.cells {
        if below(walk, node.child(at)?.0, depth_left, visit)?.is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
    Ok(ControlFlow::Continue(()))
}

/// A page of a tree.
struct Node {
    page: Vec<u8>,
    /// Where the header of the page begins.
    begin: usize,
    is_leaf: bool,
    cells: usize,
}

impl Node {
    fn at(walk: &Walk<'_>, number: u32) -> io::Result<Self> {
        Self::new(walk.page(number)?, if number == 1 { HEADER_BYTES } else { 0 })
    }

    fn new(page: Vec<u8>, begin: usize) -> io::Result<Self> {
        let is_leaf = match page[begin] {
            LEAF => true,
            INTERIOR => false,
            _ => return Err(malformed("a page is none of a table")),
        };
        let cells = usize::from(be_u16(&page, begin + 3));
        let node = Self { page, begin, is_leaf, cells };
        if node.pointers() + 2 * cells > node.page.len() {
            return Err(malformed("a page has more cells than fit"));
        }
        Ok(node)
    }

    fn pointers(&self) -> usize {
        self.begin + if self.is_leaf { 8 } else { 12 }
    }

    fn cell(&self, at: usize) -> io::Result<&[u8]> {
        let begin = usize::from(be_u16(&self.page, self.pointers() + 2 * at));
        self.page
            .get(begin..)
            .filter(|cell| cell.len() >= 4)
            .ok_or_else(|| malformed("a cell stands outside"))
    }

    /// A child of an interior page, and the highest number in it; the last one has none.
    fn child(&self, at: usize) -> io::Result<(u32, i64)> {
        if at == self.cells {
            return Ok((be_u32(&self.page, self.begin + 8), i64::MAX));
        }
        let cell = self.cell(at)?;
        Ok((be_u32(cell, 0), varint(&cell[4..])?.0.cast_signed()))
    }

    fn row<'n>(&'n self, at: usize, walk: &'n Walk<'n>) -> io::Result<(i64, Payload<'n>)> {
        let cell = self.cell(at)?;
        let (bytes, first) = varint(cell)?;
        let (row, second) = varint(&cell[first..])?;
        Ok((row.cast_signed(), Payload::new(walk, bytes, &cell[first + second..])?))
    }

    /// The number of a cell; it is the highest one of an interior page's child.
    fn number(&self, at: usize) -> io::Result<i64> {
        let cell = self.cell(at)?;
        let skipped = if self.is_leaf { varint(cell)?.1 } else { 4 };
        Ok(varint(&cell[skipped..])?.0.cast_signed())
    }

    /// The first cell whose number is not below this one.
    fn first_at_or_after(&self, row: i64) -> io::Result<usize> {
        let (mut from, mut to) = (0, self.cells);
        while from < to {
            let middle = usize::midpoint(from, to);
            if self.number(middle)? < row {
                from = middle + 1;
            } else {
                to = middle;
            }
        }
        Ok(from)
    }
}
