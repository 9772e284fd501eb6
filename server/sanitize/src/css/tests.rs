//! The style rules that hide text, one case each.

use rstest::rstest;

use super::*;

fn hides(style: &str) -> bool {
    let mut computed = Style::default();
    computed.apply(style, false);
    computed.hides()
}

/// One style inside another.
fn hides_inside(styles: &[&str]) -> bool {
    let mut computed = Style::default();
    for style in styles {
        computed.apply(style, false);
    }
    computed.hides()
}

#[rstest]
#[case("display:none")]
#[case(" DISPLAY : None !important ")]
#[case("dis/**/play:x;display:/**/none")]
#[case("\\64 isplay:none")]
#[case("display:none;display:bogus")]
#[case("visibility:hidden")]
#[case("content-visibility:hidden")]
#[case("font-size:0")]
#[case("font-size:1px;")]
#[case("font-size:0.1px")]
#[case("font-size:.01em")]
#[case("font-size:1%")]
#[case("font-size:.05rem")]
#[case("font-size:.1vw")]
#[case("font-size:calc(1px - 1px)")]
#[case("font-size:calc(16px * 0)")]
#[case("font-size:min(14px, 0px)")]
#[case("font-size:clamp(0px, 0.1px, 1px)")]
#[case("font-size:calc(2px - (1px + 1px))")]
#[case("font:0px/0 Arial")]
#[case("font:0/0 a")]
#[case("font:.01em/1 a")]
#[case("font:bold 0 x")]
#[case("font:400 .1px/1 Arial")]
#[case("font-size:0!important;font-size:14px")]
#[case("zoom:0")]
#[case("zoom:1%")]
#[case("opacity:0")]
#[case("opacity: 0.01")]
#[case("opacity:1%")]
#[case("opacity:calc(1 - 1)")]
#[case("filter:opacity(0)")]
#[case("filter:opacity(1%)")]
#[case("-webkit-filter:opacity(0)")]
#[case("filter:alpha(opacity=0)")]
#[case("filter:alpha(opacity=1)")]
#[case("filter:grayscale(1) contrast(1) opacity(0) !important")]
#[case("filter:blur(40px)")]
#[case("filter:contrast(0)")]
#[case("filter:brightness(100)")]
#[case("color:#fff")]
#[case("color:white;background:#FEFEFE")]
#[case("background-color:black;color:rgb(0,0,0)")]
#[case("color:transparent")]
#[case("color:var(--x,#fff)")]
#[case("color:var(--x);--x:white")]
#[case("--x:0;font-size:calc(var(--x) * 1px)")]
#[case("color:#fff!important;color:#000")]
#[case("color:white;background:linear-gradient(#fff,#fffffe)")]
#[case("-webkit-text-fill-color:transparent")]
#[case("-webkit-text-security:disc")]
#[case("max-height:0;overflow:hidden")]
#[case("width:1px;height:1px;overflow:hidden")]
#[case("height:.05em;overflow:auto")]
#[case("max-block-size:0;overflow-y:clip")]
#[case("height:1px;contain:paint")]
#[case("line-height:0;overflow:hidden")]
#[case("font:14px/0 Arial;overflow:hidden")]
#[case("letter-spacing:-1em")]
#[case("letter-spacing:-20px")]
#[case("text-indent:-9999px")]
#[case("text-indent:9999px")]
#[case("text-indent:calc(-1 * 9999px)")]
#[case("position:absolute;left:-9999px")]
#[case("position:absolute;left:-100em")]
#[case("position:absolute;right:9999px")]
#[case("position:absolute;inset:0 0 0 -5000px")]
#[case("margin:0 0 0 -5000px")]
#[case("transform:translateX(-9999px)")]
#[case("transform:translate(-9999px, 0)")]
#[case("-ms-transform:translate3d(0,-9999px,0)")]
#[case("translate:-9999px")]
#[case("transform:scale(0)")]
#[case("transform:scale(0, 1)")]
#[case("transform:scale3d(0,0,0)")]
#[case("transform:scaleY(.01)")]
#[case("transform:matrix(0,0,0,0,0,0)")]
#[case("transform:rotateX(90deg)")]
#[case("transform:rotate(1deg) scaleX(0)")]
#[case("scale:0")]
#[case("rotate:y 90deg")]
#[case("clip:rect(0 0 0 0)")]
#[case("clip:rect(1px,1px,1px,1px)")]
#[case("clip-path:inset(50%)")]
#[case("clip-path:inset(100%)")]
#[case("clip-path:inset(0 0 100% 0)")]
#[case("-webkit-clip-path:circle(0)")]
#[case("clip-path:circle(0 at 50% 50%)")]
#[case("clip-path:polygon(0 0, 0 0, 0 0)")]
#[case("mask-image:linear-gradient(transparent,transparent)")]
#[case("-webkit-mask-image:url(x.png)")]
#[case("mask:linear-gradient(rgba(0,0,0,0),transparent)")]
#[case("mso-hide:all")]
#[case("color:color-mix(in srgb, white, white)")]
#[case("color:color-mix(in srgb, red 1%, transparent)")]
#[case("color:rgb(from white r g b)")]
#[case("color:#fff;background:#fff url(x)")]
#[case("color:#fff;background-image:url(x);background-color:#fff")]
#[case("color:#fff;background-color:#fff;background-image:url(x)")]
#[case("text-indent:100%;overflow:hidden;white-space:nowrap")]
#[case("white-space:nowrap;text-indent:150%;overflow:clip")]
#[case("word-spacing:-999em")]
#[case("font-size-adjust:0")]
#[case("font-size-adjust:ex-height 0.01")]
#[case("clip-path:path('M0 0')")]
#[case("clip-path:path(\"M 10,10 L 90,10 H 20 Z\")")]
#[case("clip-path:path(evenodd, 'm5 5l.5 0 0 .5z')")]
#[case("clip-path:path('M-90-90h40v40h-40z')")]
#[case("clip-path:path('M-90 10h40v40h-40z')")]
#[case("clip-path:path('M10-90h40v40h-40z')")]
#[case("offset-path:path('M-1200 0')")]
#[case("offset-path:path('M-9999 0')")]
#[case("offset:path('M 0 -9999 L 100 -9000') 50%")]
#[case("transform:perspective(0) translateZ(-1000px)")]
#[case("transform:perspective(10px) translate3d(0,0,20px)")]
#[case("backface-visibility:hidden;transform:rotateY(180deg)")]
#[case("rotate:y 180deg;-webkit-backface-visibility:hidden")]
#[case("transform:rotate3d(1,0,0,.5turn);backface-visibility:hidden")]
#[case("filter:brightness(0) invert(1)")]
#[case("filter:invert(1)")]
#[case("filter:invert()")]
#[case("background:navy;color:white;filter:brightness(0)")]
#[case("margin:0 -5000px 0")]
#[case("margin:0 -5000px")]
#[case("inset:-5000px")]
#[case("margin:0 -5000px 0 !important")]
#[case("line-height:10%;overflow:hidden")]
#[case("\\2d\\2d x:#fff;color:var(\\2d\\2d x)")]
#[case("font-size:calc(16px / 10)")]
#[case("color:#fff;background:#fff;-webkit-background-clip:text")]
#[case("color:transparent;background:url(x.png)")]
#[case("clip-path:path('M0 0H5e-1V5e1H0Z')")]
#[case("clip-path:path('M-5e+1 10h4e1v40z')")]
#[case("font-size:calc(calc(calc(calc(calc(calc(calc(calc(0px))))))))")]
#[case("visibility:collapse")]
#[case("content:url(x.png)")]
#[case("white-space:pre;text-indent:100%;overflow:hidden")]
#[case("text-wrap:nowrap;text-indent:100%;overflow:hidden")]
#[case("text-wrap-mode:nowrap;text-indent:100%;overflow:hidden")]
#[case("padding-left:4000px")]
#[case("padding-top:4000px")]
#[case("transform:translateX(-500px)")]
#[case("transform:translateY(-500px)")]
#[case("translate:0 -500px")]
#[case("scale:1 0")]
#[case("transform:scaleX(.1)")]
#[case("rotate:x 90deg")]
#[case("rotate:1 0 0 90deg")]
#[case("backface-visibility:hidden;transform:scaleZ(-1)")]
#[case("backface-visibility:hidden;transform:scale3d(1,1,-1)")]
#[case("offset-path:path('M0-1200')")]
#[case("background:#fff;filter:invert(50%)")]
#[case("font-size:1.9px")]
#[case("opacity:.05")]
#[case("filter:alpha(opacity=5)")]
#[case("filter:contrast(.05)")]
#[case("filter:brightness(10)")]
#[case("filter:blur(.6em)")]
#[case("letter-spacing:-.41em")]
#[case("word-spacing:-4.1em")]
#[case("font-size-adjust:.06")]
#[case("margin-left:-500px")]
#[case("top:-500px")]
#[case("margin-left:4000px")]
#[case("top:4000px")]
#[case("text-indent:1000px;overflow:hidden;white-space:nowrap")]
#[case("height:2px;overflow:hidden")]
#[case("line-height:.1;overflow:hidden")]
#[case("line-height:1.6px;overflow:hidden")]
#[case("mask-size:2px")]
#[case("transform:rotateX(87deg)")]
#[case("transform:skewX(89deg)")]
#[case("transform:skew(0,-89deg)")]
#[case("transform:matrix(1,0,0,.1,0,0)")]
#[case("transform:matrix(1,0,0,1,-900,0)")]
#[case("transform:matrix3d(1,0,0,0,0,1,0,0,0,0,1,0,0,-900,0,1)")]
#[case("transform:translate(0,-120%)")]
#[case("transform:perspective(10px) translateZ(10px)")]
#[case("clip:rect(9px,90px,10px,0)")]
#[case("clip:rect(0,10px,90px,9px)")]
#[case("clip-path:inset(50% 0)")]
#[case("clip-path:inset(0 50%)")]
#[case("clip-path:inset(0 50% 0)")]
#[case("clip-path:inset(60% 0 39%)")]
#[case("clip-path:inset(0 60% 0 39%)")]
#[case("clip-path:circle(1px)")]
#[case("clip-path:ellipse(0 9px)")]
#[case("clip-path:ellipse(9px 0)")]
#[case("clip-path:rect(9px 90px 10px 0)")]
#[case("clip-path:rect(0 10px 90px 9px)")]
#[case("clip-path:xywh(9px 9px 90px 1px)")]
#[case("clip-path:xywh(9px 9px 1px 90px)")]
#[case("clip-path:polygon(9px 0, 9px 90px)")]
#[case("clip-path:polygon(0 9px, 90px 9px)")]
#[case("clip-path:path('M10 10h40v1h-40z')")]
#[case("clip-path:path('M10 10h1v40h-1z')")]
#[case("clip-path:path('m-20 10l-40 0 0 40z')")]
#[case("clip-path:path('m10-20l40 0 0-40z')")]
#[case("clip-path:path('M5 5C5 5.5 5 6 5.5 5')")]
#[case("color:color-mix(in srgb, transparent, red 1%)")]
fn hiding_styles_hide(#[case] style: &str) {
    assert!(hides(style), "{style}");
    // The length of the text before it does not matter.
    assert!(hides(&format!("{}{style}", "margin-right:0;".repeat(2_000))), "padded {style}");
}

