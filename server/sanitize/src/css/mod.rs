//! Style attributes, read for one question: would a person have seen this text?
//! It must never be asked about anything else, and never take a style that it cannot read for a hiding one.
//!
//! A style is read into typed values (`value`, `length`), and each value changes what is known of an element: how large
//! its text is, how opaque, where it stands, what of it is cut off. Whether that can be seen is decided in one place,
//! [`Style::hides`], by the thresholds below; so it does not matter in which of many ways a size becomes small.

mod colour;
mod length;
mod shape;
mod value;

use colour::Colour;
use length::{Base, FONT_PX, length, share};
use value::{Declaration, Item, Variables};

/// Text smaller than this is not for reading.
const MIN_FONT_PX: f32 = 2.0;
/// Moved further than this to the left or above, text is off the page; further than the second to the right or below
/// as well.
const MAX_BEFORE_PAGE_PX: f32 = 500.0;
const MAX_BEHIND_PAGE_PX: f32 = 4_000.0;
/// A box that cuts off what does not fit and is no larger than this holds no line.
const MAX_UNSEEN_EXTENT_PX: f32 = 2.0;
/// Letters closer together than this share of their size lie on each other.
const MIN_LETTER_SPACING: f32 = -0.4;
/// The same for words, of which the shortest has about so many letters.
const MIN_WORD_SPACING: f32 = -4.0;
/// A first line that begins further to the right than this is out of any box that cuts it off.
const PAGE_PX: f32 = 1_000.0;
/// What an `ex` is of a font's size where nothing is stated.
const USUAL_ASPECT: f32 = 0.5;
/// Lines of less than this share of the text's size have no height.
const MAX_UNSEEN_LINE: f32 = 0.1;

/// What an element hands down to its content.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Style {
    /// Gone with all that is in it: not displayed, clipped away.
    gone: bool,
    /// Not visible, unless something inside says otherwise.
    invisible: bool,
    /// In a closed disclosure, whose summary is seen.
    folded: bool,
    /// In a box that is as high as its lines and cuts off the rest, while these have no height.
    flat: bool,
    font_px: f32,
    /// What transforms and zoom make of a pixel.
    scale: f32,
    opacity: f32,
    letter_spacing_px: f32,
    word_spacing_px: f32,
    /// What `font-size-adjust` makes of a size, never more than it was.
    adjusted: f32,
    moved: Moved,
    colour: Option<Colour>,
    /// None when it is not known: a picture or a gradient.
    background: Option<Colour>,
    variables: Variables,
}

impl Default for Style {
    fn default() -> Self {
        Self {
            gone: false,
            invisible: false,
            folded: false,
            flat: false,
            font_px: FONT_PX,
            scale: 1.0,
            opacity: 1.0,
            letter_spacing_px: 0.0,
            word_spacing_px: 0.0,
            adjusted: 1.0,
            moved: Moved::default(),
            colour: None,
            background: Some(Colour::WHITE),
            variables: None,
        }
    }
}

/// How far something is moved, across the page and along it. Ways back are not counted: most apply in some cases only.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Moved {
    /// To the left, and up.
    before_px: [f32; 2],
    /// To the right, and down.
    behind_px: [f32; 2],
}

impl Moved {
    const ACROSS: usize = 0;
    const ALONG: usize = 1;

    fn by(&mut self, axis: usize, px: f32) {
        self.before_px[axis] += (-px).max(0.0);
        self.behind_px[axis] += px.max(0.0);
    }

    fn is_off_page(self) -> bool {
        self.before_px.iter().any(|px| *px >= MAX_BEFORE_PAGE_PX)
            || self.behind_px.iter().any(|px| *px >= MAX_BEHIND_PAGE_PX)
    }
}

/// What of one element only its whole style tells.
#[derive(Default)]
struct Boxed {
    /// Its smallest stated extent.
    extent_px: Option<f32>,
    cuts_overflow: bool,
    /// Whether its lines have no height.
    line: Option<bool>,
    opacity: Option<f32>,
    filter: Option<f32>,
    zoom: Option<f32>,
    /// By property: `transform`, `scale`, `translate`, `rotate`, `offset-path`.
    moves: [Option<shape::Move>; 5],
    /// Its back can't be seen.
    backless: bool,
    /// Its first line begins outside of it, and there is no second one.
    starts_outside: bool,
    one_line: bool,
    /// What a filter makes of black and of white.
    greys: Option<(f32, f32)>,
    /// It has a background of its own, whatever it is.
    has_background: bool,
    /// The plain colour that it states for its background.
    plain: Option<Colour>,
    /// The background is seen through the letters only.
    through_letters: bool,
}

