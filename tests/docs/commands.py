#!/usr/bin/env python3
"""Runs the commands that pages show and compares what they print.

usage: commands.py [--write] PROGRAM SOURCE PAGE.md...

A block of ```console holds commands after "$ " ("> " continues) and below each its output, with
standard error. "..." matches any text in a line, or any lines if alone. A block whose info string
names a file, as ```python mine.py, is that file. The blocks of a page share a temporary folder, in
which `fuzz` is the project's; "numpy" after "console" requires NumPy at /usr/bin/python3. --write
updates the page's output where it differs.
"""

import os
import re
import subprocess
import sys
import tempfile

LIMIT = 300  # seconds for one command


def blocks(text):
    """The fenced blocks of a page: line of the fence, info string, lines."""
    found, fence, start, lines = [], None, 0, []
    for number, line in enumerate(text.splitlines(), 1):
        if fence is None and line.startswith("```"):
            fence, start, lines = line[3:].strip(), number, []
        elif fence is not None and line.strip() == "```":
            found.append((start, fence, lines))
            fence = None
        elif fence is not None:
            lines.append(line)
    if fence is not None:
        raise ValueError(f"line {start}: a block that does not end")
    return found


def commands(lines):
    """The commands of a block: text of the command, expected lines."""
    found = []
    for line in lines:
        if line.startswith("$ "):
            found.append([line[2:], []])
        elif line.startswith("> ") and found and not found[-1][1]:
            found[-1][0] += "\n" + line[2:]
        elif found:
            found[-1][1].append(line)
        else:
            raise ValueError("a console block begins with '$ '")
    return found


def matches(wanted, printed):
    """Whether `printed` matches `wanted`, in which "..." matches anything."""
    if not wanted:
        return not printed
    if wanted[0] == "...":
        return any(matches(wanted[1:], printed[n:]) for n in range(len(printed) + 1))
    if not printed:
        return False
    pattern = ".*".join(re.escape(part) for part in wanted[0].split("..."))
    return re.fullmatch(pattern, printed[0]) is not None and matches(wanted[1:], printed[1:])


def has_numpy():
    done = subprocess.run(["/usr/bin/python3", "-c", "import numpy"], stderr=subprocess.DEVNULL,
                          check=False)
    return done.returncode == 0


class Shell:
    """Runs commands in sequence in one folder; `$?` is the last one's."""

    def __init__(self, folder, program, source):
        tools, self.home = os.path.join(folder, ".tools"), os.path.join(folder, "page")
        os.mkdir(tools)
        os.mkdir(self.home)
        os.symlink(os.path.abspath(program), os.path.join(tools, "touchstone"))
        os.symlink(os.path.abspath(os.path.join(source, "fuzz")), os.path.join(self.home, "fuzz"))
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith("TOUCHSTONE_")}
        self.environment.update(
            PATH=tools + ":" + os.environ["PATH"], HOME=self.home, NO_COLOR="1",
            LC_ALL="C.UTF-8", TOUCHSTONE_CACHE=os.path.join(folder, "kernels"))
        self.status = 0

    def run(self, command):
        """A command's output lines."""
        script = f"exec 2>&1\n(exit {self.status})\n{command}\n"
        done = subprocess.run(["bash", "-c", script], cwd=self.home, env=self.environment,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, timeout=LIMIT,
                              check=False)
        self.status = done.returncode
        return done.stdout.decode("utf-8", "replace").splitlines()


def run_page(path, program, source):
    """The number of commands run, the mistakes, and the page with the actual output."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    ran, wrong, page, done = 0, [], [], 0
    with tempfile.TemporaryDirectory() as folder:
        shell = Shell(folder, program, source)
        for number, info, lines in blocks(text):
            words = info.split()
            if len(words) == 2 and "." in words[1]:
                with open(os.path.join(shell.home, words[1]), "w", encoding="utf-8") as file:
                    file.write("\n".join(lines) + "\n")
            if words[:1] != ["console"]:
                continue
            if "numpy" in words and not has_numpy():
                print(f"{path}:{number}: left out, no NumPy")
                continue
            page += text.splitlines()[done:number]
            done = number + len(lines)
            for command, wanted in commands(lines):
                printed, ran = shell.run(command), ran + 1
                page.append("$ " + command.replace("\n", "\n> "))
                page += wanted if matches(wanted, printed) else printed
                if not matches(wanted, printed):
                    wrong.append(f"{path}:{number}: $ {command}\nprints\n" + "\n".join(printed) +
                                 "\nbut the page says\n" + "\n".join(wanted) + "\n")
    return ran, wrong, "\n".join(page + text.splitlines()[done:]) + "\n"


def main():
    words = sys.argv[1:]
    write = words[:1] == ["--write"]
    program, source, *pages = words[1:] if write else words
    failed = False
    for path in pages:
        ran, wrong, page = run_page(path, program, source)
        print(f"{os.path.basename(path)}: {ran} commands, {len(wrong)} print something else")
        if write:
            with open(path, "w", encoding="utf-8") as file:
                file.write(page)
            continue
        failed = failed or bool(wrong)
        print("\n".join(wrong), end="")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
