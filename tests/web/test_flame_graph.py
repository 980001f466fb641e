# SPDX-License-Identifier: GPL-2.0-or-later
"""The flame graph: what is drawn, pointed at, searched and moved in."""

import pytest

from pages import Tree

pytest_plugins = ["browsing"]

ROW = 19


def at(view, depth, part):
    """The place of a row and a part of the width, in the page."""
    box = view.page.locator(".flame-scroll:visible").first.bounding_box()
    return box["x"] + box["width"] * part, box["y"] + depth * ROW + ROW / 2


def colors(view, *places):
    """The pixels at these (row, part of the width)."""
    return view.page.evaluate(
        """(places) => {
        const canvas = document.querySelector('.flame-canvas'), ratio = devicePixelRatio;
        const image = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
        return places.map(([depth, part]) => {
            const at = 4 * (Math.floor((depth * 19 + 3) * ratio) * canvas.width + Math.floor(canvas.clientWidth * part * ratio));
            return [...image.data.slice(at, at + 4)].join();
        });
    }""",
        places,
    )


def test_draws_frames_as_wide_as_their_values(view):
    view.open()
    view.page.mouse.move(*at(view, 2, 0.5))
    assert "handle" in view.page.locator(".tip").inner_text()
    assert "9 s · 90.0 %" in view.page.locator(".tip").inner_text()
    view.page.mouse.move(*at(view, 3, 0.1))
    assert "query" in view.page.locator(".tip").inner_text()
    query, sort, nothing = colors(view, (3, 0.3), (4, 0.3), (6, 0.3))
    assert nothing == "0,0,0,0" and query != nothing and sort != nothing


def test_a_click_zooms_and_escape_goes_back(view):
    view.open()
    view.page.mouse.click(*at(view, 3, 0.1))
    view.settle()
    assert "zoom" in view.hash()
    assert view.page.locator(".crumb[aria-current]").inner_text() == "query"
    assert "query" in view.details() and "6 s" in view.details()
    view.page.keyboard.press("Escape")
    view.settle()
    assert view.page.locator(".crumb[aria-current]").inner_text() == "handle"
    view.page.keyboard.press("Backspace")
    view.page.keyboard.press("Backspace")
    view.settle()
    assert view.page.locator(".crumb[aria-current]").inner_text() == "all"
    assert "zoom" not in view.hash()


def test_keys_move_among_frames_and_enter_zooms(view):
    view.open()
    view.page.locator(".flame-scroll").focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowDown", "ArrowDown", "ArrowRight"):
        view.page.keyboard.press(key)
    assert "parse" in view.details()
    assert "30.0 %" in view.page.locator("#announce").inner_text()
    view.page.keyboard.press("Enter")
    view.settle()
    assert view.page.locator(".crumb[aria-current]").inner_text() == "parse"
    view.page.keyboard.press("ArrowLeft")  # out of what is zoomed: the graph zooms out as far as needed
    view.settle()
    assert "query" in view.details()
    assert view.page.locator(".crumb[aria-current]").inner_text() == "handle"


def test_a_search_says_its_share_and_the_url_keeps_it(view):
    view.open()
    view.page.keyboard.press("/")
    view.page.keyboard.type("sort|parse")
    view.settle()
    assert view.page.locator(".search-share").inner_text() == "80.0 % in 2"
    assert view.hash()["search"] == "sort%7Cparse"
    view.page.keyboard.press("Enter")
    assert "parse" in view.details() or "sort" in view.details()
    view.page.locator("#search").fill("sort(")
    view.settle()
    assert "(as plain text)" in view.page.locator(".search-share").inner_text()
    view.page.locator("#search").fill("query|sort")  # sort lies under query: it counts once
    view.settle()
    assert view.page.locator(".search-share").inner_text() == "60.0 % in 2"


