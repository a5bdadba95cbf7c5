#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Exact optima of small windows, proven by CP-SAT: the answers that the planner's tests rely on.

Makes random windows of 9 to 14 tensors and writes them with their optima, or solves one window file.
The optimum is the least sum of page extents in program order such that no task writes a tensor on a
page of which it only reads another; any number of pages. It shares nothing with the planner.

Needs `pip install ortools` (9.15 made the committed answers):
  scripts/plan_reference_cpsat.py --out tests/data/small-windows-cpsat.json
  scripts/plan_reference_cpsat.py --window window.json
"""

import argparse
import json
import random
import sys

from ortools.sat.python import cp_model


def lifetimes(window):
    """First and last task of each used tensor, by id."""
    lives = {}
    for position, task in enumerate(window["tasks"]):
        for tensor in task["reads"] + task["writes"]:
            first, _ = lives.get(tensor, (position, position))
            lives[tensor] = (first, position)
    return lives


def conflicts(window):
    """Pairs of tensors that some task writes and only reads."""
    pairs = set()
    for task in window["tasks"]:
        for written in task["writes"]:
            for read in set(task["reads"]) - set(task["writes"]):
                pairs.add((min(written, read), max(written, read)))
    return pairs


def solve(window, seconds, workers):
    """The proven optimum in bytes; None if the time was over."""
    alignment = window["alignment"]
    lives = lifetimes(window)
    ids = [tensor["id"] for tensor in window["tensors"] if tensor["id"] in lives]
    size = {t["id"]: -(-t["bytes"] // alignment) for t in window["tensors"]}
    apart = conflicts(window)
    total = sum(size[i] for i in ids)
    model = cp_model.CpModel()
    # on[i, j]: tensor j lies on the page whose first tensor is i.
    on = {(i, j): model.new_bool_var(f"on{i},{j}") for a, i in enumerate(ids) for j in ids[a:]}
    offset = {j: model.new_int_var(0, total - size[j], f"offset{j}") for j in ids}
    extent = {i: model.new_int_var(0, total, f"extent{i}") for i in ids}
    for b, j in enumerate(ids):
        model.add_exactly_one(on[i, j] for i in ids[: b + 1])
        for i in ids[: b + 1]:
            model.add_implication(on[i, j], on[i, i])
            model.add(extent[i] >= offset[j] + size[j]).only_enforce_if(on[i, j])
    for b, j in enumerate(ids):
        for a, i in enumerate(ids[:b]):
            pages = ids[: a + 1]
            if (i, j) in apart:
                for page in pages:
                    model.add_bool_or(~on[page, i], ~on[page, j])
            elif lives[i][0] <= lives[j][1] and lives[j][0] <= lives[i][1]:
                below = model.new_bool_var(f"below{i},{j}")
                for page in pages:
                    both = [on[page, i], on[page, j]]
                    model.add(offset[i] + size[i] <= offset[j]).only_enforce_if(both + [below])
                    model.add(offset[j] + size[j] <= offset[i]).only_enforce_if(both + [~below])
    live = [0] * len(window["tasks"])
    for i in ids:
        for position in range(lives[i][0], lives[i][1] + 1):
            live[position] += size[i]
    model.add(sum(extent.values()) >= max(live))
    model.minimize(sum(extent.values()))
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = seconds
    solver.parameters.num_workers = workers
    status = solver.solve(model)
    return round(solver.objective_value) * alignment if status == cp_model.OPTIMAL else None


def random_window(rng, number):
    """A window of 9 to 14 tensors: chains with branches, updates in place, mixed sizes."""
    count = rng.randint(9, 14)
    alignment = rng.choice([1, 4, 256])
    largest = rng.choice([4, 16, 100])
    tensors = [{"id": i, "bytes": alignment * max(1, round(largest ** rng.random()))}
               for i in range(count)]
    tasks = []
    born = rng.randint(1, 3)
    tasks.append({"reads": [], "writes": list(range(born))})
    reach = rng.choice([2, 4, 8])
    while born < count:
        recent = list(range(max(0, born - reach), born))
        reads = rng.sample(recent, min(len(recent), rng.choice([1, 1, 2, 2, 3])))
        writes = list(range(born, min(count, born + rng.choice([1, 1, 1, 2]))))
        if rng.random() < 0.2:  # an update beside it
            writes.append(rng.choice(reads))
        born = max(writes[:-1] + [writes[-1] if writes[-1] >= born else born]) + 1
        tasks.append({"reads": sorted(reads), "writes": sorted(writes)})
    for _ in range(rng.randint(0, 3)):  # late readers
        tasks.append({"reads": sorted(rng.sample(range(count), 2)), "writes": []})
    return {"name": f"random_{number}", "alignment": alignment, "tensors": tensors, "tasks": tasks}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--window", help="solve this window and print its optimum")
    parser.add_argument("--out", help="write random windows with their optima to this file")
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=120, help="limit per window")
    parser.add_argument("--workers", type=int, default=2)
    arguments = parser.parse_args()
    if arguments.window:
        with open(arguments.window, encoding="utf-8") as file:
            optimum = solve(json.load(file), arguments.seconds, arguments.workers)
        print("not proven in time" if optimum is None else optimum)
        return 0 if optimum is not None else 1
    if not arguments.out:
        parser.error("one of --window and --out is needed")
    rng = random.Random(arguments.seed)
    solved = []
    number = 0
    while len(solved) < arguments.count:
        window = random_window(rng, number)
        number += 1
        window["optimum"] = solve(window, arguments.seconds, arguments.workers)
        if window["optimum"] is None:
            print(f"{window['name']}: not proven, left out", file=sys.stderr)
            continue
        solved.append(window)
        if len(solved) % 50 == 0:
            print(f"{len(solved)} windows", file=sys.stderr)
    with open(arguments.out, "w", encoding="utf-8") as file:
        file.write("[\n")
        lines = (json.dumps(window, separators=(",", ":")) for window in solved)
        file.write(",\n".join(lines) + "\n]\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
