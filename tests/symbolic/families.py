"""Families of kernels' index arithmetic, each with its known small form: drawn, asked as written, beside an
unbounded variable (so that trying all points cannot help) and as a difference from the form; exact bounds, found by
trying all points here, must be reached by law.

families.py TOUCHSTONE [--seed S] [--draws N] prints every question that is not reached. It fails if more than 3 % of
the forms, or any bound, is missed, or if more than 1 % of the answers depend on names or change when asked."""
import argparse
import itertools
import json
import random
import re
import subprocess
import sys

R = random.Random()
FAMILIES = {}


def r(*choices):
    return R.choice(choices)


def family(f):
    FAMILIES[f.__name__] = f
    return f


def truncated(x, y):
    return abs(x)//abs(y)*(1 if (x < 0) == (y < 0) else -1)


WORDS = {'_where': lambda c, a, b: a if c else b, 'min': min, 'max': max, 'tdiv': truncated,
         'tmod': lambda x, y: x - y*truncated(x, y)}


def value(text, point):
    return eval(re.sub(r'\bwhere\(', '_where(', text), {**WORDS, **point})


@family
def reshape_round():
    b, c = r(3, 4, 5, 7, 8), r(2, 3, 8, 6)
    f = 'x'
    return {'x': [0, 2*b*c - 1]}, [], f'({f})//{b*c}*{b*c} + ({f})//{c}%{b}*{c} + ({f})%{c}', 'x'


@family
def transpose_twice():
    n, m = r(4, 6, 8, 12), r(3, 5, 8, 16)
    t = f'(x%{m}*{n} + x//{m}%{n})'
    return {'x': [0, n*m-1]}, [], f'{t}%{n}*{m} + {t}//{n}', 'x'


@family
def pixel_shuffle():
    k, w, h = r(2, 3, 4), r(4, 5, 8), r(3, 4)
  
    return ({'y': [0, h*k-1], 'x': [0, w*k-1]}, [],
            f'((y//{k}*{w} + x//{k})*{k*k} + y%{k}*{k} + x%{k})//{k*k}', f'y//{k}*{w} + x//{k}')


@family
def pixel_shuffle_low():
    k, w, h = r(2, 3, 4), r(4, 5, 8), r(3, 4)
    return ({'y': [0, h*k-1], 'x': [0, w*k-1]}, [],
            f'((y//{k}*{w} + x//{k})*{k*k} + y%{k}*{k} + x%{k})%{k*k}', f'y%{k}*{k} + x%{k}')


@family
def grouped_pid():
    g, c = r(4, 8), r(5, 7, 12, 16)
    return {'p': [0, None]}, [], f'p//{g*c}*{g} + p%{g*c}%{g} - p//{g*c}*{g}', f'p%{g}'


@family
def grouped_pid_col():
    g, c = r(4, 8), r(5, 7, 12, 16)
    return {'p': [0, None]}, [], f'p%{g*c}//{g}*{g} + p%{g}', f'p%{g*c}'


@family
def warp_lane():
    w = r(2, 4, 8)
    return {'t': [0, 32*w-1]}, [], f't//32*32 + t%32//4*4 + t%4', 't'


@family
def mma_row():
    return {'t': [0, 31], 'i': [0, 3]}, [], f't//4 + i//2*8 - (t//4 + i//2*8)//16*16', 't//4 + i//2*8'


@family
def mma_flat():
    ld = r(16, 32, 64)
    return {'t': [0, 31], 'i': [0, 3]}, [], f'((t//4 + i//2*8)*{ld} + t%4*2 + i%2)//{ld}', 't//4 + i//2*8'


@family
def swizzle_digit():
    return {'x': [0, 63]}, [], '(x//8*8 + (x%8 + x//8)%8)//8', 'x//8'


@family
def swizzle_low():
    return {'x': [0, 63]}, [], '(x//8*8 + (x%8 + x//8)%8)%8', '(x + x//8)%8'


@family
def im2col():
    k, w = r(3, 5), r(7, 14, 28)
    return ({'o': [0, w*w-1], 'k': [0, k*k-1]}, [],
            f'((o//{w} + k//{k})*{w+k-1} + o%{w} + k%{k})//{w+k-1}', f'o//{w} + k//{k}')


