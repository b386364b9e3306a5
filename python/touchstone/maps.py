"""Layouts, views, affine maps and index expressions as maps, with their algebra.

>>> a, b = Map("(10,2):(16,4)"), Map("(3,4):(1,5)")
>>> (a @ b).to("cute")
'(3,(2,2)):(16,(80,4))'
>>> equal(Map("(4,8):(8,1)"), Map("(4,(2,4)):(8,(1,2))"))
<Answer yes, why: the same expressions>
>>> equal(Map("x//4*4 + x%4", variables={"x": (0, 63)}), Map("x", variables={"x": (0, 63)}), steps=True).steps[1]
'= x  (digit.merge: neighbouring digits of one number join)'
>>> ask("injective", [Map("(4,3):(1,3)")]).points
[{'i0': 3, 'i1': 0}, {'i0': 0, 'i1': 1}]
>>> inverse(Map("(4,3):(2,8)"))
[y] -> [y//2%4, y//8] for y in [0, 22], y%2 == 0
>>> [f["what"] for f in check_index("i*4 + j", {"i": (0, 9), "j": (0, 3)}, size=40)["findings"]]
['int32', 'bounds']
"""
import json as _json

from ._core import maps as _maps
from ._core.maps import Answer, Map, ask

__all__ = ["Answer", "Map", "ask", "check_index", "equal", "inverse"]


def equal(a, b, steps=False):
    """Do both have the same domain and results? `steps`: the answer's `steps` say why."""
    return ask("equal", [a, b], steps=steps)


def inverse(a):
    """The map from results back to points, with its domain; None if no form was found."""
    return ask("inverse", [a]).map


def check_index(text, variables=None, assume=(), language=None, **options):
    """What `touchstone check-index` answers, as a dictionary.

    options: type, size, same, image, vector, lane, lanes, bytes, segment, banks, remedy."""
    question = {"operation": "check-index", "maps": text, "vars": {n: list(r) for n, r in (variables or {}).items()},
                "assume": list(assume), **options}
    if "size" in question:
        question["size"] = str(question["size"])
    if language is not None:
        question["from"] = language
    return _json.loads(_maps._answer(_json.dumps(question)))
