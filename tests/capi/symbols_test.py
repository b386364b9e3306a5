"""The library's exports equal the promised symbols and its header's declarations.

usage: symbols_test.py LIBRARY SYMBOLS HEADER; SYMBOLS is a Debian symbols file.
"""

import re
import subprocess
import sys

library, promised_file, header = sys.argv[1:]
lines = subprocess.run(["nm", "-D", "--defined-only", "--with-symbol-versions", library], check=True, text=True,
                       capture_output=True).stdout.splitlines()
exported = {re.sub("@+", "@", line.split()[2]) for line in lines}
with open(promised_file) as file:
    first, *rest = file.read().splitlines()
promised = {line.split()[0] for line in rest if not line.startswith("*")}
with open(header) as file:
    text = re.sub(r"/\*.*?\*/|^#.*?$", "", file.read(), flags=re.S | re.M)
declared = {f"{name}@TOUCHSTONE_0" for name in re.findall(r"TOUCHSTONE_API [^;]*?(\w+)\(", text)}
version = {"TOUCHSTONE_0@TOUCHSTONE_0"}
soname = re.search(r"SONAME\s+(\S+)",
                   subprocess.run(["objdump", "-p", library], check=True, text=True, capture_output=True).stdout)[1]

wrong = []
exported.discard("TOUCHSTONE_0@TOUCHSTONE_0")
exported.discard("TOUCHSTONE_0")  # nm prints the version without a version
for kind, names in (("exported but not promised", exported - promised), ("promised but gone", promised - version - exported),
                    ("declared but not exported", declared - exported), ("exported but not declared", exported - declared)):
    wrong += [f"{kind}: {name}" for name in sorted(names)]
if soname != first.split()[0]:
    wrong.append(f"the library is called {soname}, the promise is of {first.split()[0]}")
if not declared:
    wrong.append("no declarations were found")
print("\n".join(wrong))
sys.exit(bool(wrong))
