#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Installs this build into a temporary folder and uses it from a project outside (fixtures/outside).

The project finds berth through find_package, runs a kernel on the runtime "reference", links the
planner alone, and compiles each public header by itself. Nothing installed may name the checkout or
its build folder. Configure and build take no network and nothing of .deps.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
TEXT = {".hpp", ".h", ".cmake", ".pc", ".md", ""}


def run(*command):
    result = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False)
    if result.returncode != 0:
        print(result.stdout + result.stderr)
        sys.exit(f"install: {' '.join(str(c) for c in command)}: exit code {result.returncode}")
    return result.stdout


def cached(build, name):
    found = re.search(rf"^{name}:\w+=(.*)$", (build / "CMakeCache.txt").read_text(), re.MULTILINE)
    return found.group(1) if found else ""


def expect(found, wanted, what):
    if found != wanted:
        sys.exit(f"install: {what} printed {found!r} instead of {wanted!r}")


def check_no_paths(prefix, build):
    for path in prefix.rglob("*"):
        if path.is_file() and path.suffix in TEXT:
            text = path.read_text(encoding="utf-8", errors="replace")
            for folder in (ROOT, build):
                if str(folder) in text:
                    sys.exit(f"install: {path.relative_to(prefix)} names {folder}")


def write_header_checks(prefix, folder):
    headers = sorted((prefix / "include").rglob("*.hpp"))
    if not headers:
        sys.exit("install: no public header was installed")
    folder.mkdir(parents=True)
    for header in headers:
        name = header.relative_to(prefix / "include").as_posix()
        (folder / (name.replace("/", "_") + ".cpp")).write_text(f'#include "{name}"\n')
    return len(headers)


def main():
    build = pathlib.Path(os.environ.get("BERTH_BINARY_DIR", ROOT / "build"))
    if not (build / "CMakeCache.txt").is_file():
        sys.exit(f"install: {build} is no build of berth: set BERTH_BINARY_DIR")
    with tempfile.TemporaryDirectory() as temporary:
        prefix = pathlib.Path(temporary) / "prefix"
        outside = pathlib.Path(temporary) / "outside"
        run("cmake", "--install", build, "--prefix", prefix)
        check_no_paths(prefix, build)
        for wanted in ("LICENSE", "THIRD_PARTY_NOTICES.md"):
            if not list(prefix.rglob(wanted)):
                sys.exit(f"install: {wanted} is not installed")
        headers = write_header_checks(prefix, outside / "headers")
        sanitize = cached(build, "BERTH_SANITIZE")
        run(
            "cmake",
            *("-S", HERE / "fixtures" / "outside", "-B", outside, "-G", "Ninja"),
            f"-DCMAKE_PREFIX_PATH={prefix}",
            f"-DCMAKE_CXX_COMPILER={cached(build, 'CMAKE_CXX_COMPILER')}",
            f"-DCMAKE_CXX_FLAGS={'-fsanitize=' + sanitize if sanitize else ''}",
        )
        run("cmake", "--build", outside)
        expect(run(outside / "outside").split(), ["2", "4", "6"], "the project outside")
        expect(run(outside / "planner_alone").split(), ["planned"], "the planner alone")
    print(f"install: used from outside; {headers} headers stand alone")


if __name__ == "__main__":
    main()
