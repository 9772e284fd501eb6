//! Style attributes, read for one question: would a person have seen this text?
//! It must never treat a style that it can't read as one that hides.
//!
//! A style is read into typed values (`value`, `length`). Each value changes what is known of an element: the size of
//! its text, its opacity, its place, what of it is cut off. One function, [`Style::hides`], decides by the thresholds
//! below whether a person sees the result, so it does not matter by which property a size became small.

mod colour;
mod length;
mod shape;
mod value;

use colour::Colour;
use length::{Base, FONT_PX, length, share};
use value::{Declaration, Item, Variables};

/// A person can't read a text smaller than this.
const MIN_FONT_PX: f32 = 2.0;
/// A text that is moved further than this to the left or up is off the page.
const MAX_BEFORE_PAGE_PX: f32 = 500.0;
/// The same to the right or down.
const MAX_BEHIND_PAGE_PX: f32 = 4_000.0;
/// A box that cuts off its overflow and is no larger than this shows no line.
const MAX_UNSEEN_EXTENT_PX: f32 = 2.0;
/// Letters that are moved together by more than this share of their size overlap.
const MIN_LETTER_SPACING: f32 = -0.4;
/// The same for words; a short word has about so many letters.
const MIN_WORD_SPACING: f32 = -4.0;
/// A first line that begins further to the right than this is outside any box that cuts it off.
const PAGE_PX: f32 = 1_000.0;
/// The share of a font's size that an `ex` has by default.
const USUAL_ASPECT: f32 = 0.5;
/// Lines lower than this share of the text's size show nothing.
const MAX_UNSEEN_LINE: f32 = 0.1;

/// The style that an element passes on to its content.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Style {
    /// Hidden with its whole content: not displayed, or clipped away.
    gone: bool,
    /// Not visible, but content that says `visible` is.
    invisible: bool,
    /// Inside a closed disclosure, of which only the summary is visible.
    folded: bool,
    /// In a box that cuts off its overflow and is as high as its lines, which have no height.
    flat: bool,
    font_px: f32,
    /// The factor of all transforms and zooms.
    scale: f32,
    opacity: f32,
    letter_spacing_px: f32,
    word_spacing_px: f32,
    /// The factor of `font-size-adjust`, at most one.
    adjusted: f32,
    moved: Moved,
    colour: Option<Colour>,
    /// `None` when it is unknown: a picture or a gradient.
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

/// How far something is moved, across the page and along it. Moves back are not subtracted: most apply only in some
/// cases.
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

/// The properties of one element that count only together.
#[derive(Default)]
struct Boxed {
    /// The smallest stated extent.
    extent_px: Option<f32>,
    cuts_overflow: bool,
    /// Whether its lines have no height.
    line: Option<bool>,
    opacity: Option<f32>,
    filter: Option<f32>,
    zoom: Option<f32>,
    /// By property: `transform`, `scale`, `translate`, `rotate`, `offset-path`.
    moves: [Option<shape::Move>; 5],
    /// Its back is invisible.
    backless: bool,
    /// Its first line begins outside it. With `one_line` there is no second line.
    starts_outside: bool,
    one_line: bool,
    /// The shades that a filter gives black and white.
    greys: Option<(f32, f32)>,
    /// It states a background of any kind.
    has_background: bool,
    /// The plain colour of its stated background.
    plain: Option<Colour>,
    /// Only the letters show the background.
    through_letters: bool,
}

impl Style {
    /// Whether a person can't see a text with this style.
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

    /// Hides the element with its whole content.
    pub(super) fn hide(&mut self) {
        self.gone = true;
    }

    /// Folds the element; its summary stays visible.
    pub(super) fn fold(&mut self) {
        // An element inside a folded one stays hidden, with its summary.
        self.gone |= self.folded;
        self.folded = true;
    }

    /// Shows the summary of a folded element.
    pub(super) fn unfold(&mut self) {
        self.folded = false;
    }

    /// Multiplies the size of the text.
    pub(super) fn resize(&mut self, factor: f32) {
        self.font_px *= factor;
    }

    /// Applies an HTML attribute for the colour.
    pub(super) fn set_colour(&mut self, value: &str) {
        self.colour = colour::of_attribute(value).or(self.colour);
    }

    /// Applies an HTML attribute for the background.
    pub(super) fn set_background(&mut self, value: &str) {
        self.background = colour::of_attribute(value).or(self.background);
    }

