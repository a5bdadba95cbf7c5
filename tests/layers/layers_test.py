#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The arrows between the rooms, read off the #include lines, and what every source must keep.

Checks this tree, which must keep every rule, and fixtures/bad, which must break each rule where its
files say so ("fault: <rule>") and nowhere else. A new room or public header needs a line in the
tables below.

    layers_test.py [TREE]     only the findings of TREE
"""

import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
BAD = HERE / "fixtures" / "bad"

# Public headers by what they speak of; any other one is a "handles" header.
PUBLIC = {
    "words": {"access", "error", "kernel", "options", "report", "uniforms", "units"},
    "problem": {"plan/problem"},
    "planner": {"plan/planner", "plan/repair"},
}
ALL_PUBLIC = {"words", "problem", "planner", "handles"}
SEEN_BY_RUNTIMES = {"words", "problem", "base", "platform", "interface"}

# Who may include whom, besides itself.
ARROWS = {
    "words": set(),
    "problem": {"words"},
    "planner": {"words", "problem"},
    "handles": {"words", "problem", "planner"},
    "base": {"words"},
    "platform": {"words", "base"},
    "plan": {"words", "problem", "planner", "base"},
    "memory": {"words", "base"},
    "trace": {"words", "problem", "base"},
    "interface": {"words", "problem", "base"},
    "registry": {"words", "problem", "base", "interface", "runtime/*"},
    "runtime/*": SEEN_BY_RUNTIMES,
    "client": ALL_PUBLIC
    | {"base", "platform", "plan", "memory", "trace", "interface", "registry"},
}
# The two headers of the rooms below that the interface of runtimes is made of.
INTERFACE_PARTS = {"plan/program.hpp", "memory/storage.hpp"}

# Code that judges other code shares nothing with it: (files, what they may include in quotes).
INDEPENDENT = [
    (r"src/plan/(check\w*|bound)\.[ch]pp", r"berth/.*|base/.*|plan/check\w*\.hpp"),
    (r"tests/support/wgpu_judge_kernels\.hpp", r"berth/.*|support/wgpu_judge\.hpp"),
    (r"tests/support/wgpu_(judge|recorder|recording|faults)\w*\.[ch]pp", r"support/wgpu_.*"),
]

# Headers of others, and the only folders that may include them.
OUTSIDE = [
    ("webgpu-header", r"webgpu/.*|webgpu\.h|wgpu\.h|dawn/.*", r"src/runtime/wgpu/|tests/"),
    (
        "cuda-header",
        r"(cuda|cuda_\w+|nvrtc|cublas\w*|driver_types|vector_types)\.h",
        r"src/runtime/cuda/|benches/cuda/|tests/",
    ),
    (
        "os-header",
        r"(dlfcn|link|unistd|pthread|windows|poll|fcntl|signal|sched)\.h|sys/.*|linux/.*",
        r"src/platform/|tools/|examples/|benches/|tests/",
    ),
]
BACKEND_NAMES = re.compile(
    r"\b(WGPU\w+|wgpu[A-Z]\w*|CU(device|stream|context|function|module|graph|event)\w*|cuda[A-Z]\w*"
    r"|nvrtc[A-Z]\w*|Vk[A-Z]\w*|MTL[A-Z]\w*)\b"
)
# Home folders and the like: true on one machine only. (Built from parts: this file is read, too.)
MACHINE_PATH = re.compile(r"(?<![\w./$}-])/(?:" + "|".join(["home", "root", "work", "Users"]) + r")/\w")

UPPER = ("tools", "examples", "benches", "tests")
READ = ("include", "src", *UPPER, "scripts", "cmake")
SOURCE = {".hpp", ".cpp", ".h", ".c", ".py", ".sh", ".cmake", ".slang", ".wgsl", ".cu"}
CODE = {".hpp", ".cpp", ".h", ".c"}
LONGEST = 500

RULES = {
    "arrow",
    "from-above",
    "runtime-apart",
    "public-includes",
    "public-conditional",
    "public-backend",
    "webgpu-header",
    "cuda-header",
    "os-header",
    "independent",
    "machine-path",
    "spdx",
    "too-long",
}


def sources(root):
    for top in READ:
        for path in sorted((root / top).rglob("*")):
            name = path.relative_to(root).as_posix()
            if "/fixtures/" in name or "__pycache__" in name or not path.is_file():
                continue
            if path.suffix in SOURCE or path.name == "CMakeLists.txt":
                yield name, path.read_text(encoding="utf-8", errors="replace")


def without_comments(text):
    """Comments gone, lines kept, strings kept ("//" inside of one is no comment)."""
    pattern = r'"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/'

    def replace(found):
        part = found.group(0)
        return part if part.startswith('"') else "\n" * part.count("\n")

    return re.sub(pattern, replace, text, flags=re.DOTALL)


def includes(text):
    """(line number, name, in quotes?) of each #include that is not in a comment."""
    for number, line in enumerate(without_comments(text).splitlines(), 1):
        found = re.match(r'\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)', line)
        if found:
            yield number, found.group(1) or found.group(2), found.group(1) is not None


