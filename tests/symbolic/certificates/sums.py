"""A tree as a sum of products with like terms merged: cancelling terms vanish, with their divisions.

This is how a false certificate hides a division by 0; nothing more is computed.
"""

from notation import CALLS, COMPARISONS, DIVISIONS, LEVELS


def cancelled(tree):
    """The text of the sum; other parts are written unchanged, cancelled inside."""
    return text(terms(tree))


def text(found):
    return " + ".join("*".join([f"({factor})", *names]) for names, factor in sorted(found.items())) or "0"


def added(left, right, times=1):
    found = dict(left)
    for names, factor in right.items():
        found[names] = found.get(names, 0) + times * factor
    return {names: factor for names, factor in found.items() if factor}


def number(found):
    """The value of a constant sum."""
    return found.get((), 0) if set(found) <= {()} else None


def terms(tree):
    """{sorted factors of a product: its coefficient}"""
    if not tree.args:
        return added({}, {(): tree.leaf} if tree.op == "number" else {(tree.leaf,): 1})
    args = [terms(a) for a in tree.args]
    if tree.op in ("+", "-", "neg"):
        return added({} if tree.op == "neg" else args[0], args[-1], 1 if tree.op == "+" else -1)
    if tree.op == "*":
        product = {}
        for names, factor in args[0].items():
            for more, times in args[1].items():
                product = added(product, {tuple(sorted(names + more)): factor * times})
        return product
    if tree.op in COMPARISONS:
        difference = number(added(args[0], args[1], -1))
        if difference is not None:
            return added({}, {(): int(COMPARISONS[tree.op](difference, 0))})
    if tree.op == "where" and number(args[0]) is not None:
        return args[1] if number(args[0]) else args[2]
    texts = list(map(text, args))
    if tree.op in DIVISIONS and texts[1] == "0":
        texts[1] = "a - a"  # the notation has no divisor 0
    if tree.op in CALLS:
        return {(f"{tree.op}({', '.join(texts)})",): 1}
    if tree.op in LEVELS:
        return {(f"(({texts[0]}) {tree.op} ({texts[1]}))",): 1}
    return {(f"(not ({texts[0]}))",): 1}
