//! What transforms, filters, clips and masks leave of an element.
//! It must never take a shape that it cannot read for an empty one.

use super::colour::{self, Colour};
use super::length::{Base, degrees, length, share};
use super::value::Item;

/// A clip with less than this between two of its sides shows nothing.
const MIN_CLIP_PX: f32 = 2.0;
/// A side that is turned further than this to the edge shows nothing.
const MAX_TURN_DEGREES: f32 = 86.0;
/// Blurred by more than this share of its size, text is a spot.
const MAX_BLUR: f32 = 0.5;
/// Brightened by more than this factor, everything is white.
const MAX_BRIGHTNESS: f32 = 10.0;
/// One percent of an element's own size, as a movement.
const OWN_SHARE_PX: f32 = 5.0;

/// How a transform changes an element: its scale in the smaller direction, and how far it moves.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Move {
    pub(super) scale: f32,
    pub(super) x_px: f32,
    pub(super) y_px: f32,
}

impl Move {
    pub(super) const NONE: Self = Self { scale: 1.0, x_px: 0.0, y_px: 0.0 };
}

fn arguments(items: &[Item]) -> Vec<&Item> {
    items.iter().filter(|item| **item != Item::Sign(',')).collect()
}

/// What the functions of a `transform` do in all.
pub(super) fn transform(items: &[Item], font_px: f32) -> Move {
    let mut all = Move::NONE;
    for item in items {
        let Item::Call(name, inside) = item else { continue };
        let one = function(name, &arguments(inside), font_px);
        all.x_px += one.x_px;
        all.y_px += one.y_px;
        all.scale *= one.scale;
    }
    all
}

fn function(name: &str, arguments: &[&Item], font_px: f32) -> Move {
    let base = Base { font_px, percent_px: OWN_SHARE_PX };
    let moved = |at: usize| arguments.get(at).and_then(|item| length(item, base)).unwrap_or(0.0);
    let factor = |at: usize| arguments.get(at).and_then(|item| share(item)).map(f32::abs);
    let angle = |at: usize| arguments.get(at).and_then(|item| degrees(item)).unwrap_or(0.0);
    let scaled = |scale: Option<f32>| Move { scale: scale.unwrap_or(1.0), ..Move::NONE };
    match name {
        "translate" | "translate3d" => Move { x_px: moved(0), y_px: moved(1), ..Move::NONE },
        "translatex" => Move { x_px: moved(0), ..Move::NONE },
        "translatey" => Move { y_px: moved(0), ..Move::NONE },
        // The depth of a flat thing does not matter.
        "scale" | "scale3d" => scaled(factor(0).map(|x| factor(1).map_or(x, |y| x.min(y)))),
        "scalex" | "scaley" => scaled(factor(0)),
        "rotatex" | "rotatey" => scaled(Some(seen_of(angle(0)))),
        "rotate3d" if factor(2).is_some_and(|z| z == 0.0) => scaled(Some(seen_of(angle(3)))),
        "skew" | "skewx" | "skewy" => scaled(Some(seen_of(angle(0)).min(seen_of(angle(1))))),
        "matrix" => {
            let side = |a: usize, b: usize| factor(a).zip(factor(b)).map(|(a, b)| a.max(b));
            let scale = side(0, 1).zip(side(2, 3)).map_or(1.0, |(x, y)| x.min(y));
            Move { scale, x_px: moved(4), y_px: moved(5) }
        }
        "matrix3d" => {
            let side = |a: usize, b: usize| factor(a).zip(factor(b)).map(|(a, b)| a.max(b));
            let scale = side(0, 1).zip(side(4, 5)).map_or(1.0, |(x, y)| x.min(y));
            Move { scale, x_px: moved(12), y_px: moved(13) }
        }
        _ => Move::NONE,
    }
}

/// What is seen of a side that is turned: nothing when it stands on its edge.
fn seen_of(degrees: f32) -> f32 {
    let from_flat = (degrees.rem_euclid(180.0) - 90.0).abs();
    if from_flat < 90.0 - MAX_TURN_DEGREES { 0.0 } else { 1.0 }
}

/// The single properties `scale`, `translate` and `rotate`.
pub(super) fn single(property: &str, items: &[Item], font_px: f32) -> Move {
    let items: Vec<&Item> = items.iter().collect();
    match (property, &items[..]) {
        ("rotate", [axis, angle]) if axis.is_word("x") || axis.is_word("y") => {
            function("rotatex", &[angle], font_px)
        }
        ("rotate", [x, y, z, angle]) => function("rotate3d", &[x, y, z, angle], font_px),
        ("scale" | "translate", items) => function(property, items, font_px),
        _ => Move::NONE,
    }
}

