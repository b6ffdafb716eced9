# SPDX-License-Identifier: BSD-2-Clause
"""What tests/bench/run prints and writes."""

import json
import os
import statistics


def median(samples):
    return statistics.median(sample.value for sample in samples)


def cost(samples):
    """The median; None if a sample has none."""
    costs = [sample.cost for sample in samples]
    return None if None in costs else statistics.median(costs)


def ratio(figure, samples, target):
    """Of the medians of the target's two columns; None where one was not measured."""
    if target.column not in samples or (target.other and target.other not in samples):
        return None
    below = median(samples[target.other]) if target.other else 1.0
    return median(samples[target.column]) / below if below else None


def is_met(figure, samples, target):
    found = ratio(figure, samples, target)
    return found is None or (found >= target.factor if figure.more_is_better else found <= target.factor)


def lines(figure, samples):
    """The figure's lines of the table: the medians, with the lowest and highest sample, and then each target."""
    yield f"{figure.name} [{figure.unit}, {figure.place}]"
    for column, found in samples.items():
        values = [sample.value for sample in found]
        spent = f"{cost(found):12.3f} {figure.cost}" if figure.cost and cost(found) is not None else ""
        spread = f"({min(values):.2f} to {max(values):.2f})"
        yield f"    {column:20}{median(found):10.2f}   {spread:24}{spent}".rstrip()
    for target in figure.targets:
        found = ratio(figure, samples, target)
        if found is None:
            continue
        sign = ">=" if figure.more_is_better else "<="
        verdict = "met" if is_met(figure, samples, target) else "missed"
        what = f"{target.column} / {target.other}" if target.other else target.column
        yield f"    {what}: {found:.2f}, to be {sign} {target.factor}: {verdict}"


def guarded(path, flags):
    """An opener for open(): follows no symbolic link that another user (other than root) has put there."""
    own = os.path.islink(path) and os.lstat(path).st_uid in (0, os.geteuid())
    return os.open(path, flags if own else flags | os.O_NOFOLLOW, 0o666)


def write_json(path, measured):
    """measured: pairs of a figure and its samples by column."""
    figures = [{
        "name": figure.name, "place": figure.place, "unit": figure.unit, "more_is_better": figure.more_is_better,
        "samples": {column: [sample.value for sample in found] for column, found in samples.items()},
        "medians": {column: median(found) for column, found in samples.items()},
        "cost_unit": figure.cost,
        "costs": {column: cost(found) for column, found in samples.items()},
        "targets": [{"column": each.column, "other": each.other, "factor": each.factor,
                     "ratio": ratio(figure, samples, each), "met": is_met(figure, samples, each)}
                    for each in figure.targets],
    } for figure, samples in measured]
    with open(path, "w", encoding="utf-8", opener=guarded) as file:
        json.dump({"figures": figures}, file, indent=2)
        file.write("\n")
