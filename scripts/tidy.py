#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs clang-tidy over every source of a build, and skips those that it has passed before.

    scripts/tidy.py BUILD_DIR [PATH_PART...]      only files whose path contains one of the parts

A file counts as passed if the same clang-tidy, under the same configuration and compile command,
found nothing in the same contents of the file and of every header it includes. Passes are kept as
empty files named by that hash, in BERTH_TIDY_CACHE (default: ~/.cache/berth-tidy), so a fresh clone
with the same contents is quick too. Failures are never kept.
"""

import concurrent.futures
import functools
import hashlib
import json
import os
import pathlib
import shlex
import subprocess
import sys
import time

TIDY = "clang-tidy-19"
ROOT = pathlib.Path(__file__).resolve().parent.parent
ROOMS = ("include", "src", "tools", "examples", "benches", "tests")
KEEP_SECONDS = 30 * 24 * 3600


def cache_folder():
    default = pathlib.Path.home() / ".cache" / "berth-tidy"
    return pathlib.Path(os.environ.get("BERTH_TIDY_CACHE", default))


@functools.lru_cache(maxsize=None)
def digest(path):
    try:
        return hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()
    except OSError:
        return "missing"


@functools.lru_cache(maxsize=None)
def configurations(folder):
    """The .clang-tidy files that hold for a folder, innermost first."""
    found = []
    for parent in (folder, *folder.parents):
        if (parent / ".clang-tidy").is_file():
            found.append(digest(str(parent / ".clang-tidy")))
        if parent == ROOT:
            break
    return tuple(found)


def ninja_dependencies(build):
    """Object file -> included files, as ninja recorded them at the last build."""
    listing = subprocess.run(
        ["ninja", "-C", str(build), "-t", "deps"], capture_output=True, text=True, check=False
    ).stdout
    dependencies, current = {}, None
    for line in listing.splitlines():
        if line.startswith("    "):
            current.append(line.strip())
        elif ": #deps" in line:
            current = [] if "(VALID)" in line else None
            if current is not None:
                dependencies[line.split(": #deps")[0]] = current
            else:
                current = []
    return dependencies


def compiler_dependencies(arguments, folder):
    """The same from the compiler, for a file that has not been built."""
    command = [a for a in arguments if a not in ("-c",)]
    if "-o" in command:
        at = command.index("-o")
        del command[at : at + 2]
    result = subprocess.run(
        command + ["-M"], cwd=folder, capture_output=True, text=True, check=False
    )
    if result.returncode != 0:
        return None
    return result.stdout.replace("\\\n", " ").split(": ", 1)[-1].split()


def portable(path, folder):
    """A path that is the same in every clone, where it lies inside this one."""
    absolute = pathlib.Path(os.path.normpath(folder / path))
    return str(absolute.relative_to(ROOT)) if absolute.is_relative_to(ROOT) else str(absolute)


def key_of(entry, dependencies, version, build):
    folder = pathlib.Path(entry["directory"])
    arguments = shlex.split(entry["command"])
    included = dependencies.get(entry.get("output", ""))
    if included is None:
        included = compiler_dependencies(arguments, folder)
    if included is None:
        return None  # does not compile: clang-tidy says why
    command = entry["command"].replace(str(build), "BUILD").replace(str(ROOT), "ROOT")
    text = [version, command, *configurations(pathlib.Path(entry["file"]).parent)]
    for path in sorted(set(included) | {entry["file"]}):
        # Written by CMake with the paths of this clone in it.
        if path.endswith("generated/berth_build_paths.hpp"):
            path = str(ROOT / "cmake" / "berth_build_paths.hpp.in")
        name = portable(path, folder)
        text.append(f"{name} {digest(str(folder / path))}")
    return hashlib.sha256("\n".join(text).encode()).hexdigest()


def run_tidy(entry, build):
    result = subprocess.run(
        [TIDY, "--quiet", "-p", str(build), entry["file"]],
        capture_output=True,
        text=True,
        check=False,
    )
    return result.returncode, result.stdout + ("" if result.returncode == 0 else result.stderr)


def main():
    if len(sys.argv) < 2:
        sys.exit("usage: scripts/tidy.py BUILD_DIR [PATH_PART...]")
    build = pathlib.Path(sys.argv[1]).resolve()
    parts = sys.argv[2:]
    database = build / "compile_commands.json"
    if not database.is_file():
        sys.exit(f"lint: there is no {database}: build first")
    entries = {}
    for entry in json.loads(database.read_text()):
        file = pathlib.Path(entry["file"])
        if not file.is_relative_to(ROOT) or file.relative_to(ROOT).parts[0] not in ROOMS:
            continue
        if not parts or any(part in entry["file"] for part in parts):
            entries.setdefault(entry["file"], entry)

    version = subprocess.run([TIDY, "--version"], capture_output=True, text=True, check=True).stdout
    cache = cache_folder()
    cache.mkdir(parents=True, exist_ok=True)
    for stamp in cache.iterdir():
        if time.time() - stamp.stat().st_mtime > KEEP_SECONDS:
            stamp.unlink(missing_ok=True)

    dependencies = ninja_dependencies(build)
    pending = []
    for entry in entries.values():
        key = key_of(entry, dependencies, version, build)
        if key is not None and (cache / key).exists():
            (cache / key).touch()
        else:
            pending.append((entry, key))

    failed = 0
    with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count() or 2) as pool:
        jobs = {pool.submit(run_tidy, entry, build): (entry, key) for entry, key in pending}
        for job in concurrent.futures.as_completed(jobs):
            entry, key = jobs[job]
            status, output = job.result()
            if status == 0:
                if key is not None:
                    (cache / key).touch()
            else:
                failed += 1
                print(output, flush=True)
    checked = f"{len(pending)} checked, {len(entries) - len(pending)} unchanged"
    if failed:
        sys.exit(f"lint: clang-tidy refuses {failed} of {len(entries)} files ({checked})")
    print(f"lint: {len(entries)} files are clean ({checked})")


if __name__ == "__main__":
    main()