#[rstest]
#[case("")]
#[case("color:#333")]
#[case("color:white;background-color:#0078d4")]
#[case("color:white;background:url(x.png)")]
#[case("color:#fff;background:linear-gradient(red,blue)")]
#[case("background:linear-gradient(red,blue);-webkit-background-clip:text;color:transparent")]
#[case("color:var(--x,#333)")]
#[case("color:currentcolor")]
#[case("color:windowtext")]
#[case("font-size:14px")]
#[case("font-size:0.8em")]
#[case("font-size:1rem")]
#[case("font-size:calc(12px + 1vw)")]
#[case("font-size:-1px")]
#[case("font:400 14px/20px 'Segoe UI',sans-serif")]
#[case("font:12.0pt \"Times New Roman\"")]
#[case("font:normal small Arial")]
#[case("font:inherit")]
#[case("opacity:.5")]
#[case("filter:none")]
#[case("filter:grayscale(100%) blur(0)")]
#[case("filter:alpha(opacity=50)")]
#[case("max-height:0")]
#[case("width:100%;height:auto;overflow:hidden")]
#[case("height:20px;overflow:hidden")]
#[case("line-height:0")]
#[case("line-height:0;height:20px;overflow:hidden")]
#[case("line-height:100%;mso-line-height-rule:exactly;overflow:hidden")]
#[case("letter-spacing:-0.02em")]
#[case("letter-spacing:normal")]
#[case("margin-left:-10px")]
#[case("margin:0in 0in 8pt;text-indent:-.25in")]
#[case("position:relative;left:-300px;top:-300px")]
#[case("position:absolute;left:50%;top:50%;transform:translate(-50%,-50%)")]
#[case("margin:0 auto;padding:0 0 0 40px")]
#[case("transform:rotate(90deg)")]
#[case("transform:scale(.9)")]
#[case("transform:none;scale:none;translate:none;rotate:none")]
#[case("zoom:1")]
#[case("clip:auto")]
#[case("clip:rect(0,200px,40px,0)")]
#[case("clip-path:none")]
#[case("clip-path:inset(0 round 8px)")]
#[case("clip-path:circle(50%)")]
#[case("clip-path:polygon(0 0, 100% 0, 100% 100%)")]
#[case("mask:none")]
#[case("mask-image:linear-gradient(black,transparent)")]
#[case("display:inline-block;color:")]
#[case("color:color-mix(in oklab, white, red)")]
#[case("color:color-mix(in srgb, black 40%, white)")]
#[case("color:lab(50 20 20)")]
#[case("color:rgb(from red r g b)")]
#[case("color:#fff;background:#333 url(x)")]
#[case("color:#fff;background-color:#fff;background:url(x)")]
#[case("color:#fff;background:color-mix(in oklab, white, red)")]
#[case("color:contrast-color(white)")]
#[case("text-indent:100%")]
#[case("text-indent:2em;overflow:hidden;white-space:nowrap")]
#[case("overflow:hidden;white-space:nowrap;text-overflow:ellipsis")]
#[case("word-spacing:-1px")]
#[case("font-size-adjust:.45")]
#[case("font-size-adjust:none")]
#[case("line-clamp:0")]
#[case("-webkit-line-clamp:3;overflow:hidden")]
#[case("clip-path:path('M0 0H900V90H0Z')")]
#[case("clip-path:path('M0 0A9 9 0 0 0 9 9')")]
#[case("clip-path:path('M0 0S50 0 50 50')")]
#[case("clip-path:path('what')")]
#[case("offset-path:path('M1200 0')")]
#[case("offset-path:path('M0 0L100 100')")]
#[case("offset-path:none")]
#[case("transform:perspective(500px) rotateY(20deg)")]
#[case("transform:perspective(0)")]
#[case("transform:translateZ(-1000px)")]
#[case("backface-visibility:hidden")]
#[case("backface-visibility:hidden;transform:rotateY(180deg) rotateY(180deg)")]
#[case("backface-visibility:hidden;transform:rotate(180deg)")]
#[case("transform:rotateY(180deg)")]
#[case("filter:brightness(0)")]
#[case("filter:brightness(.9) contrast(1.1)")]
#[case("background:#000;color:#fff;filter:invert(1)")]
#[case("filter:invert(1) hue-rotate(180deg);background:#fff;color:#000")]
#[case(":::;;}{)(")]
#[case("font-size:NaNpx;opacity:x")]
#[case("inset:0 0 0 40px")]
#[case("font-size:calc(30px / 2)")]
#[case("backface-visibility:hidden;transform:scaleZ(0)")]
#[case("background:linear-gradient(red,blue) text;color:transparent")]
#[case("clip-path:path('M0 0H5e1V5e1H0Z')")]
#[case("font-size:calc(calc(calc(calc(calc(calc(calc(calc(calc(0px)))))))))")]
#[case("content:'x'")]
#[case("-webkit-text-security:none")]
#[case("rotate:z 90deg")]
#[case("rotate:0 0 1 90deg")]
#[case("transform:rotate3d(0,0,1,90deg)")]
#[case("backface-visibility:hidden;transform:scaleZ(1)")]
#[case("offset-path:path('M0 1200')")]
#[case("filter:invert(50%)")]
#[case("font-size:2px")]
#[case("opacity:.06")]
#[case("filter:alpha(opacity=6)")]
#[case("filter:contrast(.06)")]
#[case("filter:brightness(9)")]
#[case("filter:blur(.5em)")]
#[case("letter-spacing:-.4em")]
#[case("word-spacing:-4em")]
#[case("font-size-adjust:.07")]
#[case("margin-left:-499px")]
#[case("top:-499px")]
#[case("margin-left:3999px")]
#[case("text-indent:999px;overflow:hidden;white-space:nowrap")]
#[case("height:2.1px;overflow:hidden")]
#[case("line-height:.11;overflow:hidden")]
#[case("line-height:1.7px;overflow:hidden")]
#[case("mask-size:3px")]
#[case("transform:rotateX(86deg)")]
#[case("transform:skewX(20deg)")]
#[case("transform:matrix(.9,.1,-.1,.9,40,40)")]
#[case("transform:translate(0,-90%)")]
#[case("transform:perspective(10px) translateZ(9px)")]
#[case("margin:40px -90px 40px")]
#[case("clip:rect(9px,90px,12px,0)")]
#[case("clip:rect(0,12px,90px,9px)")]
#[case("clip-path:inset(49%)")]
#[case("clip-path:inset(49% 49%)")]
#[case("clip-path:inset(49% 49% 49%)")]
#[case("clip-path:inset(60% 0 30%)")]
#[case("clip-path:inset(60% 49% 30% 49%)")]
#[case("clip-path:inset(49% 60% 49% 30%)")]
#[case("clip-path:circle(2px)")]
#[case("clip-path:ellipse(2px 9px)")]
#[case("clip-path:rect(9px 90px 11px 0)")]
#[case("clip-path:rect(0 11px 90px 9px)")]
#[case("clip-path:xywh(0 0 9px 2px)")]
#[case("clip-path:polygon(9px 9px, 11px 11px)")]
#[case("clip-path:path('M10 10h40v2h-40z')")]
#[case("clip-path:path('m-20-20l40 0 0 40z')")]
#[case("clip-path:path('M0 0C0 9 9 9 9 0')")]
#[case("clip-path:path('M-50 10h90v40z')")]
#[case("clip-path:path('M10-50v90h40z')")]
#[case("clip-path:path('M0 0C9 9')")]
#[case("color:color-mix(in srgb, transparent, red 10%)")]
fn ordinary_styles_do_not_hide(#[case] style: &str) {
    assert!(!hides(style), "{style}");
}

