"""The built page in headless Chromium, which finds no host: from a file, and from a web server."""

import html
import io
import re
import shutil
import urllib.parse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image

from benchmarks.speed.page import served
from tests.browser import ActionChains, By, Keys, chromium, needed, screenshot, wait
from tests.page.node import needed as node_needed
from tests.page.node import node
from tlcourse import checkpoints, files, looking
from tlcourse.adaptation import Classifier
from tlcourse.adaptation.edits import LoRALinear
from tlcourse.bpe import EOS, MASK, SPECIALS, normalise
from tlcourse.evaluation import generate
from tlcourse.page import build, drawing, prerender, trec
from tlcourse.page.models import CLASSIFIERS
from tlcourse.page.packing import PLAIN, load_rounded, round_matrices
from tlcourse.transformer import record

pytestmark = needed
ALONE = ["--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"]
TEXT = "The ship sank in the North Atlantic in the"
SHIPPED = files.root() / CLASSIFIERS / "trec-lora"
HOSTILE = "</script><img src=x onerror='window.hacked = 1'> <!--<script> 🦙 مرحبا \u202eabc"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with chromium(tmp_path_factory.mktemp("chromium"), ALONE) as driver:
        yield driver


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("page")
    return build(folder / "page.html", ["causal-small", "masked-small", SHIPPED])


def texts(browser: Any, selector: str) -> list[str]:
    script = "return [...document.querySelectorAll(arguments[0])].map((each) => each.textContent)"
    return browser.execute_script(script, selector)


def said(browser: Any) -> str:
    return browser.find_element(By.ID, "status").text


def typed(browser: Any, text: str) -> str:
    """Types a text, waits for the answer and gives the status line."""
    script = """
        const [text, value] = [document.getElementById("text"), arguments[0]];
        delete document.documentElement.dataset.read;
        text.value = value;
        text.dispatchEvent(new Event("input"));"""
    browser.execute_script(script, text)
    return wait("an answer", lambda: read(browser) and said(browser), 0.1)


def read(browser: Any) -> bool:
    return browser.execute_script("return 'read' in document.documentElement.dataset")


def enter(browser: Any, room: str) -> None:
    """Goes to a room by its link, as a visitor does."""
    browser.find_element(By.CSS_SELECTOR, f"nav a[href='#{room}']").send_keys(Keys.ENTER)
    wait(room, lambda: browser.switch_to.active_element.get_attribute("id") == f"{room}-name", 0.1)


def press(browser: Any, *keys: str) -> Any:
    """Sends keys to what has the focus; gives what has it then."""
    for key in keys:
        browser.switch_to.active_element.send_keys(key)
    return browser.switch_to.active_element


@torch.no_grad()
def expected(name: str, text: str, off: Sequence[tuple[int, int]] = ()) -> tuple[Any, list[str]]:
    """The probabilities of what comes after a text, some heads being off, and the tokens."""
    model, tokenizer = load_rounded(name)
    ids = [EOS, *tokenizer.encode(normalise(text))]
    with looking.ablating(model, off):
        return model(torch.tensor([ids]))[0, -1].softmax(-1), tokenizer.tokens(ids)


def shown_classifier() -> Classifier:
    """The shipped classifier, as the page computes it."""
    classifier = trec.load(SHIPPED)
    round_matrices(classifier)
    return classifier


def names(tokens: Sequence[str]) -> list[str]:
    """Tokens as the page names them: without the space before, pieces of a word with a dot."""
    ids = [EOS, *[len(SPECIALS)] * (len(tokens) - 1)]
    return [html.unescape(drawing.name_of(ids, tokens, place)) for place in range(len(tokens))]


def in_percent(shares: torch.Tensor) -> list[str]:
    return [f"{100 * share:.1f}%" for share in shares.tolist()]


def loaded(browser: Any, address: str) -> str:
    browser.get(address)
    return wait("the model", lambda: said(browser) if "tokens, read in" in said(browser) else "")


def choose(browser: Any, name: str) -> None:
    script = """
        const model = document.getElementById("model");
        model.value = arguments[0];
        model.dispatchEvent(new Event("change"));"""
    browser.execute_script(script, name)


ROOMS = ("overview", "tokens", "attention", "stream", "prediction", "both", "words", "classify")
FIRST = "#drawn-tokens bdi, #drawn-bars bdi, #drawn-bars .told, #looks, #legend span"


def test_one_file_opens_from_disk(browser: Any, page: Path) -> None:
    assert page.stat().st_size < 18e6  # two models and a classifier
    alone = page.with_name("first.html")
    parts = re.split(r"<script[^>]*>.*?</script>", page.read_text("utf-8"), flags=re.DOTALL)
    alone.write_text("".join(parts), encoding="utf-8")
    browser.get(alone.as_uri())
    before, shapes = texts(browser, FIRST), drawn(browser)
    assert len(before) > 30
    loaded(browser, page.as_uri())
    wait("the heads", lambda: coloured(browser), 0.1)
    assert texts(browser, FIRST) == before, "the first view is another than the model's"
    assert drawn(browser) == shapes
    painted = "return performance.getEntriesByName('first-contentful-paint')[0].startTime"
    print(f"first view after {browser.execute_script(painted):.0f} ms")
    screenshot(browser, "page")
    shares, tokens = expected("causal-small", prerender.CAUSAL)
    assert texts(browser, "#drawn-tokens bdi") == names(tokens)
    best = shares.topk(6).values
    assert texts(browser, "#drawn-bars .told") == in_percent(
        torch.cat([best, 1 - best.sum()[None]])
    )


def drawn(browser: Any) -> list[str]:
    """The drawing's elements by tag and class, without those that only move."""
    script = """return [...document.querySelectorAll(".drawing :not(.glint)")]
      .map((each) => each.tagName + (each.getAttribute("class") ?? ""));"""
    return browser.execute_script(script)