def test_flame_and_icicle(view):
    view.open("layout=flame")
    height = view.page.locator(".flame-scroll").bounding_box()["height"]
    x, _ = at(view, 0, 0.5)
    bottom = at(view, 0, 0)[1] - ROW / 2 + height
    view.page.mouse.move(x, bottom - ROW / 2)
    assert view.page.locator(".tip").inner_text().startswith("all")
    view.page.mouse.move(x, bottom - 2.5 * ROW)
    assert view.page.locator(".tip").inner_text().startswith("handle")
    view.page.get_by_role("button", name="Icicle").click()
    view.settle()
    view.page.mouse.move(*at(view, 2, 0.5))
    assert view.page.locator(".tip").inner_text().startswith("handle")


def test_wall_clock_is_coloured_by_state(view):
    view.open("metric=wall")
    states = view.page.locator(".legends").inner_text()
    assert "on the CPU" in states and "blocked" in states
    view.page.locator(".flame-scroll").focus()
    for _ in range(3):
        view.page.keyboard.press("ArrowDown")
    assert "blocked" in view.details() and "cpu" in view.details()


def test_metric_root_merge_and_hiding_are_asked_of_the_server(view, server):
    view.open()
    view.page.get_by_label("Metric").select_option("offcpu")
    view.page.get_by_label("Split by").select_option("process")
    view.page.get_by_label("Merge by").select_option("module")
    view.page.get_by_role("button", name="kernel", exact=True).click()
    view.settle()
    assert server.asked[-1] == ("flame", dict(metric="offcpu", root="process", merge="module", hide="kernel"))
    view.page.keyboard.press("k")
    view.settle()
    assert view.page.get_by_role("button", name="kernel", exact=True).get_attribute("aria-pressed") == "false"


def test_waits_for_work_are_hidden_where_there_are_waits(view, server):
    view.open("metric=offcpu")
    view.page.keyboard.press("w")
    view.settle()
    assert server.asked[-1] == ("flame", dict(metric="offcpu", hide="idle"))
    assert view.page.get_by_role("button", name="waits for work").get_attribute("aria-pressed") == "true"
    view.page.get_by_label("Metric").select_option("cpu")
    view.settle()
    assert server.asked[-1] == ("flame", dict(metric="cpu"))
    assert not view.page.get_by_role("button", name="waits for work").count()


def test_a_stack_is_copied(open_view, server):
    view = open_view(server.url, permissions=["clipboard-read", "clipboard-write"])
    view.open()
    view.page.mouse.click(*at(view, 4, 0.1))
    view.settle()
    view.page.keyboard.press("c")
    view.page.locator(".toast").wait_for()
    assert view.page.evaluate("navigator.clipboard.readText()").splitlines() == [
        "sort (/usr/lib/libsqlite3.so.0)",
        "query (/usr/bin/shop)",
        "handle (/usr/bin/shop)",
        "main (/usr/bin/shop)",
    ]


def test_twenty_thousand_nodes_are_drawn_in_a_frame(view, server):
    tree = Tree()
    for i in range(200):
        for j in range(10):
            tree.add([f"f{(i * 7 + d * j) % 500 if d else i}" for d in range(11)], 1 + i % 7)
    answer = tree.answer()
    assert len(answer["nodes"]["name"]) > 19_000
    server.answers.flame = lambda q: answer
    view.open()
    milliseconds = view.page.evaluate("""async () => {
        const { FlameGraph } = await import('./flamegraph.js');
        const { modelMake } = await import('./flamemodel.js');
        const answer = await (await fetch('api/flame?metric=cpu')).json();
        const graph = new FlameGraph('test', { select() {}, zoom() {}, tip() {} });
        document.querySelector('.graph').replaceChildren(graph.host);
        graph.setModel(modelMake(answer));
        graph.drawNow();
        const times = Array.from({ length: 9 }, () => { const began = performance.now(); graph.drawNow(); return performance.now() - began; });
        return times.sort((a, b) => a - b)[0];
    }""")
    assert milliseconds < 16, milliseconds


def test_memory_that_was_freed_has_no_width(view, server):
    tree = Tree("bytes")
    tree.add(["main", "allocate"], 3000)
    tree.add(["main", "free"], -1000)
    server.answers.flame = lambda q: tree.answer()
    view.open()
    view.page.mouse.move(*at(view, 2, 0.97))
    assert "allocate" in view.page.locator(".tip").inner_text()
    view.page.mouse.move(*at(view, 1, 0.5))
    assert "1.95 KiB" in view.page.locator(".tip").inner_text(), "the sum is net"


