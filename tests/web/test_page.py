# SPDX-License-Identifier: GPL-2.0-or-later
"""The page around the views: header, timeline, selection, history, keys, themes, hostile names, errors."""

import re
import threading

import pytest

from pages import HOSTILE, SECOND, Tree

pytest_plugins = ["browsing"]

VIEWS = ["Flame graph", "Functions", "Sandwich", "Waits", "Spans", "Difference", "Source", "SQL"]


def drag(view, selector, begin, end):
    box = view.page.locator(selector).bounding_box()
    y = box["y"] + min(20, box["height"] / 2)
    view.page.mouse.move(box["x"] + box["width"] * begin, y)
    view.page.mouse.down()
    view.page.mouse.move(box["x"] + box["width"] * (begin + end) / 2, y)
    view.page.mouse.move(box["x"] + box["width"] * end, y)
    view.page.mouse.up()
    view.settle()


def test_the_header_says_what_the_recording_does_not_know(view):
    view.open()
    assert "99.0 % whole stacks" in view.page.locator("#head").inner_text()
    view.page.get_by_text("7 events lost").click()
    assert "switch, ring_full: 7" in view.page.locator(".pop:visible").inner_text()


def test_a_brush_selects_the_range_for_everything(view, server):
    view.open()
    drag(view, ".brush", 0.25, 0.75)
    name, parameters = server.asked[-1]
    assert (
        name == "flame"
        and abs(int(parameters["from"]) - 2.5 * SECOND) < 0.1 * SECOND
        and abs(int(parameters["to"]) - 7.5 * SECOND) < 0.1 * SECOND
    )
    assert re.search(r"\n(5|4\.9\d|5\.0\d) s ·", view.page.locator(".trail").inner_text())
    view.page.get_by_role("tab", name="Functions").click()
    view.settle()
    assert server.asked[-1][1]["from"] == parameters["from"]
    view.page.get_by_label("Remove the selected range").click()
    view.settle()
    assert "from" not in server.asked[-1][1] and "from" not in view.hash()


def test_keys_move_the_brush(view):
    view.open(f"from={4 * SECOND}&to={6 * SECOND}")
    view.page.locator(".brush").focus()
    view.page.keyboard.press("ArrowRight")
    assert (int(view.hash()["from"]), int(view.hash()["to"])) == (4.2 * SECOND, 6.2 * SECOND)
    view.page.keyboard.press("Shift+ArrowRight")
    assert (int(view.hash()["from"]), int(view.hash()["to"])) == (4.2 * SECOND, 6.4 * SECOND)
    view.page.keyboard.press("Escape")
    assert "from" not in view.hash()


def test_lanes_are_expanded_and_a_process_is_selected(view, server):
    view.open()
    view.page.get_by_role("button", name="Expand CPU").click()
    view.settle()
    view.page.get_by_role("button", name="Expand shop").click()
    view.settle()
    assert "shop (100)" in view.page.locator(".gutter").inner_text()
    view.page.get_by_role("button", name="shop", exact=True).click()
    view.settle()
    assert server.asked[-1][1]["command"] == "shop"
    assert view.page.get_by_label("Process").input_value() == "shop"


def test_a_folded_timeline_has_no_hint_for_dragging(view):
    view.open()
    assert view.page.get_by_text("drag to select a range").is_visible()
    view.page.keyboard.press("l")
    assert view.page.get_by_text("drag to select a range").count() == 0


def test_a_value_just_below_a_unit_is_one_of_it(view):
    view.open()
    shown = view.page.evaluate("""import('./format.js').then(({ formatTime, formatValue }) =>
        [999.4e6, 999.95e6, 999.6, 0].map(formatTime).concat(formatValue(2 ** 20 - 1, 'bytes')))""")
    assert shown == ["999 ms", "1.00 s", "1.00 µs", "0 s", "1.00 MiB"]


def test_the_heat_map_selects_cells(view):
    view.open("heat=1")
    box = view.page.locator(".heat-stage").bounding_box()
    view.page.mouse.move(box["x"] + box["width"] * 0.25, box["y"] + box["height"] - 1)  # second 2, its first 20 ms
    view.page.mouse.down()
    view.page.mouse.move(box["x"] + box["width"] * 0.35, box["y"] + box["height"] / 2 + 1)  # second 3, in its middle
    view.page.mouse.up()
    view.settle()
    assert int(view.hash()["from"]) == 2 * SECOND and 3.48 * SECOND <= int(view.hash()["to"]) <= 3.52 * SECOND


