#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""analyze_page.py CASE [FOLDER]: the page of `urxe analyze --html`, in a browser.

stories: each capture of FOLDER that has a story: the page shows the numbers that the JSON report has.
use: sorting, zooming, choosing connections and directions, hiding marks, in light and dark, wide and narrow.
large: 200,000 packets of 40 connections. How long the page takes to open is printed, not asserted.
hostile: a name that is markup stays a name.
output: what exists is left alone; what cannot be written is an error, and leaves nothing behind.
"""

import contextlib
import glob
import json
import os
import stat
import subprocess
import sys
import tempfile

import browser
import harness
from roce_capture import Capture, Connection

# The bytes of a canvas that are not the most frequent colour: whether something was drawn.
DRAWN = """((id) => {
  const canvas = document.getElementById(id);
  const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d", {willReadFrequently: true});
  copy.drawImage(canvas, 0, 0);
  const data = new Uint32Array(copy.getImageData(0, 0, canvas.width, canvas.height).data.buffer);
  const counts = new Map();
  for (const pixel of data) counts.set(pixel, (counts.get(pixel) || 0) + 1);
  return data.length === 0 ? 0 : data.length - Math.max(...counts.values());
})"""
# The text of the cells of a table's column, without the spaces between thousands.
COLUMN = """((id, title) => {
  const table = document.getElementById(id);
  const index = [...table.tHead.rows[0].cells].findIndex((cell) => cell.textContent === title);
  return [...table.tBodies[0].rows].map((row) => row.cells[index].textContent.replaceAll("\\u202f", ""));
})"""
# Whether a table is wider than its place.
SCROLLS = "((id) => { const place = document.getElementById(id).parentElement; return place.scrollWidth > place.clientWidth; })"
# The rectangle of an element: x, y, width, height.
PLACE = """((selector) => {
  const element = document.querySelector(selector);
  element.scrollIntoView({block: "center"});
  const box = element.getBoundingClientRect();
  return [box.x, box.y, box.width, box.height];
})"""
NAMES = {"lost_before": "packets lost before the capture point", "timeouts": "time-outs of the requester",
         "lost_after": "packets lost or overtaken behind the capture point", "rnr_naks": "RNR NAKs", "acks": "ACKs",
         "packets": "request packets", "out_of_order": "packets out of order", "bytes": "bytes of payload",
         "lost_messages": "messages LOST: sent again in vain"}


def analyze(file, *options, largest_file=None):
    """The exit status, and what was written to stdout and stderr. The program may write files of `largest_file` bytes."""
    limit = ["prlimit", f"--fsize={largest_file}"] if largest_file is not None else []
    done = subprocess.run([*limit, harness.binary("urxe"), "analyze", *options, file], capture_output=True, text=True,
                          check=False, env=harness.environment())
    return done.returncode, done.stdout, done.stderr


def make_page(file, page):
    """Returns the JSON report of a capture, whose page goes to the file `page`."""
    status, output, errors = analyze(file, "--json", "--html", page)
    harness.expect(status in (0, 1) and not errors, f"{file}: ends with {status}: {errors}")
    return json.loads(output)


def call(page, function, *arguments):
    return page.evaluate(f"{function}({', '.join(json.dumps(argument) for argument in arguments)})")


def column(page, table, title):
    return call(page, COLUMN, table, title)


def expect_equal(found, wanted, what):
    harness.expect(found == wanted, f"{what}: {found}, not {wanted}")


def text_of(page, element):
    return page.evaluate(f"document.getElementById({json.dumps(element)}).textContent").replace("\u202f", "")


def press(page, selector, count=1):
    for _ in range(count):
        x, y, width, height = call(page, PLACE, selector)
        page.click(x + width / 2, y + height / 2)
    page.settle()


def visible_time(page, chart):
    data = page.evaluate(f"({{...document.getElementById({json.dumps(chart)}).dataset}})")
    return int(data["from"]), int(data["to"])


def expect_drawn(page, *charts):
    for chart in charts:
        drawn = call(page, DRAWN, chart)
        harness.expect(drawn > 100, f"{chart} has {drawn} pixels that differ from the others")


def expect_ready(page, what):
    harness.expect(page.evaluate("document.body.dataset.ready") == "yes", f"{what}: the script did not end")
    expect_equal(page.complaints(), [], f"{what}: the console")


def expect_card(page, name, value):
    found = page.evaluate(f"document.querySelector('#card-{name} b').textContent").replace("\u202f", "")
    expect_equal(found, str(value), name)


def expect_counts(page, direction, what):
    """The table of counts is right for the direction that is shown."""
    shown = dict(zip(column(page, "counts", "What"), column(page, "counts", "Count")))
    for key, name in NAMES.items():
        expect_equal(shown.get(name, "0"), str(direction[key]), f"{what}: {name}")


def losses(connection):
    return sum(d["lost_before"] + d["lost_after"] for d in connection["directions"])


def packets(connection):
    return sum(d["packets"] for d in connection["directions"])


def expect_report(page, report, what):
    """The numbers of the page are those of the JSON report."""
    connections = report["connections"]
    expect_card(page, "frames", report["capture"]["frames"])
    expect_card(page, "roce", report["capture"]["roce"])
    expect_card(page, "icrc", report["capture"]["bad_icrc"])
    expect_card(page, "violations", report["violation_count"])
    expect_card(page, "losses", sum(losses(c) for c in connections))
    expect_card(page, "connections", len(connections))
    verdict = "The traffic is fine."
    if report["capture"]["roce"] == 0:
        verdict = "There are no RoCEv2 packets."
    if report["found_something"]:
        verdict = "Something is wrong with this traffic."
    if report["unread"]:
        verdict = f"The file could not be read to its end: {report['unread']}"
    expect_equal(text_of(page, "verdict"), verdict, what)
    if not connections:
        return
    expect_equal(column(page, "connections", "Packets"), [str(packets(c)) for c in connections], what)
    expect_equal(column(page, "connections", "Lost"), [str(losses(c)) for c in connections], what)
    chosen = connections[int(page.evaluate("document.getElementById('detail').dataset.connection")) - 1]
    most = max(chosen["directions"], key=lambda direction: direction["packets"])
    expect_counts(page, most, what)
    expect_equal(column(page, "messages", "Answered"), [str(m["answered"]) for m in most["messages"].values()], what)
    expect_drawn(page, "psn-chart", "message-chart", "lane-chart")


def stories(arguments):
    captures = [path.removesuffix(".story") + ".pcap"
                for path in glob.glob(os.path.join(arguments[0], "**", "*.story"), recursive=True)]
    harness.expect(len(captures) > 10, f"only {len(captures)} stories in {arguments[0]}")
    with browser.Browser() as page, tempfile.TemporaryDirectory() as folder:
        for number, capture in enumerate(captures):
            path = os.path.join(folder, f"{number}.html")
            report = make_page(capture, path)
            page.open(path)
            expect_ready(page, capture)
            expect_report(page, report, capture)


def make_capture(path, connections, exchanges):
    """Connections with losses, waits for receives, and one that fails. Returns how many packets were lost."""
    lost = 0
    with open(path, "wb") as file:
        capture = Capture(file)
        ends = [Connection(capture, number) for number in range(connections)]
        for i in range(exchanges):
            for number, end in enumerate(ends):
                if i % (50 - number % 3 * 10) == 7 + number:
                    end.lose()
                    lost += 1
                elif i % 500 == 9 + number:
                    end.wait_for_receive()
                else:
                    end.exchange()
        ends[-1].fail()
    return capture.frames, lost


def large(_arguments):
    with browser.Browser() as page, tempfile.TemporaryDirectory() as folder:
        capture, path = os.path.join(folder, "large.pcap"), os.path.join(folder, "large.html")
        frames, lost = make_capture(capture, 40, 2480)
        harness.expect(frames >= 200_000, f"only {frames} packets")
        report = make_page(capture, path)
        expect_equal(report["capture"]["roce"], frames, "packets")
        seconds = page.open(path)
        print(f"{frames} packets, {os.path.getsize(path)} bytes of page, open in {seconds:.2f} s")
        expect_ready(page, capture)
        expect_report(page, report, capture)
        expect_card(page, "losses", lost)
        expect_card(page, "errors", 1)
        notes = text_of(page, "direction-notes")
        harness.expect("Points were merged" in notes and "messages one in" in notes, notes)


def sorting(page):
    numbers = [int(text) for text in column(page, "connections", "No.")]
    expect_equal(numbers, [1, 2, 3], "connections in order")
    lost = [int(text) for text in column(page, "connections", "Lost")]
    harness.expect(lost != sorted(lost, reverse=True), f"{lost} are sorted before the click")
    heading = "#connections th:nth-child(8)"
    press(page, heading + " button")
    expect_equal([int(text) for text in column(page, "connections", "Lost")], sorted(lost, reverse=True), "after a click")
    expect_equal(page.evaluate(f"document.querySelector('{heading}').ariaSort"), "descending", "aria-sort")
    press(page, heading + " button")
    expect_equal([int(text) for text in column(page, "connections", "Lost")], sorted(lost), "after two clicks")


def zooming(page):
    full = visible_time(page, "psn-chart")
    x, y, width, height = call(page, PLACE, "#psn-chart")
    page.drag((x + width * 0.4, y + height / 2), (x + width * 0.6, y + height / 2))
    part = visible_time(page, "psn-chart")
    share = (part[1] - part[0]) / (full[1] - full[0])
    harness.expect(0.1 < share < 0.3, f"a fifth was chosen: {full} became {part}")
    harness.expect(full[0] < part[0] and part[1] < full[1], f"{part} is not in the middle of {full}")
    expect_equal(visible_time(page, "message-chart"), part, "the timeline")
    expect_equal(visible_time(page, "rate-chart"), part, "the throughput")
    expect_drawn(page, "psn-chart")
    page.mouse("mouseWheel", x + width / 2, y + height / 2, deltaX=0, deltaY=-200)
    page.settle()
    wheel = visible_time(page, "psn-chart")
    harness.expect(wheel[1] - wheel[0] < part[1] - part[0], f"the wheel made {part} to {wheel}")
    press(page, "#connection button[aria-label='Later']")
    harness.expect(visible_time(page, "psn-chart")[0] > wheel[0], "it did not move")
    press(page, "#connection button[aria-label='Show all']")
    expect_equal(visible_time(page, "psn-chart"), full, "reset")


def marks(page):
    """Pixels go away when the marks of an event are hidden, and come back."""
    before = call(page, DRAWN, "psn-chart")
    legend = "#connection .legend button[data-event='repeat_sequence_nak']"
    press(page, legend)
    hidden = call(page, DRAWN, "psn-chart")
    harness.expect(hidden < before, f"{hidden} pixels without marks, {before} with them")
    press(page, legend)
    expect_equal(call(page, DRAWN, "psn-chart"), before, "marks that are shown again")


def choosing(page, report):
    for number in (3, 1):
        row = column(page, "connections", "No.").index(str(number)) + 1
        press(page, f"#connections tbody tr:nth-child({row})")
        expect_equal(page.evaluate("document.getElementById('detail').dataset.connection"), str(number), "the chosen connection")
        expect_counts(page, report["connections"][number - 1]["directions"][0], f"connection {number}")
        expect_drawn(page, "psn-chart")


def use(_arguments):
    with tempfile.TemporaryDirectory() as folder:
        capture, path = os.path.join(folder, "some.pcap"), os.path.join(folder, "some.html")
        make_capture(capture, 3, 108)
        report = make_page(capture, path)
        for width, dark in ((1280, False), (600, True)):
            with browser.Browser(width=width, dark=dark) as page:
                page.open(path)
                expect_ready(page, f"{width} pixels")
                expect_report(page, report, capture)
                expect_equal(page.evaluate("document.documentElement.scrollWidth"), width, "the width of the page")
                if width >= 1280:
                    expect_equal(call(page, SCROLLS, "connections"), False, "the connections scroll sideways")
                back = page.evaluate("getComputedStyle(document.body).backgroundColor")
                harness.expect((back != "rgb(255, 255, 255)") == dark, f"dark is {dark}, the background {back}")
                sorting(page)
                choosing(page, report)
                zooming(page)
                marks(page)
                expect_equal(page.complaints(), [], "the console")


def hostile(_arguments):
    name = "<img src=x onerror=document.title='broken'>&quot;'`\udcff.pcap"
    with browser.Browser() as page, tempfile.TemporaryDirectory() as folder:
        capture, path = os.path.join(folder, name), os.path.join(folder, "page.html")
        make_capture(capture, 1, 20)
        make_page(capture, path)
        page.open(path)
        expect_ready(page, "a name that is markup")
        expect_equal(page.evaluate("document.querySelector('h1').textContent"), name.replace("\udcff", "\ufffd"), "the name")
        expect_equal(page.evaluate("document.querySelectorAll('img').length"), 0, "pictures")
        harness.expect("broken" != page.evaluate("document.title"), "the name was run")


def output(_arguments):
    with tempfile.TemporaryDirectory() as folder:
        capture, page = os.path.join(folder, "some.pcap"), os.path.join(folder, "page.html")
        make_capture(capture, 2, 20)
        make_page(capture, page)
        harness.expect(stat.S_IMODE(os.stat(page).st_mode) & 0o111 == 0, "the page is a program")
        before = sorted(os.listdir(folder))
        for place, words in ((page, "exists"), ("/dev/full", "exists"), (folder, "exists"), ("", "is empty"),
                             ("-", "standard output"), (os.path.join(folder, "none", "page.html"), "No such file")):
            status, text, errors = analyze(capture, "--html", place)
            expect_equal(status, 2, place)
            harness.expect(words in errors and "--html" in errors, f"{place}: {errors}")
            expect_equal(text, "", f"{place}: the report")
        status, _, errors = analyze(os.path.join(folder, "none.pcap"), "--html", os.path.join(folder, "none.html"))
        expect_equal((status, sorted(os.listdir(folder))), (2, before), errors)
        # The defect: SIGXFSZ ended the program, and a part of the page stayed.
        status, text, errors = analyze(capture, "--html", os.path.join(folder, "large.html"), largest_file=4096)
        expect_equal((status, sorted(os.listdir(folder))), (125, before), errors)
        harness.expect("File too large" in errors and "RoCEv2" in text, errors)


def full_disk(_arguments):
    """A file system that has no room left: an error, and no part of a page."""
    harness.own_files()
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        capture, disk = os.path.join(folder, "some.pcap"), os.path.join(folder, "disk")
        make_capture(capture, 2, 20)
        os.mkdir(disk)
        harness.mount_tmpfs(disk, "size=16k")
        stack.callback(subprocess.run, ["umount", disk], check=True)
        status, text, errors = analyze(capture, "--html", os.path.join(disk, "page.html"))
        expect_equal(status, 125, errors)
        harness.expect("No space left" in errors and "RoCEv2" in text, errors)
        expect_equal(os.listdir(disk), [], "the disk")


CASES = {f.__name__: f for f in (stories, use, large, hostile, output, full_disk)}


def test():
    CASES[sys.argv[1]](sys.argv[2:])


if __name__ == "__main__":
    if sys.argv[1] not in ("output", "full_disk"):
        harness.need_programs(browser.PROGRAM)
        harness.isolate()
    harness.main(test)
