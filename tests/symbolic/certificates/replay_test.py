"""`touchstone verify` and a second checker (checker.py) give certificates the same verdict.

usage: replay_test.py PROGRAM SOURCES [--every N] [--seed S] [unittest options]

Both accept certificates of every N-th sample question and of drawn questions. For changed certificates, and for laws
applied to possibly undefined parts, `touchstone verify` accepts none with a flaw by the second checker; both refuse
handmade false ones. TOUCHSTONE_FUZZ_CASES sets the number of drawn questions.
"""

import json
import os
import random
import re
import subprocess
import sys
import unittest

import checker
import drawn
import forged
from notation import NotationError, Trees, Values, is_variable_name, names, text_of
from points import all_points

PROGRAM, SOURCES = sys.argv.pop(1), sys.argv.pop(1)
CASES = int(os.environ.get("TOUCHSTONE_FUZZ_CASES", "0"))


def option(name, default):
    if name not in sys.argv:
        return default
    place = sys.argv.index(name)
    value = int(sys.argv[place + 1])
    del sys.argv[place:place + 2]
    return value


EVERY, SEED, DRAWN = option("--every", 4), option("--seed", 1), CASES or option("--drawn", 300)
POINTS = 400  # per certificate
with open(os.path.join(SOURCES, "docs/rules.md"), encoding="utf-8") as page:
    RULES = checker.read_rules(page.read())


def run(words, lines):
    done = subprocess.run([PROGRAM, *words], input="".join(line + "\n" for line in lines), text=True,
                          capture_output=True, check=False)
    return done.returncode, done.stdout.splitlines()


def verified(lines):
    """`touchstone verify`'s line for each."""
    _, said = run(["verify"], lines)
    said = [line for line in said if re.match(r"right: |wrong: |line \d+: ", line)]  # others go on with a message
    if len(said) != len(lines):
        raise AssertionError(f"{len(lines)} certificates, {len(said)} verdicts: {said[-3:]}")
    return said


def flaw_of(j):
    """The second checker's Flaw, or None."""
    try:
        checker.check(j, RULES, POINTS)
        return None
    except checker.Flaw as flaw:
        return flaw


class Notation(unittest.TestCase):
    def test_values_are_those_of_the_definition(self):
        for text, value in (("7//2", 3), ("-7//2", -4), ("-7%3", 2), ("7%-3", -2), ("tdiv(-7, 2)", -3),
                            ("tmod(-7, 3)", -1), ("tdiv(7, -2)", -3), ("tmod(7, -3)", 1), ("1//(z - z)", None),
                            ("0*(1%z)", None), ("tdiv(1, z)", None), ("tmod(0, z)", None), ("where(z, 1//z, 5)", 5),
                            ("where(1//z, 5, 5)", None), ("z and 1//z", 0), ("1//z and z", 0), ("1//z or 3", 1),
                            ("1//z or z", None), ("1 and 1//z", None), ("not 1//z", None), ("max(1, 1//z)", None),
                            ("not z < 0 and 2", 1), ("-2 - -3*2", 4), ("min(3, 2, 4) == 2", 1), ("True + True", 2),
                            ("2 - 3 - 4", -5), ("60//4%4*2", 6), ("z == 0 or z < 0 and z > 0", 1),
                            ("-(z + 2)*3", -6), ("2**2", NotationError), ("z < 1 < 2", NotationError),
                            ("1 + not z", NotationError), ("1//0", NotationError), ("min()", NotationError),
                            ("2z", NotationError), ("where(1, 2)", NotationError), ("\u0430", NotationError)):
            with self.subTest(text):
                if value is NotationError:
                    self.assertRaises(NotationError, Trees().parse, text)
                else:
                    self.assertEqual(Values([{"z": 0}]).of(Trees().parse(text)), [value])

    def test_a_written_tree_reads_back_as_itself(self):
        drawing, trees = drawn.Drawing(random.Random(SEED)), Trees()
        for _ in range(200):
            tree = trees.parse(drawing.expression({"a": [0, 1], "b": [0, 1]}, 4))
            self.assertIs(trees.parse(text_of(tree)), tree)


class Laws(unittest.TestCase):
    def test_hold_on_small_integers(self):
        self.assertGreater(len(RULES), 100)
        for name, law in RULES.items():
            point, told = checker.check_law(law)
            self.assertIsNone(point, name)
            self.assertGreater(told, 1, name)

    def test_fail_without_a_part_of_their_condition(self):
        for name, (lhs, rhs, when) in RULES.items():
            parts = when.split(" and ") if when and "(" not in when else []
            for i in range(len(parts)):
                point, _ = checker.check_law((lhs, rhs, " and ".join(parts[:i] + parts[i + 1:]) or None))
                self.assertIsNotNone(point, f"{name} without {parts[i]}")