#[rstest]
#[case("px", 1.0)]
#[case("pt", 4.0 / 3.0)]
#[case("pc", 16.0)]
#[case("in", 96.0)]
#[case("cm", 37.8)]
#[case("mm", 3.78)]
#[case("q", 0.945)]
#[case("em", 16.0)]
#[case("ic", 16.0)]
#[case("rem", 16.0)]
#[case("ex", 8.0)]
#[case("ch", 8.0)]
#[case("cap", 8.0)]
#[case("lh", 19.2)]
#[case("rlh", 19.2)]
#[case("vw", 10.0)]
#[case("svmax", 10.0)]
#[case("%", 0.16)]
fn a_size_counts_in_every_unit(#[case] unit: &str, #[case] px: f32) {
    let size = |wanted_px: f32| format!("font-size:{}{unit}", wanted_px / px);
    assert!(hides(&size(1.9)) && !hides(&size(2.1)), "{unit}");
}

#[rstest]
#[case("90deg", "60deg")]
#[case("100grad", "60grad")]
#[case("1.57rad", "1rad")]
#[case(".25turn", ".2turn")]
fn an_angle_counts_in_every_unit(#[case] edge: &str, #[case] face: &str) {
    assert!(hides(&format!("transform:rotateY({edge})")) && !hides(&format!("transform:rotateY({face})")));
}