@family
def im2col_low():
    k, w = r(3, 5), r(7, 14, 28)
    return ({'o': [0, w*w-1], 'k': [0, k*k-1]}, [],
            f'((o//{w} + k//{k})*{w+k-1} + o%{w} + k%{k})%{w+k-1}', f'o%{w} + k%{k}')


@family
def dilated():
    d, k, w = r(2, 3), 3, r(8, 16)
    W = w + d*(k-1)
    return ({'o': [0, w*w-1], 'k': [0, k*k-1]}, [],
            f'((o//{w} + k//{k}*{d})*{W} + o%{w} + k%{k}*{d})//{W}', f'o//{w} + k//{k}*{d}')


@family
def tiles():
    T, n = r(16, 32, 64), r(3, 4, 6)
    return ({'b': [0, n*n-1], 't': [0, T*T-1]}, [],
            f'((b//{n}*{T} + t//{T})*{n*T} + b%{n}*{T} + t%{T})//{n*T}', f'b//{n}*{T} + t//{T}')


@family
def tiles_low():
    T, n = r(16, 32, 64), r(3, 4, 6)
    return ({'b': [0, n*n-1], 't': [0, T*T-1]}, [],
            f'((b//{n}*{T} + t//{T})*{n*T} + b%{n}*{T} + t%{T})%{n*T}', f'b%{n}*{T} + t%{T}')


@family
def ceil_minus_floor():
    T = r(3, 8, 128)
    return {'n': [0, None]}, [], f'(n + {T-1})//{T}*{T} - n', f'-n%{T}'


@family
def last_tile():
    T = r(16, 64, 100)
    return {'n': [1, None], 'b': [0, None]}, [f'b*{T} < n - {T-1}'], f'min({T}, n - b*{T})', f'{T}'


@family
def grid_bound():
    T = r(16, 64, 100)
    return {'n': [1, None], 'b': [0, None]}, [f'b < (n + {T-1})//{T}'], f'where(b*{T} < n, b, 0)', 'b'


@family
def masked_guard():
    T = r(16, 64)
    return ({'n': [1, None], 'b': [0, None], 't': [0, T-1]}, [f'b*{T} + t < n'],
            f'where(b < (n + {T-1})//{T}, b*{T} + t, 0)', f'b*{T} + t')


@family
def negative_index():
    n = r(8, 10, 33)
    return {'i': [-n, n-1]}, [], f'where(i < 0, i + {n}, i)%{n}', f'i%{n}'


@family
def flip_twice():
    n = r(8, 10, 33)
    return {'i': [0, n-1]}, [], f'{n-1} - ({n-1} - i)', 'i'


@family
def flip_div():
    n, c = r(4, 6, 8), r(2, 3, 5)
    return {'i': [0, n*c-1]}, [], f'({n*c-1} - i)//{c}', f'{n-1} - i//{c}'


@family
def flip_mod():
    n, c = r(4, 6, 8), r(2, 3, 5)
    return {'i': [0, n*c-1]}, [], f'({n*c-1} - i)%{c}', f'{c-1} - i%{c}'


@family
def roll():
    n = r(8, 12); k = R.randrange(1, n)
    return {'i': [0, n-1]}, [], f'((i + {k})%{n} + {n-k})%{n}', 'i'


@family
def causal():
    n = r(16, 64)
    return {'q': [0, n-1], 'k': [0, n-1]}, ['k <= q'], 'max(q - k, 0)', 'q - k'


@family
def heads():
    g, h = r(2, 4), r(4, 8)
    return {'h': [0, g*h-1], 'd': [0, 63]}, [], f'(h//{g}*64 + d)//64', f'h//{g}'


@family
def sym_reshape():
    return {'x': [0, None], 'n': [1, None], 'y': [0, None]}, ['y < n'], '(x*n + y)//n', 'x'


@family
def sym_reshape_low():
    return {'x': [0, None], 'n': [1, None], 'y': [0, None]}, ['y < n'], '(x*n + y)%n', 'y'


