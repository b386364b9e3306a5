// Asks the C++ in a worker. A question replaces an unanswered one of the same slot; a worker that
// does not answer in time is ended, and another one goes on.

const kMostSeconds = 5;

class Engine {
  constructor(packed, size, source) {
    this.waiting = new Map();  // by slot, in order: { line, resolve }
    this.running = null;
    this.url = URL.createObjectURL(new Blob([source + `
onmessage = ({ data }) => {
  try {
    if (data.packed) {
      const bytes = Uint8Array.from(atob(data.packed), c => c.charCodeAt(0));
      const module = new WebAssembly.Module(unlzma(bytes, data.size));
      start(module);
      postMessage({ ready: true, module });
    } else if (data.module) {
      start(data.module);
      postMessage({ ready: true });
    } else postMessage({ answer: answer(data.line) });
  } catch (e) { postMessage({ failed: String(e) }); }
};`], { type: "text/javascript" }));
    this.ready = this.start({ packed, size });
  }

  // The first worker unpacks and compiles, so that the page can be typed in; others get its module.
  start(message) {
    this.worker = new Worker(this.url);
    this.idle = false;
    return new Promise((resolve, reject) => {
      this.worker.onmessage = ({ data }) => {
        if (data.ready) { this.module ??= data.module; this.idle = true; resolve(); this.next(); }
        else if (this.running === null) reject(new Error(data.failed));
        else this.finish(data);
      };
      this.worker.onerror = e => {
        e.preventDefault();
        if (this.running) this.finish({ failed: e.message }); else reject(new Error(e.message));
      };
      this.worker.postMessage(message);
    });
  }

  // A question is an object, or its text; the answer is text, or null where a newer question of the slot took its place.
  askText(slot, question) {
    return new Promise(resolve => {
      this.waiting.get(slot)?.resolve(null);
      this.waiting.delete(slot);
      this.waiting.set(slot, { slot, line: typeof question === "string" ? question : JSON.stringify(question), resolve });
      this.next();
    });
  }

  async ask(slot, question) {
    const text = await this.askText(slot, question);
    return text === null ? null : JSON.parse(text);
  }

  next() {
    if (!this.idle || this.running || this.waiting.size === 0) return;
    const [slot, job] = this.waiting.entries().next().value;
    this.waiting.delete(slot);
    this.running = job;
    this.timer = setTimeout(() => this.finish({ late: true }), kMostSeconds * 1000);
    this.worker.postMessage({ line: job.line });
  }

  finish({ answer, failed, late }) {
    const job = this.running;
    this.running = null;
    clearTimeout(this.timer);
    if (answer === undefined) {
      this.worker.terminate();
      this.start({ module: this.module });
      const why = late ? `no answer within ${kMostSeconds} seconds; the command line takes as long as it needs`
        : /memory|allocation/i.test(failed) ? "out of memory"
        : `this is too deep or too large for the page (${failed})`;
      job.resolve(JSON.stringify({ error: why, stopped: true }));
      return;
    }
    job.resolve(answer);
    this.next();
  }
}
