"""The data sets there are: their files, their places on the Hub, what is known of each split."""

from dataclasses import dataclass

from tlcourse.corpora.blimp import PARADIGMS, PHENOMENA
from tlcourse.corpora.checks import DataError, Facts

TOKENS = {
    "train": "wiki.train.tokens",
    "validation": "wiki.valid.tokens",
    "test": "wiki.test.tokens",
}


@dataclass(frozen=True)
class Place:
    """A repository on the Hub and, for each split, its files there."""

    repository: str
    files: dict[str, tuple[str, ...]]
    revision: str = "main"


@dataclass(frozen=True)
class Corpus:
    """A data set: file of each split, facts, places on the Hub, sample.

    Files are there as published or packed: each with .xz, or all in the `archive`.
    `blank_after_title` says that articles have a blank line after their title, not just before.
    A `streamed` data set is read line by line, never kept in memory.
    """

    name: str
    files: dict[str, str]
    facts: dict[str, Facts]
    places: tuple[Place, ...] = ()
    sample: str | None = None
    archive: str | None = None
    blank_after_title: bool = True
    streamed: bool = False


BLIMP_FACTS = {
    "test": Facts(
        rows=67_000,
        words=991_414,
        labels={term: 1000 * len(names.split()) for term, names in PHENOMENA.items()},
        fine_labels=67,
        digest="d0112c3a91d6281e24f293520778c0746922dcd7b6172eb62d395b7cc57a7574",
    )
}
# The Hub calls the only split train; what is there to be tested on is called test here.
BLIMP_FILES = tuple(f"{name}/train-00000-of-00001.parquet" for name in sorted(PARADIGMS))

TREC_FACTS = {
    "train": Facts(
        rows=5_452,
        words=55_636,
        labels={"ABBR": 86, "DESC": 1162, "ENTY": 1250, "HUM": 1223, "LOC": 835, "NUM": 896},
        fine_labels=50,
        digest="ac1f4c287d9023bdf658059c171fba7640bdc86890007ad41635962da5209732",
    ),
    "test": Facts(
        rows=500,
        words=3_758,
        labels={"ABBR": 9, "DESC": 138, "ENTY": 94, "HUM": 65, "LOC": 81, "NUM": 113},
        fine_labels=42,
        digest="3a6414b3a55aaf2ed5d66249fc9ff574028f07f069b136b7e198d30bcdc8aa02",
    ),
}

SST2_FACTS = {
    "train": Facts(
        rows=67_349,
        words=633_724,
        labels={"negative": 29_780, "positive": 37_569},
        digest="6f0d17890db004c0e7d84e57e88f1306a3c7544f48975ad7a2c66e8652a83d19",
    ),
    "validation": Facts(
        rows=872,
        words=17_046,
        labels={"negative": 428, "positive": 444},
        digest="c8d998eeb04429345ceae67310e27603607120b6ce42ac9a464d103dfa4d89cf",
    ),
    "test": Facts(
        rows=1_821,
        words=35_025,
        labels={"negative": 917, "positive": 904},
        digest="a3b277271dd3ab8b9a156e2ce729bd0269ecf2f45fb8990793a3533e66112523",
    ),
}

IMDB_FACTS = {
    "train": Facts(
        rows=25_000,
        words=5_786_867,
        labels={"negative": 12_500, "positive": 12_500},
        digest="439b475829963c0a931c0d595781439132fbf9af295f3be6d4ab61a16faaaee6",
    ),
    "test": Facts(
        rows=25_000,
        words=5_655_563,
        labels={"negative": 12_500, "positive": 12_500},
        digest="0488dafe2b1fad86162743fb61baddea6e11ac6effaa5c04857a30743e2d5e6a",
    ),
}

RTE_FACTS = {
    "train": Facts(
        rows=2_490,
        words=130_366,
        labels={"entailment": 1_249, "not_entailment": 1_241},
        digest="01679f8473bdc410fc6838a0a34c378471259628d278974ed246227e77388e1b",
    ),
    "validation": Facts(
        rows=277,
        words=14_067,
        labels={"entailment": 146, "not_entailment": 131},
        digest="3c5f134bd2916fa0723f542035169936714a4c237d1fc79696d8f0c8acab8370",
    ),
}


def _wikitext_facts(**digests: str | None) -> dict[str, Facts]:
    """Facts of those splits whose digests are given; counts by Merity et al. (2016)."""
    counts = {"validation": (3_760, 217_646), "test": (4_358, 245_569)}
    counts |= {"train2": (36_718, 2_088_628), "train103": (1_801_350, 103_227_021)}
    return {
        "train" if split.startswith("train") else split: Facts(*counts[split], digest=digest)
        for split, digest in digests.items()
    }


