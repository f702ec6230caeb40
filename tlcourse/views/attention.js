// Attention one can turn: the tokens that look (queries) stand at the left, the tokens they look at
// (keys) at the right, and every weight is a line: the stronger, the darker.
//
//     import { show } from "./attention.js"; // and attention.css
//     show(document.getElementById("view"), data);
//
// data = {
//   title, alt, note,                texts; the note may be ""
//   layers, heads,                   how many
//   queries: ["The", " dog"],        tokens; so are keys
//   keys: ["The", " dog"],
//   marks: [1],                      places of tokens that stand out
//   first: {layer: 0, on: [0, 1]},   what is shown first
//   weights: Float32Array,           (layers, heads, queries, keys), flat
// }
//
// First come pure functions: data and a state in, numbers and sentences out. A state is
// {layer, on, chosen}: `on` lists the heads that are switched on, `chosen` is null or
// {side, place}, a token of the side "queries" or "keys". Then `show` puts it all on a page. Tokens
// get there as text only, so none of them can become a tag.

const FAINT = 0.05; // a weaker line is drawn for a chosen token only,
const NOTHING = 0.005; // and one that would read 0.00 never
const HEADINGS = { queries: "query: this token looks", keys: "key: at this token" };
const COLOURS = 7; // in attention.css; the eighth head has the first colour again, dashed
const SPOKEN = 4; // heads that get a sentence; the others are counted
const LONGEST = 14; // signs of a token in a sentence

// ---- pure functions -----------------------------------------------------------------------------

/** The bytes (0 to 255) of a base64 text as weights from 0 to 1. */
export function decode(text) {
  return Float32Array.from(atob(text), (byte) => byte.charCodeAt(0) / 255);
}

/** The weight with which a query looks at a key in one head. */
export function weightAt(data, layer, head, query, key) {
  const row = (layer * data.heads + head) * data.queries.length + query;
  return data.weights[row * data.keys.length + key];
}

/** A token as it is shown: no space before it, signs for what has no ink, no accent in the air. */
export function visible(token) {
  const bare = token.replace(/^ +(?=.)/su, "");
  const signs = bare.replaceAll(" ", "␣").replaceAll("\n", "↵").replaceAll("\t", "⇥");
  return /^\p{M}/u.test(signs) ? `◌${signs}` : signs;
}

/** The pairs {query, key} of the chosen token with each of the other side; of all, if none is. */
export function pairs(data, chosen) {
  const places = (side) =>
    chosen?.side === side ? [chosen.place] : data[side].map((_, place) => place);
  const keys = places("keys");
  return places("queries").flatMap((query) => keys.map((key) => ({ query, key })));
}

/** The lines to draw: {head, query, key, weight}, the weakest first, so that it lies below. */
export function lines(data, state) {
  const least = state.chosen ? NOTHING : FAINT;
  const all = pairs(data, state.chosen);
  return state.on
    .flatMap((head) => weighted(data, state.layer, head, all))
    .filter((line) => line.weight >= least)
    .sort((a, b) => a.weight - b.weight);
}

function weighted(data, layer, head, all) {
  return all.map(({ query, key }) => {
    return { head, query, key, weight: weightAt(data, layer, head, query, key) };
  });
}

/** The strongest line of the chosen token in each head that is on; the strongest head first. */
export function strongest(data, state) {
  const all = pairs(data, state.chosen);
  const stronger = (a, b) => (b.weight > a.weight ? b : a);
  return state.on
    .map((head) => weighted(data, state.layer, head, all).reduce(stronger))
    .sort((a, b) => b.weight - a.weight);
}

/** The weight between the chosen token and each of the other side: the mean of the heads. */
export function means(data, state) {
  return pairs(data, state.chosen).map(({ query, key }) => {
    const weights = state.on.map((head) => weightAt(data, state.layer, head, query, key));
    return weights.reduce((sum, weight) => sum + weight, 0) / weights.length;
  });
}

