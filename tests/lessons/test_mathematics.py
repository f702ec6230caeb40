"""Formulas as MathML: what latex2mathml makes of them, and where it falls short."""

import pytest

from tlcourse.lessons.mathematics import to_mathml

SPACE = '<mspace width="0.167em" />'


@pytest.mark.parametrize(
    ("tex", "mathml"),
    [
        (r"a < b", "<mi>a</mi><mo>&lt;</mo><mi>b</mi>"),
        (r"\texttt{<eos>}", '<mtext mathvariant="monospace">&lt;eos&gt;</mtext>'),
        (r"\text{a & b}", "<mtext>a\xa0&amp;\xa0b</mtext>"),
        (r"\mathrm{softmax}", "<mrow><mi>softmax</mi></mrow>"),
        (r"a\cos b", f"<mi>a</mi>{SPACE}<mi>cos</mi>{SPACE}<mi>b</mi>"),
        (r"\log_2 x", f"<msub><mi>log</mi><mn>2</mn></msub>{SPACE}<mi>x</mi>"),
        (
            r"\exp(x)",
            '<mi>exp</mi><mo stretchy="false">(</mo><mi>x</mi><mo stretchy="false">)</mo>',
        ),
        (
            r"\arg\max_x",
            f'<mi>arg</mi>{SPACE}<munder><mo movablelimits="true">max</mo><mi>x</mi></munder>',
        ),
        (r"\frac\ln x", "<mfrac><mi>ln</mi><mi>x</mi></mfrac>"),
        (r"a \pm b", "<mi>a</mi><mo>±</mo><mi>b</mi>"),
    ],
)
def test_formulas(tex: str, mathml: str) -> None:
    assert to_mathml(tex) == (
        '<math xmlns="http://www.w3.org/1998/Math/MathML" display="inline">'
        f"<mrow>{mathml}</mrow></math>"
    )


def test_a_formula_on_its_own_line_says_so() -> None:
    assert ' display="block">' in to_mathml("x", display=True)


@pytest.mark.parametrize("tex", [r"\foo", "x_{", r"\frac", "x^2^3", "a & b", "", r"\text{5\%}"])
def test_what_cannot_be_converted_stays_tex_in_code(tex: str) -> None:
    assert to_mathml(tex) == f"<code>{tex.replace('&', '&amp;')}</code>"
