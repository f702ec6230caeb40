"""Help for the exercise on greedy pruning: a judge by a table, the true order, faulty solutions."""

import itertools

from tlcourse.exercises.expect import CheckFailed, short


class Judge:
    """Errors out of a table, by the set of what is removed; keeps a list of what it was asked."""

    def __init__(self, errors):
        self.errors, self.asked = errors, []

    def __call__(self, removed):
        if not isinstance(removed, frozenset):
            raise CheckFailed(f"`judge` was given {short(removed)}; expected a frozenset of heads.")
        if removed not in self.errors:
            raise CheckFailed(f"`judge` was given {short(sorted(removed))}; expected heads of the list.")
        self.asked.append(removed)
        return self.errors[removed]


def tabled(heads, error):
    """The errors of all sets of heads: `error(set)` of each."""
    sizes = range(len(heads) + 1)
    sets = (each for size in sizes for each in itertools.combinations(heads, size))
    return {frozenset(each): error(frozenset(each)) for each in sets}


def by_hand(errors, heads, count):
    """The true answer: of all sets with one head more, that of the least error, round by round."""
    removed, order = frozenset(), []
    for size in range(1, count + 1):
        larger = [each for each in errors if len(each) == size and removed < each]
        least = min(errors[each] for each in larger)
        head = next(h for h in heads if h not in removed and errors[removed | {h}] == least)
        removed |= {head}
        order.append((head, least))
    return order


def rounds(key=lambda error, place, head: (error, place), asks=lambda gone, head: gone | {head},
           tells=lambda gone, head, error: (head, error), of=lambda heads, gone: (
               [head for head in heads if head not in gone])):  # fmt: skip
    """A solution with some step of a round done otherwise."""

    def candidate(judge, heads, count):
        gone, order = frozenset(), []
        for _ in range(count):
            errors = {head: judge(asks(gone, head)) for head in of(heads, gone)}
            ranked = sorted(errors, key=lambda h: key(errors[h], heads.index(h), h))
            best = ranked[0]
            gone |= {best}
            order.append(tells(gone, best, errors[best]))
        return order

    return candidate


def ranked_once(tells):
    """A solution that asks for each head alone, and removes in that order."""

    def candidate(judge, heads, count):
        errors = {head: judge(frozenset({head})) for head in heads}
        order = sorted(heads, key=errors.get)[:count]
        return [tells(judge, order, errors, n) for n in range(count)]

    return candidate


def rises(judge, heads, count):
    order = rounds()(judge, heads, count)
    before = [0.0, *(error for _, error in order)]
    return [(head, error - old) for (head, error), old in zip(order, before, strict=False)]


def errors_before(judge, heads, count):
    order = rounds()(judge, heads, count)
    before = [judge(frozenset()), *(error for _, error in order)]
    return [(head, error) for (head, _), error in zip(order, before, strict=False)]


def more_or_fewer(change):
    """A solution that removes `change(count, heads)` heads."""
    return lambda judge, heads, count: rounds()(judge, heads, change(count, len(heads)))
