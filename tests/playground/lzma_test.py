"""The page's LZMA reader restores data that pack.py compressed, and refuses truncated or changed data.

lzma_test.py NODE PACK.py LZMA.js WASM
"""
import importlib.util
import os
import random
import struct
import subprocess
import sys


def unpacked(node, script, streams):
    """The page's result for each (packed, size): bytes, or None if refused."""
    asked = b"".join(struct.pack("<II", len(packed), size) + packed for packed, size in streams)
    here = os.path.dirname(os.path.abspath(__file__))
    run = subprocess.run([node, os.path.join(here, "unpack.mjs"), script], input=asked, check=True, capture_output=True,
                         timeout=600)
    answers, at = [], 0
    for _ in streams:
        size, = struct.unpack_from("<i", run.stdout, at)
        answers.append(run.stdout[at + 4:at + 4 + size] if size >= 0 else None)
        at += 4 + max(size, 0)
    if at != len(run.stdout):
        sys.exit(f"{len(run.stdout)} bytes came back, not {at}")
    return answers, run.stderr.decode().strip()


def contents(wasm):
    """Kinds of bytes, by name."""
    draw = random.Random(1)
    noise = draw.randbytes(1 << 20)
    yield "no byte", b""
    yield "one byte", b"\xff"
    yield "two that are the same", b"aa"
    yield "noise", noise
    yield "a long run", bytes(3_000_000)
    yield "runs", b"".join(bytes([draw.randrange(3)]) * draw.randrange(1, 700) for _ in range(3000))
    yield "a match of all distances up to 2 kB", b"".join(noise[:d] * 2 for d in range(1, 2048, 7))
    yield "a match as far back as there are bytes", noise + noise[:4000] + bytes(10) + noise
    yield "few letters", bytes(draw.choices(b"abcd", (8, 4, 2, 1), k=200_000))
    words = [draw.randbytes(draw.randrange(1, 12)) for _ in range(300)]
    yield "words", b"".join(draw.choices(words, k=60_000))
    yield "words that repeat near by", b"".join(draw.choice(words[i // 50 % 290:][:6]) for i in range(60_000))
    with open(wasm, "rb") as f:
        yield "the program", f.read()


def main(node, pack_path, script, wasm):
    spec = importlib.util.spec_from_file_location("pack", pack_path)
    pack = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(pack)
    draw = random.Random(2)

    whole = [(name, data, pack.by_lzma(data)) for name, data in contents(wasm)]
    answers, took = unpacked(node, script, [(packed, len(data)) for _, data, packed in whole])
    for (name, data, packed), answer in zip(whole, answers):
        if answer != data:
            sys.exit(f"{name}: " + ("refused" if answer is None else f"other bytes, {len(answer)} of {len(data)}"))
    print(f"{len(whole)} contents came back as they were; {took}")

    wrong = []
    for name, data, packed in whole:
        # Large ones take a tenth of a second each, so there are fewer.
        for _ in range(8 if len(data) > 300_000 else 200):
            at = draw.randrange(len(packed))
            wrong += [(f"{name}, cut short at {at}", packed[:at], len(data)),
                      (f"{name}, another byte at {at}", packed[:at] + bytes([packed[at] ^ draw.randrange(1, 256)]) + packed[at + 1:], len(data))]
        wrong += [(f"{name}, {n} bytes of the end changed", packed[:-n] + bytes(255 - b for b in packed[-n:]), len(data))
                  for n in range(1, 6)]
        wrong += [(f"{name}, a byte too many", packed + b"\0", len(data)), (f"{name}, of one byte more", packed, len(data) + 1)]
        if data:
            wrong.append((f"{name}, of one byte less", packed, len(data) - 1))
    wrong += [(f"noise {i}", bytes(1) + draw.randbytes(draw.randrange(3000)), draw.randrange(5000)) for i in range(3000)]
    answers, took = unpacked(node, script, [(packed, size) for _, packed, size in wrong])
    missed = [name for (name, _, _), answer in zip(wrong, answers) if answer is not None]
    if missed:
        sys.exit(f"not refused: {len(missed)} of {len(wrong)}, {missed[:5]}")
    print(f"{len(wrong)} wrong streams were refused; {took}")


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    main(*sys.argv[1:])