def test_the_url_restores_the_view_and_back_goes_back(view, open_view, server):
    view.open()
    view.page.get_by_label("Metric").select_option("offcpu")
    view.settle()
    drag(view, ".brush", 0.2, 0.4)
    view.page.get_by_role("tab", name="Functions").click()
    view.settle()
    text = view.page.locator("#main").inner_text()
    other = open_view(view.page.url.split("#")[0])
    other.open(view.page.url.split("#")[1])
    assert other.page.locator("#main").inner_text() == text
    view.page.bring_to_front()
    view.page.go_back()
    view.settle()
    assert view.page.get_by_role("tab", name="Flame graph").get_attribute("aria-selected") == "true"
    view.page.go_back()
    view.settle()
    assert "from" not in view.hash() and view.hash()["metric"] == "offcpu"
    view.page.go_back()
    view.settle()
    assert view.page.get_by_label("Metric").input_value() == "cpu"
    view.page.go_forward()
    view.settle()
    assert view.page.get_by_label("Metric").input_value() == "offcpu"


def test_number_keys_choose_views_and_the_question_mark_lists_keys(view):
    view.open()
    for number, name in enumerate(VIEWS, 1):
        view.page.locator("#main").focus()
        view.page.keyboard.press(str(number))
        assert view.page.get_by_role("tab", selected=True).inner_text() == name
        view.settle()
    view.page.locator("#main").focus()
    view.page.keyboard.press("?")
    assert "zoom out" in view.page.locator("dialog").inner_text()
    view.page.keyboard.press("Escape")
    view.page.locator("dialog").wait_for(state="detached")


def test_tab_reaches_every_control_and_the_focus_is_visible(view):
    view.open("view=functions")
    controls = view.page.evaluate(
        "[...document.querySelectorAll('button, select, input, textarea, summary')].filter(n => n.checkVisibility() && n.tabIndex >= 0).length"
    )
    seen = view.page.evaluate("[]")
    view.page.evaluate("document.body.focus()")
    for _ in range(controls + 20):
        view.page.keyboard.press("Tab")
        focus = view.page.evaluate(
            "(n => [n.tagName + '|' + (n.getAttribute('aria-label') ?? n.textContent.slice(0, 30)), getComputedStyle(n).outlineStyle])(document.activeElement)"
        )
        assert focus[0].startswith("BODY") or focus[1] != "none", focus
        seen.append(focus[0])
    assert len(set(seen)) >= controls


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast_is_at_least_aa(open_view, server, scheme):
    """Every text of every view against what is behind it."""
    view = open_view(server.url, color_scheme=scheme)
    for fragment in (
        "",
        "view=functions",
        "view=waits",
        "view=spans",
        "view=diff&afrom=0&ato=5000000000&bfrom=5000000000&bto=10000000000",
        "view=sql",
        f"from=0&to={SECOND}&view=source&fn=main",
    ):
        view.open(fragment)
        low = view.page.evaluate(CONTRAST)
        assert low == [], fragment


CONTRAST = """() => {
    const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
    const pixel = (colors) => {
        canvas.clearRect(0, 0, 1, 1);
        for (const color of colors) { canvas.fillStyle = color; canvas.fillRect(0, 0, 1, 1); }
        return [...canvas.getImageData(0, 0, 1, 1).data];
    };
    const light = (rgb) => {
        const [r, g, b] = rgb.map((v) => ((v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const behind = (node) => {
        const colors = [];
        for (let n = node; n; n = n.parentElement) colors.unshift(getComputedStyle(n).backgroundColor);
        return colors;
    };
    const low = [];
    for (const node of document.querySelectorAll('body *')) {
        const text = [...node.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
        if (!text || !node.checkVisibility() || node.closest('.unseen, noscript')) continue;
        const back = behind(node);
        const [a, b] = [light(pixel(back).slice(0, 3)), light(pixel([...back, getComputedStyle(node).color]).slice(0, 3))].sort((x, y) => y - x);
        const contrast = (a + 0.05) / (b + 0.05);
        if (contrast < 4.5) low.push(`${node.tagName}.${node.className} ${node.textContent.slice(0, 30)} ${contrast.toFixed(2)}`);
    }
    return [...new Set(low)];
}"""


def test_the_theme_follows_the_system_until_one_is_chosen(open_view, server):
    view = open_view(server.url, color_scheme="dark")
    view.open()
    background = "getComputedStyle(document.body).backgroundColor"
    dark = view.page.evaluate(background)
    view.page.get_by_label("Theme: system").click()
    light = view.page.evaluate(background)
    assert light != dark and view.page.evaluate("document.documentElement.dataset.theme") == "light"
    view.page.reload()
    view.page.wait_for_selector("#main > *")
    assert view.page.evaluate(background) == light
    view.page.keyboard.press("t")
    assert view.page.evaluate(background) == dark


