//! Style attributes, read for one question: would a person have seen this text?
//! It must never be asked about anything else, and never take a style that it cannot read for a hiding one.

use super::colour::{self, Colour};

/// Longest style attribute that is read.
const MAX_STYLE_BYTES: usize = 4096;
/// Text smaller than this is not for reading.
const MIN_FONT_PX: f32 = 2.0;
/// Moved further than this to the left or above, text is off the page.
const OFF_PAGE_PX: f32 = -500.0;

/// What an element hands down to its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Style {
    /// Gone with all that is in it: not displayed, no opacity, clipped away.
    gone: bool,
    /// Not visible, unless something inside says otherwise.
    invisible: bool,
    /// Too small, unless something inside says otherwise.
    tiny: bool,
    colour: Option<Colour>,
    /// None when it is not known: a picture or a gradient.
    background: Option<Colour>,
}

impl Default for Style {
    fn default() -> Self {
        Self {
            gone: false,
            invisible: false,
            tiny: false,
            colour: None,
            background: Some(Colour::Solid(255, 255, 255)),
        }
    }
}

impl Style {
    /// Whether text with this style cannot be seen.
    pub(super) fn hides(self) -> bool {
        let same = match (self.colour, self.background) {
            (Some(Colour::Transparent), _) => true,
            (Some(colour), Some(background)) => colour::look_alike(colour, background),
            _ => false,
        };
        self.gone || self.invisible || self.tiny || same
    }

    /// Hides it with all that is in it.
    pub(super) fn hide(&mut self) {
        self.gone = true;
    }

    /// Takes over an attribute of old that sets a colour.
    pub(super) fn set_colour(&mut self, value: &str) {
        self.colour = colour::parse(&value.to_ascii_lowercase()).or(self.colour);
    }

    /// Takes over an attribute of old that sets a background.
    pub(super) fn set_background(&mut self, value: &str) {
        self.background = colour::parse(&value.to_ascii_lowercase()).or(self.background);
    }

    /// There is a picture behind the text.
    pub(super) fn forget_background(&mut self) {
        self.background = None;
    }

    /// Takes over a style attribute.
    pub(super) fn apply(&mut self, declarations: &str) {
        if declarations.len() > MAX_STYLE_BYTES {
            return;
        }
        let readable = unescaped(&without_comments(declarations)).to_ascii_lowercase();
        let mut clipped = Clipped::default();
        for declaration in readable.split(';') {
            let Some((property, value)) = declaration.split_once(':') else { continue };
            let value = value.trim().trim_end_matches("!important").trim_end().trim_end_matches('!').trim();
            self.declare(property.trim(), value, &mut clipped);
        }
        self.gone |= clipped.no_extent && clipped.cuts_overflow;
    }

    fn declare(&mut self, property: &str, value: &str, clipped: &mut Clipped) {
        match property {
            "display" => self.gone |= value == "none",
            "visibility" => match value {
                "hidden" | "collapse" => self.invisible = true,
                "visible" => self.invisible = false,
                _ => {}
            },
            "mso-hide" => self.gone |= value == "all",
            "opacity" => self.gone |= number(value).is_some_and(|(opacity, _)| opacity <= 0.0),
            "font-size" => self.font_size(value),
            "font" => {
                if let Some(size) = value
                    .split([' ', '/'])
                    .find(|word| number(word).is_some_and(|(_, unit)| !unit.is_empty()))
                {
                    self.font_size(size);
                }
            }
            "color" | "-webkit-text-fill-color" => self.colour = colour::parse(value).or(self.colour),
            "background" | "background-color" => self.background_value(value),
            "background-image" if value != "none" => self.background = None,
            "height" | "max-height" | "width" | "max-width" => {
                clipped.no_extent |= number(value).is_some_and(|(extent, _)| extent <= 0.0);
            }
            "overflow" | "overflow-x" | "overflow-y" => {
                clipped.cuts_overflow |= matches!(value.split(' ').next(), Some("hidden" | "clip"));
            }
            "text-indent" | "left" | "top" | "margin-left" | "margin-top" => {
                self.gone |= number(value).is_some_and(|(offset, unit)| {
                    matches!(unit, "px" | "pt" | "") && offset <= OFF_PAGE_PX
                        || matches!(unit, "em" | "rem" | "%" | "vw" | "vh") && offset <= OFF_PAGE_PX / 10.0
                });
            }
            "clip" => self.gone |= is_empty_rectangle(value),
            "clip-path" => self.gone |= value.starts_with("inset(50%") || value.starts_with("inset(100%"),
            "transform" => self.gone |= value.starts_with("scale(0)") || value.starts_with("scale(0,"),
            _ => {}
        }
    }