#[rstest]
fn a_named_size_can_be_read_whatever_is_around_it(
    #[values(
        "xx-small",
        "x-small",
        "small",
        "medium",
        "initial",
        "large",
        "x-large",
        "xx-large",
        "xxx-large"
    )]
    size: &str,
) {
    assert!(!hides_inside(&["font-size:1px", &format!("font-size:{size}")]));
}

#[test]
fn a_named_step_changes_the_size_around_it() {
    assert!(hides_inside(&["font-size:smaller"; 12]) && !hides_inside(&["font-size:smaller"; 11]));
    assert!(hides_inside(&["font-size:1.6px", "font-size:larger"]));
    assert!(!hides_inside(&["font-size:1.7px", "font-size:larger"]));
}

#[rstest]
fn a_text_is_moved_off_the_page_by_any_side(
    #[values(
        "left",
        "right",
        "margin-left",
        "margin-inline",
        "margin-inline-start",
        "inset-inline",
        "inset-inline-start",
        "top",
        "bottom",
        "margin-top",
        "margin-block",
        "margin-block-start",
        "inset-block",
        "inset-block-start"
    )]
    side: &str,
) {
    assert!(hides(&format!("{side}:-500px")) && hides(&format!("{side}:4000px")));
    assert!(!hides(&format!("{side}:-499px")) && !hides(&format!("{side}:3999px")));
}