def coloured(browser: Any) -> list[str]:
    """What is said of each head, once the model has read the text without it."""
    said = """return [...document.querySelectorAll("#drawn-heads .head")]
      .map((each) => each.getAttribute("aria-label"));"""
    names = browser.execute_script(said)
    return names if all(": Without this head" in name for name in names) else []


def test_heads_are_coloured_by_what_their_loss_does(browser: Any) -> None:
    """On the page of the test before, as those that follow."""
    typed(browser, TEXT)
    found = wait("the heads", lambda: coloured(browser), 0.1)
    before, _ = expected("causal-small", TEXT)
    best = before.argmax()
    heads = [(layer, head) for layer in range(6) for head in range(4)]
    left = [expected("causal-small", TEXT, [each])[0][best] for each in heads]
    for (layer, head), share, said in zip(heads, left, found, strict=True):
        assert said.startswith(f"head {layer}.{head}: Without this head, the probability of")
        assert said.endswith(" to ".join(in_percent(torch.stack([before[best], share]))) + ".")
    lost = [float(before[best] - share) for share in left]
    full = max(0.02, *map(abs, lost))
    fields = browser.find_elements(By.CSS_SELECTOR, "#drawn-heads .head rect")
    for field, change in zip(fields, lost, strict=True):
        opacity = float(field.get_attribute("fill-opacity"))
        assert opacity == pytest.approx((abs(change) / full) ** 0.5, abs=0.02)
        assert abs(change) < 1e-4 or (field.get_attribute("class") == "minus") == (change < 0)
    assert f"(up to {100 * full:.1f} points)" in texts(browser, "#legend")[0]
    strongest = lost.index(max(lost))
    cells = browser.find_elements(By.CSS_SELECTOR, "#drawn-heads .head")
    ActionChains(browser).move_to_element(cells[strongest]).perform()
    now = in_percent(torch.stack([before[best], left[strongest]]))
    wait("its bars", lambda: " → ".join(now) in texts(browser, "#drawn-bars .told"), 0.1)


def test_the_drawings_parts_lead_to_their_rooms(browser: Any) -> None:
    typed(browser, TEXT)
    wait("the heads", lambda: coloured(browser), 0.1)
    parts = {
        "#drawn-tokens-name": "tokens",
        "#drawn-heads-name": "attention",
        "#drawn-heads li:nth-child(3) .name": "stream",
        "#asks": "prediction",
        "#drawn-heads li:nth-child(4) .head:nth-child(3)": "attention",
    }
    for part, room in parts.items():
        enter(browser, "overview")
        browser.find_element(By.CSS_SELECTOR, part).click()
        wait(room, lambda room=room: browser.find_element(By.ID, room).is_displayed(), 0.1)
    chosen = browser.find_element(By.CSS_SELECTOR, "#maps [aria-pressed=true]")
    assert chosen.get_attribute("aria-label").startswith("head 3.1: ")


def test_tokens_are_unmade_and_made_again_by_keyboard(browser: Any) -> None:
    assert typed(browser, TEXT).startswith("11 tokens, read in")
    enter(browser, "tokens")
    _, tokens = expected("causal-small", TEXT)
    shown = names(tokens)
    assert texts(browser, "#cuts bdi") == shown
    slider = browser.find_element(By.ID, "merges")
    slider.send_keys(Keys.HOME)
    assert "every byte is a token" in texts(browser, "#merged")[0]
    assert len(texts(browser, "#cuts bdi")) == 1 + len(" " + TEXT)
    slider.send_keys(Keys.ARROW_RIGHT)
    assert texts(browser, "#merged")[0].startswith("After 1 of the ")
    slider.send_keys(Keys.END)
    assert texts(browser, "#cuts bdi") == shown


def test_a_head_is_switched_off_by_keyboard_and_the_bars_move(browser: Any) -> None:
    enter(browser, "attention")
    assert len(browser.find_elements(By.CSS_SELECTOR, "#maps .cells")) == 24
    focus(browser, "#maps .head")
    press(browser, Keys.ARROW_DOWN, Keys.ARROW_RIGHT)
    at = press(browser, Keys.SPACE)  # another button in its place
    assert at.get_attribute("aria-label").startswith("head 1.1")
    assert at.get_attribute("aria-pressed") == "true"
    assert texts(browser, ".large h3")[0].startswith("Head 1.1: on average, a token looks ")
    focus(browser, "#switches .primary")
    assert press(browser, Keys.SPACE).text == "Switch head 1.1 on"
    off = browser.find_elements(By.CSS_SELECTOR, "#maps .off")
    assert [each.get_attribute("aria-label").split(":")[0] for each in off] == ["head 1.1 (off)"]
    before, _ = expected("causal-small", TEXT)
    after, _ = expected("causal-small", TEXT, [(1, 1)])
    told = dict(zip(texts(browser, "#moving bdi"), texts(browser, "#moving .told"), strict=True))
    assert len(told) == 6
    _, tokenizer = load_rounded("causal-small")
    for token, words in told.items():
        (id,) = tokenizer.encode(f" {token}")
        assert words == " → ".join(in_percent(torch.stack([before[id], after[id]])))
    screenshot(browser, "attention")


def test_the_heads_that_matter_most_are_ranked(browser: Any) -> None:
    before, _ = expected("causal-small", TEXT)
    best = before.argmax()
    left = {}
    for layer in range(6):
        for head in range(4):
            after, _ = expected("causal-small", TEXT, [(layer, head)])
            left[f"head {layer}.{head}"] = after[best]
    names = sorted(left, key=lambda name: -abs(before[best] - left[name]))[:5]
    wait("the ranking", lambda: texts(browser, "#ranking bdi") == names, 0.1)
    told = [" → ".join(in_percent(torch.stack([before[best], left[name]]))) for name in names]
    assert texts(browser, "#ranking .told") == told