impl Style {
    /// Whether text with this style cannot be seen.
    pub(super) fn hides(&self) -> bool {
        let same = match (self.colour, self.background) {
            (Some(Colour::Transparent), _) => true,
            (Some(colour), Some(background)) => colour::look_alike(colour, background),
            _ => false,
        };
        let piled = self.letter_spacing_px < self.font_px * MIN_LETTER_SPACING
            || self.word_spacing_px < self.font_px * MIN_WORD_SPACING;
        self.gone
            || self.invisible
            || self.folded
            || self.flat
            || self.font_px * self.scale * self.adjusted < MIN_FONT_PX
            || self.opacity <= colour::MAX_UNSEEN_OPACITY
            || self.moved.is_off_page()
            || piled
            || same
    }

    /// Hides it with all that is in it.
    pub(super) fn hide(&mut self) {
        self.gone = true;
    }

    /// Folds it, all but its summary.
    pub(super) fn fold(&mut self) {
        // What is folded already stays so, whatever is in it.
        self.gone |= self.folded;
        self.folded = true;
    }

    /// Shows a summary of what is folded.
    pub(super) fn unfold(&mut self) {
        self.folded = false;
    }

    /// Makes its text larger or smaller.
    pub(super) fn resize(&mut self, factor: f32) {
        self.font_px *= factor;
    }

    /// Takes over an attribute of old that sets a colour.
    pub(super) fn set_colour(&mut self, value: &str) {
        self.colour = colour::of_attribute(value).or(self.colour);
    }

    /// Takes over an attribute of old that sets a background.
    pub(super) fn set_background(&mut self, value: &str) {
        self.background = colour::of_attribute(value).or(self.background);
    }

    /// There is a picture behind the text.
    pub(super) fn forget_background(&mut self) {
        self.background = None;
    }

    /// Takes over a style attribute. A cell is never narrower than its text, whatever its `max-width` says.
    pub(super) fn apply(&mut self, style: &str, is_cell: bool) {
        self.variables = value::variables(style, &self.variables);
        let variables = self.variables.clone();
        let outer_px = self.font_px;
        let mut boxed = Boxed::default();
        // Sizes first, for others are relative to them; what is important last, for it wins.
        value::each(style, &variables, |one| self.font(one, outer_px));
        for important in [false, true] {
            if important && !style.contains('!') {
                break;
            }
            value::each(style, &variables, |one| {
                if one.important == important {
                    if important {
                        self.font(one, outer_px);
                    }
                    self.declare(&one.property, &one.value, is_cell, &mut boxed);
                }
            });
        }
        self.take_over(&boxed);
    }

    fn take_over(&mut self, boxed: &Boxed) {
        self.opacity *= boxed.opacity.unwrap_or(1.0) * boxed.filter.unwrap_or(1.0);
        self.scale *= boxed.zoom.unwrap_or(1.0).abs();
        let mut turned = false;
        for one in boxed.moves.iter().flatten() {
            turned ^= one.turned;
            self.scale *= one.scale;
            self.moved.by(Moved::ACROSS, one.x_px);
            self.moved.by(Moved::ALONG, one.y_px);
        }
        let no_extent = boxed.extent_px.is_some_and(|extent| extent <= MAX_UNSEEN_EXTENT_PX);
        self.gone |= boxed.cuts_overflow && (no_extent || boxed.starts_outside && boxed.one_line);
        self.gone |= boxed.backless && turned;
        match boxed.line {
            Some(true) => self.flat |= boxed.cuts_overflow && boxed.extent_px.is_none(),
            Some(false) => self.flat = false,
            None => {}
        }
        if boxed.through_letters && self.background.is_none() && self.colour == Some(Colour::Transparent) {
            self.colour = None;
        }
        if let Some(greys) = boxed.greys {
            self.paint(greys, boxed.has_background);
        }
    }

    /// What a filter that changes black and white leaves to be seen. It changes an element with its own background, and
    /// never what is behind that.
    fn paint(&mut self, greys: (f32, f32), has_background: bool) {
        if shape::is_one_grey(greys) {
            let paint = colour::grey(greys.0);
            let is_alike = self.background.is_some_and(|behind| colour::look_alike(paint, behind));
            self.gone |= has_background || is_alike;
        } else if shape::is_inverted(greys) && !has_background {
            // To invert the text shows the same as to invert what is behind it.
            self.background = self.background.map(colour::inverted);
            self.colour = self.colour.or(Some(Colour::BLACK));
        }
    }

