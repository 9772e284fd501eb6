//! The part of an element that stays visible under transforms, filters, clips and masks.
//! It must never treat a shape that it can't read as an empty one.

use super::colour::{self, Colour};
use super::length::{Base, degrees, length, share};
use super::value::Item;

/// A clip with less than this between two of its sides shows nothing.
const MIN_CLIP_PX: f32 = 2.0;
/// An element that is turned further than this shows only its edge.
const MAX_TURN_DEGREES: f32 = 86.0;
/// A text that is blurred by more than this share of its size can't be read.
const MAX_BLUR: f32 = 0.5;
/// A filter that brightens by at least this factor makes everything white.
const MAX_BRIGHTNESS: f32 = 10.0;
/// A smaller perspective counts as this distance.
const MIN_DISTANCE_PX: f32 = 1.0;
/// Two shades of grey that differ by less than this share look the same.
const MAX_SAME_GREY: f32 = 0.05;
/// The pixels that one percent of an element's own size counts as in a move.
const OWN_SHARE_PX: f32 = 5.0;

/// How a transform changes an element: its scale in the smaller direction, and how far it moves.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Move {
    pub(super) scale: f32,
    pub(super) x_px: f32,
    pub(super) y_px: f32,
    /// Towards the reader; it counts only together with a perspective.
    z_px: f32,
    /// Whether its back faces the reader.
    pub(super) turned: bool,
}

impl Move {
    pub(super) const NONE: Self = Self { scale: 1.0, x_px: 0.0, y_px: 0.0, z_px: 0.0, turned: false };
}

fn arguments(items: &[Item]) -> Vec<&Item> {
    items.iter().filter(|item| **item != Item::Sign(',')).collect()
}

/// The effect of all functions of a `transform` together.
pub(super) fn transform(items: &[Item], font_px: f32) -> Move {
    let mut all = Move::NONE;
    let mut distance_px = None;
    for item in items {
        let Item::Call(name, inside) = item else { continue };
        if name == "perspective" {
            let given = inside.first().and_then(|item| length(item, Base::page(font_px)));
            distance_px = given.map(|px| px.max(MIN_DISTANCE_PX)).or(distance_px);
            continue;
        }
        let one = function(name, &arguments(inside), font_px);
        all.x_px += one.x_px;
        all.y_px += one.y_px;
        all.z_px += one.z_px;
        all.scale *= one.scale;
        all.turned ^= one.turned;
    }
    if let Some(distance) = distance_px {
        // An element behind the reader is not drawn.
        all.scale *= if all.z_px < distance { distance / (distance - all.z_px) } else { 0.0 };
    }
    all
}

fn function(name: &str, arguments: &[&Item], font_px: f32) -> Move {
    let base = Base { font_px, percent_px: OWN_SHARE_PX };
    let moved = |at: usize| arguments.get(at).and_then(|item| length(item, base)).unwrap_or(0.0);
    let factor = |at: usize| arguments.get(at).and_then(|item| share(item)).map(f32::abs);
    let angle = |at: usize| arguments.get(at).and_then(|item| degrees(item)).unwrap_or(0.0);
    let scaled = |scale: Option<f32>| Move { scale: scale.unwrap_or(1.0), ..Move::NONE };
    let turned = |degrees: f32| Move {
        scale: seen_of(degrees),
        turned: (degrees.rem_euclid(360.0) - 180.0).abs() < 90.0,
        ..Move::NONE
    };
    let is_negative = |at: usize| arguments.get(at).and_then(|item| share(item)).is_some_and(|z| z < 0.0);
    match name {
        "translatez" => Move { z_px: moved(0), ..Move::NONE },
        "translate" | "translate3d" => Move { x_px: moved(0), y_px: moved(1), z_px: moved(2), ..Move::NONE },
        "translatex" => Move { x_px: moved(0), ..Move::NONE },
        "translatey" => Move { y_px: moved(0), ..Move::NONE },
        // An element is flat, so its depth scale matters only for the side that faces the reader.
        "scale" | "scale3d" => {
            let scale = factor(0).map(|x| factor(1).map_or(x, |y| x.min(y)));
            Move { turned: is_negative(2), ..scaled(scale) }
        }
        "scalez" => Move { turned: is_negative(0), ..Move::NONE },
        "scalex" | "scaley" => scaled(factor(0)),
        "rotatex" | "rotatey" => turned(angle(0)),
        "rotate3d" if factor(2).is_some_and(|z| z == 0.0) => turned(angle(3)),
        "skew" | "skewx" | "skewy" => scaled(Some(seen_of(angle(0)).min(seen_of(angle(1))))),
        "matrix" | "matrix3d" => {
            let (second, moves) = if name == "matrix" { (2, 4) } else { (4, 12) };
            let side = |at: usize| factor(at).zip(factor(at + 1)).map(|(a, b)| a.max(b));
            let scale = side(0).zip(side(second)).map_or(1.0, |(x, y)| x.min(y));
            Move { scale, x_px: moved(moves), y_px: moved(moves + 1), ..Move::NONE }
        }
        _ => Move::NONE,
    }
}

