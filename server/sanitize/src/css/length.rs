//! Lengths in pixels, arithmetic included.
//! It must never guess: a value that it can't compute is no length.

use super::value::Item;

/// The size of a text without a stated size.
pub(super) const FONT_PX: f32 = 16.0;
/// The pixels that one hundredth of a window's width or height counts as.
const WINDOW_SHARE_PX: f32 = 10.0;
/// Deepest nesting of arithmetic that is computed.
const MAX_DEPTH: u32 = 8;

/// The sizes that relative lengths refer to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Base {
    pub(super) font_px: f32,
    pub(super) percent_px: f32,
}

impl Base {
    /// For places on the page, which counts as a thousand pixels wide.
    pub(super) fn page(font_px: f32) -> Self {
        Self { font_px, percent_px: WINDOW_SHARE_PX }
    }
}

/// A length, or a number without a unit.
pub(super) fn length(item: &Item, base: Base) -> Option<f32> {
    at_depth(item, base, 0)
}

/// A share: 1 is the whole.
pub(super) fn share(item: &Item) -> Option<f32> {
    match item {
        Item::Dimension(..) => None,
        item => length(item, Base { font_px: FONT_PX, percent_px: 0.01 }),
    }
}

/// An angle in degrees.
pub(super) fn degrees(item: &Item) -> Option<f32> {
    match item {
        Item::Number(angle) => Some(*angle),
        Item::Dimension(angle, unit) => match unit.as_str() {
            "deg" => Some(*angle),
            "grad" => Some(angle * 0.9),
            "rad" => Some(angle.to_degrees()),
            "turn" => Some(angle * 360.0),
            _ => None,
        },
        _ => None,
    }
}

fn at_depth(item: &Item, base: Base, depth: u32) -> Option<f32> {
    if depth > MAX_DEPTH {
        return None;
    }
    let each = |items: &[Item]| -> Option<Vec<f32>> {
        items.split(|item| *item == Item::Sign(',')).map(|part| sum(part, base, depth + 1)).collect()
    };
    match item {
        Item::Number(number) => Some(*number),
        Item::Percent(percent) => Some(percent * base.percent_px),
        Item::Dimension(number, unit) => Some(number * unit_px(unit, base)?),
        Item::Call(name, items) => match name.as_str() {
            "" | "calc" => sum(items, base, depth + 1),
            "min" => each(items)?.into_iter().reduce(f32::min),
            "max" => each(items)?.into_iter().reduce(f32::max),
            "clamp" => match each(items)?[..] {
                [least, wanted, most] => Some(wanted.min(most).max(least)),
                _ => None,
            },
            _ => None,
        },
        Item::Word(_) | Item::Hash(_) | Item::Text(_) | Item::Sign(_) => None,
    }
}

fn unit_px(unit: &str, base: Base) -> Option<f32> {
    Some(match unit {
        "px" => 1.0,
        "pt" => 4.0 / 3.0,
        "pc" => 16.0,
        "in" => 96.0,
        "cm" => 37.8,
        "mm" => 3.78,
        "q" => 0.945,
        "em" | "ic" => base.font_px,
        "rem" => FONT_PX,
        "ex" | "ch" | "cap" => base.font_px * 0.5,
        "lh" => base.font_px * 1.2,
        "rlh" => FONT_PX * 1.2,
        unit if ["vw", "vh", "vi", "vb", "vmin", "vmax"].iter().any(|end| unit.ends_with(end)) => {
            WINDOW_SHARE_PX
        }
        _ => return None,
    })
}

/// `a + b - c`, each of which may be `d * e / f`.
fn sum(items: &[Item], base: Base, depth: u32) -> Option<f32> {
    let mut total = 0.0;
    let mut sign = 1.0;
    for part in items.split_inclusive(|item| matches!(item, Item::Sign('+' | '-'))) {
        let (product_of, next) = match part.split_last()? {
            (Item::Sign('+'), rest) => (rest, 1.0),
            (Item::Sign('-'), rest) => (rest, -1.0),
            _ => (part, 1.0),
        };
        total += sign * product(product_of, base, depth)?;
        sign = next;
    }
    Some(total)
}

fn product(items: &[Item], base: Base, depth: u32) -> Option<f32> {
    let mut items = items.iter();
    let mut total = at_depth(items.next()?, base, depth)?;
    while let Some(sign) = items.next() {
        let factor = at_depth(items.next()?, base, depth)?;
        match sign {
            Item::Sign('*') => total *= factor,
            Item::Sign('/') => total /= factor,
            _ => return None,
        }
    }
    Some(total)
}
