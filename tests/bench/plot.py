# SPDX-License-Identifier: BSD-2-Clause
"""Draws what tests/bench/run measured: for each figure a bar a column, as long as its median, with the range of the samples
and a mark where a target is."""

from xml.sax import saxutils

import report

WIDTH, LABELS, BARS = 960, 300, 460
LINE, HEAD, GAP = 18, 22, 14
COLOURS = {"met": "#2a7f3f", "missed": "#b3402a", "": "#5a7aa0"}


def _text(x, y, text, more=""):
    return f'<text x="{x}" y="{y}" {more}>{saxutils.escape(text)}</text>'


def _verdict(figure, samples, column):
    verdicts = {report.is_met(figure, samples, target) for target in figure.targets
                if target.column == column and report.ratio(figure, samples, target) is not None}
    return "" if not verdicts else "missed" if False in verdicts else "met"


def _bounds(samples, figure, column):
    """What the column's median is compared to, for each of its targets."""
    for target in figure.targets:
        if target.column == column and report.ratio(figure, samples, target) is not None:
            yield target.factor * (report.median(samples[target.other]) if target.other else 1)


def _bar(figure, samples, column, scale, y):
    found = samples[column]
    values = [sample.value for sample in found]
    middle = report.median(found)
    y_line = y + LINE / 2 - 1
    yield _text(LABELS - 8, y + 12, column, 'text-anchor="end"')
    yield (f'<rect x="{LABELS}" y="{y}" width="{middle * scale:.1f}" height="{LINE - 5}" '
           f'fill="{COLOURS[_verdict(figure, samples, column)]}"/>')
    yield (f'<path d="M{LABELS + min(values) * scale:.1f} {y_line}H{LABELS + max(values) * scale:.1f}" '
           'stroke="#000" stroke-width="1"/>')
    for bound in _bounds(samples, figure, column):
        if bound * scale <= BARS:
            yield f'<path d="M{LABELS + bound * scale:.1f} {y - 2}v{LINE - 1}" stroke="#000" stroke-width="2"/>'
    yield _text(LABELS + BARS + 12, y + 12, f"{middle:.2f} {figure.unit}")


def _figure(figure, samples, y):
    yield _text(8, y + 14, f"{figure.name} ({'more' if figure.more_is_better else 'less'} is better)", 'font-weight="bold"')
    y += HEAD
    largest = max((sample.value for found in samples.values() for sample in found), default=0)
    scale = BARS / largest if largest > 0 else 0
    for column in samples:
        yield from _bar(figure, samples, column, scale, y)
        y += LINE


def svg(measured):
    """measured: pairs of a figure and its samples by column."""
    y, lines = GAP, []
    for figure, samples in measured:
        lines += _figure(figure, samples, y)
        y += HEAD + LINE * len(samples) + GAP
    legend = "Bars: medians; green and red: a target is met, or missed; thick marks: targets; thin lines: all samples."
    lines.append(_text(8, y + 12, legend))
    return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{y + 24}" font-family="sans-serif" '
                      'font-size="12">', '<rect width="100%" height="100%" fill="#fff"/>', *lines, "</svg>", ""])


def write(path, measured):
    with open(path, "w", encoding="utf-8", opener=report.guarded) as file:
        file.write(svg(measured))