@family
def sym_two():
    return ({'x': [0, None], 'n': [1, None], 'm': [1, None], 'y': [0, None], 'z': [0, None]}, ['y < n', 'z < m'],
            '((x*n + y)*m + z)//(n*m)', 'x')


@family
def sym_flat():
    return {'x': [0, None], 'n': [1, None], 'm': [1, None]}, [], 'x//(n*m)*(n*m) + x%(n*m)//m*m + x%m', 'x'


@family
def sym_bound():
    c = r(2, 4, 8)
    return {'x': [0, None], 'n': [1, None]}, [f'x < n*{c}'], f'where(x//{c} < n, x//{c}, 0)', f'x//{c}'


@family
def cat_offset():
    a, b = r(5, 8), r(3, 7)
    return {'i': [0, a+b-1]}, [], f'where(i < {a}, i, i - {a} + {a})', 'i'


@family
def pad_unpad():
    n, p = r(6, 14), r(1, 2, 3)
    return {'i': [0, n-1]}, [], f'where({p} <= i + {p} and i + {p} < {n+p}, i + {p} - {p}, 0)', 'i'


@family
def stride_dilate():
    s = r(2, 3, 4)
    return {'i': [0, 20]}, [], f'where(i*{s}%{s} == 0, i*{s}//{s}, 0)', 'i'


@family
def clamp_chain():
    n = r(7, 15)
    return {'i': [-30, 30]}, [], f'min(max(min(max(i, 0), {n}), -1), {n+3})', f'min(max(i, 0), {n})'


@family
def morton():
    return {'x': [0, 3], 'y': [0, 3]}, [], '(x%2 + y%2*2 + x//2*4 + y//2*8)%4', 'x%2 + y%2*2'


@family
def morton_high():
    return {'x': [0, 3], 'y': [0, 3]}, [], '(x%2 + y%2*2 + x//2*4 + y//2*8)//4', 'x//2 + y//2*2'


@family
def bitrev():
    t = '(x%2*4 + x//2%2*2 + x//4%2)'
    return {'x': [0, 7]}, [], f'{t}%2*4 + {t}//2%2*2 + {t}//4', 'x'


@family
def vector_load():
    v = r(2, 4, 8)
    return {'t': [0, 127], 'j': [0, v-1]}, [], f'(t*{v} + j)//{v}*{v} + (t*{v} + j)%{v}', f't*{v} + j'


@family
def kv_page():
    p = r(16, 32)
    return {'s': [0, None]}, [], f's//{p}*{p} + s%{p}', 's'


@family
def split_k():
    k, s = r(4, 8), r(16, 32)
    return {'i': [0, k*s-1]}, [], f'i%{s}*{k} + i//{s} - (i%{s}*{k} + i//{s})//{k}*{k}', f'i//{s}'


@family
def winograd():
    return {'t': [0, 63], 'k': [0, 15]}, [], '((t//8*2 + k//4)*18 + t%8*2 + k%4)//18', 't//8*2 + k//4'


@family
def upsample():
    s, w = r(2, 3), r(4, 7)
    return {'x': [0, s*s*w*w-1]}, [], f'x//{s*w}//{s}*{w} + x%{s*w}//{s} - x//{s*s*w}*{w}', f'x%{s*w}//{s}'


@family
def q4():
    return {'i': [0, 1023]}, [], 'i//32*16 + i%32%16 - i//32*16', 'i%16'


@family
def parity():
    return {'i': [None, None]}, [], 'i*(i + 1)%2', '0'


@family
def square_parity():
    return {'i': [None, None]}, [], 'i*i%2', 'i%2'


@family
def rem_equal():
    c = r(3, 4, 7)
    return {'a': [None, None], 'b': [None, None]}, [], f'(a%{c} == b%{c}) - ((a - b)%{c} == 0)', '0'


@family
def trunc_pos():
    c = r(3, 4)
    return {'a': [0, None]}, [], f'tdiv(a, {c})*{c} + tmod(a, {c})', 'a'