class Certificates(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with open(os.path.join(SOURCES, "tests/symbolic/data/symbolic_cases.jsonl"), encoding="utf-8") as file:
            cls.sample = [json.loads(line) for line in file][::EVERY]
        drawing = drawn.Drawing(random.Random(SEED))
        cls.asked = [drawing.question() for _ in range(DRAWN)]
        cls.answers = {}

    def certified(self, kind, questions):
        """The answers with a certificate, computed once for the tests of this class."""
        if kind not in self.answers:
            _, said = run(["simplify", "--jsonl", "--certify"], map(json.dumps, questions))
            self.assertEqual(len(said), len(questions))
            self.answers[kind] = [line for line in said if json.loads(line).get("certificate")]
        return self.answers[kind]

    def expect_both_accept(self, kind, questions):
        answers = self.certified(kind, questions)
        self.assertGreater(len(answers) * 4, len(questions) * 3)
        for line, said in zip(answers, verified(answers)):
            with self.subTest(line):
                self.assertTrue(said.startswith("right: "), said)
                self.assertIsNone(flaw_of(json.loads(line)))

    def test_of_the_sample_are_accepted_by_both(self):
        self.expect_both_accept("sample", self.sample)

    def test_of_drawn_questions_are_accepted_by_both(self):
        self.expect_both_accept("drawn", self.asked)

    def expect_no_flaw(self, kinds, certificates):
        lines = list(map(json.dumps, certificates))
        accepted = [line for line, said in zip(lines, verified(lines)) if said.startswith("right: ")]
        for line in accepted:
            flaw = flaw_of(json.loads(line))
            self.assertFalse(flaw and flaw.kind in kinds, f"{flaw}\n{line}")
        return len(accepted)

    def test_changed_are_accepted_only_where_the_claim_holds(self):
        drawing = drawn.Drawing(random.Random(SEED + 1))
        certificates = [json.loads(line)["certificate"] for kind, questions in
                        (("sample", self.sample), ("drawn", self.asked)) for line in self.certified(kind, questions)]
        changed = [drawing.step_alone(c) for c in certificates for _ in range(3)]
        self.assertGreater(self.expect_no_flaw(("value",), [c for c in changed if c]), 0)

    def test_of_laws_on_parts_without_a_value_are_accepted_only_where_the_law_says_something(self):
        drawing = drawn.Drawing(random.Random(SEED + 2))
        uses = []
        for name, law in list(RULES.items()) * max(3, DRAWN // 40):
            try:
                uses.append(drawing.law_in_use(name, law))
            except NotationError:  # the divisor is the number 0
                pass
        self.assertGreater(self.expect_no_flaw(("value", "rule"), uses), 0)


class Forged(unittest.TestCase):
    def test_claims_are_false(self):
        for title, (_, j) in forged.forged().items():
            with self.subTest(title):
                trees = Trees()
                start, result = trees.parse(j["start"]), trees.parse(j["result"])
                assumed = [trees.parse(a["start"]) for a in j["assumptions"]]
                bounds = {n: ends for n, ends in j["variables"].items() if is_variable_name(n)}
                bounds.update((n, [-9, 9]) for n in names(start, result) - set(bounds))
                values = Values(all_points(bounds, 10_000))
                columns = [values.of(t) for t in (start, result, *assumed)]
                wrong = [old for old, new, *holds in zip(*columns) if all(holds) and old is not None and old != new]
                self.assertTrue(wrong)

    def test_are_refused_by_the_second_checker(self):
        for title, (text, _) in forged.forged().items():
            with self.subTest(title):
                self.assertGreater(checker.verdict(text, RULES, POINTS)[1], 0)

    def test_are_refused_by_the_first_checker(self):
        texts = {title: text for title, (text, _) in forged.forged().items()}
        for (title, text), said in zip(texts.items(), verified(list(texts.values()))):
            with self.subTest(title):
                self.assertFalse(said.startswith("right: "), text)


class Command(unittest.TestCase):
    def test_says_its_verdicts_and_exits_with_the_worst(self):
        right, wrong = forged.claim(forged.A, "a", "a"), forged.claim(forged.A, "a", "a + 1")
        answer = {"out": "a", "certificate": right}
        for code, lines, said in (
                (0, [right], ["ACCEPT (11 points, all there are)"]),
                (0, [answer, {"error": "in: column 1"}], ["ACCEPT", "no answer"]),
                (1, [right, wrong], ["ACCEPT", "REFUSE structure: result"]),
                (1, [{**answer, "out": "a + 0"}], ["REFUSE structure: out"]),
                (1, [{"certificate": None, "uncertified": "too large"}], ["no certificate"]),
                (2, [{"certificate": right}, 7, {**right, "steps": {}}], ["unreadable"] * 3),
                (2, [], [])):
            with self.subTest(lines):
                done = subprocess.run([sys.executable, "-B", checker.__file__],
                                      input="".join(json.dumps(j) + "\n" for j in lines), text=True,
                                      capture_output=True, check=False)
                self.assertEqual(done.returncode, code, done.stderr)
                self.assertEqual([line[:len(start)] for line, start in zip(done.stdout.splitlines(), said)], said)

    def test_reads_deep_texts(self):
        nest = "a" + " + 0" * 3_000
        self.assertEqual(checker.verdict(json.dumps(forged.claim(forged.A, nest, nest)), RULES, POINTS)[1], 0)
        deep = "(" * 3_000 + "a" + ")" * 3_000
        self.assertEqual(checker.verdict(json.dumps(forged.claim(forged.A, deep, "a")), RULES, POINTS)[1], 0)
        for opens in ("[", '{"a":'):
            self.assertEqual(checker.verdict(opens * 200_000, RULES, POINTS)[1], 2)


if __name__ == "__main__":
    unittest.main()