/** What is to be seen, in sentences; a screen reader says them when they change. */
export function sentences(data, state) {
  if (!state.on.length) return [`block ${state.layer}: no head is switched on`];
  if (!state.chosen) {
    return [`block ${state.layer}: weights from ${FAINT}; choose a token to see where it looks`];
  }
  const best = strongest(data, state);
  const spoken = best.slice(0, SPOKEN).map(({ head, query, key, weight }) => {
    const [from, to] = [quoted(data.queries[query]), quoted(data.keys[key])];
    return `head ${state.layer}.${head}: ${from} looks at ${to} with ${weight.toFixed(2)}`;
  });
  const left = best.length - spoken.length;
  return left > 0 ? [...spoken, `and ${left} more, with less`] : spoken;
}

/** A token in quotes, cut; the two signs nobody sees keep its direction of writing to itself. */
function quoted(token) {
  const signs = Array.from(visible(token));
  const cut = signs.length > LONGEST ? [...signs.slice(0, LONGEST - 1), "…"] : signs;
  return `'\u2068${cut.join("")}\u2069'`;
}

/** The heads that are on after one of them was switched. */
export function switched(on, head) {
  return on.includes(head) ? on.filter((each) => each !== head) : [...on, head].sort((a, b) => a - b);
}

/** Where a key of the keyboard leads from a place in a row of `count`; null: nowhere. */
export function step(key, place, count, [back, forth]) {
  const to = { [back]: place - 1, [forth]: place + 1, Home: 0, End: count - 1 }[key];
  return to === undefined ? null : Math.min(Math.max(to, 0), count - 1);
}

// ---- the page -----------------------------------------------------------------------------------

const ACROSS = ["ArrowLeft", "ArrowRight"];
const DOWN = ["ArrowUp", "ArrowDown"];

/** Builds the view in a root element, in place of what was there. */
export function show(root, data) {
  const state = { ...data.first, chosen: null };
  let kept = null; // the token chosen by keyboard or click; the pointer only borrows the choice
  const parts = build(root, data);
  const change = (changes) => {
    Object.assign(state, changes);
    update(parts, data, state);
  };
  const keep = (chosen) => change({ chosen: (kept = chosen) });

  parts.layers.forEach((button, layer) => {
    button.addEventListener("click", () => change({ layer }));
  });
  parts.heads.forEach((button, head) => {
    button.addEventListener("click", () => change({ on: switched(state.on, head) }));
  });
  parts.every.addEventListener("click", () => change({ on: numbers(data.heads) }));
  parts.none.addEventListener("click", () => change({ on: [] }));
  parts.whole.addEventListener("click", () => keep(null));
  for (const side of ["queries", "keys"]) {
    parts[side].forEach((button, place) => {
      for (const how of ["focus", "click"]) {
        button.addEventListener(how, () => keep({ side, place }));
      }
      button.addEventListener("pointerenter", () => change({ chosen: { side, place } }));
      button.addEventListener("pointerleave", () => change({ chosen: kept }));
      button.addEventListener("keydown", ({ key }) => {
        if (key === "Escape") keep(null);
        if (key === (side === "queries" ? "ArrowRight" : "ArrowLeft")) {
          const other = parts[side === "queries" ? "keys" : "queries"];
          other[Math.min(place, other.length - 1)].focus();
        }
      });
    });
  }
  change({});
}

