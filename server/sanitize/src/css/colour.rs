//! Colours in style attributes, precise enough to see that a text has the colour of its background.
//! It must never guess: a value that it can't read is no colour.

use cssparser::color::{parse_hash_color, parse_named_color};

use super::length::{degrees, share};
use super::value::{self, Item};

/// A colour, as far as a value states it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Colour {
    /// Red, green, blue.
    Solid(u8, u8, u8),
    /// Shows nothing.
    Transparent,
    /// A colour that can't be computed; it looks like no other.
    Unknown,
}

impl Colour {
    pub(super) const WHITE: Self = Self::Solid(255, 255, 255);
    pub(super) const BLACK: Self = Self::Solid(0, 0, 0);
}

/// A text of at most this opacity can't be read.
pub(super) const MAX_UNSEEN_OPACITY: f32 = 0.05;
/// Two colours closer than this in every channel look the same.
const MAX_LOOKALIKE_DISTANCE: u8 = 12;
/// A colour with this share of white or black counts as white or black.
const NEAR_END: f32 = 0.98;

/// The colour that an item of a value states.
pub(super) fn of(item: &Item) -> Option<Colour> {
    match item {
        Item::Word(name) => named(name),
        Item::Hash(digits) => {
            let (red, green, blue, alpha) = parse_hash_color(digits.as_bytes()).ok()?;
            Some(with_alpha(Some(alpha), Colour::Solid(red, green, blue)))
        }
        Item::Call(function, arguments) if function == "color-mix" => mix(arguments),
        Item::Call(function, arguments) => {
            let parts = arguments.iter().filter(|item| !matches!(item, Item::Sign(',' | '/')));
            call(function, &parts.collect::<Vec<_>>())
        }
        _ => None,
    }
}

/// The colour in an HTML attribute such as `bgcolor`, which may lack its `#`.
pub(super) fn of_attribute(text: &str) -> Option<Colour> {
    let text = text.trim();
    let bare = text.len() == 6 && text.bytes().all(|b| b.is_ascii_hexdigit());
    if bare { of(&Item::Hash(text.to_ascii_lowercase())) } else { of(value::value(text).first()?) }
}

/// Whether a person could not read a text of one colour on the other.
pub(super) fn look_alike(a: Colour, b: Colour) -> bool {
    let (Colour::Solid(red, green, blue), Colour::Solid(other_red, other_green, other_blue)) = (a, b) else {
        return false;
    };
    [(red, other_red), (green, other_green), (blue, other_blue)]
        .iter()
        .all(|&(one, other)| one.abs_diff(other) <= MAX_LOOKALIKE_DISTANCE)
}

/// The grey with this share of white.
pub(super) fn grey(share: f32) -> Colour {
    let light = to_channel(share * 255.0);
    Colour::Solid(light, light, light)
}

/// The inverse of a colour.
pub(super) fn inverted(colour: Colour) -> Colour {
    match colour {
        Colour::Solid(red, green, blue) => Colour::Solid(255 - red, 255 - green, 255 - blue),
        other => other,
    }
}

fn named(name: &str) -> Option<Colour> {
    match name {
        "transparent" => Some(Colour::Transparent),
        // The system colours, as they are without a theme.
        "canvas" | "window" | "field" => Some(Colour::WHITE),
        "canvastext" | "windowtext" | "fieldtext" => Some(Colour::BLACK),
        name => parse_named_color(name).ok().map(|(red, green, blue)| Colour::Solid(red, green, blue)),
    }
}

