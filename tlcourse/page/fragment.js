// The page's address: which room, and the text, which stand behind # and are never sent anywhere.
//
//     #attention&text=The%20ship

/** The room and the text of a fragment; what is not there is null. */
export function parsed(fragment) {
  const parts = fragment.replace(/^#/u, "").split("&");
  const text = parts.find((part) => part.startsWith("text="));
  const room = parts.find((part) => part && !part.includes("="));
  return { room: room ?? null, text: text === undefined ? null : plain(text.slice(5)) };
}

function plain(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // a % of somebody's own
  }
}

/** Puts room and text into the address. An entry of the history that the page wrote has a state. */
export function keep(room, text) {
  try {
    history.replaceState({ own: true }, "", `#${room}&text=${encodeURIComponent(text)}`);
  } catch {
    // some browsers refuse it, for half a character or after many in a short time
  }
}
