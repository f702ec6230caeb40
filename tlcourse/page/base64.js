// Base64 to bytes: the weights stand as text in a page that is one file.

const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/** The bytes of a base64 text, without line breaks: by the browser itself, or letter by letter. */
export function fromBase64(text) {
  return Uint8Array.fromBase64 ? Uint8Array.fromBase64(text) : lettersToBytes(text);
}

/**
 * What `fromBase64` does where browsers cannot. It is a loop over numbers because
 * `Uint8Array.from(atob(text), …)` needs seconds for a model.
 */
export function lettersToBytes(text) {
  const values = new Uint8Array(128).fill(255);
  for (let value = 0; value < 64; value++) values[LETTERS.charCodeAt(value)] = value;
  const length = text.endsWith("==") ? text.length - 2 : text.length - text.endsWith("=");
  if (text.length % 4) throw new Error(cutBase64(`${text.length} letters`));
  const bytes = new Uint8Array(Math.floor((length * 3) / 4));
  let place = 0;
  let held = 0; // bits that wait for more
  for (let letter = 0; letter < length; letter++) {
    const value = values[text.charCodeAt(letter)] ?? 255;
    if (value === 255) throw new Error(cutBase64(`'${text[letter]}'`));
    held = ((held << 6) | value) & 0xfffff;
    if (letter % 4) bytes[place++] = held >> (6 - 2 * (letter % 4));
  }
  return bytes;
}

function cutBase64(got) {
  return `expected base64 in groups of four letters, got ${got}; fetch the file again`;
}
