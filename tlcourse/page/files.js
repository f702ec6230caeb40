// Where the page's files come from: they stand in the page itself, in base64, or lie beside it.
//
// Either way they are packed with gzip; packing.py, which writes them, describes their form.

import { fromBase64 } from "./base64.js";

const GZIP = [0x1f, 0x8b, 8]; // the first bytes of such a file

/**
 * The bytes of a file; `heard` is told which share of them is there. Throws an Error that says what
 * to do when there is none, or when it cannot be unpacked.
 */
export async function bytesOf(name, heard = () => {}) {
  const kept = document.getElementById(`${name}.gz`);
  return unpacked(kept ? fromBase64(kept.textContent) : await fetched(`${name}.gz`, heard), name);
}

async function fetched(name, heard) {
  const said = `expected ${name} beside this page, got`;
  const again = "copy the whole folder, and open the page through a web server";
  const address = name.split("/").map(encodeURIComponent).join("/");
  const answer = await fetch(address).catch(() => null);
  if (!answer) throw new Error(`${said} no answer; ${again}`);
  if (!answer.ok) throw new Error(`${said} the answer ${answer.status}; ${again}`);
  const length = Number(answer.headers.get("content-length"));
  if (!length || !answer.body) return new Uint8Array(await answer.arrayBuffer());
  const parts = [];
  let count = 0;
  for (const reader = answer.body.getReader(); ; ) {
    const { done, value } = await reader.read().catch(() => {
      throw new Error(`expected all of ${name}, and the connection broke; load this page again`);
    });
    if (done) break;
    parts.push(value);
    heard(Math.min((count += value.length) / length, 1)); // more than 1 where it came packed
  }
  const all = new Uint8Array(count);
  parts.reduce((start, part) => (all.set(part, start), start + part.length), 0);
  return all;
}

/** What was packed with gzip; some web servers have already unpacked it on its way. */
async function unpacked(bytes, name) {
  if (!GZIP.every((byte, place) => bytes[place] === byte)) return bytes;
  if (!globalThis.DecompressionStream) {
    throw new Error(
      "expected a browser that unpacks gzip (DecompressionStream), which this one does not; open " +
        "the page in Chrome or Edge 80, Firefox 113, Safari 16.4 or a later version of these",
    );
  }
  const unpacking = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const whole = await new Response(unpacking).arrayBuffer().catch(() => {
    throw new Error(
      `expected all of ${name}, packed with gzip, got a damaged or shortened file; fetch or copy ` +
        "it again",
    );
  });
  return new Uint8Array(whole);
}

/** What a JSON file holds. */
export async function jsonOf(name) {
  const text = new TextDecoder().decode(await bytesOf(name));
  try {
    return JSON.parse(text);
  } catch {
    throw new Error(`expected JSON in ${name}, got something else; fetch or copy it again`);
  }
}
