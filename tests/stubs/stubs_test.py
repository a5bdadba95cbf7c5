#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The committed list of wgpu-native's stubs is the list that the library has.

wgpu-native exports functions that it does not implement: a call ends the process. stubs.txt lists
them, and stubs_test.cpp proves that the runtime asks for none. This test calls every function that
the library exports with zeros, each in a child process of its own, and looks at what the child says
first: a stub panics with "not implemented" before it looks at its arguments; any other function
returns, complains of its argument, or crashes, and none of these counts. So a function that is not
listed is not proven to be harmless, only not to be a stub.

    stubs_test.py [--write]     --write: replaces stubs.txt by what was found
"""

import ctypes
import os
import pathlib
import re
import resource
import signal
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
LIBRARY = ROOT / ".deps" / "wgpu" / "lib" / "libwgpu_native.so"
LIST = HERE / "stubs.txt"
# 35 stubs of version 29 are in src/unimplemented.rs, five more in src/lib.rs.
MARK = re.compile(rb"panicked at \S+:\n(not implemented|not yet implemented)")
# The hint after a panic's message. What follows is a backtrace that costs a fifth of a second.
END_OF_PANIC = b"\nnote: run with"
HEAD = """\
# SPDX-License-Identifier: Apache-2.0
# Functions of wgpu-native 29 that end the process when called; written by stubs_test.py --write.
"""
# Makes an instance, which opens graphics drivers; it is called by every other test.
NOT_CALLED = {"wgpuCreateInstance"}


def exported(library):
    listing = subprocess.run(
        ["nm", "-D", "--defined-only", str(library)], capture_output=True, text=True, check=True
    ).stdout
    return sorted(set(re.findall(r" T (wgpu\w+)$", listing, re.MULTILINE)))


def first_words(function):
    """What a child process says when it calls the function with zeros, up to the first panic."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.dup2(writer, 1)
        os.dup2(writer, 2)
        signal.alarm(20)
        function(*([ctypes.c_void_p(0)] * 16))
        os._exit(0)
    os.close(writer)
    said = b""
    while END_OF_PANIC not in said and (part := os.read(reader, 65536)):
        said += part
    os.kill(child, signal.SIGKILL)
    os.close(reader)
    os.waitpid(child, 0)
    return said


def stubs_of(library):
    loaded = ctypes.CDLL(str(library))
    found = []
    for name in exported(library):
        if name in NOT_CALLED:
            continue
        function = getattr(loaded, name)
        function.restype = None
        if MARK.search(first_words(function)):
            found.append(name)
    return found


def main():
    if not LIBRARY.is_file():
        sys.exit(f"stubs: {LIBRARY.relative_to(ROOT)} is not there: run 'make setup' first")
    found = stubs_of(LIBRARY)
    if "--write" in sys.argv[1:]:
        LIST.write_text(HEAD + "\n".join(found) + "\n")
    listed = [line for line in LIST.read_text().splitlines() if line and not line.startswith("#")]
    failed = False
    # Known-bad and known-good: without these the scan itself has gone blind.
    for name in ("wgpuInstanceWaitAny", "wgpuBufferSetLabel"):
        if name not in found:
            print(f"stubs: the scan does not find {name}, which is known to be a stub")
            failed = True
    for name in ("wgpuDeviceCreateBuffer", "wgpuQueueSubmit", "wgpuGetVersion"):
        if name in found:
            print(f"stubs: the scan takes {name} for a stub, which it is not")
            failed = True
    for name in sorted(set(found) - set(listed)):
        print(f"stubs: {name} ends the process and is missing in {LIST.relative_to(ROOT)}")
        failed = True
    for name in sorted(set(listed) - set(found)):
        print(f"stubs: {name} is in {LIST.relative_to(ROOT)} but is no stub of this library")
        failed = True
    if failed:
        sys.exit(1)
    print(f"stubs: {len(found)} stubs, as listed")


if __name__ == "__main__":
    # A process reads it once, when it starts to panic; with "1" there is no hint to stop at.
    os.environ["RUST_BACKTRACE"] = "0"
    main()