/// The share of a turned element that is visible: 0 on its edge, or else 1.
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

/// The share of an element that a `filter` leaves visible; 0 is nothing.
pub(super) fn filter(items: &[Item], font_px: f32) -> f32 {
    let mut seen = 1.0;
    for item in items {
        let Item::Call(name, inside) = item else { continue };
        let number = inside.iter().find_map(share);
        match (name.as_str(), number) {
            ("opacity", Some(opacity)) => seen *= opacity.clamp(0.0, 1.0),
            // Internet Explorer's `alpha(opacity=50)`, which some mail programs obey.
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

/// The shades that a `filter` gives black and white, as shares of white; `None` if it leaves both unchanged.
pub(super) fn greys(items: &[Item]) -> Option<(f32, f32)> {
    let mut ends = (0.0, 1.0);
    for item in items {
        let Item::Call(name, inside) = item else { continue };
        let share = inside.iter().find_map(share).unwrap_or(1.0);
        let change = |grey: f32| match name.as_str() {
            "brightness" => grey * share,
            "invert" => grey * (1.0 - 2.0 * share.clamp(0.0, 1.0)) + share.clamp(0.0, 1.0),
            "contrast" => (grey - 0.5) * share + 0.5,
            _ => grey,
        };
        ends = (change(ends.0).clamp(0.0, 1.0), change(ends.1).clamp(0.0, 1.0));
    }
    (ends != (0.0, 1.0)).then_some(ends)
}

/// Whether everything becomes one grey.
pub(super) fn is_one_grey((black, white): (f32, f32)) -> bool {
    (black - white).abs() < MAX_SAME_GREY
}

/// Whether black and white are exchanged.
pub(super) fn is_inverted((black, white): (f32, f32)) -> bool {
    black > 1.0 - MAX_SAME_GREY && white < MAX_SAME_GREY
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
    if name == "path" {
        return path_reach(inside).is_some_and(|[left, right, top, bottom]| {
            (right - left).min(bottom - top) < MIN_CLIP_PX || right < 0.0 || bottom < 0.0
        });
    }
    // Only the part of a shape before `round` and `at` matters. A percent is one of a box of a hundred pixels.
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

/// The least distance that an `offset-path` moves an element.
pub(super) fn carried(items: &[Item]) -> Move {
    let paths = items.iter().filter_map(|item| match item {
        Item::Call(name, inside) if name == "path" => path_reach(inside),
        _ => None,
    });
    let nearest = |from: f32, to: f32| if to < 0.0 { to } else { from.max(0.0) };
    paths.fold(Move::NONE, |all, [left, right, top, bottom]| Move {
        x_px: all.x_px + nearest(left, right),
        y_px: all.y_px + nearest(top, bottom),
        ..all
    })
}

/// The edges of a path: left, right, top, bottom. `None` if a part of it can't be read.
fn path_reach(inside: &[Item]) -> Option<[f32; 4]> {
    let text = inside.iter().find_map(|item| match item {
        Item::Text(text) => Some(text.as_str()),
        _ => None,
    })?;
    let mut reach: Option<[f32; 4]> = None;
    let mut at = [0.0_f32; 2];
    let mut touch = |[x, y]: [f32; 2]| {
        let [left, right, top, bottom] = reach.unwrap_or([x, x, y, y]);
        reach = Some([left.min(x), right.max(x), top.min(y), bottom.max(y)]);
    };
    for step in steps(text)? {
        let is_relative = step.letter.is_ascii_lowercase();
        let from = |at: [f32; 2]| if is_relative { at } else { [0.0; 2] };
        match step.letter.to_ascii_uppercase() {
            'Z' if step.numbers.is_empty() => {}
            'H' => {
                for x in step.numbers {
                    at[0] = from(at)[0] + x;
                    touch(at);
                }
            }
            'V' => {
                for y in step.numbers {
                    at[1] = from(at)[1] + y;
                    touch(at);
                }
            }
            // A curve stays between its control points.
            letter => {
                let points = match letter {
                    'M' | 'L' | 'T' => 1,
                    'S' | 'Q' => 2,
                    'C' => 3,
                    _ => return None,
                };
                let (all, rest) = step.numbers.as_chunks::<2>();
                if !rest.is_empty() || all.len() % points != 0 || all.is_empty() {
                    return None;
                }
                for group in all.chunks(points) {
                    let origin = from(at);
                    for [x, y] in group {
                        at = [origin[0] + x, origin[1] + y];
                        touch(at);
                    }
                }
            }
        }
    }
    // A curve that continues the one before it can reach further.
    if text.contains(['T', 't', 'S', 's']) { None } else { reach }
}

/// A letter of a path with its numbers.
struct PathStep {
    letter: char,
    numbers: Vec<f32>,
}

/// The steps of a path, which begins with a move.
fn steps(path: &str) -> Option<Vec<PathStep>> {
    let mut steps: Vec<PathStep> = Vec::new();
    let mut rest = path.trim_start();
    while let Some(first) = rest.chars().next() {
        if first.is_ascii_alphabetic() {
            steps.push(PathStep { letter: first, numbers: Vec::new() });
            rest = &rest[1..];
        } else if first == ',' || first.is_ascii_whitespace() {
            rest = &rest[1..];
        } else {
            let (number, behind) = number(rest)?;
            steps.last_mut()?.numbers.push(number);
            rest = behind;
        }
    }
    let begins = steps.first().is_some_and(|step| step.letter.eq_ignore_ascii_case(&'m'));
    begins.then_some(steps)
}

/// The number at the start of a text, and the text after it.
fn number(text: &str) -> Option<(f32, &str)> {
    let bytes = text.as_bytes();
    let digits = |from: usize| from + bytes[from..].iter().take_while(|b| b.is_ascii_digit()).count();
    let is_at = |at: usize, signs: &[u8]| bytes.get(at).is_some_and(|b| signs.contains(b));
    let mut end = digits(usize::from(is_at(0, b"+-")));
    if is_at(end, b".") {
        end = digits(end + 1);
    }
    if is_at(end, b"eE") {
        let sign = end + 1 + usize::from(is_at(end + 1, b"+-"));
        let power = digits(sign);
        end = if power > sign { power } else { end };
    }
    let (number, behind) = text.split_at_checked(end)?;
    Some((number.parse().ok()?, behind))
}

/// Whether a mask shows nothing: an unknown picture, or a gradient that is transparent everywhere.
pub(super) fn mask_hides(items: &[Item]) -> bool {
    items.iter().any(|item| match item {
        Item::Call(name, inside) if name.ends_with("gradient") => {
            !colours(inside).iter().any(|colour| matches!(colour, Colour::Solid(..)))
        }
        Item::Call(name, _) => matches!(name.as_str(), "url" | "image" | "image-set" | "element" | "src"),
        _ => false,
    })
}

/// The colours of a gradient.
pub(super) fn colours(items: &[Item]) -> Vec<Colour> {
    items.iter().filter_map(colour::of).collect()
}
