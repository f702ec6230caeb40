// Starts the slides, and makes the type of a slide smaller until everything on it is in sight.
const SMALLEST = 17;

function overflows(slide) {
  const wide = [slide, ...slide.querySelectorAll("p, table")];
  return (
    slide.scrollHeight > slide.clientHeight ||
    wide.some((part) => part.scrollWidth > part.clientWidth + 1)
  );
}

function fit(slide) {
  let size = parseFloat(getComputedStyle(slide).fontSize);
  while (overflows(slide) && size > SMALLEST) {
    size -= 1;
    slide.style.fontSize = `${size}px`;
  }
}

const deck = new Reveal({
  width: 1280,
  height: 720,
  margin: 0,
  center: false,
  hash: true,
  controls: false,
  slideNumber: "c/t",
  transition: "none",
  pdfSeparateFragments: false,
  plugins: [RevealNotes],
});
deck.on("ready", ({ currentSlide }) => fit(currentSlide));
deck.on("slidechanged", ({ currentSlide }) => fit(currentSlide));
deck.on("pdf-ready", () => deck.getSlides().forEach(fit));
deck.initialize();