@family
def depth_to_space():
    c, k, w = r(2, 3), 2, r(4, 6)
  
    return {'x': [0, c*w*k*w*k-1]}, [], f'x//{w*k*w*k}*{w*k*w*k} + x//{w*k}%{w*k}*{w*k} + x%{w*k}', 'x'


@family
def windows():
    k, s, n = r(2, 3), r(1, 2), r(8, 12)
    o = (n-k)//s+1
    return {'x': [0, o*k-1]}, [], f'where(x//{k}*{s} + x%{k} < {n}, x//{k}*{s} + x%{k}, -1)', f'x//{k}*{s} + x%{k}'


@family
def twice_div():
    a, b = r(2, 3, 5), r(2, 4, 7)
    k = R.randrange(0, a)
    return {'x': [None, None]}, [], f'(x//{a} + {b*3})//{b}', f'x//{a*b} + 3'


@family
def shifted_div():
    a = r(4, 8); k = R.randrange(1, a)
    return {'x': [None, None]}, [], f'(x*{a} + {k})//{a}*{a} - x*{a}', '0'


@family
def scaled_mod():
    a, b = r(2, 3), r(4, 5)
    return {'x': [None, None]}, [], f'x*{a}%{a*b}//{a}', f'x%{b}'


@family
def mins():
    return {'m': [1, None], 'p': [0, None]}, ['p*8 < m'], 'max(min(m - p*8, 8), 1)', 'min(m - p*8, 8)'


@family
def ring_buffer():
    n = r(8, 16)
    return {'h': [0, n-1], 'i': [0, n-1]}, [], f'where(h + i >= {n}, h + i - {n}, h + i) - (h + i)%{n}', '0'


@family
def floordiv_neg():
    c = r(3, 4, 9)
    return {'n': [None, None]}, [], f'-((-n)//{c}) - (n + {c-1})//{c}', '0'


@family
def wraps():
    return {'i': [None, None], 'n': [1, None]}, ['-n <= i', 'i < n'], 'where(i < 0, i + n, i)', 'i%n'


@family
def wraps_back():
    return {'i': [0, None], 'n': [1, None]}, ['i < n'], 'where(i == 0, n - 1, i - 1)', '(i - 1)%n'


@family
def wraps_forth():
    return {'i': [0, None], 'n': [1, None]}, ['i < n'], 'where(i + 1 < n, i + 1, 0)', '(i + 1)%n'


@family
def wraps_sum():
    return ({'i': [0, None], 'j': [0, None], 'n': [1, None]}, ['i < n', 'j < n'],
            'where(i + j >= n, i + j - n, i + j)', '(i + j)%n')


@family
def toward_zero():
    c = r(2, 3, 8)
    return {'x': [None, None]}, [], f'x//{c} + (x < 0 and x%{c} != 0)', f'tdiv(x, {c})'


@family
def toward_zero_where():
    c = r(2, 3, 8)
    return {'x': [None, None]}, [], f'where(x < 0, -(-x//{c}), x//{c})', f'tdiv(x, {c})'


@family
def below_divisor():
    return {'x': [None, None], 'y': [None, None]}, ['x < max(y, -y)', '-max(y, -y) < x'], 'tmod(x, y)', 'x'


@family
def smaller_remainder():
    return {'x': [0, None], 'n': [1, None]}, [], 'min(x, x%n)', 'x%n'


@family
def windows_left():
    s = r(2, 3)
    return {'a': [0, None], 'n': [1, None]}, [], f'where(a < n, (n - a)//{s}, 0)', f'max(n - a, 0)//{s}'


@family
def step_of_quotient():
    return {'x': [None, None], 'y': [0, None], 'n': [1, None]}, [], '(x + y)//n - x//n', '(x%n + y)//n'


@family
def chosen_in_fact():
    return ({'a': [1, None], 'c': [1, None], 'd': [1, None]}, ['c >= a + 3', 'd//2 == max(c, a)//3 + 2'],
            'd//2 - c//3', '2')