def test_curves_and_map_show_where_a_token_looks(browser: Any) -> None:
    """Head 1.1 still; the token that is pointed at, else the one that was chosen."""
    model, tokenizer = load_rounded("causal-small")
    ids = [EOS, *tokenizer.encode(normalise(TEXT))]
    with torch.no_grad(), looking.ablating(model, [(1, 1)]), record(model) as seen:
        model(torch.tensor([ids]))
    weights = seen.attention[1][0, 1]
    assert texts(browser, "#lines .to .told") == in_percent(weights[-1])
    tokens = browser.find_elements(By.CSS_SELECTOR, "#lines .from button")
    ActionChains(browser).move_to_element(tokens[3]).perform()
    assert texts(browser, "#lines .to .told") == in_percent(weights[3])
    row = browser.find_element(By.CSS_SELECTOR, "#lines .map rect")
    assert row.get_attribute("y") == "3"
    strong = browser.find_elements(By.CSS_SELECTOR, ".curves > svg path:not(.other)")
    widths = [float(each.get_attribute("stroke-width")) for each in strong]
    most = [weight for weight in weights[3].tolist() if weight >= 0.005]
    assert widths == pytest.approx([1 + 11 * weight for weight in most], abs=0.06)


def heat(cell: Any) -> int:
    return int(cell.get_attribute("class").split()[0].removeprefix("heat-"))


def test_the_lens_and_writing(browser: Any) -> None:
    browser.find_element(By.XPATH, "//*[@id='switches']/button[text()='All heads on']").click()
    enter(browser, "prediction")
    shares, _ = expected("causal-small", TEXT)
    assert texts(browser, "#bars .told") == in_percent(shares.topk(10).values)
    model, tokenizer = load_rounded("causal-small")
    ids = [EOS, *tokenizer.encode(normalise(TEXT))]
    lens = torch.stack([each[-1] for each in looking.logit_lens(model, ids)]).softmax(-1)
    rows = len(lens)
    assert rows == 7
    best = lens.topk(3).values.reshape(-1)
    assert texts(browser, "#lens small") == in_percent(best)
    cells = browser.find_elements(By.CSS_SELECTOR, "#lens td")
    assert [heat(cell) for cell in cells] == (9 * best).round().int().tolist()
    browser.execute_script(
        """const knob = document.getElementById("temperature");
        knob.value = 0;
        knob.dispatchEvent(new Event("input"));"""
    )
    browser.find_element(By.ID, "write").send_keys(Keys.ENTER)
    expects = generate(model, ids, 64 - len(ids), temperature=0)
    expects = tokenizer.decode([id for id in expects if id != EOS])
    wait("the text", lambda: texts(browser, "#written mark") == [expects], 0.2)
    screenshot(browser, "prediction")


@torch.no_grad()
def test_the_residual_stream_shows_what_blocks_predict(browser: Any) -> None:
    typed(browser, TEXT)
    enter(browser, "stream")
    model, tokenizer = load_rounded("causal-small")
    ids = [EOS, *tokenizer.encode(normalise(TEXT))]
    lens = looking.logit_lens(model, ids)
    expects = lens.argmax(-1).T.reshape(-1)
    words = [drawing.visible(text) for text in tokenizer.tokens(expects.tolist())]
    assert texts(browser, "#stream-table td bdi") == [html.unescape(word) for word in words]
    changed = (lens[1:].argmax(-1) != lens[:-1].argmax(-1)).sum(-1).tolist()
    told = f"How many guesses each block changes (of 11): {', '.join(map(str, changed))}."
    assert texts(browser, "#changed") == [told]
    surest = lens.softmax(-1).amax(-1).T.reshape(-1)
    found = browser.find_elements(By.CSS_SELECTOR, "#stream-table td")
    assert [heat(cell) for cell in found] == (9 * surest).round().int().tolist()
    screenshot(browser, "stream")


def test_a_page_without_a_text_says_that_there_is_none(browser: Any) -> None:
    """And goes on: what is seen then is what the model makes of the mark before every text."""
    heard = typed(browser, " ")
    assert heard.startswith("1 token, read in ")
    assert heard.endswith(" ms. There is no text: the model reads <eos> alone.")
    for room in ROOMS:
        enter(browser, room)
        shown = browser.find_element(By.ID, room).text
        assert not re.search(r"\b1 (tokens|words|bytes|merges|heads)\b|NaN|undefined", shown), shown
    typed(browser, TEXT)


@torch.no_grad()
def test_two_models_guess_what_is_hidden(browser: Any) -> None:
    """The causal one reads what is before the token, the masked one all but the token."""
    enter(browser, "both")
    wait("both models", lambda: texts(browser, "#both-said") != [""], 0.1)
    fourth = browser.find_element(By.CSS_SELECTOR, "#hidden-token input[value='4']")
    browser.execute_script("arguments[0].focus()", fourth)
    fourth.send_keys(Keys.SPACE)
    causal, tokenizer = load_rounded("causal-small")
    masked, _ = load_rounded("masked-small")
    ids = [EOS, *tokenizer.encode(normalise(TEXT))]
    left = causal(torch.tensor([ids[:4]]))[0, -1].softmax(-1)
    hidden = [MASK if place == 4 else id for place, id in enumerate(ids)]
    both = masked(torch.tensor([hidden]))[0, 4].softmax(-1)
    shares = [f"{100 * each[ids[4]]:.1f}%" for each in (left, both)]
    wait("the token", lambda: all(s in texts(browser, "#both-said")[0] for s in shares), 0.1)
    told = in_percent(torch.cat([left.topk(6).values, both.topk(6).values]))
    assert texts(browser, "#both .columns .told") == told
    screenshot(browser, "both")


def erased(browser: Any) -> list[str]:
    """What stands below the words, once all have been left out."""
    script = "return [...document.querySelectorAll('#erased small')].map((e) => e.textContent)"
    return wait("the words", lambda: [s for s in browser.execute_script(script) if s], 0.1)


