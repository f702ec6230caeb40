// The page: one text, read by one model, shown by rooms.

import { breathe, counted, make } from "./dom.js";
import { chooseKernel } from "./kernel.js";
import { ablating } from "./model.js";
import { openClassifier, openModel } from "./opening.js";
import { MOST, keptReading, readText, readWithout } from "./reading.js";
import { attentionRoom } from "./room_attention.js";
import { bothRoom } from "./room_both.js";
import { classifyRoom } from "./room_classify.js";
import { glanceRoom } from "./room_glance.js";
import { predictionRoom } from "./room_prediction.js";
import { streamRoom } from "./room_stream.js";
import { tokensRoom } from "./room_tokens.js";
import { wordsRoom } from "./room_words.js";
import { tour } from "./tour.js";

const ROOMS = [
  glanceRoom,
  tokensRoom,
  attentionRoom,
  streamRoom,
  predictionRoom,
  bothRoom,
  wordsRoom,
  classifyRoom,
];
const PAUSE = 150; // milliseconds without a key before the model is asked

/** What all rooms share: the text, the model, what it made of the text, which heads are off. */
class Page {
  constructor(parts, made) {
    Object.assign(this, { parts, made });
    this.opened = new Map(); // models by name, as promises
    this.classifiers = new Map();
    this.off = []; // heads, [layer, head]
    this.kernel = null;
    this.reading = made.first ? keptReading(made.first) : null;
    this.shown = this.reading; // the same with heads off
    const empty = { [bothRoom.id]: !made.pair, [classifyRoom.id]: !made.classifiers.length };
    this.rooms = ROOMS.filter(({ id }) => !empty[id]);
    this.drawn = new Map(); // by room: what its `build` gave
    this.room = null;
  }

