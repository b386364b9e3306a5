"""Tests whether the linker takes any of the named sources into touchstone-demo.

usage: demo_reach.py BUILD SOURCE...    BUILD must compile each source to its own object file
"""

import glob
import os
import re
import shlex
import subprocess
import sys
import tempfile


def taken(build):
    """(module, source's name) of every object file that the linker took from an archive."""
    subprocess.run(["cmake", "--build", build, "--target", "touchstone-demo"], check=True, stdout=subprocess.DEVNULL)
    commands = subprocess.run(
        ["ninja", "-C", build, "-t", "commands", "-s", "cli/touchstone-demo"], check=True, text=True, capture_output=True
    ).stdout
    link = [line for line in commands.splitlines() if " -o cli/touchstone-demo " in line][-1]
    with tempfile.TemporaryDirectory() as folder:
        link = link.replace(" -o cli/touchstone-demo ", f" -o {shlex.quote(folder)}/demo -Wl,-Map={shlex.quote(folder)}/map ")
        subprocess.run(link, shell=True, check=True, cwd=build)
        with open(os.path.join(folder, "map")) as file:
            return set(re.findall(r"libtouchstone_(\w+)\.a\((\w+\.cpp)\.o\)", file.read()))


def main(build, *sources):
    reached = taken(build)
    if len(reached) < 100:
        sys.exit(f"the linker's map names {len(reached)} object files only; is it read rightly?")
    wrong = []
    for source in sources:
        objects = glob.glob(os.path.join(glob.escape(build), f"CMakeFiles/touchstone_*.dir/{source}.o"))
        if not objects:
            sys.exit(f"{source} was compiled nowhere; TOUCHSTONE_BEYOND_THE_DEMO in cmake/TouchstoneModule.cmake names it")
        module = re.search(r"touchstone_(\w+)\.dir/", objects[0])[1]
        if (module, os.path.basename(source)) in reached:
            wrong.append(source)
    if wrong:
        sys.exit("TOUCHSTONE_BEYOND_THE_DEMO in cmake/TouchstoneModule.cmake names what the demo needs: " + " ".join(wrong))
    print(f"{len(reached)} sources reached, none of the {len(sources)} that are left out")


if __name__ == "__main__":
    main(*sys.argv[1:])
