// Unpacks the page's scripts and program.

// The bytes encoded as text in the page. It uses the 125 characters that survive in a page, by code: the first
// three stand for six bits, 0 to 2, the others for seven, 6 to 127.
function bytesOf(text, size) {
  const bytes = new Uint8Array(size);
  let held = 0, bits = 0, at = 0;
  for (let i = 0; i < text.length; ++i) {
    const code = text.charCodeAt(i), rank = code - (code > 60 ? 3 : code > 13 ? 2 : 1);  // without NUL, CR, <
    const wide = rank > 2;
    held = wide ? held << 7 | rank + 3 : held << 6 | rank;
    bits += wide ? 7 : 6;
    if (bits >= 8) {
      bits -= 8;
      if (at < size) bytes[at++] = held >> bits;
      held &= (1 << bits) - 1;
    }
  }
  if (at < size) throw new Error("the page is not whole");
  return bytes;
}

// The page's scripts, which need not wait for the program.
const scripts = (held => new Response(new Blob([bytesOf(held.textContent, Number(held.dataset.size))]).stream()
  .pipeThrough(new DecompressionStream("gzip"))).text())(document.getElementById("scripts")).then(text => {
  const script = document.createElement("script");
  script.textContent = text;
  document.body.append(script);
  document.querySelector("main").style = "";
}, e => { document.getElementById("broken").textContent = `This browser cannot run the page: ${e.message}`; });
