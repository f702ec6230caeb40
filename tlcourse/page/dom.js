// Elements of the page. Strings become text, never tags, so nothing typed can become one.

const DRAWN = ["svg", "rect", "path"]; // these belong to SVG
const HEATS = 9; // as in page.css
const NO_BAR = 0.0005; // a smaller share is 0.0% and has no bar

/**
 * An element with its attributes and what is inside. A function is a listener, `true` an empty
 * attribute; what is null or false is left out.
 */
export function make(tag, attributes = {}, ...inside) {
  const space = DRAWN.includes(tag) ? "http://www.w3.org/2000/svg" : "http://www.w3.org/1999/xhtml";
  const made = document.createElementNS(space, tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === false) continue;
    if (typeof value === "function") made.addEventListener(name, value);
    else made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...inside.filter((each) => each !== null));
  return made;
}

/** Whether this screen is tapped, and nothing can be pointed at. */
export function isTapped() {
  return matchMedia("(pointer: coarse)").matches;
}

/** 0.3123 as "31.2%". */
export function percent(share) {
  return `${(100 * share).toFixed(1)}%`;
}

/** A count with its noun, which is in the plural unless there is one. */
export function counted(count, noun) {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

/** A bar of a share from 0 to 1, for the eye alone: the number stands beside it. */
export function bar(share) {
  const filled = make("rect", { width: inPercent(share), height: "100%" });
  return make("svg", { class: "bar", "aria-hidden": "true" }, filled);
}

/** A word or token as a list's item: its name, a bar where there is a share, a number below. */
export function chip(name, number, { kinds = [], share = null } = {}) {
  const told = make("small", {}, String(number));
  const kind = kinds.filter(Boolean).join(" ") || null;
  const drawn = share === null ? null : bar(share);
  return make("li", { class: kind }, make("bdi", {}, name), drawn, told);
}

/**
 * Rows of bars with their numbers at the ends, {text, now, before}: what is now, and what was
 * before (null: nothing to compare with). A full bar is `full`, by default the first of 10, 25, 50,
 * 75 and 100 % that holds them all.
 */
export function barRows(rows, full = null) {
  const most = Math.max(...rows.map(({ now, before }) => Math.max(now, before ?? 0)));
  const whole = full ?? [0.1, 0.25, 0.5, 0.75].find((each) => each >= most) ?? 1;
  return rows.map(({ text, now, before }) => {
    const long = Math.max(now, before ?? 0, Number.MIN_VALUE);
    const part = (share, attributes) =>
      make("rect", { width: inPercent(share / long), ...attributes });
    const bars =
      before === null
        ? [part(now, { height: "100%" })]
        : [
            part(before, { class: "before", height: "100%" }),
            part(now, { y: "25%", height: "50%" }),
          ];
    const told = before === null ? percent(now) : `${percent(before)} → ${percent(now)}`;
    const kind = before === null ? null : "compared";
    return barRow(text, long < NO_BAR ? 0 : long / whole, bars, told, kind);
  });
}

/** A row: its name, a bar of a share made of some rects, what is told at its end. */
export function barRow(text, share, bars, told, kind = null) {
  const box = { width: inPercent(share), "aria-hidden": "true" };
  const drawn = share < NO_BAR ? null : make("svg", box, ...bars);
  const track = make("span", { class: "track" }, drawn, make("span", { class: "told" }, told));
  return make("li", { class: kind }, make("bdi", {}, text), track);
}

function inPercent(share) {
  return `${(100 * Math.min(Math.max(share, 0), 1)).toFixed(2)}%`;
}

/** The class of a field whose colour is the stronger the larger a share is. */
export function heat(share) {
  return `heat-${Math.round(HEATS * share)}`;
}

/** Choices of which one is taken, for the arrow keys and a screen reader: [{value, inside}]. */
export function choice(name, legend, options, taken, change) {
  const labels = options.map(({ value, inside }) => {
    const checked = String(value) === String(taken);
    const input = make("input", { type: "radio", name, value, checked });
    input.addEventListener("change", () => change(value));
    return make("label", {}, input, make("span", {}, ...[inside].flat()));
  });
  return make("fieldset", { class: "choice" }, make("legend", {}, legend), ...labels);
}

/** Of buttons in rows of `columns` the tab key reaches one; the arrow keys lead on. */
export function roam(buttons, columns) {
  const reach = (place) =>
    buttons.forEach((button, other) => button.setAttribute("tabindex", other === place ? 0 : -1));
  buttons.forEach((button, place) => {
    button.addEventListener("focus", () => reach(place));
    button.addEventListener("keydown", (event) => {
      const by = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns }[event.key];
      if (by === undefined) return;
      event.preventDefault(); // the page would scroll
      buttons[place + by]?.focus();
    });
  });
  reach(0);
}

/** Lets the browser draw, and hear keys, before what comes next, so many milliseconds later. */
export function breathe(pause = 0) {
  return new Promise((resolve) => setTimeout(resolve, pause));
}

/**
 * Fills an element anew; what had the keyboard's focus in it has it again, by its place, or, where
 * that is disabled now, the first that is not.
 */
export function refill(parent, ...inside) {
  const reachable = () => [...parent.querySelectorAll("button, input, a, select")];
  const place = reachable().indexOf(document.activeElement);
  parent.replaceChildren(...inside);
  if (place < 0) return;
  const again = reachable();
  (again[place]?.disabled ? again.find(({ disabled }) => !disabled) : again[place])?.focus();
}