/** Makes the elements of the view; what a state changes is filled in by `update`. */
function build(root, data) {
  const button = (name, ...inside) => element("button", { type: "button", class: name }, ...inside);
  const token = (text, place) => {
    const name = data.marks.includes(place) ? "attention-marked" : "";
    return button(name, element("span", { dir: "auto" }, visible(text)), element("span"));
  };
  const parts = {
    layers: numbers(data.layers).map((layer) => button("", `block ${layer}`)),
    heads: numbers(data.heads).map((head) => button(colour(head))),
    every: button("", "all heads"),
    none: button("", "no heads"),
    whole: button("", "all tokens"),
    said: element("p", { class: "attention-said", "aria-live": "polite" }),
    headings: {
      queries: element("div", { class: "attention-heading" }),
      keys: element("div", { class: "attention-heading" }),
    },
    queries: data.queries.map(token),
    keys: data.keys.map(token),
    lines: drawn("svg", {
      viewBox: `0 0 1 ${Math.max(data.queries.length, data.keys.length)}`,
      preserveAspectRatio: "none",
      "aria-hidden": "true",
    }),
  };
  const picture = element("div", { class: "attention-picture" });
  const between = element("div", { class: "attention-lines" }, parts.lines);
  picture.append(parts.headings.queries, element("div"), parts.headings.keys);
  picture.append(row("queries", parts.queries, DOWN), between, row("keys", parts.keys, DOWN));
  root.classList.add("attention");
  root.style.setProperty("--sentences", Math.min(data.heads, SPOKEN) + (data.heads > SPOKEN));
  root.replaceChildren(
    element("h1", {}, data.title),
    element("p", { class: "attention-alt" }, data.alt),
    row("block", parts.layers, ACROSS),
    row("head", parts.heads, ACROSS),
    row("show", [parts.whole, parts.every, parts.none], ACROSS),
    parts.said,
    picture,
    element("p", { class: "attention-note" }, data.note),
  );
  return parts;
}

/** Brings the elements up to date with a state. */
function update(parts, data, state) {
  const press = (button, on) => button.setAttribute("aria-pressed", String(on));
  parts.layers.forEach((button, layer) => press(button, layer === state.layer));
  parts.heads.forEach((button, head) => {
    button.textContent = `head ${state.layer}.${head}`;
    press(button, state.on.includes(head));
  });
  press(parts.whole, !state.chosen);
  parts.said.textContent = sentences(data, state).join("\n");
  parts.lines.replaceChildren(...lines(data, state).map(line));
  const shares = state.chosen && state.on.length ? means(data, state) : [];
  const bars = state.on.length > 1 ? `mean of ${state.on.length} heads` : "weight";
  for (const side of ["queries", "keys"]) {
    const mine = state.chosen?.side === side;
    parts.headings[side].textContent = HEADINGS[side] + (shares.length && !mine ? `\n${bars}` : "");
    parts[side].forEach((button, place) => {
      const share = mine ? undefined : shares[place];
      press(button, mine && state.chosen.place === place);
      button.lastChild.textContent = share >= NOTHING ? share.toFixed(2) : "";
      button.style.setProperty("--share", share ?? 0);
    });
  }
}

/** The classes that give a head its colour. */
function colour(head) {
  return `attention-colour-${head % COLOURS}${head >= COLOURS ? " attention-dashed" : ""}`;
}

function line({ head, query, key, weight }) {
  const ends = { x1: 0, y1: query + 0.5, x2: 1, y2: key + 0.5 };
  return drawn("line", { class: colour(head), opacity: weight, ...ends });
}

/** Buttons of which one can be reached with the tab key, and the others from it with the arrows. */
function row(name, buttons, arrows) {
  const reach = (place) =>
    buttons.forEach((button, other) => button.setAttribute("tabindex", other === place ? 0 : -1));
  buttons.forEach((button, place) => {
    button.addEventListener("focus", () => reach(place));
    button.addEventListener("keydown", (event) => {
      const to = step(event.key, place, buttons.length, arrows);
      if (to === null) return;
      event.preventDefault(); // the page would scroll
      buttons[to].focus();
    });
  });
  reach(0);
  return element("div", { class: `attention-${name}`, role: "group", "aria-label": name }, ...buttons);
}

function element(name, attributes = {}, ...inside) {
  return filled(document.createElement(name), attributes, inside);
}

function drawn(name, attributes) {
  return filled(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, []);
}

/** Strings in `inside` become text, never tags. */
function filled(made, attributes, inside) {
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...inside);
  return made;
}

function numbers(count) {
  return Array.from({ length: count }, (_, number) => number);
}
