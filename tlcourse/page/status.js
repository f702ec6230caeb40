// The status line: what was read, or what went wrong.

import { counted } from "./dom.js";
import { MOST } from "./reading.js";

/** How a text was read, which took so many milliseconds. */
export function summaryWords({ ids, cut, place }, took) {
  const missing = place < 0 ? " Write <mask> where a word is to be guessed." : "";
  const shortened = cut ? ` Only the first ${MOST} tokens are read.` : "";
  const empty = ids.length > 1 ? "" : " There is no text: the model reads <eos> alone.";
  const read = `${counted(ids.length, "token")}, read in ${Math.round(took)} ms.`;
  return read + empty + missing + shortened;
}

/** What went wrong, in words that say what to do. */
export function errorWords(error) {
  const memory = error instanceof RangeError && !error.message.startsWith("expected");
  const text = memory
    ? "expected memory for the model, and the browser gives no more; close other tabs and load " +
      "this page again"
    : error.message;
  return text.replace(/^./u, (letter) => letter.toUpperCase());
}
