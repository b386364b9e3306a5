// Unpacks the `size` bytes in `all`: an LZMA stream without a header (lc=4, lp=0, pb=0), closed by its end marker, and
// their CRC-32. The output is the dictionary. Each round of the loop writes at least one of the `size` bytes or is the
// last one, whatever the input.
function unpacked(all, size) {
  const packed = all.subarray(0, -4);
  const broken = () => { throw new Error("the page is not whole"); };
  // Start indices of each decision's probabilities. A state encodes the last few steps.
  const kMatch = 0, kRep = 12, kRep0 = 24, kRep1 = 36, kRep2 = 48, kLong = 60, kLength = 72, kRepLength = kLength + 274;
  const kSlot = kRepLength + 274, kDistance = kSlot + 4 * 64, kAlign = kDistance + 128, kLiteral = kAlign + 16;
  const out = new Uint8Array(size), chances = new Uint16Array(kLiteral + (0x300 << 4)).fill(1024);
  const coder = new Uint32Array([0xffffffff, packed[1] << 24 | packed[2] << 16 | packed[3] << 8 | packed[4]]);  // range, code
  let from = 5, to = 0, state = 0, rep0 = 1, rep1 = 1, rep2 = 1, rep3 = 1;
  if (packed.length < 5 || packed[0]) broken();

  // Decodes one bit with an adaptive probability of 0, in 2048ths.
  const bit = at => {
    const chance = chances[at], range = coder[0], code = coder[1], bound = Math.imul(range >>> 11, chance) >>> 0;
    let rest = bound, left = code, one = 0;
    if (code < bound) chances[at] = chance + (2048 - chance >> 5);
    else {
      rest = range - bound >>> 0;
      left = code - bound >>> 0;
      chances[at] = chance - (chance >> 5);
      one = 1;
    }
    if (rest < 0x1000000) {
      rest = rest << 8 >>> 0;
      left = (left << 8 | packed[from++]) >>> 0;
    }
    coder[0] = rest;
    coder[1] = left;
    return one;
  };
  // Decodes a number, most significant bit first; and least significant bit first.
  const tree = (at, bits) => {
    let node = 1;
    for (let i = 0; i < bits; ++i) node = node << 1 | bit(at + node);
    return node - (1 << bits);
  };
  const reversed = (at, bits) => {
    let node = 1, value = 0;
    for (let i = 0; i < bits; ++i) {
      const b = bit(at + node);
      node = node << 1 | b;
      value |= b << i;
    }
    return value;
  };
  // Bits of equal probability.
  const direct = bits => {
    let value = 0;
    for (let i = 0; i < bits; ++i) {
      const half = coder[0] >>> 1, one = coder[1] >= half;
      if (one) coder[1] -= half;
      coder[0] = half;
      if (half < 0x1000000) {
        coder[0] = half << 8;
        coder[1] = coder[1] << 8 | packed[from++];
      }
      value = value << 1 | one;
    }
    return value;
  };
  const length = at => !bit(at) ? 2 + tree(at + 2, 3) : !bit(at + 1) ? 10 + tree(at + 10, 3) : 18 + tree(at + 18, 8);
  const distance = size => {
    const slot = tree(kSlot + 64 * Math.min(size - 2, 3), 6), bits = (slot >> 1) - 1;
    if (slot < 4) return slot;
    const high = 2 | slot & 1;
    if (slot < 14) return (high << bits) + reversed(kDistance + (high << bits) - slot, bits);
    return (high << bits) + (direct(bits - 4) << 4) + reversed(kAlign, 4) >>> 0;
  };

  for (;;) {
    if (!bit(kMatch + state)) {
      if (to === size) broken();
      const at = kLiteral + 0x300 * (to && out[to - 1] >> 4);
      let node = 1;
      if (state > 6) {  // after a match: relative to the byte that would have continued it
        let beside = out[to - rep0], same = true;
        while (same && node < 256) {
          const wanted = beside >> 7 & 1, b = bit(at + (1 + wanted << 8) + node);
          beside <<= 1;
          node = node << 1 | b;
          same = b === wanted;
        }
      }
      while (node < 256) node = node << 1 | bit(at + node);
      out[to++] = node;
      state = state < 4 ? 0 : state < 10 ? state - 3 : state - 6;
      continue;
    }
    let count;
    if (!bit(kRep + state)) {
      count = length(kLength);
      [rep3, rep2, rep1, rep0] = [rep2, rep1, rep0, distance(count) + 1];
      if (rep0 > 0xffffffff) break;
      state = state < 7 ? 7 : 10;
    } else {
      if (!bit(kRep0 + state)) {
        if (!bit(kLong + state)) count = 1;
      } else if (!bit(kRep1 + state)) [rep1, rep0] = [rep0, rep1];
      else if (!bit(kRep2 + state)) [rep2, rep1, rep0] = [rep1, rep0, rep2];
      else [rep3, rep2, rep1, rep0] = [rep2, rep1, rep0, rep3];
      state = count ? (state < 7 ? 9 : 11) : state < 7 ? 8 : 11;
      count ??= length(kRepLength);
    }
    if (rep0 > to || count > size - to) broken();
    for (const end = to + count; to < end; ++to) out[to] = out[to - rep0];
  }
  const sums = Int32Array.from({ length: 256 }, (_, i) => {
    for (let k = 0; k < 8; ++k) i = i >>> 1 ^ (i & 1 && 0xedb88320);
    return i;
  });
  let sum = -1;
  for (let i = 0; i < size; ++i) sum = sum >>> 8 ^ sums[(sum ^ out[i]) & 255];
  const [a, b, c, d] = all.subarray(-4);
  if (to !== size || from !== packed.length || coder[1] || ~sum !== (a | b << 8 | c << 16 | d << 24)) broken();
  return out;
}
