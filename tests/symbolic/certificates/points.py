"""Points for testing a certificate: all if there are few, else those where claims tend to fail."""

import itertools

from notation import COMPARISONS, DIVISIONS, Values, names, parts

FAR = [2**31 - 1, 2**31, 2**63 - 1, 2**63, 2**63 + 1, 10**25]


def all_points(bounds, most):
    """Every point of the bounds, or None if there are more than `most`."""
    count = 1
    for low, high in bounds.values():
        if low is None or high is None:
            return None
        count *= max(0, high - low + 1)
    if count > most:
        return None
    ranges = [range(low, high + 1) for low, high in bounds.values()]
    return [dict(zip(bounds, values)) for values in itertools.product(*ranges)]


def within(value, low, high):
    return (low is None or low <= value) and (high is None or value <= high)


class Sampler:
    """Draws points of the bounds: corners, numbers of the certificate and their neighbours, small and huge numbers,
    and from there steps to the zeros of divisors, remainders and compared differences."""

    def __init__(self, trees, bounds, texts, rng):
        self.trees, self.bounds, self.rng = trees, bounds, rng
        everything = parts(*texts)
        numbers = {t.leaf for t in everything if t.op == "number"}
        self.likely = {name: self._likely(numbers, *ends) for name, ends in bounds.items()}
        self.targets = []  # trees near whose zeros a value may be lost or change
        for t in everything:
            if t.op in DIVISIONS:
                self.targets += [t.args[1], t if t.op in ("%", "tmod") else trees.make("%", *t.args)]
            elif t.op in COMPARISONS:
                self.targets.append(self.difference(t))
        self.targets = [t for t in dict.fromkeys(self.targets) if names(t)]

    def difference(self, comparison):
        return self.trees.make("-", *comparison.args)

    @staticmethod
    def _likely(numbers, low, high):
        near = {n + d for n in numbers for d in (-1, 0, 1)} | {-n for n in numbers} | set(range(-3, 4))
        for end in (low, high):
            if end is not None:
                near |= {end + d for d in (-2, -1, 0, 1, 2)}
        if low is None or high is None:
            near |= {s * n for n in FAR for s in (-1, 1)} | {(end or 0) + d for end in (low, high) for d in (-50, 50)}
        return sorted(n for n in near if within(n, low, high))

    def drawn(self, name):
        low, high = self.bounds[name]
        if self.rng.random() < 0.5:
            return self.rng.choice(self.likely[name])
        if low is None and high is None:
            size = 10 ** self.rng.choice((1, 1, 2, 3, 6, 20))
            return self.rng.randint(-size, size)
        size = 10 ** self.rng.choice((1, 1, 2, 3, 6, 20))
        first = low if low is not None else high - size
        last = high if high is not None else low + size
        return self.rng.randint(first, last)

    def points(self, count, assumptions):
        if any(low is not None and high is not None and low > high for low, high in self.bounds.values()):
            return []
        found = [{name: self.drawn(name) for name in self.bounds} for _ in range(count // 2)]
        wanted = [t for a in assumptions for t in parts(a) if t.op in COMPARISONS and names(t)]
        for t in wanted:  # one by one: a point that fails one moves to its edge
            found += self.steps([self.difference(t)], found, 1)
        if self.targets:
            found += self.steps(self.rng.sample(self.targets, min(12, len(self.targets))), found, 2)
        for t in wanted:
            found += self.steps([self.difference(t)], found[-count:], 1)
        unique = {tuple(p.values()): p for p in found}
        return list(unique.values())

    def steps(self, targets, base, share):
        """From some points of base, moves one variable to a zero of a target, assuming it is linear."""
        moved = []
        for target in targets:
            free = sorted(names(target))
            chosen = self.rng.sample(base, min(len(base), max(8, len(base) * share // (2 * len(targets)))))
            name = self.rng.choice(free)
            ahead = [{**p, name: p[name] + 1} for p in chosen]
            here, there = Values(chosen).of(target), Values(ahead).of(target)
            for p, a, b in zip(chosen, here, there):
                if a is None or b is None or a == b:
                    continue
                for value in (p[name] - a // (b - a), p[name] - a // (b - a) - self.rng.choice((-1, 1))):
                    if within(value, *self.bounds[name]):
                        moved.append({**p, name: value})
        return moved