    fn font_size(&mut self, value: &str) {
        match number(value) {
            // A share of nothing is nothing; a share of something is taken for readable.
            Some((size, "em" | "%" | "ex" | "ch")) => self.tiny |= size <= 0.0,
            Some((size, "px" | "pt" | "")) => self.tiny = size < MIN_FONT_PX,
            Some((size, _)) => self.tiny = size <= 0.0,
            None if matches!(value, "xx-small" | "x-small" | "small" | "medium" | "large" | "initial") => {
                self.tiny = false;
            }
            None => {}
        }
    }

    fn background_value(&mut self, value: &str) {
        if value.contains("url(") || value.contains("gradient(") {
            self.background = None;
            return;
        }
        let word = if value.contains('(') { Some(value) } else { value.split(' ').next() };
        match word.and_then(colour::parse) {
            // What is behind shows through.
            Some(Colour::Transparent) | None => {}
            solid => self.background = solid,
        }
    }
}

/// Whether a box without extent cuts off what does not fit.
#[derive(Default)]
struct Clipped {
    no_extent: bool,
    cuts_overflow: bool,
}

fn is_empty_rectangle(value: &str) -> bool {
    let Some(edges) = value.strip_prefix("rect(") else { return false };
    let mut edges = edges.trim_end_matches(')').split([',', ' ']).filter(|edge| !edge.is_empty());
    edges.all(|edge| number(edge).is_some_and(|(edge, _)| edge.abs() <= 1.0))
}

/// A number and its unit.
fn number(value: &str) -> Option<(f32, &str)> {
    let end = value.find(|c: char| !matches!(c, '0'..='9' | '.' | '-' | '+')).unwrap_or(value.len());
    let number = value[..end].parse::<f32>().ok()?;
    Some((number, value[end..].trim()))
}

fn without_comments(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, comment)) = rest.split_once("/*") {
        out.push_str(before);
        rest = comment.split_once("*/").map_or("", |(_, after)| after);
    }
    out.push_str(rest);
    out
}

/// Undoes CSS escapes (`\64 isplay`), which would keep a property from being recognised.
fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, escaped)) = rest.split_once('\\') {
        out.push_str(before);
        let digits = escaped.bytes().take(6).take_while(u8::is_ascii_hexdigit).count();
        rest = &escaped[digits..];
        if digits > 0 {
            let code = u32::from_str_radix(&escaped[..digits], 16).ok();
            out.extend(code.and_then(char::from_u32));
            rest = rest.strip_prefix([' ', '\t', '\n']).unwrap_or(rest);
        }
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hides(style: &str) -> bool {
        let mut computed = Style::default();
        computed.apply(style);
        computed.hides()
    }

    #[test]
    fn hiding_styles_hide() {
        for style in [
            "display:none",
            " DISPLAY : None !important ",
            "dis/**/play:none",
            "\\64 isplay:none",
            "visibility:hidden",
            "font-size:0",
            "font-size:1px;",
            "font:0px/0 Arial",
            "opacity:0",
            "opacity: 0.0",
            "color:#fff",
            "color:white;background:#FEFEFE",
            "background-color:black;color:rgb(0,0,0)",
            "color:transparent",
            "max-height:0;overflow:hidden",
            "text-indent:-9999px",
            "position:absolute;left:-100em",
            "clip:rect(0 0 0 0)",
            "mso-hide:all",
        ] {
            assert!(hides(style), "{style}");
        }
    }

    #[test]
    fn ordinary_styles_do_not() {
        for style in [
            "",
            "color:#333",
            "color:white;background-color:#0078d4",
            "color:white;background:url(x.png)",
            "color:#fff;background:linear-gradient(red,blue)",
            "font-size:14px",
            "font-size:0.8em",
            "font-size:1rem",
            "opacity:.5",
            "max-height:0",
            "margin-left:-10px",
            "display:inline-block;color:",
            ":::;;",
        ] {
            assert!(!hides(style), "{style}");
        }
    }

    #[test]
    fn content_can_undo_what_is_inherited_but_not_what_is_gone() {
        let mut style = Style::default();
        style.apply("font-size:0;visibility:hidden;color:white");
        style.apply("font-size:14px;visibility:visible;background:navy");
        assert!(!style.hides());
        style.apply("display:none");
        style.apply("display:block");
        assert!(style.hides());
    }
}
