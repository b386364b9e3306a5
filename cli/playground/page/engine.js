// Runs questions in a C++ worker. A question replaces unanswered ones that it makes obsolete; a
// worker that is busy with one of those, or takes too long, is terminated and replaced.

const kMostSeconds = 5;
const kPatience = 60;  // milliseconds that an obsolete question may delay the next one

class Engine {
  constructor(source) {
    this.waiting = new Map();  // by slot, in order
    this.running = null;
    this.module = null;
    this.restarts = 0;
    this.url = URL.createObjectURL(new Blob([source + `
onmessage = ({ data }) => {
  try {
    if (data.line !== undefined) postMessage({ answer: answer(data.line) });
    else {
      const module = data.module ?? new WebAssembly.Module(unpacked(bytesOf(data.text, data.size), data.unpacked));
      start(module);
      postMessage({ ready: module });
    }
  } catch (e) { postMessage({ failed: String(e) }); }
};`], { type: "text/javascript" }));
    this.spawn();  // while the program is still loading
  }

  // The program as text, with its packed and unpacked sizes in bytes. The first worker unpacks and compiles it; the
  // page already accepts input.
  load(text, size, unpacked) { return this.start({ text, size, unpacked }); }

  spawn() {
    this.worker = new Worker(this.url);
    this.idle = false;
  }

  start(program = { module: this.module }) {
    const worker = this.worker;
    return new Promise((resolve, reject) => {
      worker.onmessage = ({ data }) => {
        if (worker !== this.worker) return;  // terminated
        if (data.ready) {
          this.module = data.ready;
          this.idle = true;
          resolve();
          this.next();
        } else if (this.running === null) reject(new Error(data.failed.replace(/^Error: /, "")));
        else this.finish(data);
      };
      worker.onerror = e => {
        e.preventDefault();
        if (worker !== this.worker) return;
        if (this.running) this.finish({ failed: e.message }); else reject(new Error(e.message));
      };
      worker.postMessage(program);
    });
  }

  // A question is an object or its text. Resolves to the answer's text, or null if a newer question
  // of the slot, or one with the slot in `drops`, replaced it.
  askText(slot, question, drops = []) {
    return new Promise(resolve => {
      const pointless = [slot, ...drops];
      for (const s of pointless) {
        this.waiting.get(s)?.resolve(null);
        this.waiting.delete(s);
      }
      this.waiting.set(slot, { slot, line: typeof question === "string" ? question : JSON.stringify(question), resolve });
      const running = this.running;
      if (running && pointless.includes(running.slot)) {
        const left = running.since + kPatience - performance.now();
        setTimeout(() => { if (this.running === running) this.finish({ dropped: true }); }, Math.max(0, left));
      }
      this.next();
    });
  }

  async ask(slot, question, drops) {
    const text = await this.askText(slot, question, drops);
    return text === null ? null : JSON.parse(text);
  }

  next() {
    if (!this.idle || this.running || this.waiting.size === 0) return;
    const [slot, job] = this.waiting.entries().next().value;
    this.waiting.delete(slot);
    this.running = job;
    job.since = performance.now();
    this.timer = setTimeout(() => this.finish({ late: true }), kMostSeconds * 1000);
    this.worker.postMessage({ line: job.line });
  }

  finish({ answer, failed, late, dropped }) {
    const job = this.running;
    this.running = null;
    clearTimeout(this.timer);
    if (answer !== undefined) {
      job.resolve(answer);
      this.next();
      return;
    }
    ++this.restarts;
    this.worker.terminate();
    this.spawn();
    this.start().catch(e => complain($("broken"), `The page has to be opened anew: ${e.message}`));
    if (dropped) { job.resolve(null); return; }
    const why = late ? `no answer within ${kMostSeconds} seconds; the command line takes as long as it needs`
      : /memory|allocation/i.test(failed) ? "out of memory"
      : `this is too deep or too large for the page (${failed})`;
    job.resolve(JSON.stringify({ error: why, stopped: true }));
  }
}