    fn font(&mut self, declaration: &Declaration, outer_px: f32) {
        let size = match declaration.property.as_str() {
            "font-size" => declaration.value.first().and_then(|size| font_size(size, outer_px)),
            "font" => {
                // Only a size of nothing has no unit; other numbers are weights.
                let sized = |item: &&Item| !matches!(item, Item::Number(weight) if *weight != 0.0);
                let before_line = declaration.value.split(|item| *item == Item::Sign('/')).next();
                let mut words = before_line.unwrap_or_default().iter().filter(sized);
                words.find_map(|word| font_size(word, outer_px))
            }
            _ => None,
        };
        self.font_px = size.unwrap_or(self.font_px);
    }

    fn declare(&mut self, property: &str, value: &[Item], is_cell: bool, boxed: &mut Boxed) {
        let has = |word: &str| value.iter().any(|item| item.is_word(word));
        let page = Base::page(self.font_px);
        let first = value.first();
        match property {
            "display" => self.gone |= has("none"),
            "visibility" if has("hidden") || has("collapse") => self.invisible = true,
            "visibility" if has("visible") => self.invisible = false,
            "content-visibility" => self.gone |= has("hidden"),
            "mso-hide" => self.gone |= has("all"),
            "text-security" => self.gone |= first.is_some_and(|item| !item.is_word("none")),
            // On an element, as opposed to before one, only a picture takes the place of the text.
            "content" => self.gone |= matches!(first, Some(Item::Call(name, _)) if name == "url"),
            "opacity" => boxed.opacity = first.and_then(share).map(|o| o.clamp(0.0, 1.0)).or(boxed.opacity),
            "filter" => {
                boxed.filter = Some(shape::filter(value, self.font_px));
                boxed.greys = shape::greys(value);
            }
            "zoom" => boxed.zoom = first.and_then(share).or(boxed.zoom),
            "transform" => boxed.moves[0] = Some(shape::transform(value, self.font_px)),
            "scale" => boxed.moves[1] = Some(shape::single(property, value, self.font_px)),
            "translate" => boxed.moves[2] = Some(shape::single(property, value, self.font_px)),
            "rotate" => boxed.moves[3] = Some(shape::single(property, value, self.font_px)),
            "offset" | "offset-path" => boxed.moves[4] = Some(shape::carried(value)),
            "backface-visibility" => boxed.backless = has("hidden"),
            "white-space" | "text-wrap" | "text-wrap-mode" => {
                boxed.one_line = has("nowrap") || has("pre");
            }
            "font-size-adjust" => {
                let aspect = value.iter().find_map(|item| match item {
                    Item::Number(number) => Some(*number),
                    _ => None,
                });
                self.adjusted = aspect.map_or(1.0, |aspect| (aspect / USUAL_ASPECT).clamp(0.0, 1.0));
            }
            "font" => {
                let behind = value.iter().position(|item| *item == Item::Sign('/'));
                let line = behind.and_then(|at| value.get(at + 1));
                boxed.line = line.and_then(|line| self.is_flat(line)).or(Some(false));
            }
            "line-height" => boxed.line = first.and_then(|line| self.is_flat(line)).or(boxed.line),
            "letter-spacing" => {
                let px = first.and_then(|item| length(item, page));
                self.letter_spacing_px = px.unwrap_or(0.0);
            }
            "word-spacing" => {
                let px = first.and_then(|item| length(item, page));
                self.word_spacing_px = px.unwrap_or(0.0);
            }
            "color" | "text-fill-color" => self.colour = first.and_then(colour::of).or(self.colour),
            "background" | "background-color" | "background-image" => {
                if property == "background" {
                    boxed.plain = None;
                }
                self.background_value(value, boxed);
            }
            "background-clip" => boxed.through_letters |= has("text"),
            "max-width" | "max-inline-size" if is_cell => {}
            "height" | "max-height" | "width" | "max-width" | "block-size" | "max-block-size"
            | "inline-size" | "max-inline-size" => {
                if let Some(px) = first.and_then(|item| length(item, page)) {
                    boxed.extent_px = Some(boxed.extent_px.map_or(px, |known| known.min(px)));
                }
            }
            "overflow" | "overflow-x" | "overflow-y" | "overflow-block" | "overflow-inline" => {
                boxed.cuts_overflow |= ["hidden", "clip", "scroll", "auto"].into_iter().any(has);
            }
            "contain" => boxed.cuts_overflow |= ["paint", "content", "strict"].into_iter().any(has),
            "text-indent" => {
                let px = first.and_then(|item| length(item, page)).unwrap_or(0.0);
                boxed.starts_outside = px >= PAGE_PX;
                self.moved.by(Moved::ACROSS, px);
            }
            "left"
            | "right"
            | "margin-left"
            | "margin-inline"
            | "margin-inline-start"
            | "inset-inline"
            | "inset-inline-start"
            | "padding-left" => {
                self.moved.by(Moved::ACROSS, first.and_then(|item| length(item, page)).unwrap_or(0.0));
            }
            "top" | "bottom" | "margin-top" | "margin-block" | "margin-block-start" | "inset-block"
            | "inset-block-start" | "padding-top" => {
                self.moved.by(Moved::ALONG, first.and_then(|item| length(item, page)).unwrap_or(0.0));
            }
            // Above, and left where it is stated or else the same.
            "inset" | "margin" => {
                let side = |at: usize| value.get(at).and_then(|item| length(item, page));
                self.moved.by(Moved::ALONG, side(0).unwrap_or(0.0));
                let left = [3, 1, 0].into_iter().find(|at| value.len() > *at).and_then(side);
                self.moved.by(Moved::ACROSS, left.unwrap_or(0.0));
            }
            "clip" => self.gone |= shape::clips_all(value, self.font_px),
            "clip-path" => self.gone |= shape::path_clips_all(value, self.font_px),
            "mask" | "mask-image" => self.gone |= shape::mask_hides(value),
            "mask-size" => {
                self.gone |=
                    first.and_then(|item| length(item, page)).is_some_and(|px| px <= MAX_UNSEEN_EXTENT_PX);
            }
            _ => {}
        }
    }