fn call(function: &str, parts: &[&Item]) -> Option<Colour> {
    let alpha = |at: usize| parts.get(at).and_then(|item| share(item));
    let (first, rest) = parts.split_first()?;
    if first.is_word("from") {
        let (origin, channels) = rest.split_first()?;
        return relative(function, of(origin)?, channels);
    }
    match (function, rest) {
        ("rgb" | "rgba", [green, blue, ..]) => {
            let solid = Colour::Solid(channel(first)?, channel(green)?, channel(blue)?);
            Some(with_alpha(alpha(3), solid))
        }
        ("hsl" | "hsla", [saturation, lightness, ..]) => {
            let (saturation, lightness) = (hundredth(saturation)?, hundredth(lightness)?);
            Some(with_alpha(alpha(3), from_hsl(degrees(first)?, saturation, lightness)))
        }
        ("hwb", [white, black, ..]) => {
            let (white, black) = (hundredth(white)?, hundredth(black)?);
            // Only colours without a hue matter.
            let grey = white + black >= NEAR_END;
            grey.then(|| {
                let light = to_channel(255.0 * white / (white + black));
                with_alpha(alpha(3), Colour::Solid(light, light, light))
            })
        }
        ("lab" | "lch", [_, _, ..]) => Some(by_lightness(hundredth(first)?, alpha(3))),
        ("oklab" | "oklch", [_, _, ..]) => Some(by_lightness(share(first)?, alpha(3))),
        ("color", [red, green, blue, ..]) if !first.is_word("srgb") => {
            let spaces = ["srgb-linear", "display-p3", "a98-rgb", "prophoto-rgb", "rec2020"];
            if !spaces.into_iter().any(|space| first.is_word(space)) {
                return None;
            }
            let parts = [share(red)?, share(green)?, share(blue)?];
            let is_one_end = parts.iter().all(|part| *part >= NEAR_END);
            let is_other = parts.iter().all(|part| *part <= 1.0 - NEAR_END);
            Some(if is_one_end || is_other { by_lightness(parts[0], alpha(4)) } else { Colour::Unknown })
        }
        ("color", [red, green, blue, ..]) => {
            let part = |item: &Item| share(item).map(|part| to_channel(part * 255.0));
            Some(with_alpha(alpha(4), Colour::Solid(part(red)?, part(green)?, part(blue)?)))
        }
        ("light-dark", _) => of(first),
        _ => None,
    }
}

fn by_lightness(lightness: f32, alpha: Option<f32>) -> Colour {
    let solid = match lightness {
        l if l >= NEAR_END => Colour::WHITE,
        l if l <= 1.0 - NEAR_END => Colour::BLACK,
        _ => Colour::Unknown,
    };
    with_alpha(alpha, solid)
}

/// A colour made from another: `rgb(from white r g b / alpha)`.
fn relative(function: &str, origin: Colour, channels: &[&Item]) -> Option<Colour> {
    let channels = if function == "color" { channels.get(1..)? } else { channels };
    let names = match function {
        "rgb" | "rgba" | "color" => ["r", "g", "b"],
        "hsl" | "hsla" => ["h", "s", "l"],
        "hwb" => ["h", "w", "b"],
        "lab" | "oklab" => ["l", "a", "b"],
        "lch" | "oklch" => ["l", "c", "h"],
        _ => return None,
    };
    let [first, second, third, ..] = channels else { return None };
    let alpha = match channels.get(3) {
        None => None,
        Some(item) if item.is_word("alpha") => None,
        Some(item) => share(item),
    };
    let Colour::Solid(red, green, blue) = origin else {
        let stays = alpha.is_none_or(|alpha| alpha <= MAX_UNSEEN_OPACITY);
        return Some(if origin == Colour::Transparent && stays { origin } else { Colour::Unknown });
    };
    if channels.iter().zip(names).all(|(item, name)| item.is_word(name)) {
        return Some(with_alpha(alpha, origin));
    }
    match function {
        "rgb" | "rgba" => {
            let values = [red, green, blue].map(f32::from);
            let put = |item: &Item| with_channels(item, names, values);
            let solid = Colour::Solid(channel(&put(first))?, channel(&put(second))?, channel(&put(third))?);
            Some(with_alpha(alpha, solid))
        }
        // Only colours without a hue matter.
        "hsl" | "hsla" => Some(hundredth(third).map_or(Colour::Unknown, |l| by_lightness(l, alpha))),
        "lab" | "lch" => Some(hundredth(first).map_or(Colour::Unknown, |l| by_lightness(l, alpha))),
        "oklab" | "oklch" => Some(share(first).map_or(Colour::Unknown, |l| by_lightness(l, alpha))),
        _ => Some(with_alpha(alpha, Colour::Unknown)),
    }
}

/// An item with the names of channels replaced by their values.
fn with_channels(item: &Item, names: [&str; 3], values: [f32; 3]) -> Item {
    match item {
        Item::Word(word) => {
            let at = names.iter().position(|name| name == word);
            at.map_or_else(|| item.clone(), |at| Item::Number(values[at]))
        }
        Item::Call(name, inside) => {
            let inside = inside.iter().map(|item| with_channels(item, names, values)).collect();
            Item::Call(name.clone(), inside)
        }
        item => item.clone(),
    }
}