#[rstest]
fn a_box_without_room_that_cuts_off_the_rest_hides(
    #[values(
        "height",
        "max-height",
        "width",
        "max-width",
        "block-size",
        "max-block-size",
        "inline-size",
        "max-inline-size"
    )]
    extent: &str,
    #[values(
        "overflow:hidden",
        "overflow-x:clip",
        "overflow-y:scroll",
        "overflow-block:auto",
        "overflow-inline:hidden",
        "contain:paint",
        "contain:content",
        "contain:strict"
    )]
    cut: &str,
) {
    assert!(hides(&format!("{extent}:2px;{cut}")) && !hides(&format!("{extent}:3px;{cut}")));
    assert!(!hides(&format!("{extent}:2px;overflow:visible")));
}

#[test]
fn content_can_undo_an_inherited_style_but_not_a_removed_element() {
    let mut style = Style::default();
    style.apply("font-size:0;visibility:hidden;color:white;line-height:0;overflow:hidden", false);
    style.apply("font-size:14px;visibility:visible;background:navy;line-height:20px", false);
    assert!(!style.hides());
    style.apply("display:none", false);
    style.apply("display:block", false);
    assert!(style.hides());
}

#[test]
fn of_the_words_for_the_height_of_lines_only_one_gives_them_height() {
    assert!(!hides("line-height:0;line-height:normal;overflow:hidden"));
    assert!(hides("line-height:0;line-height:inherit;overflow:hidden"));
}

