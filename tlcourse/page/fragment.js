// The page's address: what it shows stands behind # and is never sent anywhere.
//
//     #attention&text=The%20ship&model=causal-small&head=5.3&token=2&off=5.3,0.2

const QUOTED = 24; // signs of a part, at most
const READERS = new Map([
  ["text", plain],
  ["model", plain],
  ["head", headNamed],
  ["token", (text) => (/^\d+$/u.test(text) ? Number(text) : null)],
  ["off", headsNamed],
]);

/**
 * What a fragment asks for, {room, text, model, head, token, off, ignored}. A head is
 * [layer, head], what is not there is null; `ignored` has the parts that cannot be read.
 */
export function parsed(fragment) {
  const asked = { room: null, text: null, model: null, head: null, token: null, off: null };
  const ignored = [];
  for (const part of fragment.replace(/^#/u, "").split("&").filter(Boolean)) {
    const [, name, value] = /^(?:([^=]*)=)?(.*)$/su.exec(part);
    const found = name === undefined ? value : READERS.get(name)?.(value);
    const key = name ?? "room";
    if (found === undefined || found === null || asked[key] !== null) ignored.push(part);
    else asked[key] = found;
  }
  return { ...asked, ignored };
}

/** What is said of the parts of an address that this page cannot show. */
export function ignoredWords(parts) {
  if (!parts.length) return "";
  const cut = (part) => (part.length > QUOTED ? `${part.slice(0, QUOTED)}…` : part);
  const list = parts.map((part) => `'\u2068${cut(part)}\u2069'`).join(", ");
  return `In the address, this page ignores ${list}: perhaps a link of another version.`;
}

function plain(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // a % of somebody's own
  }
}

function headNamed(text) {
  return /^\d+\.\d+$/u.test(text) ? text.split(".").map(Number) : null;
}

function headsNamed(text) {
  const heads = text.split(",").map(headNamed);
  return heads.includes(null) ? null : heads;
}

/** Puts what is shown into the address. An entry of the history that the page wrote has a state. */
export function keep({ room, text, model, head, token, off }) {
  try {
    const parts = [room, `text=${encodeURIComponent(text)}`, `model=${encodeURIComponent(model)}`];
    if (head) parts.push(`head=${head.join(".")}`);
    if (token !== null) parts.push(`token=${token}`);
    if (off.length) parts.push(`off=${off.map((each) => each.join(".")).join(",")}`);
    history.replaceState({ own: true }, "", `#${parts.join("&")}`);
  } catch {
    // some browsers refuse it, for half a character or after many in a short time
  }
}

/** Gives a page what an address asks for, as `parsed` gives it; its next reading shows that. */
export function restore(page, { room, text, model, head, token, off, ignored }) {
  const { parts, made, rooms } = page;
  const known = model === null || made.models.includes(model);
  if (known && model !== null) parts.model.value = model;
  if (text !== null) parts.text.value = text;
  page.head = known ? head : null; // the heads of another model are others
  page.off = (known && off) || [];
  page.tokens = token === null ? {} : { [room]: token };
  page.ignored = [...ignored];
  if (room !== null && !rooms.some(({ id }) => id === room)) page.ignored.push(room);
  if (!known) page.ignored.push(`model=${model}`);
}

/** Drops the heads that the model of a page lacks, and tokens that its text lacks. */
export function dropMissing(page) {
  const { layers, heads, ids } = page.reading;
  const lacks = ([layer, head]) => layer >= layers || head >= heads;
  page.ignored.push(...page.off.filter(lacks).map((each) => `off=${each.join(".")}`));
  page.off = page.off.filter((each) => !lacks(each));
  if (page.head && lacks(page.head)) {
    page.ignored.push(`head=${page.head.join(".")}`);
    page.head = null;
  }
  for (const [room, place] of Object.entries(page.tokens)) {
    if (place < ids.length) continue;
    page.ignored.push(`token=${place}`);
    delete page.tokens[room];
  }
}
