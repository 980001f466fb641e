# SPDX-License-Identifier: GPL-2.0-or-later
"""Functions, sandwich, waits, spans, difference, source, SQL: what they show is what the server answers."""

from pages import SECOND

pytest_plugins = ["browsing"]

# Notes where the labels of percentiles begin and end on their canvas.
LABELS = """
window.labels = {};
const draw = CanvasRenderingContext2D.prototype.fillText;
CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
  const wide = this.measureText(text).width;
  const start = x - { left: 0, start: 0, center: wide / 2, right: wide, end: wide }[this.textAlign];
  if (/^p[0-9]+$/.test(text)) labels[text] = [start, start + wide];
  draw.call(this, text, x, y);
};
"""


def cells(view, row=0):
    return view.page.locator("tbody tr:visible").nth(row).locator("td").all_inner_texts()


def test_functions_are_the_numbers_of_the_server(view):
    view.open("view=functions")
    assert cells(view)[:6] == ["5 s", "50.0 %", "5 s", "50.0 %", "1", "sort"]
    assert "10 s in all" in view.page.locator(".tools").inner_text()


def test_functions_are_sorted_by_the_server_and_filtered_here(view, server):
    view.open("view=functions")
    view.page.get_by_role("button", name="Total").click()
    view.settle()
    assert server.asked[-1][1]["sort"] == "total"
    assert cells(view)[5] == "main"
    view.page.get_by_label("Filter functions").fill("^(query|parse)$")
    assert view.page.locator("tbody tr").count() == 2
    assert "2 of" in view.page.locator(".tools").inner_text()


def test_a_function_has_callers_and_callees(view):
    view.open("view=functions")
    view.page.get_by_label("Filter functions").fill("^query$")
    view.page.locator("tbody tr").first.click()
    view.page.get_by_role("button", name="Callers and callees").click()
    view.settle()
    assert (
        "query" in view.page.locator(".function-title").inner_text()
        and "6 s" in view.page.locator(".function-title").inner_text()
    )
    callees = view.page.locator(".flame-scroll:visible").nth(1)
    callees.focus()
    for _ in range(2):
        view.page.keyboard.press("ArrowDown")
    assert "sort" in view.details() and "83.3 %" in view.details()
    callers = view.page.locator(".flame-scroll:visible").nth(0)
    callers.focus()
    for _ in range(2):
        view.page.keyboard.press("ArrowUp")
    assert "handle" in view.details()


def test_a_sandwich_without_a_function_offers_some(view):
    view.open("view=sandwich")
    view.page.get_by_role("button", name="sort").click()
    view.settle()
    assert view.hash()["fn"] == "sort"


def test_rows_are_chosen_by_keys(view):
    view.open("view=waits")
    view.page.locator("tbody tr").first.focus()
    view.page.keyboard.press("ArrowDown")
    view.page.keyboard.press("Enter")
    view.page.locator(".frames").wait_for()
    assert "main" in view.page.locator("aside:visible").inner_text()
    assert cells(view)[:2] == ["6 s", "3"] and cells(view)[6:] == ["shop", "main › idle"]
    view.page.get_by_role("button", name="Who wakes whom").click()
    view.settle()
    assert cells(view)[2:] == ["shop", "take_order › idle", "client", "send"]
    view.page.locator("tbody tr").first.click()
    view.page.get_by_role("heading", name="Woken from").wait_for()


def test_spans_have_percentiles_and_a_waterfall(view):
    view.open("view=spans")
    assert cells(view) == ["GET /report", "40", "20 ms", "80 ms", "95 ms", "100 ms"]
    assert view.page.locator(".fall").count() == 5
    widths = [box["width"] for box in (bar.bounding_box() for bar in view.page.locator(".fall-bar").all())]
    assert widths == sorted(widths, reverse=True) and abs(widths[4] / widths[0] - 0.96) < 0.01
    view.page.locator(".fall-wait").first.click()
    view.page.locator(".frames").wait_for()
    assert "blocked 20 ms" in view.page.locator("aside:visible").inner_text()
    view.page.locator(".fall .link").nth(1).click()
    assert int(view.hash()["from"]) == SECOND
    view.page.get_by_role("button", name="Only this span").click()
    view.settle()
    assert (view.hash()["span"], view.hash()["metric"]) == ("GET+%2Freport", "wall")


