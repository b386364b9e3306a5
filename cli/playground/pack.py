#!/usr/bin/env python3
"""pack.py PAGE WASM OUT: the page with the program in it, compressed, as text. Refuses more than 1 MB."""
import base64
import lzma
import sys

MOST = 1_000_000


def main(page, wasm, out):
    with open(page, encoding="utf-8") as f:
        text = f.read()
    with open(wasm, "rb") as f:
        program = f.read()
    packed = min((lzma.compress(program, format=lzma.FORMAT_ALONE, filters=[{"id": lzma.FILTER_LZMA1, "preset": 9 | lzma.PRESET_EXTREME, "lc": lc, "lp": lp, "pb": pb,
                                                                            "dict_size": 1 << 23}])
                  for lc, lp, pb in ((0, 0, 0), (2, 0, 0), (3, 0, 0), (4, 0, 0), (3, 0, 2))), key=len)
    for mark, put in (("/*PACKED*/", base64.b64encode(packed).decode()), ("/*SIZE*/", str(len(program)))):
        if text.count(mark) != 1:
            sys.exit(f"{page}: there is not one {mark}")
        text = text.replace(mark, put)
    size = len(text.encode())
    if size > MOST:
        sys.exit(f"{out} would have {size:,} bytes, more than {MOST:,}; the program has {len(program):,}, {len(packed):,} packed")
    with open(out, "w", encoding="utf-8") as f:
        f.write(text)
    print(f"{out}: {size:,} bytes, of which {len(packed):,} are {len(program):,} of program")


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
