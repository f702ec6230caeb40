// The page's address as a QR code, for a class to scan.

import { make } from "./dom.js";
import { leanQr } from "./lean_qr.js";

const DENSEST = 15; // the version with the smallest squares that a camera finds from the last row
const MARGIN = 4; // light squares around the code
const HERE_ALONE = /^(localhost|127\.[\d.]+|\[::1\])$/u; // hosts that are the computer itself

/** The code of an address, {address, code}; where that is too long, the code of a shorter one. */
export function codeOf(address, shorter) {
  try {
    return { address, code: leanQr.generate(address, { maxVersion: DENSEST }) };
  } catch {
    return { address: shorter, code: leanQr.generate(shorter) };
  }
}

/** The dark squares of a code as the path of an SVG. */
export function squaresOf({ size, get }) {
  const places = Array.from({ length: size * size }, (_, at) => [at % size, Math.floor(at / size)]);
  return places.filter(([x, y]) => get(x, y)).map(([x, y]) => `M${x} ${y}h1v1h-1z`).join("");
}

/** The button that shows the address, and what it opens; a page from a file has no address. */
export function share(page, button) {
  button.hidden = !location.protocol.startsWith("http");
  const panel = make("dialog", { class: "shared", "aria-label": "this page's address" });
  const click = () => panel.close();
  const close = make("button", { type: "button", class: "primary", click }, "Close");
  document.body.append(panel);
  button.addEventListener("click", () => {
    const [code, ...words] = shownOf(location.href, page.room.id);
    panel.replaceChildren(code, make("div", {}, ...words, close));
    panel.showModal();
  });
}

/** The drawn code of an address, or of the room alone, and paragraphs about it. */
function shownOf(whole, room) {
  const [place] = whole.split("#");
  const { address, code } = codeOf(whole, `${place}#${room}`);
  const notes = [];
  if (address !== whole) {
    notes.push("Your text is too long for a code; this one leads to the same room without it.");
  }
  if (HERE_ALONE.test(location.hostname)) {
    const { hostname } = location;
    notes.push(`Only this computer can open ${hostname}; others need its name in the network.`);
  }
  const box = `${-MARGIN} ${-MARGIN} ${code.size + 2 * MARGIN} ${code.size + 2 * MARGIN}`;
  const drawn = make("path", { d: squaresOf(code) });
  const names = place.split(/(?<=\/)/u).flatMap((name) => [name, make("wbr")]);
  return [
    make("svg", { class: "code", viewBox: box, role: "img", "aria-label": "QR code" }, drawn),
    make("p", { class: "place" }, ...names),
    make("p", { class: "note" }, address.slice(place.length)),
    ...notes.map((note) => make("p", {}, note)),
  ];
}