@pytest.mark.parametrize(
    "name",
    [
        "flame",
        "functions",
        "sandwich&fn=query",
        "waits",
        "spans",
        "diff&afrom=0&ato=5000000000&bfrom=5000000000&bto=10000000000",
        "sql&query=tables/slow",
        "source&fn=main",
    ],
)
def test_a_phone_is_wide_enough(open_view, server, name):
    view = open_view(server.url, viewport=dict(width=360, height=740), device_scale_factor=2, has_touch=True)
    view.open(f"view={name}")
    assert view.page.evaluate("document.documentElement.scrollWidth") <= 360
    assert view.page.locator("#main").bounding_box()["height"] > 300


def test_hostile_names_are_text_everywhere(view):
    view.open("open=cpu")
    shown = "<script>alert(1)</script>\"'&;␊\ufffdevil␀"
    for fragment in (
        "open=cpu&root=process",
        "view=functions",
        "view=waits",
        "view=source&fn=main",
        f"view=sandwich&fn={HOSTILE_URL}",
    ):
        view.open(fragment)
        if "waits" in fragment:
            view.page.locator("tbody tr").nth(1).click()
            view.page.locator(".frames").wait_for()
        assert shown in view.page.locator("body").inner_text(), fragment
        assert view.page.locator("script:not([src])").count() == 0
    view.open("view=sql")
    view.page.get_by_role("button", name="Run").click()
    view.settle()
    assert shown in view.page.locator("tbody").inner_text()


HOSTILE_URL = "".join(f"%{b:02x}" for b in HOSTILE.encode())


def test_names_of_a_hundred_kilobytes_do_not_stop_the_page(view, server):
    def flame(q):
        tree = Tree()
        tree.add(["main", "std::map<" + "int, " * 20_000 + ">"], 1e9)
        return tree.answer()

    server.answers.flame = flame
    view.open()
    view.page.locator(".flame-scroll").focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowDown"):
        view.page.keyboard.press(key)
    assert "std::map<" in view.details() and len(view.details()) < 10_000


def test_a_recording_without_rows_says_so(view, server):
    recording = server.answers.recording({})
    recording.update(kinds=[], metrics=[], processes=[], spans=[], unwind=[], lost=[], duration_ns=0)
    server.answers.recording = lambda q: recording
    view.open()
    assert "This recording has no events" in view.page.locator("#main").inner_text()


def test_views_that_the_recording_cannot_fill_are_not_there(view, server):
    recording = server.answers.recording({})
    recording.update(spans=[], metrics=recording["metrics"][:1])
    server.answers.recording = lambda q: recording
    view.open()
    names = view.page.get_by_role("tab").all_inner_texts()
    assert names == ["Flame graph", "Functions", "Sandwich", "Difference", "Source", "SQL"]


def test_an_error_says_what_to_do_and_is_tried_again(view, server):
    view.allowed.append("status of 400")
    ok = server.answers.flame

    def broken(q):
        raise ValueError("cannot read events-000001.parquet: Input/output error")

    server.answers.flame = broken
    view.open()
    assert "cannot read events-000001.parquet" in view.page.get_by_role("alert").inner_text()
    server.answers.flame = ok
    view.page.get_by_role("button", name="Try again").click()
    view.settle()
    assert "10 s" in view.page.locator(".trail").inner_text()


def test_what_takes_long_shows_progress_and_is_cancelled(view, server):
    go, ok = threading.Event(), server.answers.flame

    def slow(q):
        go.wait(30)
        return ok(q)

    server.answers.flame = slow
    view.page.goto(view.url)
    view.page.get_by_text("pairing intervals off the CPU").wait_for()
    assert abs(view.page.locator("progress").evaluate("p => p.value") - 0.4) < 0.01
    view.page.get_by_role("button", name="Cancel").click()
    view.page.get_by_text("Cancelled").wait_for()
    assert ("cancel", {}) in server.asked
    go.set()
    view.page.get_by_role("button", name="Try again").click()
    view.settle()
    assert "10 s" in view.page.locator(".trail").inner_text()


def test_only_the_last_selection_is_shown(view, server):
    """An answer that comes late, for what is not selected any more, is dropped."""
    view.open()
    go, ok = threading.Event(), server.answers.flame

    def slow(q):
        if q["metric"] == "offcpu":
            go.wait(30)
        return ok(q)

    server.answers.flame = slow
    view.page.get_by_label("Metric").select_option("offcpu")
    view.page.get_by_label("Metric").select_option("wall")
    view.settle()
    go.set()
    view.page.get_by_label("Split by").select_option("process")
    view.settle()
    assert "18.5 s" in view.page.locator(".trail").inner_text()