/// How much a `filter` lets through: 0 is nothing.
pub(super) fn filter(items: &[Item], font_px: f32) -> f32 {
    let mut seen = 1.0;
    for item in items {
        let Item::Call(name, inside) = item else { continue };
        let number = inside.iter().find_map(share);
        match (name.as_str(), number) {
            ("opacity", Some(opacity)) => seen *= opacity.clamp(0.0, 1.0),
            // Of a browser that is gone, `alpha(opacity=50)`; some programs still obey it.
            ("alpha", Some(percent)) => seen *= (percent / 100.0).clamp(0.0, 1.0),
            ("contrast", Some(contrast)) if contrast <= colour::MAX_UNSEEN_OPACITY => seen = 0.0,
            ("brightness", Some(brightness)) if brightness >= MAX_BRIGHTNESS => seen = 0.0,
            ("blur", _) => {
                let blur = inside.first().and_then(|item| length(item, Base::page(font_px)));
                if blur.is_some_and(|blur| blur > font_px * MAX_BLUR) {
                    seen = 0.0;
                }
            }
            _ => {}
        }
    }
    seen
}

/// Whether `clip: rect(…)` shows nothing.
pub(super) fn clips_all(items: &[Item], font_px: f32) -> bool {
    let Some(Item::Call(name, inside)) = items.first() else { return false };
    if name != "rect" {
        return false;
    }
    let edges: Vec<Option<f32>> =
        arguments(inside).into_iter().map(|item| length(item, Base::page(font_px))).collect();
    let [top, right, bottom, left] = edges[..] else { return false };
    let thin =
        |from: Option<f32>, to: Option<f32>| to.is_some_and(|to| to - from.unwrap_or(0.0) < MIN_CLIP_PX);
    thin(top, bottom) || thin(left, right)
}

/// Whether a `clip-path` shows nothing.
pub(super) fn path_clips_all(items: &[Item], font_px: f32) -> bool {
    items.iter().any(|item| match item {
        Item::Call(name, inside) => shape_is_empty(name, inside, font_px),
        _ => false,
    })
}

fn shape_is_empty(name: &str, inside: &[Item], font_px: f32) -> bool {
    // Of a shape only the part before `round` and `at` matters. A percent is one of a box of a hundred pixels.
    let base = Base { font_px, percent_px: 1.0 };
    let end = inside.iter().position(|item| item.is_word("round") || item.is_word("at"));
    let inside = &inside[..end.unwrap_or(inside.len())];
    let sides: Vec<f32> = inside.iter().filter_map(|item| length(item, base)).collect();
    match (name, &sides[..]) {
        ("inset", &[all]) => all > 49.0,
        ("inset", &[y, x]) => y > 49.0 || x > 49.0,
        ("inset", &[top, x, bottom]) => x > 49.0 || top + bottom > 98.0,
        ("inset", &[top, right, bottom, left]) => top + bottom > 98.0 || left + right > 98.0,
        ("circle", &[radius]) => radius < MIN_CLIP_PX,
        ("ellipse", &[x, y]) => x.min(y) < MIN_CLIP_PX,
        ("rect", &[top, right, bottom, left]) => bottom - top < MIN_CLIP_PX || right - left < MIN_CLIP_PX,
        ("xywh", &[_, _, width, height]) => width.min(height) < MIN_CLIP_PX,
        ("polygon", points) if points.len() >= 2 => {
            let reach = |from: usize| {
                let along = || points.iter().skip(from).step_by(2).copied();
                along().fold(f32::MIN, f32::max) - along().fold(f32::MAX, f32::min)
            };
            reach(0).min(reach(1)) < MIN_CLIP_PX
        }
        _ => false,
    }
}

/// Whether a mask shows nothing: a picture that is not known, or a gradient that is clear from end to end.
pub(super) fn mask_hides(items: &[Item]) -> bool {
    items.iter().any(|item| match item {
        Item::Call(name, inside) if name.ends_with("gradient") => {
            !colours(inside).iter().any(|colour| matches!(colour, Colour::Solid(..)))
        }
        Item::Call(name, _) => matches!(name.as_str(), "url" | "image" | "image-set" | "element" | "src"),
        _ => false,
    })
}

/// The colours that stand in a gradient.
pub(super) fn colours(items: &[Item]) -> Vec<Colour> {
    items.iter().filter_map(colour::of).collect()
}
