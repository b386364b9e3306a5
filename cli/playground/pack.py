#!/usr/bin/env python3
"""pack.py PAGE WASM OUT: the page with its scripts and the program in it, compressed, as text. Refuses more than 1 MB.

Three of the 128 one-byte characters are excluded: HTML does not preserve them, or they could end the script. Of the other
125 the first three encode six bits each, 0 to 2, and the rest seven, 6 to 127: 6.95 bits per character of any
well-compressed program; base64 has 6. The program is compressed by LZMA, which page/lzma.js reads; the scripts, including
that reader, by gzip, which browsers read. Scripts and styles lose indentation and comments, except comments at the end of
a line that contain a quote and may be text; styles also lose redundant blanks.
"""
import gzip
import json
import lzma
import os
import re
import shutil
import subprocess
import sys
import zlib

MOST = 5 << 18
NOT_KEPT = "\0\r<"  # a NUL is replaced, a CR becomes a LF, and a < may begin an end tag


# page/lzma.js supports only this: the next byte depends on four bits of the last one, and on no
# position.
LZMA = {"id": lzma.FILTER_LZMA1, "dict_size": 1 << 22, "lc": 4, "lp": 0, "pb": 0,
        "mode": lzma.MODE_NORMAL, "mf": lzma.MF_BT3, "nice_len": 96, "depth": 2000}


def by_lzma(data):
    """A headerless stream with an end marker, and a checksum of the data, because short streams reveal few errors."""
    return lzma.compress(data, format=lzma.FORMAT_RAW, filters=[LZMA]) + zlib.crc32(data).to_bytes(4, "little")


def by_gzip(path):
    """A gzip file, by zopfli if installed, which saves about a twentieth."""
    if shutil.which("zopfli"):
        return subprocess.run(["zopfli", "-c", "--i60", path], check=True, capture_output=True).stdout
    with open(path, "rb") as f:
        return gzip.compress(f.read(), 9, mtime=0)


KEPT = [chr(c) for c in range(128) if chr(c) not in NOT_KEPT]


def text_of(data):
    """Most significant bits first, padded with zeros."""
    out, held, bits = [], 0, 0
    for byte in data + bytes(1):
        held, bits = held << 8 | byte, bits + 8
        while bits >= 7:
            first = held >> (bits - 6) & 63
            take = 6 if first < 3 else 7
            bits -= take
            out.append(KEPT[first if take == 6 else (held >> bits & 127) - 3])
        held &= (1 << bits) - 1
    return "".join(out)


def tidied(page):
    """Without the indentation and the comments of scripts and styles."""
    def inside(match):
        text = match[2]
        if match[1].startswith("<style"):
            text = re.sub(r"\s*([{};,])\s*|(:)\s+", r"\1\2", re.sub(r"/\*.*?\*/", "", text, flags=re.S))
        lines = (re.sub(r"\s+// [^'\"`]*$", "", line.strip()) for line in text.split("\n"))
        return match[1] + "\n".join(line for line in lines if line and not line.startswith("//")) + match[3]
    return re.sub(r"(<(?:script|style)[^>]*>)(.*?)(</(?:script|style)>)", inside, page, flags=re.S)


# Hides the page until the styles are loaded, for half a second at most.
UNTIL_STYLED = "body{opacity:0;animation:shown 0s .5s forwards}@keyframes shown{to{opacity:1}}"
STYLED = "body{opacity:1;animation:none}"


def without_scripts(page, out):
    """The page with a mark in place of its scripts, and the compressed scripts. The first one inserts styles and main part."""
    style = re.search(r"(<style>)(.*?)(</style>)", page, flags=re.S)
    found = re.search(r'(<script id="scripts"[^>]*>)(.*?)(</script>)', page, flags=re.S)
    inner = re.search(r"(<main[^>]*>)(.*?)(</main>)", page, flags=re.S)
    if not style or not inner or not found:
        sys.exit("the page has no styles, main part or scripts to pack")
    text = json.dumps(style[2] + STYLED, ensure_ascii=False)
    put_in = f"document.head.append(Object.assign(document.createElement('style'),{{textContent:{text}}}));\n"
    put_in += f"document.querySelector('main').innerHTML={json.dumps(inner[2], ensure_ascii=False)};\n"
    path = out + ".js"
    with open(path, "w", encoding="utf-8", newline="") as f:
        f.write(put_in + found[2])
    scripts = by_gzip(path)
    os.remove(path)
    return (page[:style.start(2)] + UNTIL_STYLED + page[style.start(3):inner.end(1)] +
            page[inner.start(3):found.end(1)] + "/*SCRIPTS*/" + page[found.start(3):]), scripts


def main(page, wasm, out):
    with open(page, encoding="utf-8") as f:
        text, scripts = without_scripts(tidied(f.read()), out)
    with open(wasm, "rb") as f:
        whole = f.read()
    program = by_lzma(whole)
    for mark, put in (("/*SCRIPTS_SIZE*/", str(len(scripts))), ("/*SCRIPTS*/", text_of(scripts)),
                      ("/*SIZE*/", str(len(program))), ("/*UNPACKED*/", str(len(whole))),
                      ("/*PACKED*/", text_of(program))):
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
