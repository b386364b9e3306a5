// node unpack.mjs LZMA.js: reads packed streams, each as two sizes of four bytes (packed, unpacked) and its bytes, and
// writes for each its size and the bytes that the page would unpack; -1 and nothing if refused.
import { readFileSync, writeSync } from "node:fs";
import vm from "node:vm";

vm.runInThisContext(readFileSync(process.argv[2], "utf8"));
const asked = readFileSync(0);
const put = bytes => { for (let at = 0; at < bytes.length;) at += writeSync(1, bytes, at); };
let slowest = 0;
for (let at = 0; at < asked.length;) {
  const packed = asked.readUInt32LE(at), size = asked.readUInt32LE(at + 4);
  at += 8;
  const begin = performance.now(), head = Buffer.alloc(4);
  let out = new Uint8Array(0);
  try {
    // A separate copy, as in the page: nothing beyond it can be read.
    out = unpacked(Uint8Array.from(asked.subarray(at, at + packed)), size);
    head.writeInt32LE(out.length);
  } catch (e) {
    if (e.message !== "the page is not whole") throw e;
    head.writeInt32LE(-1);
  }
  slowest = Math.max(slowest, performance.now() - begin);
  put(head);
  put(out);
  at += packed;
}
console.error(`the slowest took ${slowest.toFixed(0)} ms`);
