// The page: its rooms, its controls, and how it begins.

import { make } from "./dom.js";
import { parsed, restore } from "./fragment.js";
import { attentionRoom } from "./room_attention.js";
import { bothRoom } from "./room_both.js";
import { classifyRoom } from "./room_classify.js";
import { overviewRoom } from "./room_overview.js";
import { predictionRoom } from "./room_prediction.js";
import { streamRoom } from "./room_stream.js";
import { tokensRoom } from "./room_tokens.js";
import { wordsRoom } from "./room_words.js";
import { share } from "./share.js";
import { Page } from "./shared.js";
import { tour } from "./tour.js";

const ROOMS = [
  overviewRoom,
  tokensRoom,
  attentionRoom,
  streamRoom,
  predictionRoom,
  bothRoom,
  wordsRoom,
  classifyRoom,
];
const PHONE = "(max-width: 34rem)"; // as in page.css
const PAUSE = 150; // milliseconds without a key before the model is asked

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
  for (const id of ["model", "readers", "text", "examples", "status", "progress", "rooms"]) {
    parts[id] = document.getElementById(id);
  }
  const made = JSON.parse(document.getElementById("page-models").textContent);
  const empty = { [bothRoom.id]: !made.pair, [classifyRoom.id]: !made.classifiers.length };
  const rooms = ROOMS.filter(({ id }) => !empty[id]);
  const page = new Page(parts, made, rooms);
  for (const name of made.models) parts.model.append(new Option(page.nameOf(name), name));
  for (const room of rooms) {
    const link = make("a", { href: `#${room.id}` }, room.name);
    document.querySelector("nav ul").append(make("li", {}, link));
    const inside = make("div", { class: "inside" });
    const section = document.getElementById(room.id) ?? make("section", { id: room.id });
    section.setAttribute("aria-labelledby", `${room.id}-name`);
    section.replaceChildren(...sectionOf(room, made.lessons), inside);
    parts.rooms.append(section);
  }
  window.addEventListener("hashchange", () => {
    const asked = parsed(location.hash);
    const link = asked.text !== null && !history.state?.own; // not the way back
    if (link) restore(page, asked);
    page.enter(asked.room);
    page.remember();
    if (link) page.read();
    const phone = matchMedia(PHONE).matches;
    const entered = document.getElementById(page.room.id);
    entered.querySelector("h2").focus({ preventScroll: phone });
    if (phone) entered.scrollIntoView();
  });
  let waiting = 0;
  parts.model.addEventListener("change", () => page.chosen());
  parts.text.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => page.typed(), PAUSE);
  });
  const asked = parsed(location.hash);
  restore(page, asked);
  const example = parts.text.value === made.first.text && parts.model.value === made.models[0];
  if (!example || page.off.length) parts.rooms.classList.add("waiting"); // that is what is drawn
  page.enter(asked.room);
  if (!location.hash && !matchMedia(PHONE).matches) {
    parts.text.focus({ preventScroll: true }); // with a caret, it says that one may type
    parts.text.setSelectionRange(parts.text.value.length, parts.text.value.length);
  }
  share(page, document.getElementById("show-address"));
  tour(page, document.getElementById("start-tour"));
  requestAnimationFrame(() => setTimeout(() => page.read(), 0)); // after the page has been drawn
}

start();