#[test]
fn styles_that_hide_only_together_hide() {
    assert!(hides_inside(&["opacity:.2", "opacity:.2"]));
    assert!(hides_inside(&["font-size:.3em", "font-size:.3em"]));
    assert!(hides_inside(&["transform:scale(.3)", "font-size:4px"]));
    assert!(hides_inside(&["margin-left:-300px", "text-indent:-300px"]));
    assert!(hides_inside(&["background:#111", "color:#121212"]));
    assert!(hides_inside(&["--x:#fff", "color:var(--x)"]));
    assert!(hides_inside(&["color:white;background:#333", "filter:brightness(0);background:#fff"]));
    assert!(hides_inside(&["filter:invert(1)", "color:#000"]));
    assert!(hides_inside(&["filter:invert(1) contrast(2)", "color:#000"]));
    assert!(hides_inside(&["background:#808080", "filter:invert(50%)"]));
    assert!(hides_inside(&["background:#0c0c0c", "filter:brightness(0)"]));
    assert!(!hides_inside(&["background:#0d0d0d", "filter:brightness(0)"]));
    assert!(!hides_inside(&["filter:invert(1)", "color:#fff"]));
    assert!(!hides_inside(&["color:white", "color:oklch(from red calc(l * .5) c h)"]));
    assert!(!hides_inside(&["opacity:.5", "opacity:.5"]));
    assert!(!hides_inside(&["font-size:0", "font-size:14px"]));
    assert!(!hides_inside(&["background:#111", "color:#eee"]));
}

#[test]
fn so_many_variables_are_known_and_no_more() {
    let among = |others: usize, value: &str| {
        let declared = (0..others).map(|n| format!("--v{n}:0;")).collect::<Vec<_>>().concat();
        format!("{declared}--x:{value};color:var(--x,#333)")
    };
    assert!(hides(&among(63, "#fff")) && !hides(&among(64, "#fff")));
    let words = |count: usize| format!("#fff{}", " a".repeat(count - 1));
    assert!(hides(&among(0, &words(16))) && !hides(&among(0, &words(17))));
    let nested = format!("{}; --x:#fff", &among(64, "#333"));
    assert!(!hides(&nested), "a full list takes no new one later either");
    assert!(
        hides(&format!("{};--v0:#fff;color:var(--v0)", among(64, "#333"))),
        "but a new value for an old one"
    );
}

#[test]
fn a_cell_is_as_wide_as_its_text() {
    for width in ["max-width", "max-inline-size"] {
        let style = format!("{width}:0;overflow:hidden;text-overflow:ellipsis");
        let mut cell = Style::default();
        cell.apply(&style, true);
        assert!(!cell.hides() && hides(&style));
    }
}

#[rstest]
#[case::as_many_as_are_kept(15, true)]
#[case::one_more(16, false)]
fn a_variable_is_kept_up_to_a_number_of_parts_however_deep(#[case] parts: usize, #[case] is_kept: bool) {
    // The function is one part itself.
    let flat = format!("--a: f({})", "1 ".repeat(parts));
    let deep = format!("--a: f({}g({}))", "1 ".repeat(parts - 3), "1 ".repeat(2));
    for style in [flat, deep] {
        let known = value::variables(&style, &None);
        assert_eq!(known.unwrap_or_default().contains_key("--a"), is_kept, "{style}");
    }
}
