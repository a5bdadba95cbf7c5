# SPDX-License-Identifier: Apache-2.0
"""The fuzzer must find each planted bug: a checker that cannot fail is none."""
import os
import pathlib
import re
import subprocess
import sys

BUGS = (
    "exclusion-ignored",
    "lifetime-short",
    "upload-first",
    "wrong-slice-offset",
    "stale-bind-group",
    "streams-not-ordered",
)


def found(program, bug):
    """True if the fuzzer ended with failures, not with a crash or a usage error."""
    run = subprocess.run(
        [program, "--runtime", "reference-strict", "--programs", "100", "--plant", bug],
        capture_output=True,
        text=True,
        check=False,
    )
    last = run.stdout.strip().splitlines()[-1] if run.stdout.strip() else run.stderr
    match = re.fullmatch(r"(\d+) passed, (\d+) failed", last)
    if run.returncode == 1 and match and int(match[2]) > 0:
        return True
    print(f"planted bug {bug}: exit code {run.returncode}, last line: {last}")
    return False


def main():
    program = pathlib.Path(os.environ["BERTH_BINARY_DIR"]) / "fuzz_programs"
    missed = [bug for bug in BUGS if not found(program, bug)]
    print(f"{len(BUGS) - len(missed)} of {len(BUGS)} planted bugs found")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