@pytest.mark.parametrize("ratio", [1, 2])
def test_the_canvas_has_the_pixels_of_the_screen(open_view, server, ratio):
    view = open_view(server.url, device_scale_factor=ratio)
    view.open()
    assert view.page.evaluate("(c => c.width / c.clientWidth)(document.querySelector('.flame-canvas'))") == ratio


def test_details_sum_a_function_over_all_places(view, server):
    tree = Tree()
    tree.add(["main", "a", "lock"], 1e9)
    tree.add(["main", "b", "lock", "lock"], 2e9)
    server.answers.flame = lambda q: tree.answer()
    view.open()
    view.page.locator(".flame-scroll").focus()
    for _ in range(4):
        view.page.keyboard.press("ArrowDown")
    assert "100 % in 3 places" in view.details().replace("\n", " ")


def test_an_inverted_graph_begins_with_what_ran(view, server):
    tree = Tree()
    tree.add(["main", "a", "lock"], 1e9)
    tree.add(["main", "b", "lock"], 2e9)
    tree.add(["main", "b"], 1e9)
    server.answers.flame = lambda q: tree.answer()
    view.open()
    asked = len(server.asked)
    view.page.get_by_role("button", name="Invert").click()
    view.settle()
    assert len(server.asked) == asked, "the page has all that it needs"
    view.page.mouse.move(*at(view, 1, 0.5))
    assert (
        view.page.locator(".tip").inner_text().splitlines()[0] == "lock"
        and "3 s · 75.0 %" in view.page.locator(".tip").inner_text()
    )
    view.page.mouse.move(*at(view, 2, 0.1))
    assert view.page.locator(".tip").inner_text().startswith("b")
    view.page.mouse.move(*at(view, 1, 0.9))
    assert view.page.locator(".tip").inner_text().startswith("b"), "b ran itself for a second"
    view.page.keyboard.press("v")
    view.settle()
    view.page.mouse.move(*at(view, 1, 0.4))
    assert view.page.locator(".tip").inner_text().startswith("main")


def test_a_deep_flame_stays_at_its_root_when_the_page_changes_around_it(view, server):
    tree = Tree()
    tree.add([f"f{i}" for i in range(60)], 1e9)
    server.answers.flame = lambda q: tree.answer()
    view.open("layout=flame")
    for change in (
        lambda: None,
        lambda: view.page.keyboard.press("m"),
        lambda: view.page.set_viewport_size(dict(width=1280, height=700)),
    ):
        change()
        view.settle()
        box = view.page.locator(".flame-scroll").bounding_box()
        view.page.mouse.move(box["x"] + 100, box["y"] + box["height"] - ROW / 2)
        assert view.page.locator(".tip").inner_text().startswith("all")
        view.page.mouse.move(box["x"] + 100, box["y"] + 2)
    view.page.locator(".flame-scroll").focus()
    for _ in range(50):
        view.page.keyboard.press("ArrowUp")
    view.settle()
    assert "f48" in view.details()
    assert view.page.locator(".flame-scroll").evaluate("n => n.scrollTop") < 0


def test_an_inverted_graph_has_the_states_of_its_stacks(view):
    view.open()
    shares = view.page.evaluate("""import('./flamemodel.js').then(({ modelInvert, modelMake, modelName }) => {
        const nodes = { name: [0, 1, 2, 3], module: [0, 0, 0, 0], parent: [-1, 0, 1, 1], self: [0, 0, 3, 1], total: [4, 4, 3, 1],
                        kind: [3, 0, 3, 3], state: [null, null, 1, 0] };
        const model = modelMake(modelInvert({ unit: 'ns', total: 4, states: ['cpu', 'blocked'], names: ['', 'main', '[blocked]', '[on CPU]'],
                                              modules: [''], nodes }));
        return Array.from({ length: model.count }, (_, i) => [modelName(model, i), ...model.byState.slice(2 * i, 2 * i + 2)]);
    })""")
    assert sorted(shares) == [["[blocked]", 0, 3], ["[on CPU]", 1, 0], ["all", 1, 3], ["main", 0, 3], ["main", 1, 0]]
