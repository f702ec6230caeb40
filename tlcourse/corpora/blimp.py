"""BLiMP (Warstadt et al., 2020): minimal pairs, one sentence grammatical and one not.

Columns: good, bad, paradigm, phenomenon, pair (a number that counts from 0 in each paradigm).
"""

import json
import zipfile
from collections.abc import Iterator
from pathlib import Path

from tlcourse.corpora.checks import Counted, DataError, Facts, fields, readable
from tlcourse.corpora.corpus import Corpus, Place

PHENOMENA = {
    "anaphor_agreement": "anaphor_gender_agreement anaphor_number_agreement",
    "argument_structure": "causative drop_argument inchoative intransitive passive_1 passive_2 "
    "transitive",
    "binding": "principle_A_c_command principle_A_case_1 principle_A_case_2 principle_A_domain_1 "
    "principle_A_domain_2 principle_A_domain_3 principle_A_reconstruction",
    "control_raising": "existential_there_object_raising existential_there_subject_raising "
    "expletive_it_object_raising tough_vs_raising_1 tough_vs_raising_2",
    "determiner_noun_agreement": "determiner_noun_agreement_1 determiner_noun_agreement_2 "
    "determiner_noun_agreement_irregular_1 determiner_noun_agreement_irregular_2 "
    "determiner_noun_agreement_with_adj_2 determiner_noun_agreement_with_adj_irregular_1 "
    "determiner_noun_agreement_with_adj_irregular_2 determiner_noun_agreement_with_adjective_1",
    "ellipsis": "ellipsis_n_bar_1 ellipsis_n_bar_2",
    "filler_gap_dependency": "wh_questions_object_gap wh_questions_subject_gap "
    "wh_questions_subject_gap_long_distance wh_vs_that_no_gap wh_vs_that_no_gap_long_distance "
    "wh_vs_that_with_gap wh_vs_that_with_gap_long_distance",
    "irregular_forms": "irregular_past_participle_adjectives irregular_past_participle_verbs",
    "island_effects": "adjunct_island complex_NP_island "
    "coordinate_structure_constraint_complex_left_branch "
    "coordinate_structure_constraint_object_extraction left_branch_island_echo_question "
    "left_branch_island_simple_question sentential_subject_island wh_island",
    "npi_licensing": "matrix_question_npi_licensor_present npi_present_1 npi_present_2 "
    "only_npi_licensor_present only_npi_scope sentential_negation_npi_licensor_present "
    "sentential_negation_npi_scope",
    "quantifiers": "existential_there_quantifiers_1 existential_there_quantifiers_2 "
    "superlative_quantifiers_1 superlative_quantifiers_2",
    "s-selection": "animate_subject_passive animate_subject_trans",
    "subject_verb_agreement": "distractor_agreement_relational_noun "
    "distractor_agreement_relative_clause irregular_plural_subject_verb_agreement_1 "
    "irregular_plural_subject_verb_agreement_2 regular_plural_subject_verb_agreement_1 "
    "regular_plural_subject_verb_agreement_2",
}
PARADIGMS = {name: term for term, names in PHENOMENA.items() for name in names.split()}
COLUMNS = ("good", "bad", "paradigm", "phenomenon", "pair")
# The names of these columns in the published files, and on the Hub.
PUBLISHED = ("sentence_good", "sentence_bad", "UID", "linguistics_term", "pairID")
ON_THE_HUB = (*PUBLISHED[:4], "pair_id")


def row(values: tuple, where: str) -> dict[str, str | int]:
    """A row of COLUMNS from those of a source; `pair` counts from 0 within its paradigm.

    Raises DataError, naming `where`, for an unknown paradigm, a phenomenon that is not the
    paradigm's, an empty sentence, or a pair without a number.
    """
    good, bad, paradigm, phenomenon, pair = values
    valid = PARADIGMS.get(paradigm) == phenomenon and str(pair).isdecimal()
    if not valid or not all(isinstance(text, str) and text.strip() for text in (good, bad)):
        raise DataError(
            f"{where}: expected two sentences, one of BLiMP's 67 paradigms, such as "
            f"adjunct_island of island_effects, and the number of a pair, got {values}; "
            "replace the data by the published ones"
        )
    return dict(zip(COLUMNS, (good, bad, paradigm, phenomenon, int(pair)), strict=True))


def parse(path: Path, source: str) -> Iterator[dict[str, str | int]]:
    """Rows of `data/*.jsonl` in the published archive, or of a folder with these files."""
    with readable(path, source):
        folder = zipfile.Path(path, "data/") if path.suffix == ".zip" else path
        entries = folder.iterdir() if folder.is_dir() else ()
        for file in sorted(entries, key=lambda file: file.name):
            if file.name.endswith(".jsonl"):
                with file.open(encoding="utf-8") as lines:
                    for number, line in enumerate(lines, start=1):
                        where = f"{file.name}, line {number}"
                        yield row(fields(line, PUBLISHED, json.loads, where=where), where)


def count(good: str, bad: str, paradigm: str, phenomenon: str, pair: int) -> Counted:
    """The words, the text to digest and the labels of a row."""
    words = len(good.split()) + len(bad.split())
    return Counted(words, f"{paradigm}\t{pair}\t{good}\t{bad}", (phenomenon,), paradigm)


FACTS = {
    "test": Facts(
        rows=67_000,
        words=991_414,
        labels={term: 1000 * len(names.split()) for term, names in PHENOMENA.items()},
        fine_labels=67,
        digest="d0112c3a91d6281e24f293520778c0746922dcd7b6172eb62d395b7cc57a7574",
    )
}
# The Hub calls the only split train; it is for evaluation, so it is called test here.
PLACE = Place(
    "nyu-mll/blimp",
    {"test": tuple(f"{name}/train-00000-of-00001.parquet" for name in sorted(PARADIGMS))},
)

CORPUS = Corpus(
    "blimp",
    {"test": "data"},
    FACTS,
    dict(zip(COLUMNS, ON_THE_HUB, strict=True)),
    parse,
    count,
    row,
    labels=tuple(PHENOMENA),
    places=(PLACE,),
    sample="data/samples/blimp",
    archive="BLiMP.zip",
    lesson=3,
)
