// Says why nothing happens where page.js cannot run, in JavaScript that every browser knows.
(function () {
  function why() {
    var page = document.documentElement;
    if (page.getAttribute("data-started")) return "";
    if (!document.getElementById("page-end")) {
      return "This file was cut short on its way: its end is missing; copy or download it again.";
    }
    if (location.protocol === "file:" && document.querySelector("script[src='page.js']")) {
      return (
        "A browser opens this folder only through a web server: run `python -m http.server` in " +
        "it and open http://localhost:8000, or build the page as one file."
      );
    }
    return (
      "This browser is too old for the page; what you see was computed beforehand. An up-to-date " +
      "Chrome, Edge, Firefox or Safari can run it."
    );
  }
  window.addEventListener("load", function () {
    var words = why();
    var status = document.getElementById("status");
    if (words && status) status.textContent = words;
  });
})();