def room_of_public(name):
    """Room of a public header, named as it is included: berth/..."""
    stem = name.removeprefix("berth/").removesuffix(".hpp").removesuffix(".h")
    return next((room for room, stems in PUBLIC.items() if stem in stems), "handles")


def room_of_internal(name):
    """Room of a file, named from src/ on; None if there is no such room."""
    parts = name.split("/")
    if parts[0] == "runtime":
        if len(parts) > 2:
            return "runtime/" + parts[1]
        return "registry" if parts[1].startswith("registry") else "interface"
    return parts[0] if len(parts) > 1 and parts[0] in ARROWS else None


def room_of(name):
    if name.startswith("include/"):
        return room_of_public(name.removeprefix("include/"))
    return room_of_internal(name.removeprefix("src/"))


def arrows_of(room):
    return ARROWS["runtime/*"] if room.startswith("runtime/") else ARROWS[room]


def check_arrow(name, target):
    """(rule, why) if the file may not include the target (in quotes), else None."""
    if name.split("/")[0] in UPPER:
        runtime = re.match(r"runtime/(\w+)/", target)
        # Tests, and the benches of a runtime, look inside it.
        inside = runtime and name.startswith(("tests/", f"benches/{runtime.group(1)}/"))
        if runtime and not inside:
            return "runtime-apart", "a runtime is reached through the registry"
        return None
    here = room_of(name)
    if here is None:
        return "arrow", "this folder is no room: add it to layers_test.py"
    there = room_of_public(target) if target.startswith("berth/") else room_of_internal(target)
    if there is None:
        return "from-above", "the library includes nothing of tools, examples, benches or tests"
    if there == here or there in arrows_of(here):
        return None
    if there.startswith("runtime/"):
        if "runtime/*" in arrows_of(here):
            return None
        return "runtime-apart", "only the registry names a runtime, and no runtime another one"
    if target in INTERFACE_PARTS and (here == "interface" or here.startswith("runtime/")):
        return None
    return "arrow", f"{here} may not include {there}"


def check_includes(name, text):
    public = name.startswith("include/")
    for number, target, quoted in includes(text):
        where = f"{name}:{number}"
        if public and (
            not target.startswith("berth/") if quoted else re.search(r"[./]", target)
        ):
            yield where, "public-includes", f"a public header includes {target}"
            continue
        if quoted:
            broken = check_arrow(name, target)
            if broken:
                yield where, broken[0], f'"{target}": {broken[1]}'
            for files, allowed in INDEPENDENT:
                if re.fullmatch(files, name):
                    if not re.fullmatch(allowed, target):
                        yield where, "independent", f'"{target}": a judge shares no code'
                    break
        for rule, headers, folders in OUTSIDE:
            if re.fullmatch(headers, target) and not re.match(folders, name):
                yield where, rule, f"<{target}> belongs to {folders.split('|')[0]}"


def check_public(name, text):
    for number, line in enumerate(without_comments(text).splitlines(), 1):
        if re.match(r"\s*#\s*(if|ifdef|ifndef|elif)\b", line):
            yield f"{name}:{number}", "public-conditional", line.strip()
        found = BACKEND_NAMES.search(line)
        if found:
            yield f"{name}:{number}", "public-backend", f"names {found.group(0)}"


def check_text(name, text, longest):
    lines = text.splitlines()
    if not any("SPDX-License-Identifier: Apache-2.0" in line for line in lines[:3]):
        yield name, "spdx", "no SPDX line at the head"
    for number, line in enumerate(lines, 1):
        found = MACHINE_PATH.search(line)
        if found:
            yield f"{name}:{number}", "machine-path", line.strip()
    if len(lines) > longest:
        yield name, "too-long", f"{len(lines)} lines, at most {longest}"


def check_tree(root, longest=LONGEST):
    for name, text in sources(root):
        yield from check_text(name, text, longest)
        if pathlib.PurePath(name).suffix in CODE and name.split("/")[0] in ("include", "src", *UPPER):
            yield from check_includes(name, text)
        if name.startswith("include/"):
            yield from check_public(name, text)


def check_bad_tree():
    """What is wrong with the findings in the bad tree."""
    expected = set()
    for name, text in sources(BAD):
        expected |= {(name, rule) for rule in re.findall(r"fault: ([\w-]+)", text)}
    found = {(where.split(":")[0], rule) for where, rule, _ in check_tree(BAD, longest=20)}
    for name, rule in sorted(expected - found):
        yield f"fixtures/bad/{name} breaks the rule {rule}, which goes unseen"
    for name, rule in sorted(found - expected):
        yield f"fixtures/bad/{name} is said to break the rule {rule}, which it keeps"
    for rule in sorted(RULES ^ {rule for _, rule in expected}):
        yield f"the rule {rule} and the faults in fixtures/bad do not match"


def main():
    tree = pathlib.Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else ROOT
    findings = [f"{where}: {rule}: {why}" for where, rule, why in check_tree(tree)]
    findings += [] if len(sys.argv) > 1 else list(check_bad_tree())
    for finding in findings:
        print(f"layers: {finding}")
    if findings:
        sys.exit(1)
    print(f"layers: {sum(1 for _ in sources(tree))} files keep {len(RULES)} rules")


if __name__ == "__main__":
    main()