def test_labels_of_percentiles_are_not_over_each_other(view, server):
    (kind,) = (answer := server.answers.spans({}))["names"]
    edges = kind["histogram"]["edges"]
    kind["p95"], kind["p99"] = edges[-3], edges[-1]
    server.answers.spans = lambda q: answer
    view.page.add_init_script(LABELS)
    view.open("view=spans")
    labels = sorted(view.page.evaluate("labels").values())
    assert len(labels) == 2 and labels[0][1] < labels[1][0]


def test_one_span_is_singular(view, server):
    (kind,) = (answer := server.answers.spans({}))["names"]
    kind["count"] = 1
    server.answers.spans = lambda q: answer
    view.open("view=spans")
    assert "1 span · median" in view.page.locator(".spans-right h2").first.inner_text()


def test_labels_of_percentiles_are_inside_the_chart(view, server):
    """At its left edge, where the labels of the axis are, and at its right edge."""
    (kind,) = (answer := server.answers.spans({}))["names"]
    kind["p50"], kind["p99"] = kind["histogram"]["edges"][0], kind["histogram"]["edges"][-1]
    server.answers.spans = lambda q: answer
    view.page.add_init_script(LABELS)
    view.open("view=spans")
    chart = view.page.locator(".spans-right .u-over").bounding_box()
    left = chart["x"] - view.page.locator(".spans-right canvas").bounding_box()["x"]
    labels = view.page.evaluate("labels")
    assert labels.keys() == {"p50", "p95", "p99"}
    for start, end in labels.values():
        assert left < start and end < left + chart["width"]


def test_two_ranges_are_compared(view, server):
    view.open(f"from=0&to={4 * SECOND}")
    view.page.keyboard.press("a")
    view.page.locator(".brush").focus()
    view.page.keyboard.press("ArrowRight")
    view.page.keyboard.press("End")
    view.page.get_by_role("button", name="Set B").click()
    view.page.get_by_role("tab", name="Difference").click()
    view.settle()
    (first, parameters), (second, same) = server.asked[-2:]
    assert {first, second} == {"diff", "changes"} and parameters == same
    assert parameters["afrom"] == "0" and int(parameters["ato"]) == 4 * SECOND and int(parameters["bto"]) == 10 * SECOND
    assert [row.inner_text().split("\t")[:2] for row in view.page.locator("tbody tr").all()] == [["+5 s", "+500 %"], ["−1 s", "−33.3 %"]]
    assert cells(view)[6] == "sort"
    view.page.get_by_role("button", name="total", exact=True).click()
    assert (cells(view)[0], cells(view)[1], cells(view)[6]) == ("+4 s", "new", "main")
    view.page.get_by_role("button", name="self", exact=True).click()
    view.page.locator("tbody tr").first.click()
    assert "significant" in view.details() and "< 0.001" in view.details()
    view.page.get_by_role("button", name="per span").click()
    view.settle()
    assert server.asked[-1][1]["normalise"] == "spans"


def test_a_difference_without_a_significant_change_says_so(view, server):
    server.answers.changes = lambda q: dict(unit="ns", self=[], total=[])
    view.open(f"view=diff&afrom=0&ato={2 * SECOND}&bfrom={2 * SECOND}&bto={4 * SECOND}")
    assert view.page.get_by_text("No function's self value changed significantly.").is_visible()


def test_a_difference_that_fails_leaves_nothing_of_the_one_before(view):
    view.allowed.append("status of 400")
    view.open(f"view=diff&afrom=0&ato={2 * SECOND}&bfrom={2 * SECOND}&bto={4 * SECOND}")
    view.page.locator("tbody tr").first.click()
    assert "significant" in view.details()
    view.page.get_by_role("button", name="per span").click()
    view.page.get_by_role("alert").filter(has_text="no span").wait_for()
    assert view.page.locator("tbody tr:visible").count() == 0 and view.details() == ""


