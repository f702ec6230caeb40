// The keys that turn the tour: a keyboard's, and those that clickers send.

const ACTIONS = new Map([
  ["PageDown", "onward"],
  ["ArrowRight", "onward"],
  [" ", "onward"],
  ["PageUp", "backward"],
  ["ArrowLeft", "backward"],
  ["b", "black"],
  [".", "black"],
  ["Escape", "end"],
]);
const KEYED = "textarea, select, [type='range']"; // where all keys have a meaning of their own,
const ARROWED = `${KEYED}, [type='radio']`; // where arrows have one,
const PRESSED = `${ARROWED}, button, a`; // and where the space bar has one

/**
 * Does what keys say while a panel is shown: `actions` are onward, backward and end; black darkens
 * the screen until the next key. In a field Escape alone is heard: the focus goes back to `next`.
 */
export function obeyKeys(panel, next, actions) {
  document.addEventListener("keydown", (event) => {
    const action = ACTIONS.get(event.key);
    if (panel.hidden || !action || isForOthers(event)) return;
    if (isForField(event)) {
      if (action === "end") next.focus();
      return;
    }
    event.preventDefault(); // the page would scroll
    if (event.repeat) return;
    if (action === "black") document.body.classList.toggle("black");
    else {
      document.body.classList.remove("black");
      actions[action]();
    }
  });
  document.addEventListener("pointerup", ({ target }) => {
    if (!panel.hidden && target.matches("[type='range']")) next.focus(); // the clicker goes on
  });
}

/** Whether a key is for the browser, for an open dialog, or has done its work. */
function isForOthers({ defaultPrevented, ctrlKey, altKey, metaKey, shiftKey }) {
  const held = ctrlKey || altKey || metaKey || shiftKey;
  return held || defaultPrevented || document.querySelector("dialog[open]") !== null;
}

/** Whether a key has a meaning in what has the focus. */
function isForField({ key, target }) {
  const fields = key === " " ? PRESSED : key.startsWith("Arrow") ? ARROWED : KEYED;
  return target.closest(fields) !== null;
}