@torch.no_grad()
def test_words_are_left_out_one_by_one(browser: Any) -> None:
    enter(browser, "words")
    found = erased(browser)
    model, tokenizer = load_rounded("causal-small")

    def shares(words: Sequence[str]) -> torch.Tensor:
        ids = [EOS, *tokenizer.encode(normalise(" ".join(words)))]
        return model(torch.tensor([ids]))[0, -1].softmax(-1)

    words = TEXT.split()
    rests = [shares(words[:place] + words[place + 1 :]) for place in range(len(words))]
    moved = torch.stack([(rest - shares(words)).abs().sum() / 2 for rest in rests])
    assert found == in_percent(moved)
    best = shares(words).argmax()
    changed = sum(int(rest.argmax() != best) for rest in rests)
    assert f"{changed} of its {len(words)} words would" in texts(browser, "#erased-said")[0]
    strongest = sorted(rests, key=lambda rest: -(rest - shares(words)).abs().sum())[:5]
    left = sorted(float(rest[best]) for rest in strongest)  # the shortest bar is the first
    told = [each.split(" → ")[1] for each in texts(browser, "#erased-bars .told")]
    assert told == in_percent(torch.tensor(left))
    screenshot(browser, "words")


def test_words_a_label_hangs_on(browser: Any) -> None:
    question = "Where do penguins sleep?"
    typed(browser, question)
    script = "document.querySelector('input[name=erased-of][value=trec-lora]').click()"
    browser.execute_script(script)
    found = erased(browser)
    classifier = shown_classifier()
    words = ["Where", "do", "penguins", "sleep", "?"]
    texts_left = [" ".join(words[:at] + words[at + 1 :]).replace(" ?", "?") for at in range(5)]
    shares = classifier.probabilities([question, *texts_left], compute=PLAIN)
    moved = (shares[1:] - shares[0]).abs().sum(-1) / 2
    assert found == in_percent(moved)
    assert texts(browser, "#erased-said")[0].startswith("The answer is '\u2068a place (LOC)\u2069'")


def test_a_question_is_classified(browser: Any) -> None:
    question = "Where do penguins sleep?"
    typed(browser, question)
    enter(browser, "classify")
    classifier = shown_classifier()
    shares = classifier.probabilities([question], compute=PLAIN)[0].topk(6)
    wait("the labels", lambda: len(texts(browser, "#labels bdi")) == 6, 0.1)
    assert texts(browser, "#labels .told") == in_percent(shares.values)
    names = [classifier.labels[place] for place in shares.indices]
    assert [text.split("(")[-1] for text in texts(browser, "#labels bdi")] == [
        f"{name})" for name in names
    ]
    browser.find_element(By.ID, "strength").send_keys(Keys.HOME)
    for module in classifier.modules():
        if isinstance(module, LoRALinear):
            module.scale = 0.0
    without = classifier.probabilities([question], compute=PLAIN)[0][shares.indices]
    pairs = zip(in_percent(shares.values), in_percent(without), strict=True)
    told = [" → ".join(each) for each in pairs]
    assert wait("LoRA", lambda: texts(browser, "#labels .told") == told, 0.1)
    screenshot(browser, "classify")


def test_classify_begins_with_a_question_and_gives_the_example_back(browser: Any) -> None:
    box = "return document.getElementById('text').value"
    enter(browser, "overview")
    typed(browser, prerender.CAUSAL)
    enter(browser, "classify")
    assert browser.execute_script(box) == "Who wrote the first book about whales?"
    wait("a label", lambda: texts(browser, "#classified")[0].startswith("This question"), 0.1)
    enter(browser, "tokens")
    assert browser.execute_script(box) == prerender.CAUSAL
    typed(browser, TEXT)
    enter(browser, "classify")
    assert browser.execute_script(box) == TEXT, "a text of one's own stays"


def test_the_tour_goes_through_every_room(browser: Any) -> None:
    browser.find_element(By.ID, "start-tour").send_keys(Keys.ENTER)
    seen, rooms = [], set()
    while browser.find_element(By.ID, "tour").is_displayed():
        words = texts(browser, "#tour-said")[0]
        assert words not in seen
        pointed = wait(
            "what is pointed at", lambda: texts(browser, "main .pointed, header .pointed"), 0.1
        )
        assert len(pointed) == 1, words
        rooms |= set(
            browser.execute_script(
                "const shown = document.querySelectorAll('main section:not([hidden])');"
                "return [...shown].map((each) => each.id);"
            )
        )
        seen.append(words)
        press(browser, Keys.ENTER)
    assert 12 <= len(seen) <= 20
    assert rooms == set(ROOMS)
    assert browser.switch_to.active_element.get_attribute("id") == "start-tour"


PLACES = """
    const box = (selector) => document.querySelector(selector).getBoundingClientRect().toJSON();
    return [box("main .pointed, header .pointed"), box("#tour"), innerWidth, innerHeight];"""


def resized(browser: Any, width: int, height: int) -> None:
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def test_each_step_of_the_tour_fits_a_projector(browser: Any) -> None:
    """What is pointed at stands above the panel, whole, on 1280 × 720, with no scrolling."""
    resized(browser, 1280, 720)
    focus(browser, "#start-tour")
    press(browser, Keys.ENTER)
    seen = set()

    def fits() -> bool:
        pointed, panel, width, height = browser.execute_script(PLACES)
        assert 0 < panel["left"] < panel["right"] < width and panel["bottom"] <= height
        across = 0 < pointed["left"] < pointed["right"] < width
        return across and 0 <= pointed["top"] < pointed["bottom"] <= panel["top"]

    while browser.find_element(By.ID, "tour").is_displayed():
        words = texts(browser, "#tour-said")[0]
        wait(f"a place for {words}", fits, 0.1)
        seen.add(words)
        screenshot(browser, f"tour-{len(seen):02}")
        press(browser, Keys.PAGE_DOWN)
    assert len(seen) == 19
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def step(browser: Any) -> int:
    """Which step of the tour is shown; 0: none."""
    if not browser.find_element(By.ID, "tour").is_displayed():
        return 0
    return int(texts(browser, "#tour-said")[0].split(" of ")[0])