def test_the_timeline_zooms_into_the_range(view, server):
    view.open(f"from={4 * SECOND}&to={6 * SECOND}")
    view.page.keyboard.press("z")
    view.settle()
    assert ("timeline", dict(buckets="800", **{"from": str(4 * SECOND), "to": str(6 * SECOND)})) in server.asked
    drag(view, ".brush", 0.25, 0.75)
    assert (
        abs(int(view.hash()["from"]) - 4.5 * SECOND) < 0.02 * SECOND
        and abs(int(view.hash()["to"]) - 5.5 * SECOND) < 0.02 * SECOND
    )
    view.page.get_by_role("button", name="Zoom out").click()
    assert "tto" not in view.hash()


def test_times_of_a_part_count_from_the_beginning_of_the_recording(view, server):
    recording = server.answers.recording
    server.answers.recording = lambda q: {**recording(q), "after_ns": 30 * SECOND}
    view.open(f"from={4 * SECOND}&to={6 * SECOND}")
    assert view.page.locator(".brush").get_attribute("aria-valuetext") == "34.000 s to 36.000 s, 2 s"
    assert view.page.get_by_label("Remove the selected range").inner_text().startswith("34.000 s – 36.000 s")


def test_a_live_recording_is_read_again(view, server):
    recording = dict(server.answers.recording({}), live=True)
    server.answers.recording = lambda q: recording
    view.page.clock.install()
    view.open()
    assert "recording" in view.page.locator(".chip.live").inner_text()
    recording["duration_ns"] = 20 * SECOND
    asked = len(server.asked)
    view.page.clock.run_for(3100)
    view.page.get_by_text("20 s", exact=True).wait_for()
    view.settle()
    assert {name for name, _ in server.asked[asked:]} >= {"recording", "timeline", "flame"}


def test_a_recording_that_is_still_read_is_shown_again_when_there_is_more(view, server):
    recording = dict(server.answers.recording({}), partial=True)
    server.answers.recording = lambda q: recording
    view.page.clock.install()
    view.open("from=1000000000&to=2000000000")
    assert "first 10 s, reading more" in view.page.locator(".chip.live").inner_text()
    asked = len(server.asked)
    with view.page.expect_response(lambda answer: "api/recording" in answer.url):
        view.page.clock.run_for(3100)
    view.settle()
    assert {name for name, _ in server.asked[asked:]} == {"recording"}  # nothing new
    recording.update(duration_ns=20 * SECOND, partial=False)
    view.page.clock.run_for(3100)
    view.page.get_by_text("20 s", exact=True).wait_for()
    view.settle()
    assert {name for name, _ in server.asked[asked:]} >= {"recording", "timeline", "flame"}
    assert view.page.locator(".chip.live").count() == 0
    assert view.hash()["from"] == "1000000000"
    asked = len(server.asked)
    view.page.clock.run_for(10000)
    assert not server.asked[asked:]


def test_a_recording_that_cannot_be_read_to_its_end_says_so(view, server):
    recording = dict(server.answers.recording({}), partial=True, stuck=True)
    server.answers.recording = lambda q: recording
    view.open()
    assert "only the first 10 s can be read" in view.page.locator(".chip.warn").first.inner_text()


def test_a_control_keeps_the_focus_when_it_is_used(view):
    for fragment, label in (
        ("", "Metric"),
        ("", "Colour"),
        ("view=functions", "Metric"),
        ("view=sandwich&fn=query", "Merge by"),
        ("", "Process"),
    ):
        view.open(fragment)
        control = view.page.get_by_label(label, exact=True).first
        control.focus()
        control.select_option(index=1)
        view.settle()
        assert view.page.evaluate("document.activeElement.getAttribute('aria-label')") == label, fragment
    view.open()
    view.page.get_by_role("button", name="Expand CPU").focus()
    view.page.keyboard.press("Enter")
    view.settle()
    assert view.page.evaluate("document.activeElement.getAttribute('aria-label')") == "Expand CPU"


def test_a_live_recording_without_events_waits_for_them(view, server):
    full = dict(server.answers.recording({}), live=True)
    server.answers.recording = lambda q: dict(full, kinds=[], metrics=[])
    view.page.clock.install()
    view.open()
    view.page.get_by_text("No events yet").wait_for()
    server.answers.recording = lambda q: full
    view.page.clock.run_for(3100)
    view.page.locator(".flame-scroll").wait_for()


def test_a_selected_frame_stays_selected_in_another_range(view):
    view.open()
    view.page.locator(".flame-scroll").focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowDown", "ArrowDown"):
        view.page.keyboard.press(key)
    assert "query" in view.details() and "6 s" in view.details()
    drag(view, ".brush", 0.0, 0.5)
    assert "query" in view.details() and ("3 s" in view.details() or "3.0" in view.details())
