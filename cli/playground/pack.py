#!/usr/bin/env python3
"""pack.py PAGE WASM OUT: the page with the program in it, compressed, as text. Refuses more than 1 MB.

The text has seven bits a character, most significant first, which takes an eighth more than the bytes; base64 takes a
third more. The characters that HTML does not keep, or that could end the script, stand 256 higher.
"""
import gzip
import shutil
import subprocess
import sys

MOST = 1 << 20
NOT_KEPT = "\0\r<"  # a NUL is replaced, a CR becomes a LF, and a < may begin an end tag


def packed(wasm):
    """The program by gzip: by zopfli where it is there, which takes twentieths less."""
    if shutil.which("zopfli"):
        return subprocess.run(["zopfli", "-c", "--i15", wasm], check=True, capture_output=True).stdout
    with open(wasm, "rb") as f:
        return gzip.compress(f.read(), 9, mtime=0)


def text_of(data):
    """Seven bits a character."""
    out, held, bits = [], 0, 0
    for byte in data:
        held, bits = held << 8 | byte, bits + 8
        while bits >= 7:
            bits -= 7
            out.append(held >> bits & 127)
        held &= (1 << bits) - 1
    if bits:
        out.append(held << (7 - bits) & 127)
    escaped = {ord(c) for c in NOT_KEPT}
    return "".join(chr(c + 256 if c in escaped else c) for c in out)


def main(page, wasm, out):
    with open(page, encoding="utf-8") as f:
        text = f.read()
    program = packed(wasm)
    for mark, put in (("/*SIZE*/", str(len(program))), ("/*PACKED*/", text_of(program))):
        if text.count(mark) != 1:
            sys.exit(f"{page}: there is not one {mark}")
        text = text.replace(mark, put)
    size = len(text.encode())
    if size > MOST:
        sys.exit(f"{out} would have {size:,} bytes, more than {MOST:,}, of which {len(program):,} are the packed program")
    with open(out, "w", encoding="utf-8", newline="") as f:
        f.write(text)
    print(f"{out}: {size:,} bytes, of which the program is {len(program):,} packed")


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
