// A walk through the rooms: one thing to look at and a few words about it, step by step.

import { obeyKeys } from "./clicker.js";
import { isTapped, make } from "./dom.js";
import { askedFrom, sharpest } from "./reading.js";

/**
 * The steps, for a page with its first example in the box. Each is {room, look, say}: which room,
 * what is pointed at (a selector), what is said; `text` is put in the box, `act` does something.
 */
export function stepsFor({ made }) {
  const { causal } = made.first;
  const example = made.first.text;
  const pointAt = isTapped() ? "Tap" : "Point at";
  const steps = [
    {
      room: "overview",
      look: "#text",
      text: example,
      say: "You type, and a small language model reads along. This is an example.",
    },
    {
      room: "overview",
      look: "#drawn-tokens",
      say:
        "First the text is cut into tokens. Common words are one token each, a rare name comes " +
        "in several pieces. Each token becomes a list of numbers; you see the first few of each.",
    },
    {
      room: "overview",
      look: "#drawn-heads",
      say:
        "Then tokens look at each other; the parts of the model that do this are its heads. " +
        `${pointAt} one to see where the token in bold looks, and what would be left of the ` +
        "prediction without this head.",
    },
    {
      room: "overview",
      look: "#drawn-bars",
      say:
        "From what it found, the model gives a probability of coming next to every token it " +
        "knows. The longest bar is its guess.",
    },
    {
      room: "tokens",
      look: "#merges",
      act: () => slide("merges", 0),
      say: "Where do tokens come from? At the start every letter is one (exactly: every byte).",
    },
    {
      room: "tokens",
      look: "#cuts",
      act: () => slide("merges", 0.5),
      say:
        "The tokenizer has learned which neighbours to merge, common pairs first. Half of the " +
        "merges are done here; move the slider to see the rest.",
    },
    {
      room: "attention",
      look: "#maps",
      act: (page) => {
        page.choose(sharpestOf(page));
        page.draw();
      },
      say:
        "All heads at once. Each map has one row for each token, coloured where it looks. Many " +
        "heads look at the first token or at the one before. The framed head is the one that the " +
        "drawing showed first.",
    },
    {
      room: "attention",
      look: "#lines",
      act: (page) => {
        page.mark(askedFrom(page.reading));
        page.draw();
      },
      say:
        "The framed head up close. At the left is the token that looks, here the last one; the " +
        `wider a line, the harder it looks. ${pointAt} other tokens, too.`,
    },
    {
      room: "attention",
      look: "#switches",
      act: (page) => page.switchOff([]),
      say: "Does the prediction need that head? This button switches it off.",
    },
    {
      room: "attention",
      look: "#moving",
      act: (page) => page.switchOff([sharpestOf(page)]),
      say: "It is off now. The pale bars show what was before, the solid ones what is left.",
    },
    {
      room: "attention",
      look: "#ranking",
      say:
        "Perhaps other heads matter more, because where a head looks says little about what it " +
        "does. These are the five whose loss changes the prediction most, each switched off alone.",
    },
    {
      room: "stream",
      look: "#stream-table",
      act: (page) => page.switchOff([]),
      say:
        "All heads are on again. From left to right, each block adds something to every token. " +
        "The word in a square is the best guess so far; the stronger the colour, the more " +
        "certain it is.",
    },
    {
      room: "prediction",
      look: "#writing",
      causal: true,
      say:
        "Draw a token, add it, read again: that is all there is to writing. Press the button. " +
        "A low temperature is careful, a high one is wild.",
    },
    {
      room: "prediction",
      look: "#lens",
      say: "What the model would say after each block. In which one does the answer appear?",
    },
    {
      room: "both",
      look: "#both .inside",
      say:
        "Another model reads what comes before and what comes after. One token is hidden from " +
        "both: which guesses better? Choose another one.",
    },
    {
      room: "words",
      look: "#erased",
      say:
        "A head can look at a word that does not matter. Here each word has been left out in " +
        "turn: the longer its bar, the more the prediction changes without it.",
    },
    {
      room: "classify",
      look: "#labels",
      text: "Who wrote the first book about whales?",
      say:
        "The first model again, trained a little more, on questions. It does not answer; it " +
        "says what kind of answer is asked for.",
    },
    {
      room: "classify",
      look: "#strength",
      act: () => slide("strength", 0),
      say:
        "What it has learned for this is a small addition to its weights, called LoRA. At " +
        "strength 0, as here, it has no effect.",
    },
    {
      room: "overview",
      look: "#text",
      text: example,
      act: () => slide("strength", 1 / 1.5),
      say: "Now write something of your own; every room follows. The lessons build all of this.",
    },
  ];
  const there = { classify: made.classifiers.length > 0, both: made.pair !== null };
  return steps.filter((step) => (there[step.room] ?? true) && (causal || !step.causal));
}

/** The head that the first room shows, as [layer, head]. */
function sharpestOf({ reading }) {
  const { layer, head } = sharpest(reading);
  return [layer, head];
}

/** Puts a slider at a share of its way, as if it had been moved. */
function slide(id, share) {
  const slider = document.getElementById(id);
  if (!slider) return;
  slider.value = Number(slider.min) + share * (slider.max - slider.min);
  slider.dispatchEvent(new Event("input"));
}

/** The panel that leads through the steps; `button` opens it. */
export function tour(page, button) {
  const steps = stepsFor(page);
  const said = make("p", { id: "tour-said", "aria-live": "polite" });
  const press = (name, click, kind = null) =>
    make("button", { type: "button", class: kind, click }, name);
  const backward = () => place > 0 && go(place - 1);
  const back = press("Back", backward);
  const onward = () => (place + 1 < steps.length ? go(place + 1) : end());
  const next = press("Next", onward, "primary");
  const stop = press("End the tour", () => end());
  const panel = make("div", { id: "tour", role: "region", "aria-label": "tour", hidden: true });
  panel.append(said, make("div", { class: "pills" }, back, next, stop));
  document.body.append(panel);
  let place = 0;
  const grown = new ResizeObserver(([{ target }]) => target.scrollIntoView({ block: "nearest" }));
  const point = (element) => {
    document.querySelector(".pointed")?.classList.remove("pointed");
    grown.disconnect();
    if (!element) return;
    element.classList.add("pointed");
    element.scrollIntoView({ block: "center" });
    grown.observe(element); // what it shows may come later
  };
  const go = async (to) => {
    place = to;
    const { room, look, text, act, say } = steps[place];
    page.enter(room);
    page.remember();
    said.textContent = `${place + 1} of ${steps.length}. ${say}`;
    if (place === 0 && document.activeElement === back) next.focus(); // a disabled one loses it
    back.disabled = place === 0;
    next.textContent = place + 1 < steps.length ? "Next" : "End";
    stop.hidden = place + 1 === steps.length;
    const entered = place;
    if (text && text !== page.parts.text.value) await page.type(text);
    if (entered !== place) return;
    if (act && page.reading.opened) act(page);
    point(document.querySelector(look));
  };
  const end = () => {
    panel.hidden = true;
    document.body.classList.remove("touring");
    point(null);
    button.focus();
  };
  obeyKeys(panel, next, { onward, backward, end });
  button.textContent = `Tour: ${steps.length} steps`;
  button.addEventListener("click", () => {
    panel.hidden = false;
    document.body.classList.add("touring");
    go(0);
    next.focus();
  });
}
