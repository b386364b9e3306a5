#!/usr/bin/env python3
"""Tests that a program contains no name of a mutant.

usage: none_in.py WEAVE PROGRAM TABLE...
"""

import re
import subprocess
import sys

weave, program, *tables = sys.argv[1:]
run = subprocess.run([sys.executable, weave, "--names", "--most-stale", "1000000", *tables],
                     capture_output=True, text=True, check=True)
names = run.stdout.split()
with open(program, "rb") as file:
    # Names are printable: search the program's text alone, which is much shorter.
    data = b"\n".join(re.findall(rb"[ -~]{%d,}" % min(map(len, names), default=1), file.read()))
held = [name for name in names if name.encode() in data]
if not names or held:
    sys.exit(f"{program} holds {held} of {len(names)} mutants")
print(f"{program}: none of {len(names)}")