def test_the_tour_obeys_a_clicker(browser: Any) -> None:
    focus(browser, "#start-tour")
    press(browser, Keys.ENTER)
    for key, place in ((Keys.PAGE_DOWN, 2), (Keys.ARROW_RIGHT, 3), (Keys.PAGE_UP, 2)):
        press(browser, key)
        assert step(browser) == place
    browser.execute_script("document.activeElement.blur()")
    for key, place in ((Keys.SPACE, 3), (Keys.ARROW_LEFT, 2), (Keys.PAGE_UP, 1), (Keys.PAGE_UP, 1)):
        press(browser, key)
        assert step(browser) == place
    press(browser, Keys.SHIFT + Keys.ARROW_RIGHT + Keys.NULL)
    assert step(browser) == 1, "a key with another one is the browser's"
    for key in ("b", "."):
        press(browser, key)
        assert brightest(browser) == 0
        press(browser, key)
        assert brightest(browser) == 255
    press(browser, "b", Keys.PAGE_DOWN)
    assert step(browser) == 2 and brightest(browser) == 255
    press(browser, Keys.ESCAPE)
    assert step(browser) == 0
    press(browser, Keys.PAGE_DOWN)
    assert step(browser) == 0


def brightest(browser: Any) -> int:
    """The value of the brightest pixel that is to be seen, from 0 to 255."""
    picture = Image.open(io.BytesIO(browser.get_screenshot_as_png()))
    return max(picture.convert("L").tobytes())


