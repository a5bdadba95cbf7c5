#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`berth plan` from outside: what it writes is judged by rules written again here, and every bad
input ends in one sentence and the exit code that the documentation promises."""

import csv
import json
import os
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree

BERTH = os.path.join(os.environ["BERTH_BINARY_DIR"], "berth")
DATA = os.path.join(os.environ["BERTH_SOURCE_DIR"], "tests", "data")


def trace(name):
    return os.path.join(DATA, "traces", name + ".json")


def run(*arguments):
    return subprocess.run([BERTH, "plan", *arguments], capture_output=True, text=True, timeout=120,
                          check=False)


def plan_of(*arguments):
    done = run(*arguments, "--json", "-")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def problems_of(window, plan, exclusion=True):
    """What is wrong with a plan of a window; empty if nothing is."""
    found = []
    size = {t["id"]: -(-t["bytes"] // window["alignment"]) * window["alignment"]
            for t in window["tensors"]}
    if sorted(plan["order"]) != list(range(len(window["tasks"]))):
        return ["the order is no permutation"]
    lives, last_write, last_read = {}, {}, {}
    position = {task: at for at, task in enumerate(plan["order"])}
    for number, task in enumerate(window["tasks"]):
        at = position[number]
        for tensor in task["reads"] + task["writes"]:
            first, last = lives.get(tensor, (at, at))
            lives[tensor] = (min(first, at), max(last, at))
            if at < last_write.get(tensor, at):
                found.append(f"task {number} runs before an earlier writer of {tensor}")
        for tensor in task["writes"]:
            if at < last_read.get(tensor, at):
                found.append(f"task {number} runs before an earlier reader of {tensor}")
        for tensor in task["reads"]:
            last_read[tensor] = max(at, last_read.get(tensor, at))
        for tensor in task["writes"]:
            last_write[tensor] = at
    place = {p["id"]: (p["page"], p["offset"]) for p in plan["placement"]}
    if len(place) != len(plan["placement"]) or set(place) != set(lives):
        return found + ["not every used tensor is placed exactly once"]
    for tensor, (page, offset) in place.items():
        if offset % window["alignment"] or offset + size[tensor] > plan["pages"][page]["bytes"]:
            found.append(f"tensor {tensor} is misaligned or off its page")
    for a, (page_a, offset_a) in place.items():
        for b, (page_b, offset_b) in place.items():
            if a < b and page_a == page_b and lives[a][0] <= lives[b][1] \
                    and lives[b][0] <= lives[a][1] \
                    and offset_a < offset_b + size[b] and offset_b < offset_a + size[a]:
                found.append(f"tensors {a} and {b} overlap")
    for number, task in enumerate(window["tasks"]):
        written = {place[t][0] for t in task["writes"]}
        read = {place[t][0] for t in set(task["reads"]) - set(task["writes"])}
        if exclusion and written & read:
            found.append(f"task {number} reads and writes page {written & read}")
    live = [0] * len(window["tasks"])
    for tensor, (first, last) in lives.items():
        for at in range(first, last + 1):
            live[at] += size[tensor]
    if plan["lower_bound"] != max(live):
        found.append("the lower bound is wrong")
    if plan["peak"] != sum(page["bytes"] for page in plan["pages"]):
        found.append("the peak is wrong")
    if abs(plan["ratio"] - plan["peak"] / plan["lower_bound"]) > 1e-9:
        found.append("the ratio is wrong")
    barriers, read, written = 0, set(), set()
    for number in plan["order"]:
        task = window["tasks"][number]
        writes = {place[t][0] for t in task["writes"]}
        reads = {place[t][0] for t in set(task["reads"]) - set(task["writes"])}
        if written & (writes | reads) or read & writes:
            barriers, read, written = barriers + 1, set(), set()
        read |= reads
        written |= writes
    if plan["barriers"] != barriers:
        found.append("the number of barriers is wrong")
    return found


class Plans(unittest.TestCase):
    def judge(self, name, *arguments, exclusion=True):
        with open(trace(name), encoding="utf-8") as file:
            window = json.load(file)
        plan = plan_of(trace(name), *arguments)
        self.assertEqual(problems_of(window, plan, exclusion), [])
        self.assertEqual(plan["name"], name)
        self.assertEqual(plan["verdict"], "right")
        return plan

    def test_every_effort_and_mode_is_right(self):
        for arguments in (["--effort", "fast"], ["--effort", "good"],
                          ["--effort", "best", "--time", "100"], ["--order", "free"],
                          ["--mode", "most-overlap"], ["--page-limit", "6000000"]):
            self.judge("inception_v3", *arguments)
        self.judge("transformer_train_inplace", "--order", "free")
        self.judge("unet", "--no-exclusion", exclusion=False)

    def test_the_judge_sees_wrong_plans(self):
        with open(trace("unet"), encoding="utf-8") as file:
            window = json.load(file)
        plan = plan_of(trace("unet"))
        for change in (lambda p: p["placement"].pop(), lambda p: p["order"].reverse(),
                       lambda p: p.update(peak=1), lambda p: p.update(barriers=0),
                       lambda p: [q.update(page=0, offset=0) for q in p["placement"]]):
            wrong = json.loads(json.dumps(plan))
            change(wrong)
            self.assertNotEqual(problems_of(window, wrong), [])

    def test_extra_is_counted_from_max_live(self):
        plan = self.judge("inception_v3", "--mode", "most-overlap", "--extra", "25")
        self.assertLessEqual(plan["peak"], 1.25 * plan["lower_bound"])
        least = self.judge("inception_v3", "--order", "level")
        self.assertLessEqual(plan["barriers"], least["barriers"])

    def test_free_order_needs_no_more_than_program_order(self):
        for name in ("dag_few_200", "ppocr-v4-det-736x1280"):
            free = plan_of(trace(name), "--order", "free")
            self.assertLess(free["peak"], 0.9 * plan_of(trace(name))["peak"])

    def test_prints_what_it_promises(self):
        done = run(trace("unet"))
        self.assertEqual(done.returncode, 0)
        for word in ("tensors", "tasks", "lower bound", "peak", "ratio", "pages", "barriers",
                     "time", "verdict"):
            self.assertIn("\n" + word, done.stdout)


class Files(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name, text=None):
        path = os.path.join(self.folder.name, name)
        if text is not None:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        return path

    def test_csv_answers_with_addresses(self):
        source = os.path.join(DATA, "minimalloc", "input.12.csv")
        out = self.path("out.csv")
        self.assertEqual(run(source, "--capacity", "12", "--csv", out).returncode, 0)
        with open(out, encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual([row["id"] for row in rows], ["b1", "b2", "b3", "b4", "b5"])
        for a in rows:
            self.assertLessEqual(int(a["offset"]) + int(a["size"]), 12)
            for b in rows:
                if a["id"] < b["id"] and int(a["lower"]) < int(b["upper"]) \
                        and int(b["lower"]) < int(a["upper"]):
                    self.assertTrue(int(a["offset"]) + int(a["size"]) <= int(b["offset"])
                                    or int(b["offset"]) + int(b["size"]) <= int(a["offset"]))

    def test_window_csv_can_be_planned_again(self):
        out = self.path("out.csv")
        self.assertEqual(run(trace("unet"), "--csv", out).returncode, 0)
        self.assertEqual(run(out).returncode, 0)

    def test_svg_is_xml_with_a_box_per_tensor(self):
        out = self.path("out.svg")
        self.assertEqual(run(trace("unet"), "--svg", out).returncode, 0)
        root = xml.etree.ElementTree.parse(out).getroot()
        boxes = [r for r in root.iter("{http://www.w3.org/2000/svg}rect") if len(r)]
        self.assertEqual(len(boxes), 51)

    def test_an_output_that_cannot_be_written_is_a_failure(self):
        done = run(trace("unet"), "--json", self.path("no/such/folder.json"))
        self.assertEqual(done.returncode, 1)
        self.assertEqual(len(done.stderr.strip().splitlines()), 1)

    def refused(self, code, *arguments):
        done = run(*arguments)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertNotIn("terminate", done.stderr)
        self.assertEqual(done.stdout, "")
        return done.stderr

    def test_bad_input_is_one_sentence_and_exit_code_2(self):
        window = '{"tensors": [{"id": 0, "bytes": %s}], "tasks": [{"reads": [], "writes": [%s]}]}'
        for text in ("", "{", "[]", "nothing", window % ("-1", "0"), window % ("1.5", "0"),
                     window % ("99999999999999999999", "0"), window % ("4", "7"),
                     "id,lower,upper,size\n1,2,3\n", "id,lower,upper,size\n1,3,2,4\n"):
            sentence = self.refused(2, self.path("input", text))
            self.assertEqual(len(sentence.strip().splitlines()), 1, sentence)
        self.refused(2, self.path("missing"))
        self.refused(2, self.folder.name)
        self.assertIn("page", self.refused(2, trace("unet"), "--page-limit", "1000"))
        for arguments in (["--effort", "some"], ["--time", "0"], ["--extra", "-1"],
                          ["--page-limit", "x"], ["--capacity", "0"], ["--bogus"]):
            self.refused(2, trace("unet"), *arguments)

    def test_what_cannot_fit_is_told_from_what_was_not_found(self):
        self.assertIn("budget", self.refused(3, trace("unet"), "--capacity", "33554431"))
        self.refused(4, os.path.join(DATA, "minimalloc", "A.1048576.csv"), "--capacity", "1048576",
                     "--effort", "fast")


if __name__ == "__main__":
    unittest.main()