/// `color-mix(in SPACE, ONE 30%, OTHER)`.
fn mix(arguments: &[Item]) -> Option<Colour> {
    let mut parts = arguments.split(|item| *item == Item::Sign(','));
    let [Item::Word(within), Item::Word(space), ..] = parts.next()? else { return None };
    if within != "in" {
        return None;
    }
    let read = |part: Option<&[Item]>| -> Option<(Colour, Option<f32>)> {
        let part = part?;
        let percent = part.iter().find_map(|item| match item {
            Item::Percent(percent) => Some(percent.clamp(0.0, 100.0)),
            _ => None,
        });
        Some((part.iter().find_map(of)?, percent))
    };
    let ((one, of_one), (other, of_other)) = (read(parts.next())?, read(parts.next())?);
    let (of_one, of_other) = match (of_one, of_other) {
        (None, None) => (50.0, 50.0),
        (Some(one), None) => (one, 100.0 - one),
        (None, Some(other)) => (100.0 - other, other),
        (Some(one), Some(other)) => (one, other),
    };
    let whole = of_one + of_other;
    if whole <= 0.0 {
        return None;
    }
    let (weight, alpha) = (of_one / whole, (whole / 100.0).min(1.0));
    Some(match (one, other) {
        (Colour::Transparent, Colour::Transparent) => Colour::Transparent,
        (solid, Colour::Transparent) => with_alpha(Some(alpha * weight), solid),
        (Colour::Transparent, solid) => with_alpha(Some(alpha * (1.0 - weight)), solid),
        (one, other) if look_alike(one, other) || weight >= NEAR_END => with_alpha(Some(alpha), one),
        (_, other) if weight <= 1.0 - NEAR_END => with_alpha(Some(alpha), other),
        (Colour::Solid(red, green, blue), Colour::Solid(other_red, other_green, other_blue))
            if space == "srgb" =>
        {
            let mixed =
                |one: u8, other: u8| to_channel(f32::from(one) * weight + f32::from(other) * (1.0 - weight));
            let solid =
                Colour::Solid(mixed(red, other_red), mixed(green, other_green), mixed(blue, other_blue));
            with_alpha(Some(alpha), solid)
        }
        _ => with_alpha(Some(alpha), Colour::Unknown),
    })
}

fn from_hsl(hue: f32, saturation: f32, lightness: f32) -> Colour {
    let spread = saturation * lightness.min(1.0 - lightness);
    let channel = |shift: f32| {
        let place = (shift + hue / 30.0).rem_euclid(12.0);
        to_channel(255.0 * (lightness - spread * (place - 3.0).min(9.0 - place).clamp(-1.0, 1.0)))
    };
    Colour::Solid(channel(0.0), channel(8.0), channel(4.0))
}

fn with_alpha(alpha: Option<f32>, colour: Colour) -> Colour {
    if alpha.unwrap_or(1.0) <= MAX_UNSEEN_OPACITY { Colour::Transparent } else { colour }
}

fn channel(item: &Item) -> Option<u8> {
    match item {
        Item::Percent(percent) => Some(to_channel(percent * 2.55)),
        item => share(item).map(to_channel),
    }
}