    /// Whether lines of this height have none.
    fn is_flat(&self, line: &Item) -> Option<bool> {
        match line {
            Item::Word(word) => (word == "normal").then_some(false),
            Item::Number(times) => Some(*times <= MAX_UNSEEN_LINE),
            line => {
                let base = Base { font_px: self.font_px, percent_px: self.font_px / 100.0 };
                Some(length(line, base)? <= self.font_px * MAX_UNSEEN_LINE)
            }
        }
    }

    fn background_value(&mut self, value: &[Item], boxed: &mut Boxed) {
        boxed.through_letters |= value.iter().any(|item| item.is_word("text"));
        // What is behind a transparent one shows through.
        let stated = value.iter().filter_map(colour::of).find(|colour| *colour != Colour::Transparent);
        boxed.plain = stated.or(boxed.plain);
        boxed.has_background |= stated.is_some();
        for item in value {
            match item {
                Item::Call(name, inside) if name.ends_with("gradient") => {
                    // One that has a single colour is as plain as that.
                    let colours = shape::colours(inside);
                    let plain = colours
                        .first()
                        .copied()
                        .filter(|first| colours.iter().all(|other| colour::look_alike(*first, *other)));
                    self.background = plain;
                    boxed.has_background = true;
                    return;
                }
                Item::Call(name, _) if matches!(name.as_str(), "url" | "image" | "image-set" | "src") => {
                    // Nobody knows the picture; a colour that is stated with it is what most programs show in its place.
                    self.background = boxed.plain;
                    boxed.has_background = true;
                    return;
                }
                _ => {}
            }
        }
        self.background = stated.or(self.background);
    }
}

/// A size of text in pixels.
fn font_size(item: &Item, outer_px: f32) -> Option<f32> {
    if let Item::Word(word) = item {
        return Some(match word.as_str() {
            "xx-small" => 9.0,
            "x-small" => 10.0,
            "small" => 13.0,
            "medium" | "initial" => FONT_PX,
            "large" => 18.0,
            "x-large" => 24.0,
            "xx-large" => 32.0,
            "xxx-large" => 48.0,
            "smaller" => outer_px / 1.2,
            "larger" => outer_px * 1.2,
            _ => return None,
        });
    }
    let px = length(item, Base { font_px: outer_px, percent_px: outer_px / 100.0 })?;
    // A negative size is none, and is not obeyed; one that arithmetic made negative counts as nothing.
    let stated = !matches!(item, Item::Call(..));
    if px < 0.0 && stated { None } else { Some(px.max(0.0)) }
}

#[cfg(test)]
mod tests;