def test_a_difference_without_ranges_offers_the_halves(view, server):
    view.open("view=diff")
    view.page.get_by_role("button", name="First half and second half").click()
    view.settle()
    assert server.asked[-1][1]["bfrom"] == str(5 * SECOND)


def test_a_shipped_query_is_loaded_with_its_head_and_run(view, server):
    view.open("view=sql")
    view.page.get_by_label("Query", exact=True).select_option("tables/slow")
    view.page.get_by_text("What is slow?").wait_for()
    view.settle()
    assert view.page.locator("textarea").input_value() == "SELECT 1 AS slow"
    assert "A row per function." in view.page.locator(".about").inner_text()
    view.page.get_by_label("Parameter command").fill("shop")
    view.page.locator("textarea").press("Control+Enter")
    view.settle()
    assert server.asked[-1] == ("sql", dict(sql="SELECT 1 AS slow", parameters=dict(command="shop"), limit=10000))
    assert "2 rows" in view.page.locator(".sql-facts").inner_text()
    assert cells(view)[:2] == ["parse ‹ main", "30"]


def test_a_result_with_a_stack_is_a_flame_graph(view):
    view.open("view=sql")
    view.page.get_by_role("button", name="Run").click()
    view.settle()
    view.page.get_by_role("button", name="Flame graph").click()
    view.page.locator(".flame-scroll:visible").focus()
    for _ in range(4):
        view.page.keyboard.press("ArrowDown")
    assert "sort" in view.details() or "query" in view.details()
    assert "70.0 %" in view.details()


def test_a_result_with_a_time_is_a_chart(view):
    view.open("view=sql")
    view.page.locator("textarea").fill("SELECT * FROM ticks")
    view.page.get_by_role("button", name="Run").click()
    view.settle()
    view.page.get_by_role("button", name="Chart").click()
    assert view.page.locator(".sql-chart canvas").bounding_box()["height"] > 200


def test_an_error_of_sql_is_shown(view):
    view.allowed.append("status of 400")
    view.open("view=sql")
    view.page.locator("textarea").fill("SELECT wrong")
    view.page.get_by_role("button", name="Run").click()
    assert 'syntax error at or near "wrong"' in view.page.get_by_role("alert").inner_text()


def test_an_error_goes_when_another_query_is_chosen(view):
    view.allowed.append("status of 400")
    view.open("view=sql")
    view.page.locator("textarea").fill("SELECT wrong")
    view.page.get_by_role("button", name="Run").click()
    view.page.get_by_role("alert").wait_for()
    view.page.get_by_label("Query", exact=True).select_option("tables/slow")
    view.page.get_by_role("alert").wait_for(state="hidden")
    view.page.get_by_text("What is slow?").wait_for()
    view.page.get_by_role("button", name="Run").click()
    view.settle()
    assert "2 rows" in view.page.locator(".sql-facts").inner_text() and cells(view)[1] == "30"


def test_filters_that_a_query_does_not_use_are_named(view):
    view.open("view=sql&command=shop")
    unused = view.page.locator(".sql-unused")
    assert unused.inner_text() == "Not applied to this query: the chosen process."
    view.page.get_by_label("Query", exact=True).select_option("tables/slow")
    view.settle()
    assert unused.inner_text() == "" and view.page.get_by_label("Parameter command").input_value() == "shop"
    view.open("view=functions")
    view.open(f"view=sql&query=tables/slow&command=shop&from=0&to={SECOND}")
    assert unused.inner_text() == "Not applied to this query: the chosen time range."


def test_source_lines_have_their_cost(view):
    view.open("view=source&fn=main&module=shop")
    assert cells(view, 18)[:4] == ["19 ms", "10.0 %", "38 ms", "19"]
    assert "/src/shop.c" in view.page.locator(".source").inner_text()


def test_a_source_file_that_has_changed_is_marked(view, server):
    source = server.answers.source
    server.answers.source = lambda q: {**source(q), "note": "changed after the recording began: lines may not match"}
    view.open("view=source&fn=main&module=shop")
    assert view.page.locator(".source-note.warn").inner_text() == "/src/shop.c · changed after the recording began: lines may not match"
