"""The content words, in the classes that the rules name.

A noun is written `king` or `man/men`; a verb `laugh`, `sleep/slept` or `see/saw/seen` (its past and
its participle); other forms are regular.
"""

from dataclasses import dataclass

# Gender: m he, f she, c he or she, x he, she or it (an animal), n it. Kind: being, thing or place.
NOUNS = {
    ("being", "m"): "king boy man/men father uncle prince waiter actor brother nephew son monk "
    "grandfather",
    ("being", "f"): "queen girl woman/women mother aunt princess waitress actress sister niece "
    "daughter nun grandmother",
    ("being", "c"): "doctor teacher farmer lawyer singer soldier student writer painter pilot "
    "baker guard nurse driver neighbor child/children officer player scientist judge engineer "
    "artist minister tourist",
    ("being", "x"): "dog cat horse bird wolf/wolves bear lion fox mouse/mice cow pig duck rabbit "
    "tiger monkey elephant",
    ("thing", "n"): "book chair table key letter picture box bottle cup knife/knives apple cake "
    "hat coat shoe ring coin map clock lamp bell guitar newspaper machine computer telephone "
    "camera bicycle rope basket bag blanket mirror flower stone plate spoon candle painting drum "
    "carpet hammer wheel pencil toy egg umbrella shirt",
    ("place", "n"): "house castle church school hospital hotel shop office factory bank station "
    "bridge tower garden river mountain island field forest village farm museum lake theater park "
    "library/libraries harbor market",
}
NAMES = {
    "m": "David Thomas Peter Robert Henry Daniel Martin",
    "f": "Anna Mary Sarah Emma Julia Laura Alice Helen",
}
VERBS = {  # a class is named after one of its verbs
    "Laugh": "laugh smile sleep/slept cry dance swim/swam/swum run/ran/run walk sing/sang/sung "
    "arrive wait work travel shout whisper listen pray sneeze yawn wander hesitate return escape "
    "talk rest wink cough kneel/knelt complain",
    "Fall": "fall/fell/fallen break/broke/broken vanish disappear burn move crack shake/shook/"
    "shaken roll appear",
    "Admire": "admire love help follow see/saw/seen know/knew/known hate fear trust thank praise "
    "warn teach/taught greet meet/met annoy protect defend blame chase watch ignore call invite "
    "attack forgive/forgave/forgiven remember punish respect amuse",
    "Carry": "carry open close paint buy/bought sell/sold find/found lose/lost drop/dropped clean "
    "repair build/built wash steal/stole/stolen hide/hid/hidden bring/brought throw/threw/thrown "
    "keep/kept hold/held draw/drew/drawn choose/chose/chosen borrow lift touch collect need use "
    "want examine",
    "Visit": "visit leave/left reach enter explore",
    "Say": "say/said think/thought believe claim hope notice admit/admitted announce guess agree",
}
ADJECTIVES = {
    "being": "happy tired hungry angry clever famous young proud polite lazy brave lonely friendly "
    "nervous rich poor kind quiet cheerful busy",
    "thing": "old new heavy expensive cheap beautiful small large empty dirty ugly dangerous red "
    "green blue white black simple round strange",
}
ADVERBS = (
    "often quickly slowly quietly always sometimes carefully suddenly happily sadly gladly rarely "
    "usually secretly loudly"
)
NUMBERS = "two three four five six seven eight nine"
NEAR = "near behind beside around"
BECAUSE = "because while before after if although"


@dataclass(frozen=True)
class Lexeme:
    """A word of the lexicon: its class, its forms, and the properties that rules test."""

    group: str  # Noun, Name, Adjective, Adverb or a class of VERBS
    parts: tuple[str, ...]
    kind: str = ""  # of a noun; of an adjective, that of its noun
    gender: str = ""

    @property
    def lemma(self) -> str:
        return self.parts[0]


def _lexemes(group: str, words: str, **more: str) -> list[Lexeme]:
    return [Lexeme(group, tuple(word.split("/")), **more) for word in words.split()]


LEXICON: dict[str, list[Lexeme]] = {
    "Noun": [
        lexeme
        for (kind, gender), words in NOUNS.items()
        for lexeme in _lexemes("Noun", words, kind=kind, gender=gender)
    ],
    "Name": [
        lexeme
        for gender, words in NAMES.items()
        for lexeme in _lexemes("Name", words, kind="being", gender=gender)
    ],
    "Adjective": [
        lexeme
        for kind, words in ADJECTIVES.items()
        for lexeme in _lexemes("Adjective", words, kind=kind)
    ],
    "Adverb": _lexemes("Adverb", ADVERBS),
    **{group: _lexemes(group, words) for group, words in VERBS.items()},
}
TAGS = {"Noun": "NOUN", "Name": "PROPN", "Adjective": "ADJ", "Adverb": "ADV"}
BY_LEMMA = {
    (TAGS.get(group, "VERB"), lexeme.lemma): lexeme
    for group, lexemes in LEXICON.items()
    for lexeme in lexemes
}
