"""Help for the exercise on the block: other ways through it, with the sentences they earn."""


def post_norm(s, x, mask=None, table=None):
    x = s.attention_norm(x + s.attention(x, mask, table))
    return s.feed_forward_norm(x + s.feed_forward(x))


def of_2019(s, x, mask=None, table=None):
    x = s.attention_norm(x)
    x = x + s.attention(x, mask, table)
    x = s.feed_forward_norm(x)
    return x + s.feed_forward(x)


def side_by_side(s, x, mask=None, table=None):
    attended = s.attention(s.attention_norm(x), mask, table)
    return x + attended + s.feed_forward(s.feed_forward_norm(x))


def attention_lost(s, x, mask=None, table=None):
    attended = x + s.attention(s.attention_norm(x), mask, table)
    return x + s.feed_forward(s.feed_forward_norm(attended))


def no_residual(s, x, mask=None, table=None):
    x = s.attention(s.attention_norm(x), mask, table)
    return s.feed_forward(s.feed_forward_norm(x))


def one_residual(s, x, mask=None, table=None):
    x = x + s.attention(s.attention_norm(x), mask, table)
    return s.feed_forward(s.feed_forward_norm(x))


def without_the_table(s, x, mask=None, table=None):
    x = x + s.attention(s.attention_norm(x), mask)
    return x + s.feed_forward(s.feed_forward_norm(x))


def without_both(s, x, mask=None, table=None):
    x = x + s.attention(s.attention_norm(x))
    return x + s.feed_forward(s.feed_forward_norm(x))


STREAM, HANDED_ON = "the residual stream", "`self.attention(…, mask, table)`: both are handed on."
MISTAKES = [
    (STREAM, "The layer reads the stream itself; let it read the norm: `self.attention_norm(x)`.",
     post_norm),
    (STREAM, "Feed-forward reads after attention has written; here both read the same stream.",
     side_by_side),
    (STREAM, "`x +` is missing at both layers: what came in is lost.", no_residual),
    (STREAM, "`x +` is missing at the feed-forward layer.", one_residual),
    (STREAM, "What attention wrote must stay in the stream.", attention_lost),
    (STREAM, "The norm's result runs on here instead of `x`. It goes into the layer and nowhere "
     "else: `x + layer(norm(x))`.", of_2019),
    ("mask and table", HANDED_ON, without_the_table),
    ("mask and table", HANDED_ON, without_both),
]  # fmt: skip