  /** Brings a room to the front; one that is not there is the first. */
  enter(id) {
    this.room = this.rooms.find((room) => room.id === id) ?? this.rooms[0];
    for (const { id: each } of this.rooms) {
      const here = each === this.room.id;
      document.getElementById(each).hidden = !here;
      const link = document.querySelector(`nav a[href="#${each}"]`);
      if (here) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    this.draw();
  }

  draw() {
    if (!this.reading) return;
    const { id, build } = this.room;
    if (!this.drawn.has(id)) {
      const root = document.querySelector(`#${id} .inside`);
      root.replaceChildren();
      this.drawn.set(id, build(root, this));
    }
    this.drawn.get(id)(this.reading, this.shown);
  }

  /** Reads the text with the chosen model, which is loaded first; says how that went. */
  async read() {
    const { model, text } = this.parts;
    const name = model.value;
    try {
      const opened = await this.open(name);
      if (name !== model.value) return;
      const before = performance.now();
      this.reading = readText(opened, text.value);
      this.look();
      this.say(this.summary(performance.now() - before));
      this.draw();
      document.documentElement.dataset.read = text.value;
    } catch (error) {
      this.opened.delete(name);
      this.complain(error);
    }
  }

  look() {
    const { layers, heads } = this.reading;
    this.off = this.off.filter(([layer, head]) => layer < layers && head < heads);
    this.shown = this.off.length ? readWithout(this.reading, this.off) : this.reading;
  }

  async open(name) {
    const said = this.parts.status.textContent;
    if (!this.opened.has(name)) {
      this.say(`Loading ${name} …`);
      await breathe();
      this.kernel ??= chooseKernel();
      this.parts.progress.hidden = false;
      const heard = (share) => (this.parts.progress.value = share);
      this.opened.set(name, openModel(this.kernel, name, heard));
    }
    try {
      return await this.opened.get(name);
    } finally {
      this.parts.progress.hidden = true;
      this.parts.status.textContent = said;
    }
  }

  /** A classifier by its name, loaded when it is first asked for. */
  async classifier(name) {
    if (!this.classifiers.has(name)) {
      const { base } = this.made.classifiers.find((each) => each.name === name);
      const opening = async () =>
        openClassifier(this.kernel, name, base ? await this.open(base) : null);
      this.classifiers.set(name, opening());
    }
    return this.classifiers.get(name).catch((error) => {
      this.classifiers.delete(name);
      throw error;
    });
  }

  summary(took) {
    const { ids, cut, place } = this.reading;
    const missing = place < 0 ? " Write <mask> where a word is to be guessed." : "";
    const shortened = cut ? ` Only the first ${MOST} tokens are read.` : "";
    const empty = ids.length > 1 ? "" : " There is no text: the model reads <eos> alone.";
    const read = `${counted(ids.length, "token")}, read in ${Math.round(took)} ms.`;
    return read + empty + missing + shortened;
  }

  say(text) {
    this.parts.status.textContent = [text, this.kernel?.note].filter((each) => each).join(" ");
    this.parts.status.classList.remove("wrong");
  }

  /** Says what went wrong, in words that say what to do. */
  complain(error) {
    const memory = error instanceof RangeError && !error.message.startsWith("expected");
    const text = memory
      ? "expected memory for the model, and the browser gives no more; close other tabs and load " +
        "this page again"
      : error.message;
    this.say(text.replace(/^./u, (letter) => letter.toUpperCase()));
    this.parts.status.classList.add("wrong");
  }

  isOff(layer, head) {
    return this.off.some(([l, h]) => l === layer && h === head);
  }

  /** The heads that are off as `Transformer.run` wants them; undefined: none is. */
  headScale() {
    return this.off.length ? ablating(this.reading.opened.model.config, this.off) : undefined;
  }

  toggle(layer, head) {
    const others = this.off.filter(([l, h]) => l !== layer || h !== head);
    this.switchOff(others.length < this.off.length ? others : [...others, [layer, head]]);
  }

  allOn() {
    this.switchOff([]);
  }

  switchOff(heads) {
    this.off = heads;
    if (this.reading.opened) this.look();
    this.draw();
  }

  /** Puts a text in the box, as if it had been typed. */
  type(text) {
    this.parts.text.value = text;
    return this.read();
  }

  /** A model and what it does. */
  nameOf(model) {
    const masked = this.made.examples[model][0].includes("<mask>");
    return `${model}: ${masked ? "fills in <mask>" : "what comes next"}`;
  }

  /** Puts the chosen model's examples under the box. */
  offer() {
    const button = (text) => make("button", { type: "button", click: () => this.type(text) }, text);
    this.parts.examples.replaceChildren(...this.made.examples[this.parts.model.value].map(button));
  }

  /** Another model; an example that was not changed becomes that model's. */
  chosen() {
    const { examples } = this.made;
    const { text, model } = this.parts;
    if (Object.values(examples).flat().includes(text.value)) [text.value] = examples[model.value];
    this.offer();
    this.off = [];
    return this.read();
  }
}

/** The head of a room, which its module fills: what is seen, and its lesson. */
function sectionOf({ id, name, story, lesson }, lessons) {
  const link = lessons[lesson];
  const words = link && `Lesson ${lesson}: ${link.title}`;
  const more = link && make("a", { href: link.address, rel: "noreferrer" }, words);
  const heading = make("h2", { id: `${id}-name`, tabindex: -1 }, name);
  const said = make("p", { class: "story" }, `${story} `, more ?? null);
  return [heading, said];
}

function start() {
  document.documentElement.dataset.started = "yes"; // for old.js
  const parts = {};
  for (const id of ["model", "text", "examples", "status", "progress", "rooms"]) {
    parts[id] = document.getElementById(id);
  }
  const made = JSON.parse(document.getElementById("page-models").textContent);
  const page = new Page(parts, made);
  for (const name of made.models) parts.model.append(new Option(page.nameOf(name), name));
  parts.model.parentElement.hidden = made.models.length < 2;
  for (const room of page.rooms) {
    const link = make("a", { href: `#${room.id}` }, room.name);
    document.querySelector("nav ul").append(make("li", {}, link));
    const inside = make("div", { class: "inside" });
    const section = document.getElementById(room.id) ?? make("section", { id: room.id });
    section.setAttribute("aria-labelledby", `${room.id}-name`);
    section.replaceChildren(...sectionOf(room, made.lessons), inside);
    parts.rooms.append(section);
  }
  const enter = () => page.enter(location.hash.slice(1));
  window.addEventListener("hashchange", () => {
    enter();
    document.getElementById(`${page.room.id}-name`).focus();
  });
  let waiting = 0;
  parts.model.addEventListener("change", () => page.chosen());
  parts.text.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => page.read(), PAUSE);
  });
  page.offer();
  enter();
  tour(page, document.getElementById("start-tour"));
  requestAnimationFrame(() => setTimeout(() => page.read(), 0)); // after the page has been drawn
}

start();