def questions(draws):
    """Yields for each question its family, its kind (form, min or max), its JSON object and the expected answer."""
    for name, draw in FAMILIES.items():
        seen = set()
        for _ in range(draws):
            variables, assume, text, form = draw()
            if (text, str(variables)) in seen:
                continue
            seen.add((text, str(variables)))
            agree(name, variables, assume, text, form)
            beside = {**variables, 'u': [None, None]}
            ask = lambda v, t: {'vars': v, 'assume': assume, 'in': t}
            yield name, 'form', ask(variables, text), form
            yield name, 'form', ask(variables, f'({text}) - ({form})'), '0'
            yield name, 'form', ask(beside, f'u + {text}'), 'u' if form == '0' else f'u + {form}'
            yield name, 'form', ask(beside, f'u*(({text}) - ({form}))'), '0'
            ranges = [range(a, b + 1) for a, b in variables.values() if None not in (a, b)]
            if len(ranges) < len(variables):
                continue
            points = [dict(zip(variables, p)) for p in itertools.product(*ranges)]
            values = [value(text, p) for p in points if all(value(a, p) for a in assume)]
            yield name, 'max', ask(beside, f'min(u, {text})'), max(values)
            yield name, 'min', ask(beside, f'max(u, {text})'), min(values)


def agree(name, variables, assume, text, form):
    """The family's own claim, at random points."""
    for _ in range(100):
        point = {n: R.randint(-50 if a is None else a, 200 if b is None else b) for n, (a, b) in variables.items()}
        try:
            if all(value(a, point) for a in assume) and value(text, point) != value(form, point):
                sys.exit(f'{name}: {text} is not {form} at {point}')
        except ZeroDivisionError:
            pass


def answers(touchstone, rows):
    lines = '\n'.join(json.dumps(row) for row in rows)
    done = subprocess.run([touchstone, 'simplify', '--jsonl'], input=lines, capture_output=True, text=True, check=False)
    return [json.loads(line) for line in done.stdout.splitlines()]


def renamed(touchstone, rows, got):
    """How many questions have an answer of another size or with other bounds once their variables have other names in
    another order, or once their answers are asked."""
    others = []
    for row in rows:
        names = R.sample([a + b for a in 'abcdefghijklmnopqrstuvwxyz' for b in '123'], len(row['vars']))
        names = dict(zip(row['vars'], names))
        text = lambda t: re.sub(r'\b[A-Za-z_]\w*\b', lambda m: names.get(m[0], m[0]), t)
        others.append({'vars': {names[v]: ends for v, ends in row['vars'].items()},
                       'assume': [text(a) for a in row['assume']], 'in': text(row['in'])})
    differ = 0
    again = [{**row, 'in': a.get('out', '0')} for row, a in zip(rows, got)]
    for kind, asked in ('renamed', others), ('asked again', again):
        for row, a, b in zip(rows, got, answers(touchstone, [{**row} for row in asked])):
            if [a.get(key) for key in ('size', 'min', 'max')] != [b.get(key) for key in ('size', 'min', 'max')]:
                differ += 1
                print(f'{kind}: {row}: {a}, then {b}')
    return differ


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('touchstone')
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--draws', type=int, default=2)
    options = parser.parse_args()
    R.seed(options.seed)
    asked = list(questions(options.draws))
    got = answers(options.touchstone, [row for _, _, row, _ in asked])
    small = answers(options.touchstone, [{**row, 'in': str(want)} for _, _, row, want in asked])
    tally = {}
    for (name, kind, row, want), answer, form in zip(asked, got, small, strict=True):
        good = answer.get('size', 1e9) <= form['size'] if kind == 'form' else answer.get(kind) == want
        count = tally.setdefault(kind, [0, 0])
        count[0] += good
        count[1] += 1
        if not good:
            print(f'{name}: {row} is {answer}, wanted {kind} {want}')
    print(', '.join(f'{kind}: {a} of {b}' for kind, (a, b) in tally.items()))
    differ = renamed(options.touchstone, [row for _, _, row, _ in asked], got)
    sys.exit(differ > len(asked)//100 or any(a < b*(0.97 if kind == 'form' else 1) for kind, (a, b) in tally.items()))


if __name__ == '__main__':
    main()
