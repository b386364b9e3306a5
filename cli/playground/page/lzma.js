// Unpacks LZMA ("alone" files, as xz --format=lzma writes them), after its specification: a range
// coder whose bits have probabilities that learn, for bytes, and matches of what came before.
"use strict";
function unlzma(packed, size) {
  const props = packed[0], lc = props % 9, lp = Math.floor(props / 9) % 5, pb = Math.floor(props / 45);
  const out = new Uint8Array(size);
  let at = 13 + 1, range = 0xffffffff, code = 0, pos = 0;
  for (let i = 0; i < 4; ++i) code = (code << 8 | packed[at++]) >>> 0;
  const fresh = n => new Uint16Array(n).fill(1024);

  function bit(probabilities, i) {
    const p = probabilities[i], bound = (range >>> 11) * p;
    let result = 0;
    if (code < bound) {
      range = bound;
      probabilities[i] = p + (2048 - p >> 5);
    } else {
      code -= bound;
      range -= bound;
      probabilities[i] = p - (p >> 5);
      result = 1;
    }
    if (range < 0x1000000) {
      range = range << 8 >>> 0;
      code = (code << 8 | packed[at++]) >>> 0;
    }
    return result;
  }
  function direct(count) {
    let result = 0;
    while (count-- > 0) {
      range >>>= 1;
      let one = 0;
      if (code >= range) { code -= range; one = 1; }
      if (range < 0x1000000) {
        range = range << 8 >>> 0;
        code = (code << 8 | packed[at++]) >>> 0;
      }
      result = result << 1 | one;
    }
    return result >>> 0;
  }
  const tree = (probabilities, base, bits) => {
    let m = 1;
    for (let i = 0; i < bits; ++i) m = m << 1 | bit(probabilities, base + m);
    return m - (1 << bits);
  };
  const reverse = (probabilities, base, bits) => {
    let m = 1, result = 0;
    for (let i = 0; i < bits; ++i) {
      const b = bit(probabilities, base + m);
      m = m << 1 | b;
      result |= b << i;
    }
    return result;
  };
  const lengths = () => ({ choice: fresh(2), low: fresh(16 * 8), mid: fresh(16 * 8), high: fresh(256) });
  const length = (l, place) => !bit(l.choice, 0) ? tree(l.low, place * 8, 3)
    : !bit(l.choice, 1) ? 8 + tree(l.mid, place * 8, 3) : 16 + tree(l.high, 0, 8);

  const literals = fresh(0x300 << lc + lp), isMatch = fresh(12 * 16), isRep = fresh(12), isRep0 = fresh(12), isRep1 = fresh(12),
    isRep2 = fresh(12), isRep0Long = fresh(12 * 16), slots = fresh(4 * 64), places = fresh(128), align = fresh(16),
    matches = lengths(), repeats = lengths();
  let state = 0, rep0 = 0, rep1 = 0, rep2 = 0, rep3 = 0;
  while (pos < size) {
    const place = pos & (1 << pb) - 1;
    if (!bit(isMatch, state * 16 + place)) {
      const before = pos > 0 ? out[pos - 1] : 0;
      const base = 0x300 * (((pos & (1 << lp) - 1) << lc) + (before >> 8 - lc));
      let symbol = 1;
      if (state >= 7) {
        let match = out[pos - rep0 - 1];
        do {
          const wanted = match >> 7 & 1;
          match <<= 1;
          const b = bit(literals, base + (1 + wanted << 8) + symbol);
          symbol = symbol << 1 | b;
          if (wanted !== b) break;
        } while (symbol < 0x100);
      }
      while (symbol < 0x100) symbol = symbol << 1 | bit(literals, base + symbol);
      out[pos++] = symbol;
      state = state < 4 ? 0 : state < 10 ? state - 3 : state - 6;
      continue;
    }
    let count;
    if (bit(isRep, state)) {
      if (!bit(isRep0, state)) {
        if (!bit(isRep0Long, state * 16 + place)) {
          out[pos] = out[pos - rep0 - 1];
          ++pos;
          state = state < 7 ? 9 : 11;
          continue;
        }
      } else {
        let distance;
        if (!bit(isRep1, state)) distance = rep1;
        else {
          if (!bit(isRep2, state)) distance = rep2;
          else { distance = rep3; rep3 = rep2; }
          rep2 = rep1;
        }
        rep1 = rep0;
        rep0 = distance;
      }
      count = length(repeats, place);
      state = state < 7 ? 8 : 11;
    } else {
      rep3 = rep2;
      rep2 = rep1;
      rep1 = rep0;
      count = length(matches, place);
      state = state < 7 ? 7 : 10;
      const slot = tree(slots, Math.min(count, 3) * 64, 6);
      if (slot < 4) rep0 = slot;
      else {
        const bits = (slot >> 1) - 1;
        rep0 = (2 | slot & 1) << bits;
        if (slot < 14) rep0 += reverse(places, rep0 - slot, bits);
        else rep0 += direct(bits - 4) * 16 + reverse(align, 0, 4);
        rep0 >>>= 0;
        if (rep0 === 0xffffffff) break;
      }
    }
    for (count += 2; count > 0 && pos < size; --count, ++pos) out[pos] = out[pos - rep0 - 1];
  }
  if (pos !== size) throw new Error("the packed program ends early");
  return out;
}