    /// Notes that a picture is behind the text.
    pub(super) fn forget_background(&mut self) {
        self.background = None;
    }

    /// Applies a style attribute. A cell is never narrower than its text, whatever its `max-width` says.
    pub(super) fn apply(&mut self, style: &str, is_cell: bool) {
        self.variables = value::variables(style, &self.variables);
        let variables = self.variables.clone();
        let outer_px = self.font_px;
        let mut boxed = Boxed::default();
        // Sizes go first, as other lengths are relative to them, and important declarations last, as they win.
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

    /// Applies a filter that changes black and white. It changes an element and its own background, never what is behind
    /// the element.
    fn paint(&mut self, greys: (f32, f32), has_background: bool) {
        if shape::is_one_grey(greys) {
            let paint = colour::grey(greys.0);
            let is_alike = self.background.is_some_and(|behind| colour::look_alike(paint, behind));
            self.gone |= has_background || is_alike;
        } else if shape::is_inverted(greys) && !has_background {
            // Inverting the text shows the same as inverting what is behind it.
            self.background = self.background.map(colour::inverted);
            self.colour = self.colour.or(Some(Colour::BLACK));
        }
    }

    fn font(&mut self, declaration: &Declaration, outer_px: f32) {
        let size = match declaration.property.as_str() {
            "font-size" => declaration.value.first().and_then(|size| font_size(size, outer_px)),
            "font" => {
                // A size needs a unit unless it is 0; other numbers are weights.
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
        let side = |at: usize| value.get(at).and_then(|item| length(item, page));
        let px = side(0).unwrap_or(0.0);
        match property {
            "display" => self.gone |= has("none"),
            "visibility" if has("hidden") || has("collapse") => self.invisible = true,
            "visibility" if has("visible") => self.invisible = false,
            "content-visibility" => self.gone |= has("hidden"),
            "mso-hide" => self.gone |= has("all"),
            "text-security" => self.gone |= first.is_some_and(|item| !item.is_word("none")),
            // On an element itself, only a picture replaces the text.
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
            "letter-spacing" => self.letter_spacing_px = px,
            "word-spacing" => self.word_spacing_px = px,
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
                boxed.extent_px = boxed.extent_px.into_iter().chain(side(0)).reduce(f32::min);
            }
            "overflow" | "overflow-x" | "overflow-y" | "overflow-block" | "overflow-inline" => {
                boxed.cuts_overflow |= ["hidden", "clip", "scroll", "auto"].into_iter().any(has);
            }
            "contain" => boxed.cuts_overflow |= ["paint", "content", "strict"].into_iter().any(has),
            "text-indent" => {
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
            | "padding-left" => self.moved.by(Moved::ACROSS, px),
            "top" | "bottom" | "margin-top" | "margin-block" | "margin-block-start" | "inset-block"
            | "inset-block-start" | "padding-top" => self.moved.by(Moved::ALONG, px),
            // The first side is the top. The left is the fourth, or else the second, or else the first.
            "inset" | "margin" => {
                self.moved.by(Moved::ALONG, px);
                let left = [3, 1, 0].into_iter().find(|at| value.len() > *at).and_then(side);
                self.moved.by(Moved::ACROSS, left.unwrap_or(0.0));
            }
            "clip" => self.gone |= shape::clips_all(value, self.font_px),
            "clip-path" => self.gone |= shape::path_clips_all(value, self.font_px),
            "mask" | "mask-image" => self.gone |= shape::mask_hides(value),
            "mask-size" => self.gone |= side(0).is_some_and(|px| px <= MAX_UNSEEN_EXTENT_PX),
            _ => {}
        }
    }

    /// Whether lines of this height show nothing.
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
        // A transparent background shows what is behind it.
        let stated = value.iter().filter_map(colour::of).find(|colour| *colour != Colour::Transparent);
        boxed.plain = stated.or(boxed.plain);
        boxed.has_background |= stated.is_some();
        for item in value {
            match item {
                Item::Call(name, inside) if name.ends_with("gradient") => {
                    // A gradient of one colour is as plain as that colour.
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
                    // The picture is unknown; most programs show the stated colour in its place.
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
    // A negative size is ignored; a size that arithmetic made negative counts as zero.
    let stated = !matches!(item, Item::Call(..));
    if px < 0.0 && stated { None } else { Some(px.max(0.0)) }
}

#[cfg(test)]
mod tests;