/// A percentage, or a number without the sign, as a share of one.
fn hundredth(item: &Item) -> Option<f32> {
    let share = match item {
        Item::Percent(percent) => percent / 100.0,
        item => share(item)? / 100.0,
    };
    Some(share.clamp(0.0, 1.0))
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the value is rounded and clamped to the channel's range; a float cast maps NaN to 0"
)]
fn to_channel(value: f32) -> u8 {
    value.round().clamp(0.0, 255.0) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Option<Colour> {
        of(value::value(text).first()?)
    }

    #[test]
    fn all_forms_of_white_are_white() {
        for white in [
            "white",
            "#fff",
            "#FFFFFF",
            "rgb(255,255,255)",
            "rgb(100% 100% 100% / 1)",
            "rgb(calc(200 + 55) 255 255)",
            "hsl(0,0%,100%)",
            "hsl(120deg 100% 100%)",
            "hwb(120 100% 0%)",
            "lab(100 0 0)",
            "oklch(1 0 0)",
            "color(srgb 1 1 1)",
            "light-dark(#fff, #000)",
            "Canvas",
            "color(display-p3 1 1 1)",
            "color-mix(in srgb, white, #fff)",
            "color-mix(in oklab, white 99%, red)",
            "color-mix(in srgb, black 0%, white)",
            "color-mix(in srgb, color-mix(in lch, white, white), white)",
            "rgb(from white r g b)",
            "rgb(from white r g b / alpha)",
            "rgb(from red r 255 255)",
            "rgb(from #000 calc(r + 255) calc(255 - g) 255)",
            "hsl(from white h s l)",
            "hsl(from red h s 100%)",
            "oklch(from red 1 c h)",
            "lch(from white l c h)",
            "lab(from white l a b)",
            "oklab(from white l a b)",
            "lab(from red 100 a b)",
            "oklab(from red 1 a b)",
            "color(from white srgb r g b)",
        ] {
            assert_eq!(parse(white), Some(Colour::WHITE), "{white}");
        }
        for clear in [
            "transparent",
            "rgba(0,0,0,0)",
            "rgb(0 0 0 / 1%)",
            "#fff0",
            "lab(50 0 0 / 0)",
            "color-mix(in srgb, black 1%, transparent)",
            "color-mix(in srgb, red 2%, blue 2%)",
            "rgb(from black r g b / 0)",
            "rgb(from transparent r g b)",
        ] {
            assert_eq!(parse(clear), Some(Colour::Transparent), "{clear}");
        }
        for black in [
            "black",
            "lab(0 0 0)",
            "lch(1 20 20)",
            "oklab(0 0 0)",
            "color(display-p3 0 0 0)",
            "hsl(from red h s 0%)",
            "oklch(from red 0 c h)",
            "color-mix(in oklab, red, black 99%)",
        ] {
            assert_eq!(parse(black), Some(Colour::BLACK), "{black}");
        }
        for unknown in ["", "#ff", "#ééé", "var(--x)", "inherit", "rgb(a)", "rgb()", "hsl(1)", "color(x)"]
        {
            assert_eq!(parse(unknown), None, "{unknown}");
        }
        for kept_back in [
            "lab(50 0 0)",
            "color(display-p3 1 0 0)",
            "color-mix(in oklab, white, red)",
            "hsl(from red h s l / alpha)",
            "oklch(from red calc(l * .5) c h)",
            "rgb(from lab(50 0 0) r g b)",
        ] {
            let found = parse(kept_back).unwrap();
            assert!(
                !look_alike(found, Colour::WHITE) && found != Colour::Transparent,
                "{kept_back}: {found:?}"
            );
        }
        for wrong in [
            "color-mix(white, white)",
            "color-mix(in srgb, white)",
            "rgb(from white r g)",
            "rgb(from x r g b)",
        ] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
        assert_eq!(parse("rebeccapurple"), Some(Colour::Solid(102, 51, 153)));
    }

    #[test]
    fn a_colour_that_is_worked_out_is_that_of_a_browser() {
        for (text, rgb) in [
            ("color-mix(in srgb, black 20%, white)", (204, 204, 204)),
            ("color-mix(in srgb, white 20%, black)", (51, 51, 51)),
            ("color-mix(in srgb, #c08040 25%, #4080c0)", (96, 128, 160)),
            ("color-mix(in srgb, #c08040, #4080c0 75%)", (96, 128, 160)),
            ("color-mix(in srgb, #c08040 10%, #4080c0 30%)", (96, 128, 160)),
            ("color-mix(in srgb, #c08040, #4080c0)", (128, 128, 128)),
            ("hsl(0, 100%, 50%)", (255, 0, 0)),
            ("hsl(60, 100%, 50%)", (255, 255, 0)),
            ("hsl(120, 100%, 50%)", (0, 255, 0)),
            ("hsl(180, 100%, 50%)", (0, 255, 255)),
            ("hsl(240, 100%, 50%)", (0, 0, 255)),
            ("hsl(-60, 100%, 50%)", (255, 0, 255)),
            ("hsl(210, 50%, 40%)", (51, 102, 153)),
            ("hsl(30, 50%, 70%)", (217, 179, 140)),
            ("hwb(0 40% 60%)", (102, 102, 102)),
            ("hwb(0 40% 80%)", (85, 85, 85)),
            ("color(srgb .2 .4 .6)", (51, 102, 153)),
            ("rgb(20% 40% 60%)", (51, 102, 153)),
        ] {
            let (red, green, blue) = rgb;
            assert_eq!(parse(text), Some(Colour::Solid(red, green, blue)), "{text}");
        }
    }

    #[test]
    fn an_attribute_may_lack_its_sign() {
        assert_eq!(of_attribute("FFFFFF"), Some(Colour::WHITE));
        assert_eq!(of_attribute(" White "), Some(Colour::WHITE));
        assert_eq!(of_attribute("what"), None);
    }
}
