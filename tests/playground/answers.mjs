// node answers.mjs WASM WORKER.js < questions > answers: the page's own code, without the page. If
// the program ends, prints {"stopped":..} and continues with a new one.
import { readFileSync, writeSync } from "node:fs";
import vm from "node:vm";

const [wasm, worker] = process.argv.slice(2);
const context = vm.createContext({ WebAssembly, TextEncoder, TextDecoder, performance, DataView, Uint8Array, BigInt, Math, Error });
vm.runInContext(readFileSync(worker, "utf8"), context);
context.module = new WebAssembly.Module(readFileSync(wasm));
vm.runInContext("start(module)", context);

const lines = readFileSync(0, "utf8").split("\n");
lines.pop();
let out = "";
let slowest = 0, slow = "", begin = performance.now();
for (const line of lines) {
  context.line = line;
  const from = performance.now();
  try {
    out += vm.runInContext("answer(line)", context) + "\n";
  } catch (e) {
    out += JSON.stringify({ stopped: String(e) }) + "\n";
    vm.runInContext("start(module)", context);
  }
  const took = performance.now() - from;
  if (took > slowest) [slowest, slow] = [took, line];
  if (out.length > 1 << 20) { writeSync(1, out); out = ""; }
}
if (out) writeSync(1, out);
const took = performance.now() - begin;
console.error(`${lines.length} questions in ${(took / 1000).toFixed(1)} s, ${(took / lines.length).toFixed(3)} ms each, the slowest ${slowest.toFixed(0)} ms: ${slow.slice(0, 300)}`);
