#!/bin/sh
# Opens report pages in a real browser and checks that they behave: no console message, no breach of their own
# policy, nothing executed that came from an event, complete without scripts, the filter works from the address, keys
# reach everything, two hosts stand side by side.
#
#   reports/tests/browser.sh REPORT.html [REPORT.html ...]
#
# Exit codes: 0 all pages behave, 1 one does not, 2 bad usage, 3 there is no Chromium to ask.
# CHROMIUM names another browser program of that family.
set -u

if [ "$#" -eq 0 ]; then
    echo "usage: $0 REPORT.html [REPORT.html ...]" >&2
    exit 2
fi

browser=${CHROMIUM:-}
for name in chromium chromium-browser google-chrome; do
    [ -n "$browser" ] || browser=$(command -v "$name" || true)
done
if [ -z "$browser" ] || ! command -v "$browser" >/dev/null; then
    echo "no Chromium found: install the package 'chromium', or name the program in CHROMIUM" >&2
    exit 3
fi

here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
failures=0

complain() {
    echo "FAIL $page: $1" >&2
    failures=$((failures + 1))
}

# open URL [FLAG ...]: the page's elements go to $work/dom, what it said on the console to $work/console.
open() {
    url=$1
    shift
    rm -rf "$work/profile"
    "$browser" --headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking \
        --disable-component-update --disable-sync --user-data-dir="$work/profile" --enable-logging=stderr --v=0 \
        --virtual-time-budget=2000 "$@" --dump-dom "$url" >"$work/dom" 2>"$work/log" &
    opened=$!
    # A browser that hangs is ended, by its own number.
    waited=0
    while kill -0 "$opened" 2>/dev/null; do
        sleep 1
        waited=$((waited + 1))
        [ "$waited" -lt 60 ] || kill "$opened" 2>/dev/null
    done
    wait "$opened"
    status=$?
    grep 'CONSOLE' "$work/log" >"$work/console"
    return "$status"
}

title() {
    # The first: pictures have titles too.
    tr '\n' ' ' <"$1" | grep -o '<title>[^<]*' | head -n 1 | sed 's/<title>//'
}

# The checks below are worth nothing unless they can fail, so first a page that does all of it.
page=control
cat >"$work/control.html" <<'CONTROL'
<!doctype html><meta charset="utf-8"><title>quiet</title>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'unsafe-inline'">
<img src="data:image/gif;base64,R0lGODlhAQABAAAAACw="><script>document.title = 'EXECUTED'</script>
CONTROL
open "file://$work/control.html" || complain "the browser ended with status $status: $(tail -n 3 "$work/log")"
[ "$(title "$work/dom")" = "EXECUTED" ] || complain "a script that ran was not noticed"
grep -q 'Content Security Policy' "$work/console" || complain "a breach of policy was not noticed"

for file in "$@"; do
    page=$file
    if [ ! -f "$file" ]; then
        complain "there is no such file"
        continue
    fi
    path=$(cd "$(dirname "$file")" && pwd)/$(basename "$file")

    open "file://$path" || complain "the browser ended with status $status"
    [ ! -s "$work/console" ] || complain "the console says: $(head -n 5 "$work/console")"
    [ "$(title "$work/dom")" = "$(title "$path")" ] || complain "the title was changed to: $(title "$work/dom")"
    grep -q '<html[^>]*class="js"' "$work/dom" || complain "our own script did not run"
    for element in img iframe object embed base form link audio video; do
        if grep -qi "<$element[ >]" "$work/dom"; then complain "there is an <$element> that we did not write"; fi
    done
    [ "$(grep -o '<script[ >]' "$work/dom" | wc -l)" -eq 1 ] || complain "there is not exactly one script"
    [ "$(grep -o '<style[ >]' "$work/dom" | wc -l)" -eq 1 ] || complain "there is not exactly one style"
    rows=$(grep -o '<tr data-r=' "$work/dom" | wc -l)

    # Without scripts everything is there, and no control that would do nothing is shown.
    sed '/^<script>/,/^<\/script>/d' "$path" >"$work/plain.html"
    if grep -q '<script' "$work/plain.html"; then complain "the script could not be taken out"; fi
    open "file://$work/plain.html" || complain "without scripts, the browser ended with status $status"
    [ "$(grep -o '<tr data-r=' "$work/dom" | wc -l)" -eq "$rows" ] || complain "rows are missing without scripts"
    grep -q '<div id="filters"[^>]* hidden' "$work/dom" || complain "the filters are shown without scripts"

    # A filter in the address hides every row of a requirement that does not exist.
    open "file://$path#?q=no-such-requirement-anywhere" || complain "with a filter, the browser ended with status $status"
    hidden=$(grep -o '<tr data-r=[^>]* hidden' "$work/dom" | wc -l)
    [ "$hidden" -eq "$rows" ] || complain "the filter in the address hid $hidden of $rows rows"

    # The state of the filters is the address: each shows exactly the rows that have such a cell.
    for state in pass fail not-run unsupported unknown not-applicable; do
        grep -q "data-s=\"$state\"" "$path" || continue
        wanted=$(awk -v word="class=s-$state>" '
            /<tr data-r=/ { if (row && found) count++; row = 1; found = 0 }
            /<\/tbody>/ { if (row && found) count++; row = 0; found = 0 }
            row && index($0, "<td " word) { found = 1 }
            END { print count + 0 }' "$path")
        open "file://$path#?state=$state" || complain "with a state, the browser ended with status $status"
        shown=$(grep -o '<tr data-r=[^>]*>' "$work/dom" | grep -vc ' hidden')
        [ "$shown" -eq "$wanted" ] || complain "#?state=$state shows $shown rows instead of $wanted"
    done

    # What a keyboard and a reader of screens meet, asked by a script in a copy without the policy that forbids it.
    sed -e '/http-equiv="Content-Security-Policy"/d' "$path" >"$work/driven.html"
    printf '<script>\n' >>"$work/driven.html"
    cat "$here/keyboard.js" >>"$work/driven.html"
    printf '</script>\n' >>"$work/driven.html"
    open "file://$work/driven.html" || complain "driven by keys, the browser ended with status $status"
    said=$(title "$work/dom")
    [ "$said" = "KEYS all well" ] || complain "the keyboard: $said"

    # A link to a cell opens what the cell is folded into.
    if grep -q 'id="c1-1"' "$path"; then
        open "file://$path#c1-1" || complain "with a link, the browser ended with status $status"
        tr '\n' ' ' <"$work/dom" | grep -q '<details class="cell"[^>]* open=""><summary>' || complain "a link to a cell does not open it"
    fi
    echo "checked $file: $rows rows"
done

[ "$failures" -eq 0 ]
