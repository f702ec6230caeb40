// What all rooms of the page share: one text, read by one model.

import { breathe, make } from "./dom.js";
import { dropMissing, ignoredWords, keep } from "./fragment.js";
import { effectsOf } from "./heads.js";
import { chooseKernel } from "./kernel.js";
import { ablating } from "./model.js";
import { openClassifier, openModel } from "./opening.js";
import { keptReading, readText, readWithout } from "./reading.js";
import { errorWords, summaryWords } from "./status.js";

const BEFORE = 60; // pixels that are seen of the row of rooms before the one that is taken

/** The text, the model, what it made of the text, which heads are off. */
export class Page {
  constructor(parts, made, rooms) {
    Object.assign(this, { parts, made });
    this.opened = new Map(); // models by name, as promises
    this.classifiers = new Map();
    this.off = []; // heads, [layer, head]
    this.head = null; // the one that was chosen, [layer, head]
    this.tokens = {}; // by room: the place of the token that was chosen there
    this.ignored = []; // parts of the address that this page cannot show
    this.studies = new WeakMap(); // by reading: the promise of what its heads do
    this.replaced = null; // the text that a room replaced by one of its own
    this.kernel = null;
    this.reading = made.first ? keptReading(made.first) : null;
    this.shown = this.reading; // the same with heads off
    this.rooms = rooms;
    this.drawn = new Map(); // by room: what its `build` gave
    this.room = null;
  }

  /** Brings a room to the front; one that is not there is the first. */
  enter(id) {
    this.room = this.rooms.find((room) => room.id === id) ?? this.rooms[0];
    const reads = this.room.reads?.(this.made) ?? "";
    const { model, readers } = this.parts;
    model.hidden = Boolean(reads);
    readers.textContent = reads;
    model.parentElement.hidden = this.made.models.length < 2 && !reads;
    this.begin();
    this.offer();
    for (const { id: each } of this.rooms) {
      const here = each === this.room.id;
      document.getElementById(each).hidden = !here;
      const link = document.querySelector(`nav a[href="#${each}"]`);
      if (!here) link.removeAttribute("aria-current");
      else {
        link.setAttribute("aria-current", "page");
        link.closest("ul").scrollTo({ left: link.offsetLeft - BEFORE }); // on a phone
      }
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
      const kept = this.reading;
      this.reading = readText(opened, text.value);
      const same = !kept?.opened && kept?.text === text.value && name === this.made.models[0];
      if (same) this.reading.effects = kept.effects; // until they have been computed again
      dropMissing(this);
      this.look();
      const took = performance.now() - before;
      this.say(summaryWords(this.reading, took), ignoredWords(this.ignored));
      this.parts.rooms.classList.remove("waiting");
      this.draw();
      document.documentElement.dataset.read = text.value;
    } catch (error) {
      this.opened.delete(name);
      this.complain(error);
    }
  }

  look() {
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

  say(...texts) {
    const all = [...texts, this.kernel?.note];
    this.parts.status.textContent = all.filter((each) => each).join(" ");
    this.parts.status.classList.remove("wrong");
  }

  complain(error) {
    this.say(errorWords(error));
    this.parts.status.classList.add("wrong");
  }

  /** Finds, once for a reading, what each head does to its first choice: its `effects`. */
  study(reading) {
    if (!reading.probabilities) return null;
    const finding = async () => {
      const effects = await effectsOf(reading, () => this.reading === reading);
      if (effects) reading.effects = effects;
    };
    if (!this.studies.has(reading)) this.studies.set(reading, finding());
    return this.studies.get(reading);
  }

  /** The head that Attention shows, [layer, head]. */
  choose(head) {
    this.head = head;
    this.remember();
  }

  /** The token that the room in front is about, by its place. */
  mark(place) {
    this.tokens[this.room.id] = place;
    this.remember();
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
    this.remember();
    if (this.reading.opened) this.look();
    this.draw();
  }

  /** Puts a text in the box, as if it had been typed. */
  type(text) {
    this.parts.text.value = text;
    return this.typed();
  }

  typed() {
    Object.assign(this, { tokens: {}, ignored: [] });
    this.remember();
    return this.read();
  }

  /** Keeps what is shown in the address, so that a link or a bookmark leads back to it. */
  remember() {
    const { text, model } = this.parts;
    const { id } = this.room;
    keep({
      room: id,
      text: text.value,
      model: model.value,
      head: this.head,
      token: this.tokens[id] ?? null,
      off: this.off,
    });
  }

  /** A room that is not about the examples brings a text of its own; the others get theirs back. */
  begin() {
    const { text } = this.parts;
    const [own] = this.room.examples ?? [];
    const examples = Object.values(this.made.examples).flat();
    if (own && examples.includes(text.value) && !text.value.endsWith("?")) {
      this.replaced = { text: text.value, by: own };
      this.type(own);
    } else if (!own && this.replaced) {
      const { text: before, by } = this.replaced;
      this.replaced = null;
      if (text.value === by) this.type(before);
    }
  }

  /** A model and what it does. */
  nameOf(model) {
    const masked = this.made.examples[model][0].includes("<mask>");
    return `${model}: ${masked ? "fills in <mask>" : "what comes next"}`;
  }

  /** Puts the examples of the room, or else of the chosen model, under the box. */
  offer() {
    const button = (text) => make("button", { type: "button", click: () => this.type(text) }, text);
    const texts = this.room.examples ?? this.made.examples[this.parts.model.value];
    this.parts.examples.replaceChildren(...texts.map(button));
  }

  /** Another model; an example that was not changed becomes that model's. */
  chosen() {
    const { examples } = this.made;
    const { text, model } = this.parts;
    if (Object.values(examples).flat().includes(text.value)) [text.value] = examples[model.value];
    this.offer();
    Object.assign(this, { off: [], head: null });
    return this.typed();
  }
}
