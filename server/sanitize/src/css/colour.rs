//! Colours as style attributes write them, enough to see that text has the colour of what is behind it.
//! It must never guess: what it cannot read is no colour.

use cssparser::color::{parse_hash_color, parse_named_color};

use super::length::{degrees, share};
use super::value::{self, Item};

/// What a value says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Colour {
    /// Red, green, blue.
    Solid(u8, u8, u8),
    /// Nothing is drawn.
    Transparent,
}

impl Colour {
    pub(super) const WHITE: Self = Self::Solid(255, 255, 255);
    const BLACK: Self = Self::Solid(0, 0, 0);
}

/// What is no more opaque than this cannot be read.
pub(super) const MAX_UNSEEN_OPACITY: f32 = 0.05;
/// Two colours closer than this in every channel look the same.
const MAX_LOOKALIKE_DISTANCE: u8 = 12;
/// From this share of the way to white or black a colour is taken for it.
const NEAR_END: f32 = 0.98;

/// The colour that an item of a value is.
pub(super) fn of(item: &Item) -> Option<Colour> {
    match item {
        Item::Word(name) => named(name),
        Item::Hash(digits) => {
            let (red, green, blue, alpha) = parse_hash_color(digits.as_bytes()).ok()?;
            Some(with_alpha(Some(alpha), Colour::Solid(red, green, blue)))
        }
        Item::Call(function, arguments) => {
            let parts = arguments.iter().filter(|item| !matches!(item, Item::Sign(',' | '/')));
            call(function, &parts.collect::<Vec<_>>())
        }
        _ => None,
    }
}

/// The colour of an attribute of old, which may lack its `#`.
pub(super) fn of_attribute(text: &str) -> Option<Colour> {
    let text = text.trim();
    let bare = text.len() == 6 && text.bytes().all(|b| b.is_ascii_hexdigit());
    if bare { of(&Item::Hash(text.to_ascii_lowercase())) } else { of(value::value(text).first()?) }
}

/// Whether nobody could read text of one colour on the other.
pub(super) fn look_alike(a: Colour, b: Colour) -> bool {
    let (Colour::Solid(red, green, blue), Colour::Solid(other_red, other_green, other_blue)) = (a, b) else {
        return false;
    };
    [(red, other_red), (green, other_green), (blue, other_blue)]
        .iter()
        .all(|&(one, other)| one.abs_diff(other) <= MAX_LOOKALIKE_DISTANCE)
}

fn named(name: &str) -> Option<Colour> {
    match name {
        "transparent" => Some(Colour::Transparent),
        // The system's own, as a page has them that states nothing.
        "canvas" | "window" | "field" => Some(Colour::WHITE),
        "canvastext" | "windowtext" | "fieldtext" => Some(Colour::BLACK),
        name => parse_named_color(name).ok().map(|(red, green, blue)| Colour::Solid(red, green, blue)),
    }
}

fn call(function: &str, parts: &[&Item]) -> Option<Colour> {
    let alpha = |at: usize| parts.get(at).and_then(|item| share(item));
    let (first, rest) = parts.split_first()?;
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
            // Only what has no hue left is of interest.
            let grey = white + black >= NEAR_END;
            grey.then(|| {
                let light = to_channel(255.0 * white / (white + black));
                with_alpha(alpha(3), Colour::Solid(light, light, light))
            })
        }
        ("lab" | "lch", [_, _, ..]) => by_lightness(hundredth(first)?, alpha(3)),
        ("oklab" | "oklch", [_, _, ..]) => by_lightness(share(first)?, alpha(3)),
        ("color", [red, green, blue, ..]) if first.is_word("srgb") => {
            let part = |item: &Item| share(item).map(|part| to_channel(part * 255.0));
            Some(with_alpha(alpha(4), Colour::Solid(part(red)?, part(green)?, part(blue)?)))
        }
        ("light-dark", _) => of(first),
        _ => None,
    }
}

fn by_lightness(lightness: f32, alpha: Option<f32>) -> Option<Colour> {
    let solid = match lightness {
        l if l >= NEAR_END => Colour::WHITE,
        l if l <= 1.0 - NEAR_END => Colour::BLACK,
        _ => return alpha.filter(|alpha| *alpha <= MAX_UNSEEN_OPACITY).map(|_| Colour::Transparent),
    };
    Some(with_alpha(alpha, solid))
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

/// A percentage, or its number without the sign, as a share of one.
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
        ] {
            assert_eq!(parse(white), Some(Colour::WHITE), "{white}");
        }
        for clear in ["transparent", "rgba(0,0,0,0)", "rgb(0 0 0 / 1%)", "#fff0", "lab(50 0 0 / 0)"] {
            assert_eq!(parse(clear), Some(Colour::Transparent), "{clear}");
        }
        for unknown in ["", "#ff", "#ééé", "var(--x)", "inherit", "rgb(a)", "rgb()", "hsl(1)", "color(x)"]
        {
            assert_eq!(parse(unknown), None, "{unknown}");
        }
        assert_eq!(parse("hsl(240, 100%, 50%)"), Some(Colour::Solid(0, 0, 255)));
        assert_eq!(parse("rebeccapurple"), Some(Colour::Solid(102, 51, 153)));
    }

    #[test]
    fn an_attribute_may_lack_its_sign() {
        assert_eq!(of_attribute("FFFFFF"), Some(Colour::WHITE));
        assert_eq!(of_attribute(" White "), Some(Colour::WHITE));
        assert_eq!(of_attribute("what"), None);
    }
}