def _parquet(repository: str, folder: str, *splits: str, train_files: int = 1) -> Place:
    """One parquet file a split, or more for train, named as `datasets` names them."""
    count = {split: train_files if split == "train" else 1 for split in splits}
    names = {
        split: tuple(
            f"{folder}/{split}-{number:05d}-of-{count[split]:05d}.parquet"
            for number in range(count[split])
        )
        for split in splits
    }
    return Place(repository, names)


TREC_PLACES = (
    Place(
        "CogComp/trec",
        {split: (f"default/{split}/0000.parquet",) for split in ("train", "test")},
        revision="refs/convert/parquet",
    ),
    Place("SetFit/TREC-QC", {"train": ("train_5500.label",), "test": ("TREC_10.label",)}),
)

CORPORA = {
    corpus.name: corpus
    for corpus in (
        Corpus(
            "trec",
            {"train": "train_5500.label", "test": "TREC_10.label"},
            TREC_FACTS,
            TREC_PLACES,
            sample="data/samples/trec",
        ),
        Corpus(
            "wikitext-2",
            TOKENS,
            _wikitext_facts(
                train2="56c2e6149c1997b5d3a2d7ac27f5df3b6d21c32118a2066cae7551bcc93c063a",
                validation="30f571af8ed92e677971ff18003f4cb07a579949ec1a115a4ca91ee3f0178771",
                test="2e72da95085f82949b5e8e0f1f61840f7224d514d827ef500a1a116b86ab4b3a",
            ),
            (_parquet("Salesforce/wikitext", "wikitext-2-v1", *TOKENS),),
            sample="data/samples/wikitext",
        ),
        Corpus(
            "wikitext-2-raw",
            {"test": "wiki.test.raw"},
            _wikitext_facts(
                test="25d43ccd46c70a78b0aae8f20474b4e698cc2943af98a1a93e93659f49a541e3"
            ),
            (_parquet("Salesforce/wikitext", "wikitext-2-raw-v1", "test"),),
        ),
        Corpus(
            "wikitext-103",
            TOKENS,
            _wikitext_facts(
                train103=None,
                validation="70178a5ddffc1e79c5a616b60def1bcf16769e2f5014c3fb89106288e597f13f",
                test="22b7b97dfaa7d00ff19f8fd5cbf4c20e6f277e6f5c13987f8bc6af96841e55db",
            ),
            (_parquet("Salesforce/wikitext", "wikitext-103-v1", *TOKENS, train_files=2),),
            sample="data/samples/wikitext",
        ),
        Corpus(
            "wikipedia-standin",
            {"train": "wiki.train.tokens"},
            {
                "train": Facts(
                    rows=2_421_982,
                    words=86_304_528,
                    digest="968ef009939ca1a754460a7f6e7c37f0d72357089ef58e595d4eac991ca5f035",
                )
            },
            blank_after_title=False,
            streamed=True,
        ),
        Corpus(
            "blimp",
            {"test": "data"},
            BLIMP_FACTS,
            (Place("nyu-mll/blimp", {"test": BLIMP_FILES}),),
            sample="data/samples/blimp",
            archive="BLiMP.zip",
        ),
        Corpus(
            "sst-2",
            {"train": "train.tsv", "validation": "dev.tsv", "test": "test-labeled.tsv"},
            SST2_FACTS,
            # The labels of test are not there: the Hub's files have -1 for every one.
            (
                _parquet("stanfordnlp/sst2", "data", "train", "validation"),
                _parquet("nyu-mll/glue", "sst2", "train", "validation"),
            ),
            sample="data/samples/sst-2",
        ),
        Corpus(
            "imdb",
            {"train": "train.jsonl", "test": "test.jsonl"},
            IMDB_FACTS,
            (_parquet("stanfordnlp/imdb", "plain_text", "train", "test"),),
            sample="data/samples/imdb",
        ),
        Corpus(
            "rte",
            {"train": "train.tsv", "validation": "dev.tsv"},
            RTE_FACTS,
            (_parquet("nyu-mll/glue", "rte", "train", "validation"),),
            sample="data/samples/rte",
        ),
    )
}


def get(name: str) -> Corpus:
    """The data set called `name`; raises DataError that lists those there are."""
    if name not in CORPORA:
        raise DataError(f"expected a data set out of {', '.join(CORPORA)}, got {name!r}")
    return CORPORA[name]
