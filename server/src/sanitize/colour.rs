//! Colours as style attributes write them, enough to see that text has the colour of what is behind it.
//! It must never guess: what it cannot read is no colour.

/// What a value says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Colour {
    /// Red, green, blue.
    Solid(u8, u8, u8),
    /// Nothing is drawn.
    Transparent,
}

/// Two colours closer than this in every channel look the same.
const MAX_LOOKALIKE_DISTANCE: u8 = 12;

/// The names that mail uses; the light ones matter most.
const NAMES: [(&str, Colour); 26] = [
    ("aliceblue", Colour::Solid(240, 248, 255)),
    ("azure", Colour::Solid(240, 255, 255)),
    ("black", Colour::Solid(0, 0, 0)),
    ("blue", Colour::Solid(0, 0, 255)),
    ("floralwhite", Colour::Solid(255, 250, 240)),
    ("ghostwhite", Colour::Solid(248, 248, 255)),
    ("gray", Colour::Solid(128, 128, 128)),
    ("green", Colour::Solid(0, 128, 0)),
    ("grey", Colour::Solid(128, 128, 128)),
    ("honeydew", Colour::Solid(240, 255, 240)),
    ("ivory", Colour::Solid(255, 255, 240)),
    ("lavenderblush", Colour::Solid(255, 240, 245)),
    ("lightgray", Colour::Solid(211, 211, 211)),
    ("lightgrey", Colour::Solid(211, 211, 211)),
    ("mintcream", Colour::Solid(245, 255, 250)),
    ("navy", Colour::Solid(0, 0, 128)),
    ("orange", Colour::Solid(255, 165, 0)),
    ("purple", Colour::Solid(128, 0, 128)),
    ("red", Colour::Solid(255, 0, 0)),
    ("seashell", Colour::Solid(255, 245, 238)),
    ("silver", Colour::Solid(192, 192, 192)),
    ("snow", Colour::Solid(255, 250, 250)),
    ("transparent", Colour::Transparent),
    ("white", Colour::Solid(255, 255, 255)),
    ("whitesmoke", Colour::Solid(245, 245, 245)),
    ("yellow", Colour::Solid(255, 255, 0)),
];

/// Reads a colour in lower case.
pub(super) fn parse(value: &str) -> Option<Colour> {
    let value = value.trim();
    if let Some(digits) = value.strip_prefix('#') {
        return hex(digits);
    }
    if let Some((function, arguments)) = value.split_once('(') {
        return call(function.trim(), arguments.trim_end().trim_end_matches(')'));
    }
    NAMES.binary_search_by_key(&value, |&(name, _)| name).ok().map(|at| NAMES[at].1)
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

fn hex(digits: &str) -> Option<Colour> {
    if !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    let short = |at: usize| u8::from_str_radix(&digits[at..=at], 16).ok().map(|digit| digit * 17);
    let long = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).ok();
    let (red, green, blue, alpha) = match digits.len() {
        3 => (short(0)?, short(1)?, short(2)?, 255),
        4 => (short(0)?, short(1)?, short(2)?, short(3)?),
        6 => (long(0)?, long(2)?, long(4)?, 255),
        8 => (long(0)?, long(2)?, long(4)?, long(6)?),
        _ => return None,
    };
    Some(if alpha == 0 { Colour::Transparent } else { Colour::Solid(red, green, blue) })
}

fn call(function: &str, arguments: &str) -> Option<Colour> {
    let mut numbers = arguments.split([',', ' ', '/']).filter(|part| !part.is_empty());
    let mut next = || numbers.next();
    match function {
        "rgb" | "rgba" => {
            let (red, green, blue) = (channel(next()?)?, channel(next()?)?, channel(next()?)?);
            Some(with_alpha(next(), Colour::Solid(red, green, blue)))
        }
        "hsl" | "hsla" => {
            let (_hue, saturation, lightness) = (next()?, percent(next()?)?, percent(next()?)?);
            let end = match lightness {
                l if l >= 98.0 => 255,
                l if l <= 2.0 => 0,
                // Between the ends only greys are worth a formula.
                l if saturation <= 2.0 => to_channel(l * 2.55),
                _ => return None,
            };
            Some(with_alpha(next(), Colour::Solid(end, end, end)))
        }
        _ => None,
    }
}

fn with_alpha(alpha: Option<&str>, colour: Colour) -> Colour {
    let opaque = alpha.and_then(|alpha| alpha.trim_end_matches('%').parse::<f32>().ok()).unwrap_or(1.0);
    if opaque <= 0.0 { Colour::Transparent } else { colour }
}

fn channel(text: &str) -> Option<u8> {
    match text.strip_suffix('%') {
        Some(percent) => percent.parse::<f32>().ok().map(|percent| to_channel(percent * 2.55)),
        None => text.parse::<f32>().ok().map(to_channel),
    }
}

fn percent(text: &str) -> Option<f32> {
    text.strip_suffix('%')?.parse().ok()
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

    #[test]
    fn all_forms_of_white_are_white() {
        for white in
            ["white", "#fff", "#FFFFFF", "rgb(255,255,255)", "rgb(100% 100% 100% / 1)", "hsl(0,0%,100%)"]
        {
            assert_eq!(parse(&white.to_ascii_lowercase()), Some(Colour::Solid(255, 255, 255)), "{white}");
        }
        for clear in ["transparent", "rgba(0,0,0,0)", "#fff0"] {
            assert_eq!(parse(clear), Some(Colour::Transparent), "{clear}");
        }
        for unknown in ["", "#ff", "#ééé", "var(--x)", "inherit", "rgb(a)"] {
            assert_eq!(parse(unknown), None, "{unknown}");
        }
    }

    #[test]
    fn names_are_sorted() {
        assert!(NAMES.is_sorted_by_key(|&(name, _)| name));
    }
}
