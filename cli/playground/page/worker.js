// Runs in a worker, one question at a time. The page terminates it if an answer takes too long.
"use strict";
const nothing = () => 0;
let wasm = null, bytes = null, said = "";
const view = () => (bytes === null || bytes.buffer !== wasm.memory.buffer) ? (bytes = new Uint8Array(wasm.memory.buffer)) : bytes;

// The system interface that the C++ library needs: a clock, and no files.
const system = {
  clock_time_get(_, __, at) {
    new DataView(wasm.memory.buffer).setBigUint64(at, BigInt(Math.round(performance.now() * 1e6)), true);
    return 0;
  },
  proc_exit() { throw new Error("the program ended"); },
  // The C++ library's message before it aborts.
  fd_write(_, list, count, written) {
    const data = new DataView(wasm.memory.buffer);
    let size = 0;
    for (let i = 0; i < count; ++i) {
      const from = data.getUint32(list + 8 * i, true), length = data.getUint32(list + 8 * i + 4, true);
      said += new TextDecoder().decode(view().subarray(from, from + length));
      size += length;
    }
    data.setUint32(written, size, true);
    return 0;
  },
  environ_sizes_get(count, size) {
    const data = new DataView(wasm.memory.buffer);
    data.setUint32(count, 0, true);
    data.setUint32(size, 0, true);
    return 0;
  },
};

function start(module) {
  const imports = {};
  for (const { module: from, name } of WebAssembly.Module.imports(module))
    (imports[from] ??= {})[name] = system[name] ?? nothing;
  wasm = new WebAssembly.Instance(module, imports).exports;
  wasm._initialize?.();
}

function answer(line) {
  said = "";
  try {
    return answered(line);
  } catch (e) {
    throw said ? new Error(`${said.trim()} (${e})`) : e;
  }
}

function answered(line) {
  const text = new TextEncoder().encode(line);
  const at = wasm.room(text.length);
  if (at === 0) throw new Error("out of memory");
  view().set(text, at);
  const size = wasm.ask(at, text.length) >>> 0, from = wasm.answer_text() >>> 0;
  return new TextDecoder().decode(view().subarray(from, from + size));
}
