// A walk through the rooms: one thing to look at and a few words about it, step by step.

import { make } from "./dom.js";
import { sharpest } from "./reading.js";

/**
 * The steps, for a page with its first example in the box. Each is {room, look, say}: which room,
 * what is pointed at (a selector), what is said; `text` is put in the box, `act` does something.
 */
export function stepsFor({ made }) {
  const { causal } = made.first;
  const example = made.first.text;
  const steps = [
    {
      room: "glance",
      look: "#text",
      text: example,
      say: "You type, and a small language model reads. This is its first example.",
    },
    {
      room: "glance",
      look: "#glance-tokens",
      say:
        "First the text is cut into tokens. Common words are one token each; a rare name comes " +
        "in several pieces.",
    },
    {
      room: "glance",
      look: "#glance-tokens",
      say:
        "The bar below a token shows how hard the underlined one looks at it, in one of the " +
        "heads. Where does it look?",
    },
    {
      room: "glance",
      look: "#glance-bars",
      say: "From what it fetched there, the model gives every token a probability.",
    },
    {
      room: "tokens",
      look: "#merges",
      act: () => slide("merges", 0),
      say: "Where do tokens come from? At the start, every byte of the text is one.",
    },
    {
      room: "tokens",
      look: "#cuts",
      act: () => slide("merges", 0.5),
      say:
        "The tokenizer has learnt which neighbours to merge, common pairs first. Half of this " +
        "text's merges are done here; move the slider yourself.",
    },
    {
      room: "attention",
      look: ".maps",
      say:
        "A block has several heads, and each map is one of them: a row for each token, dark " +
        "where it looks. Some look at the token before, some at the first, some for something.",
    },
    {
      room: "attention",
      look: "#lines",
      say: "The chosen head, large. Choose a token at the left to see where it looks.",
    },
    {
      room: "attention",
      look: "#switches",
      act: (page) => page.switchOff([]),
      say: "But does the prediction need a head? Each of these buttons switches one off.",
    },
    {
      room: "attention",
      look: "#moving",
      act: (page) => page.switchOff([[sharpest(page.reading).layer, sharpest(page.reading).head]]),
      say: "The head from the first room is off now. Orange is what was before, blue what is left.",
    },
    {
      room: "attention",
      look: "#sweep",
      say:
        "Where a head looks says little about what it does. This button takes out one head after " +
        "the other and ranks them by what they change.",
    },
    {
      room: "stream",
      look: "#stream-table",
      act: (page) => page.switchOff([]),
      say:
        "All heads are on again. What a block has found is added to the token's vector, and the " +
        "next block reads the sum. Dark squares are large additions.",
    },
    {
      room: "prediction",
      look: "#lens",
      say:
        "The table asks after every block what the model would say: " +
        "watch in which block the answer appears.",
    },
    {
      room: "prediction",
      look: "#writing",
      causal: true,
      say:
        "Draw a token, add it, read again: that is all there is to writing. A low temperature is " +
        "careful, a high one is wild.",
    },
    {
      room: "both",
      look: "#hidden-token",
      say:
        "The same course trains a model that reads both sides. Hide a token in the middle: who " +
        "guesses better?",
    },
    {
      room: "words",
      look: "#erase",
      say:
        "A head can look at a word that does not matter. Leaving words out, one after the other, " +
        "shows which of them do.",
    },
    {
      room: "classify",
      look: "#labels",
      text: "Who wrote the first book about whales?",
      say:
        "The same model, adapted to questions with labels: it names the kind of answer that is " +
        "asked for.",
    },
    {
      room: "classify",
      look: "#strength",
      act: () => slide("strength", 0),
      say:
        "LoRA added a small update to each weight matrix. At strength 0 it is gone: this is what " +
        "the head makes of the model as it was.",
    },
    {
      room: "glance",
      look: "#text",
      text: example,
      act: () => slide("strength", 1 / 1.5),
      say: "Now write something of your own; every room follows. The lessons build all of this.",
    },
  ];
  const there = { classify: made.classifiers.length > 0, both: made.pair !== null };
  return steps.filter((step) => (there[step.room] ?? true) && (causal || !step.causal));
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
  const press = (name, click) => make("button", { type: "button", click }, name);
  const back = press("Back", () => go(place - 1));
  const next = press("Next", () => (place + 1 < steps.length ? go(place + 1) : end()));
  const stop = press("End the tour", () => end());
  const panel = make("div", { id: "tour", role: "region", "aria-label": "tour", hidden: true });
  panel.append(said, make("div", { class: "examples" }, back, next, stop));
  document.body.append(panel);
  let place = 0;
  const point = (element) => {
    document.querySelector(".pointed")?.classList.remove("pointed");
    element?.classList.add("pointed");
    element?.scrollIntoView({ block: "center" });
  };
  const go = async (to) => {
    place = to;
    const { room, look, text, act, say } = steps[place];
    page.enter(room);
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
  panel.addEventListener("keydown", ({ key }) => key === "Escape" && end());
  button.textContent = `Take the tour: ${steps.length} steps`;
  button.addEventListener("click", () => {
    panel.hidden = false;
    document.body.classList.add("touring");
    go(0);
    next.focus();
  });
}
