"""Manual pages and completions contain every verb and option of the command's help.

usage: reference_test.py PROGRAM
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

PROGRAM = sys.argv.pop(1)


def output(*words, **more):
    return subprocess.run(words, text=True, capture_output=True, check=True, **more).stdout


def options_in(text):
    """The options at line starts below "Options:" in a help text."""
    found = set()
    for line in text.split("Options:\n")[1].splitlines():
        match = re.match(r"  (-[\w-]+)(?:,(-[\w-]+))?", line)
        found |= {name for name in match.groups() if name} if match else set()
    return found


class Reference(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        output(PROGRAM, "reference", cls.folder.name)
        top = output(PROGRAM, "--help")
        cls.verbs = re.findall(r"^  ([a-z-]+) ", top.split("--color")[1], re.M)
        cls.options = {verb: options_in(output(PROGRAM, verb, "--help")) for verb in cls.verbs}
        cls.options[""] = options_in(top)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def text(self, name):
        with open(self.path(name)) as file:
            return file.read()

    def test_the_help_was_understood(self):
        self.assertLess({"check", "simplify", "fuzz"}, set(self.verbs))
        self.assertNotIn("reference", self.verbs)
        self.assertLess({"--op", "--in", "--profile"}, self.options["check"])
        self.assertLess({"--version", "--help", "-h"}, self.options[""])

    def test_manual_pages_hold_every_verb_and_option(self):
        index = self.text("man/man1/touchstone.1")
        pages = sorted(os.listdir(self.path("man/man1")))
        self.assertEqual(pages, sorted(["touchstone.1"] + [f"touchstone-{v}.1" for v in self.verbs]))
        for verb in [""] + self.verbs:
            page = self.text(f"man/man1/touchstone-{verb}.1") if verb else index
            escaped = verb.replace("-", "\\-")
            self.assertIn(f"touchstone\\-{escaped}\\fR(1)" if verb else ".SH VERBS", index)
            for option in self.options[verb]:
                self.assertIn("\\fB%s\\fR" % option.replace("-", "\\-"), page, (verb, option))
            self.assertNotRegex(page, r"(?m)^\.(?!TH|SH|TP|PP|EX|EE|br)")
            for section in ("NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS"):
                self.assertEqual(len(re.findall(f"^\\.SH {section}$", page, re.M)), 1)

    @unittest.skipUnless(shutil.which("groff"), "no groff")
    def test_manual_pages_are_set_without_a_warning(self):
        pages = [self.path("man/man1/" + n) for n in os.listdir(self.path("man/man1"))]
        run = subprocess.run(["groff", "-man", "-ww", "-Tutf8", "-z", *pages], text=True, capture_output=True)
        self.assertEqual((run.returncode, run.stderr), (0, ""))

    def complete(self, *words):
        """The completions that bash offers for the last word."""
        script = (f'source "{self.path("bash-completion/completions/touchstone")}"; COMP_WORDS=("$@"); '
                  'COMP_CWORD=$(($# - 1)); _touchstone; printf "%s\\n" "${COMPREPLY[@]}"')
        return set(output("bash", "-c", script, "bash", "touchstone", *words).split())

    def test_bash_offers_verbs_options_and_choices(self):
        self.assertEqual(self.complete(""), set(self.verbs) | self.options[""])
        self.assertEqual(self.complete("si"), {"simplify"})
        self.assertEqual(self.complete("--color", "ne"), {"never"})
        self.assertEqual(self.complete("--color", "never", "si"), {"simplify"})
        self.assertEqual(self.complete("emit", "--format", "np"), {"npy", "npz"})
        self.assertEqual(self.complete("check", ""), set())
        self.assertEqual(self.complete("check", "--out", ""), set())
        text = self.text("bash-completion/completions/touchstone")
        for verb in self.verbs:  # bash is started for one verb; the others are in the same list
            line = re.search(rf"^    {verb}\) words='(.*)' ;;$", text, re.M)
            self.assertEqual(set(line[1].split()), self.options[verb])
        self.assertEqual(self.complete("check", "-"), self.options["check"])

    def test_zsh_and_fish_know_every_verb_and_option(self):
        zsh = self.text("zsh/vendor-completions/_touchstone")
        fish = self.text("fish/vendor_completions.d/touchstone.fish")
        for verb in self.verbs:
            case = re.search(rf"^    {verb}\)\n(.*?);;\n", zsh, re.M | re.S)[1]
            self.assertEqual(set(re.findall(r"'\*(-[\w-]+)\[", case)), self.options[verb])
            self.assertIn(f"      '{verb}:", zsh)
            self.assertRegex(fish, rf"(?m)^complete -c touchstone -n __fish_use_subcommand -fa {verb} -d '")
            lines = re.findall(rf"^complete -c touchstone -n '__fish_seen_subcommand_from {verb}' (.*)$", fish, re.M)
            names = {("--" if kind == "l" else "-") + name for line in lines
                     for kind, name in re.findall(r"-([ls]) ([\w-]+)", line.split(" -d ")[0])}
            self.assertEqual(names, self.options[verb])

    def test_shells_accept_them(self):
        for shell, words, name in (("bash", ["-n"], "bash-completion/completions/touchstone"),
                                   ("zsh", ["-n"], "zsh/vendor-completions/_touchstone"),
                                   ("fish", ["--no-execute"], "fish/vendor_completions.d/touchstone.fish")):
            if shutil.which(shell):
                output(shell, *words, self.path(name))

    def test_is_the_same_each_time(self):
        with tempfile.TemporaryDirectory() as again:
            output(PROGRAM, "reference", again)
            self.assertEqual(output("diff", "-r", self.folder.name, again), "")


if __name__ == "__main__":
    unittest.main()