def test_keys_that_a_field_needs_do_not_turn_the_tour(browser: Any) -> None:
    focus(browser, "#start-tour")
    press(browser, Keys.ENTER)
    box = focus(browser, "#text")
    before = box.get_attribute("value")
    press(browser, Keys.PAGE_DOWN, Keys.ARROW_LEFT, Keys.END, " ", "b", ".")
    assert step(browser) == 1 and box.get_attribute("value") == f"{before} b."
    typed(browser, before)
    assert press(browser, Keys.ESCAPE).text == "Next" and step(browser) == 1
    press(browser, *[Keys.PAGE_DOWN] * 4)
    assert step(browser) == 5
    slider = focus(browser, "#merges")
    wait("the merges", lambda: slider.get_attribute("max") != "0", 0.1)
    press(browser, Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
    assert step(browser) == 5 and slider.get_attribute("value") == "2"
    ActionChains(browser).click(slider).perform()  # by mouse: the clicker is in the hand again
    press(browser, Keys.PAGE_DOWN)
    assert step(browser) == 6
    enter(browser, "both")
    wait("both models", lambda: texts(browser, "#hidden-token bdi"), 0.1)
    focus(browser, "#hidden-token input:checked")
    chosen = "return document.querySelector('#hidden-token input:checked').value"
    first = browser.execute_script(chosen)
    press(browser, Keys.ARROW_RIGHT)
    assert step(browser) == 6 and browser.execute_script(chosen) == str(int(first) + 1)
    press(browser, Keys.PAGE_DOWN)
    assert step(browser) == 7
    press(browser, Keys.ESCAPE)


# What the tab key reaches, in order; of radio buttons the one that is checked.
STOPS = """
    const words = (e) => [e.tagName, e.name, e.value || e.firstChild?.textContent].join(" ");
    window.stopOf ??= (e) => e.id || words(e);
    const takes = "a[href], button, input, select, textarea, [tabindex]";
    const reached = (e) => e.tabIndex >= 0 && !e.disabled && e.getClientRects().length > 0;
    return [...document.querySelectorAll(takes)]
      .filter((e) => reached(e) && (e.type !== "radio" || e.checked)).map(stopOf);"""
# Before each key: what has the focus, whether a frame shows it, and whether nothing covers it.
WATCH = """
    window.passed = [];
    window.look ??= () => {
      const at = document.activeElement;
      const shown = at.type === "radio" ? at.nextElementSibling : at;
      const { outlineStyle, outlineWidth } = getComputedStyle(shown);
      const { left, right, top, bottom } = shown.getClientRects()[0]; // of a link, its first line
      const middle = (Math.max(top, 0) + Math.min(bottom, innerHeight)) / 2;
      const above = document.elementFromPoint((left + right) / 2, middle);
      const seen = [at, shown].some((each) => each.contains(above));
      passed.push([stopOf(at), outlineStyle !== "none" && parseFloat(outlineWidth) > 0, seen]);
    };
    addEventListener("keydown", look, true);"""
GROUP = """
    const [group] = arguments;
    const seen = [...group.children].filter((each) => each.getClientRects().length);
    const others = seen.filter((each) => each.tabIndex < 0);
    group.querySelector("[tabindex='0']")?.focus();
    return others.map(stopOf);"""
RADIOS = "return [...document.getElementsByName(arguments[0])].map(stopOf)"


def walked(browser: Any, key: str, times: int, held: str = "") -> list[str]:
    """Where a key, pressed so often, leads the focus, which is always to be seen."""
    browser.execute_script(WATCH)
    actions = ActionChains(browser, duration=0)
    if held:
        actions.key_down(held)
    for _ in range(times):
        actions.send_keys(key)
    if held:
        actions.key_up(held)
    actions.perform()
    passed = browser.execute_script("look(); return passed")[bool(held) :]
    hidden = [name for name, framed, seen in passed if not (framed and seen)]
    assert not hidden, "the focus is not to be seen"
    return [name for name, _, _ in passed]


def focus(browser: Any, selector: str) -> Any:
    found = browser.find_element(By.CSS_SELECTOR, selector)
    browser.execute_script("arguments[0].focus()", found)
    return found


def walk(browser: Any) -> None:
    """Every control is reached by the tab key, there and back, wherever the page is."""
    stops = browser.execute_script(STOPS)
    focus(browser, "#start-tour")
    assert walked(browser, Keys.TAB, len(stops) - 1) == stops
    assert walked(browser, Keys.TAB, len(stops) - 1, Keys.SHIFT) == stops[::-1]


def test_every_control_is_reached_by_keyboard_and_the_focus_is_seen(browser: Any) -> None:
    typed(browser, TEXT)
    for room in ROOMS:
        enter(browser, room)
        wait(room, lambda room=room: texts(browser, f"#{room} ol li, #{room} td"), 0.1)
        walk(browser)
        for group in browser.find_elements(By.CSS_SELECTOR, f"#{room} [role='group']"):
            others = browser.execute_script(GROUP, group)
            key = Keys.ARROW_DOWN
            assert not others or walked(browser, key, len(others))[1:] == others
        taken = browser.find_elements(By.CSS_SELECTOR, f"#{room} input:checked")
        for name in [radio.get_attribute("name") for radio in taken]:
            radios = browser.execute_script(RADIOS, name)
            focus(browser, f"#{room} input[name='{name}']:checked")
            around = walked(browser, Keys.ARROW_RIGHT, len(radios))
            assert sorted(around[1:]) == sorted(radios)
            assert around[0] == around[-1]
        for slider in browser.find_elements(By.CSS_SELECTOR, f"#{room} input[type='range']"):
            for key, least in ((Keys.HOME, True), (Keys.ARROW_RIGHT, False)):
                slider.send_keys(key)
                value, start = map(slider.get_attribute, ("value", "min"))
                assert (float(value) == float(start)) == least


def test_the_focus_is_kept_where_its_button_goes(browser: Any) -> None:
    enter(browser, "attention")
    focus(browser, "#switches .primary")
    press(browser, Keys.SPACE, Keys.TAB)
    at = press(browser, Keys.ENTER)  # all heads are on, and its button is disabled
    assert at.text.endswith(" off")
    press(browser, Keys.SPACE)
    enter(browser, "prediction")
    focus(browser, "#bars ~ p button")
    assert press(browser, Keys.ENTER).get_attribute("id") == "question"
    focus(browser, "#start-tour")
    assert press(browser, Keys.ENTER, Keys.SPACE).text == "Next"
    enter(browser, "attention")
    walk(browser)  # the panel covers nothing
    focus(browser, "#tour button")
    assert press(browser, Keys.ENTER).text == "Next"
    assert texts(browser, "#tour-said")[0].startswith("1 of ")
    assert press(browser, Keys.ESCAPE).get_attribute("id") == "start-tour"


def test_nothing_typed_becomes_a_tag_or_leaves_the_page(browser: Any) -> None:
    assert "Only the first 64 tokens are read." in typed(browser, HOSTILE * 5)
    for room in ROOMS:
        enter(browser, room)
        if room == "words":
            erased(browser)
        assert not browser.find_elements(By.TAG_NAME, "img")
        ids = browser.execute_script(
            "return [...document.querySelectorAll('[id]')].map((e) => e.id)"
        )
        assert len(ids) == len(set(ids)), "an id stands for two elements"
    enter(browser, "tokens")
    assert len(texts(browser, "#cuts li")) == 64
    assert browser.execute_script("return window.hacked") is None
    asks = """
        const violated = new Promise((resolve) => {
          const heard = (event) => resolve(event.effectiveDirective);
          document.addEventListener("securitypolicyviolation", heard);
        });
        fetch("https://example.org").catch(() => null);
        return violated;"""
    assert browser.execute_script(asks) == "connect-src"
    assert browser.execute_script("return performance.getEntriesByType('resource').length") == 0
    for nothing in ("", "   ", "\n\n"):
        assert typed(browser, nothing).startswith("1 token, read in ")


def test_narrow_screens_scroll_in_one_direction_only(browser: Any) -> None:
    typed(browser, "Donaudampfschifffahrtsgesellschaft " * 3)
    size = {"width": 320, "height": 640, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    for room in ROOMS:
        enter(browser, room)
        assert browser.execute_script("return document.documentElement.scrollWidth") <= 320, room
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_a_phone_scrolls_down_only_and_a_room_comes_into_view(browser: Any) -> None:
    typed(browser, "Donaudampfschifffahrtsgesellschaft and the ship left New York " * 2)
    size = {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    for room in ROOMS:
        enter(browser, room)
        wait(room, lambda room=room: texts(browser, f"#{room} li, #{room} td"), 0.1)
        assert browser.execute_script("return document.documentElement.scrollWidth") <= 390, room
        top = "return document.getElementById(arguments[0]).getBoundingClientRect().top"
        assert -100 < browser.execute_script(top, room) < 0.6 * 844
        tab = browser.find_element(By.CSS_SELECTOR, "nav [aria-current]").rect
        assert tab["x"] >= 0 and tab["x"] + tab["width"] <= 390
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_dark_mode_has_dark_heads(browser: Any) -> None:
    typed(browser, TEXT)
    enter(browser, "attention")
    brightness = """
        const cells = document.querySelector(".maps .cells");
        const channels = (colour) => colour.match(/[0-9.]+/g).slice(0, 3).map(Number);
        const mean = (numbers) => numbers.reduce((sum, each) => sum + each) / numbers.length;
        const { backgroundColor } = getComputedStyle(cells);
        const { fill } = getComputedStyle(cells.lastElementChild);
        return [mean(channels(backgroundColor)), mean(channels(fill))];"""
    emulate = "Emulation.setEmulatedMedia"
    scheme = {"name": "prefers-color-scheme", "value": "dark"}
    ground, violet = browser.execute_script(brightness)
    assert ground > 200 > 140 > violet
    browser.execute_cdp_cmd(emulate, {"features": [scheme]})
    wait("the dark map", lambda: browser.execute_script(brightness)[1] > 160, 0.1)
    assert browser.execute_script(brightness)[0] < 50
    browser.execute_cdp_cmd(emulate, {"features": []})


def test_a_screen_that_is_tapped_is_not_pointed_at(browser: Any, page: Path) -> None:
    for touches, verb in ((True, "Tap"), (False, "Point at")):
        browser.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": touches})
        browser.get("about:blank")
        loaded(browser, page.as_uri())
        assert texts(browser, "#overview .story")[0].startswith(f"{verb} a head ")
        focus(browser, "#start-tour")
        press(browser, Keys.ENTER, Keys.PAGE_DOWN, Keys.PAGE_DOWN)
        assert f"its heads. {verb} one to see" in texts(browser, "#tour-said")[0]


def test_the_text_box_is_ready_for_typing(browser: Any, page: Path) -> None:
    """On opening; a link to a room leads to the room instead."""
    at = "return [document.activeElement.id, document.activeElement.selectionStart]"
    browser.get("about:blank")
    loaded(browser, page.as_uri())
    assert browser.execute_script(at) == ["text", len(prerender.CAUSAL)]
    browser.get("about:blank")
    loaded(browser, f"{page.as_uri()}#tokens")
    assert browser.execute_script(at)[0] != "text"


def test_the_flow_is_shown_once_unless_motion_is_unwanted(browser: Any, page: Path) -> None:
    moves = "return document.querySelector('.drawing').getAnimations({ subtree: true }).length"
    flowing = "return document.querySelector('.flowing') !== null"
    for value, some in (("no-preference", True), ("reduce", False)):
        features = [{"name": "prefers-reduced-motion", "value": value}]
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        browser.get("about:blank")
        loaded(browser, page.as_uri())
        wait("the flow", lambda: browser.execute_script(flowing), 0.02)
        assert (browser.execute_script(moves) > 0) == some
    typed(browser, TEXT)
    wait("the heads", lambda: coloured(browser), 0.1)
    assert not browser.execute_script(flowing)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_a_room_with_models_of_its_own_names_them(browser: Any) -> None:
    named = {"both": "causal-small and masked-small", "classify": "trec-lora: names the kind of "}
    for room, words in named.items():
        enter(browser, room)
        assert texts(browser, "#readers")[0].startswith(words)
        assert not browser.find_element(By.ID, "model").is_displayed()
    enter(browser, "tokens")
    assert texts(browser, "#readers") == [""]
    assert browser.find_element(By.ID, "model").is_displayed()


def test_the_address_keeps_the_text(browser: Any, page: Path) -> None:
    text = "50% of the ship & crew, #1: Zürich"
    typed(browser, text)
    enter(browser, "tokens")
    address = browser.current_url
    assert "#tokens&text=50%25%20of" in address
    tokens = texts(browser, "#cuts bdi")
    browser.get("about:blank")
    loaded(browser, address)
    assert browser.execute_script("return document.getElementById('text').value") == text
    wait("the tokens", lambda: texts(browser, "#cuts bdi") == tokens, 0.1)
    enter(browser, "attention")
    assert browser.current_url.endswith("#attention" + address[address.index("&text=") :])
    browser.get(f"{page.as_uri()}#text=The%20sun")
    wait("the text", lambda: texts(browser, "#drawn-tokens bdi") == ["<eos>", "The", "sun"], 0.1)


def test_a_bookmark_restores_all(browser: Any, page: Path) -> None:
    """Room, text, model, chosen head and token, and heads that are off; no entry is added."""
    browser.get("about:blank")
    loaded(browser, page.as_uri())
    typed(browser, TEXT)
    enter(browser, "attention")
    entries = browser.execute_script("return history.length")
    wait("the ranking", lambda: texts(browser, "#ranking bdi"), 0.1)  # it is drawn anew before
    for number in (5, 9):  # of four in a block
        browser.find_elements(By.CSS_SELECTOR, "#maps .head")[number].click()
        browser.find_element(By.CSS_SELECTOR, "#switches .primary").click()
    browser.find_elements(By.CSS_SELECTOR, "#lines .from button")[3].click()
    assert browser.execute_script("return history.length") == entries
    address = browser.current_url
    off = [(1, 1), (2, 1)]
    assert address.endswith("&model=causal-small&head=2.1&token=3&off=1.1,2.1")
    shown = "#lines .to .told, #lines .from [aria-pressed=true], #moving .told, .large h3"
    before = texts(browser, shown)
    browser.get("about:blank")
    loaded(browser, address)
    wait("all of it", lambda: texts(browser, shown) == before, 0.1)
    assert browser.execute_script("return document.getElementById('text').value") == TEXT
    assert switched_off(browser) == ["head 1.1 (off)", "head 2.1 (off)"]
    assert browser.current_url == address
    best = expected("causal-small", TEXT)[0].argmax()
    left = f"{100 * expected('causal-small', TEXT, off)[0][best]:.1f}%"
    assert texts(browser, "#moving .told")[0].endswith(f"→ {left}")
    enter(browser, "both")
    wait("both models", lambda: texts(browser, "#hidden-token bdi"), 0.1)
    browser.find_element(By.CSS_SELECTOR, "#hidden-token input[value='2']").click()
    wait("the token", lambda: "&token=2" in browser.current_url, 0.1)
    told = wait("the guess", lambda: texts(browser, "#both-said"), 0.1)
    address = browser.current_url
    browser.get("about:blank")
    loaded(browser, address)
    wait("the same guess", lambda: texts(browser, "#both-said") == told, 0.1)
    enter(browser, "overview")
    choose(browser, "masked-small")
    typed(browser, prerender.MASKED)
    wait("the masked model", lambda: "What could stand at <mask>" in texts(browser, "#asks"), 0.1)
    address, tokens = browser.current_url, texts(browser, "#drawn-bars bdi")
    assert "&model=masked-small" in address and "off=" not in address
    browser.get("about:blank")
    loaded(browser, address)
    wait("its guesses", lambda: texts(browser, "#drawn-bars bdi") == tokens, 0.1)


def switched_off(browser: Any) -> list[str]:
    names = """return [...document.querySelectorAll("#maps .off")]
      .map((each) => each.getAttribute("aria-label").split(":")[0]);"""
    return browser.execute_script(names)


def test_what_an_address_asks_for_and_the_page_lacks_is_ignored_and_named(
    browser: Any, page: Path
) -> None:
    attack = "<img src=x onerror='window.hacked = 1'>"
    text = f"text={urllib.parse.quote(attack)}"
    heads = "off=9.9,1.1&head=7.0&token=99"
    for address, ignored in (
        (f"tokens&{text}&{heads}", ["off=9.9", "head=7.0", "token=99"]),
        (f"<b>&{text}&v=2&off=1", ["v=2", "off=1", "%3Cb%3E"]),
        (f"tokens&{text}&model=<b>&{heads}", ["model=<b>", "token=99"]),
        (f"attention&{text}&off=1.1&{attack}", ["%3Cimg%20src=x%20onerror…"]),
    ):
        browser.get("about:blank")
        heard = loaded(browser, f"{page.as_uri()}#{address}")
        assert re.findall(r"'\u2068(.*?)\u2069'", texts(browser, "#status")[0]) == ignored
        assert "In the address, this page ignores " in heard
        assert not browser.find_elements(By.CSS_SELECTOR, "#status.wrong, img")
        assert browser.execute_script("return window.hacked") is None
        assert browser.execute_script("return document.getElementById('text').value") == attack
    assert switched_off(browser) == ["head 1.1 (off)"]
    assert "ignores" not in typed(browser, TEXT)


@node_needed
def test_the_address_is_shown_as_a_code_where_it_is_one(
    browser: Any, page: Path, tmp_path: Path
) -> None:
    browser.get("about:blank")
    loaded(browser, page.as_uri())
    assert not browser.find_element(By.ID, "show-address").is_displayed()
    shutil.copyfile(page, tmp_path / "page.html")
    resized(browser, 1280, 720)
    with served(tmp_path) as host:
        address = f"{host}/page.html"
        for fragment, shared in (
            ("", ""),
            ("#attention&text=The%20ship&model=causal-small&off=1.1", None),
            ("#tokens&text=" + "%D0%9F" * 200, "#tokens"),
        ):
            browser.get("about:blank")
            loaded(browser, address + fragment)
            focus(browser, "#show-address")
            press(browser, Keys.ENTER)
            expects = address + (fragment if shared is None else shared)
            panel = browser.find_element(By.CSS_SELECTOR, "dialog[open]")
            assert expects in panel.get_attribute("textContent")
            assert ("too long for a code" in panel.text) == (len(fragment) > 300)
            assert "Only this computer can open 127.0.0.1" in panel.text
            code = browser.find_element(By.CSS_SELECTOR, "dialog .code")
            size, squares = library_code(expects)
            assert code.get_dom_attribute("viewBox") == f"-4 -4 {size + 8} {size + 8}"
            assert code.find_element(By.TAG_NAME, "path").get_dom_attribute("d") == squares
            assert code.rect["width"] > 600 and browser.execute_script(INSIDE, code)
            screenshot(browser, f"address{len(shared or 'code')}")
            assert press(browser, Keys.ESCAPE).get_attribute("id") == "show-address"
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


INSIDE = """
    const { top, bottom } = arguments[0].getBoundingClientRect();
    return top >= 0 && bottom <= innerHeight;"""
CODE = """
    import { leanQr } from "./tlcourse/page/lean_qr.js";
    const { size, get } = leanQr.generate(process.argv[1]);
    console.log(size);
    for (let at = 0; at < size * size; at++)
      if (get(at % size, Math.floor(at / size))) console.log(at);"""


def library_code(address: str) -> tuple[int, str]:
    """How many squares wide the library's code of an address is, and the path of its dark ones."""
    ran = node("--input-type=module", "-e", CODE, address)
    assert ran.returncode == 0, ran.stderr
    size, *dark = map(int, ran.stdout.split())
    return size, "".join(f"M{at % size} {at // size}h1v1h-1z" for at in dark)


def test_a_browser_that_unpacks_nothing_is_told_so(browser: Any, page: Path) -> None:
    """And what was computed beforehand stays in sight."""
    without = {"source": "delete globalThis.DecompressionStream"}
    script = browser.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", without)
    browser.get("about:blank")
    browser.get(page.as_uri())
    wait("the words", lambda: said(browser).startswith("Expected a browser that unpacks"), 0.1)
    assert "Firefox 113, Safari 16.4 or a later version" in said(browser)
    assert len(texts(browser, FIRST)) > 30
    browser.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", script)


def test_a_page_cut_short_says_so(browser: Any, page: Path) -> None:
    short = page.with_name("short.html")
    short.write_bytes(page.read_bytes()[:-2_000_000])
    browser.get(short.as_uri())
    wait("the words", lambda: "This file was cut short on its way" in said(browser), 0.1)


def test_a_folder_is_served_as_it_is_whatever_a_model_is_called(
    browser: Any, tmp_path: Path
) -> None:
    name = "50% of run #2, ä ?x"
    shutil.copytree(checkpoints.folder_of("masked-small"), tmp_path / name)
    build(tmp_path / "page", ["causal-small", tmp_path / name, SHIPPED])
    weights = tmp_path / "page" / name / "model.safetensors.gz"
    asks = "Write <mask> where a word is to be guessed."
    browser.get((tmp_path / "page" / "index.html").as_uri())
    wait("what to do", lambda: "opens this folder only through a web server" in said(browser), 0.1)
    with served(tmp_path / "page") as address:
        loaded(browser, address)
        weights.rename(weights.with_suffix(".away"))
        choose(browser, name)
        wait("an error", lambda: "got the answer 404; copy the whole folder" in said(browser))
        weights.with_suffix(".away").rename(weights)
        choose(browser, name)
        wait("the masked model", lambda: "What could stand at <mask>" in texts(browser, "#asks"))
        assert "capital" in texts(browser, "#drawn-bars bdi")
        assert "<mask>" in texts(browser, "#drawn-tokens .special bdi")
        assert asks in typed(browser, "Paris is in France.")
        enter(browser, "classify")
        typed(browser, "Where do penguins sleep?")
        wait("the labels", lambda: "LOC" in texts(browser, "#labels bdi")[0], 0.1)
        choose(browser, "causal-small")
        enter(browser, "overview")
        wait("the first model", lambda: "What could come next" in texts(browser, "#asks"))
