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
fn ordinary_styles_do_not_hide(#[case] style: &str) {
    assert!(!hides(style), "{style}");
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
fn styles_that_hide_only_together_hide() {
    assert!(hides_inside(&["opacity:.2", "opacity:.2"]));
    assert!(hides_inside(&["font-size:.3em", "font-size:.3em"]));
    assert!(hides_inside(&["transform:scale(.3)", "font-size:4px"]));
    assert!(hides_inside(&["margin-left:-300px", "text-indent:-300px"]));
    assert!(hides_inside(&["background:#111", "color:#121212"]));
    assert!(hides_inside(&["--x:#fff", "color:var(--x)"]));
    assert!(hides_inside(&["color:white;background:#333", "filter:brightness(0);background:#fff"]));
    assert!(hides_inside(&["filter:invert(1)", "color:#000"]));
    assert!(!hides_inside(&["filter:invert(1)", "color:#fff"]));
    assert!(!hides_inside(&["color:white", "color:oklch(from red calc(l * .5) c h)"]));
    assert!(!hides_inside(&["opacity:.5", "opacity:.5"]));
    assert!(!hides_inside(&["font-size:0", "font-size:14px"]));
    assert!(!hides_inside(&["background:#111", "color:#eee"]));
}

#[test]
fn a_cell_is_as_wide_as_its_text() {
    let style = "max-width:0;overflow:hidden;text-overflow:ellipsis";
    let mut cell = Style::default();
    cell.apply(style, true);
    assert!(!cell.hides() && hides(style));
}
