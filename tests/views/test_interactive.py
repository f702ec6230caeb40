import pytest

from tlcourse.views import Picture, chat, figure, finish, slider


@pytest.fixture
def draw():
    seen = []

    def draw(k):
        seen.append(k)
        picture, axes = figure(f"After {k} steps")
        axes.plot([0, k], [0, 1])
        return finish(picture, f"{k} steps")

    draw.seen = seen
    return draw


@pytest.fixture
def off(monkeypatch):
    monkeypatch.setenv("TLCOURSE_WIDGETS", "off")


@pytest.fixture
def on(monkeypatch):
    monkeypatch.delenv("TLCOURSE_WIDGETS", raising=False)


@pytest.mark.usefixtures("off")
def test_off_draws_the_start_once(draw):
    picture = slider(draw, range(1, 6), "steps", start=3)
    assert isinstance(picture, Picture)
    assert (picture.alt, draw.seen) == ("3 steps", [3])


@pytest.mark.usefixtures("on")
def test_moving_changes_the_picture_and_its_alt_text(draw):
    control, picture = slider(draw, [1, 2, 5], "steps", start=2).children
    assert (control.description, control.label, control.options[-1]) == ("steps", "2", ("5", 2))
    first = picture.value
    assert 'alt="2 steps"' in first
    control.label = "5"
    assert 'alt="5 steps"' in picture.value
    assert picture.value.split("src=")[1] != first.split("src=")[1]
    control.label = "2"
    assert picture.value == first
    assert draw.seen == [2, 5]


@pytest.mark.parametrize("switch", ["on", "off"])
def test_a_wrong_start_is_an_error(draw, switch, request):
    request.getfixturevalue(switch)
    with pytest.raises(ValueError, match=r"among \[1, 2\], got 7"):
        slider(draw, [1, 2], "steps", start=7)
    with pytest.raises(ValueError, match="at least one value"):
        slider(draw, [], "steps")
    assert slider(draw, [1, 2], "steps") is not None and draw.seen == [1]


def echo(conversation):
    return f"{len(conversation)}: {conversation[-1]}"


@pytest.mark.usefixtures("off")
def test_a_chat_without_widgets_is_a_transcript():
    shown = chat(echo, ["Hello!", " Any pets? "])
    assert repr(shown) == "you: Hello!\nbot: 1: Hello!\nyou: Any pets?\nbot: 3: Any pets?"
    with pytest.raises(ValueError, match="at least one text"):
        chat(echo, ["Hello!", " "])


@pytest.mark.usefixtures("on")
def test_what_is_typed_is_answered_and_escaped():
    shown, field = chat(echo, ["Hello!"]).children
    before = shown.value
    field.value = "   "
    assert shown.value == before
    field.value = "<b>pets</b>?"
    assert shown.value.endswith(
        "<b>you:</b> &lt;b&gt;pets&lt;/b&gt;?<br><b>bot:</b> 3: &lt;b&gt;pets&lt;/b&gt;?"
    )
    assert field.value == ""
