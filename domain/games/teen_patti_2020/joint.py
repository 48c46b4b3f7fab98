"""Every deal of 20-20 counted once: how often each winner, category of A and of B, and bonus come together.

From these 181 counts follow the exact return, hit rate and variance of every bet, alone or with others.
Made by tests/domain/test_exact_2020.py, which proves it: not to be edited.
"""

from msgspec import Struct

from domain.hands.five_card import BonusCategory
from domain.hands.three_card import Category


class Deals(Struct, frozen=True):
    """So many of the 407,170,400 ordered deals end like this. `winner` is player_a, player_b or tie (D1)."""

    winner: str
    a: Category
    b: Category
    bonus: BonusCategory
    count: int


def _read(line: str) -> Deals:
    winner, a, b, bonus, count = line.split()
    return Deals(winner, Category(a), Category(b), BonusCategory(bonus), int(count))


_COUNTED = """
player_a trio_aces     trio          full_house            192
player_a trio_aces     pure_sequence four_of_a_kind          8
player_a trio_aces     pure_sequence three_of_a_kind       160
player_a trio_aces     sequence      four_of_a_kind        120
player_a trio_aces     sequence      three_of_a_kind      2400
player_a trio_aces     color         four_of_a_kind        256
player_a trio_aces     color         three_of_a_kind      3360
player_a trio_aces     pair          four_of_a_kind        288
player_a trio_aces     pair          full_house          12672
player_a trio_aces     high_card     four_of_a_kind       3840
player_a trio_aces     high_card     three_of_a_kind     50400
player_a trio          trio          full_house           1056
player_a trio          pure_sequence four_of_a_kind        136
player_a trio          pure_sequence three_of_a_kind      1760
player_a trio          sequence      four_of_a_kind       2040
player_a trio          sequence      three_of_a_kind     26400
player_a trio          color         four_of_a_kind       3032
player_a trio          color         three_of_a_kind     40480
player_a trio          pair          four_of_a_kind       3456
player_a trio          pair          full_house         152064
player_a trio          high_card     four_of_a_kind      45480
player_a trio          high_card     three_of_a_kind    607200
player_a pure_sequence pure_sequence royal_flush             4
player_a pure_sequence pure_sequence straight_flush         32
player_a pure_sequence pure_sequence flush                 140
player_a pure_sequence pure_sequence straight              228
player_a pure_sequence pure_sequence none                  564
player_a pure_sequence sequence      royal_flush            36
player_a pure_sequence sequence      straight_flush        420
player_a pure_sequence sequence      flush                2976
player_a pure_sequence sequence      straight             7032
player_a pure_sequence sequence      none                18672
player_a pure_sequence color         royal_flush            92
player_a pure_sequence color         straight_flush        724
player_a pure_sequence color         flush                4592
player_a pure_sequence color         straight             3288
player_a pure_sequence color         none                36168
player_a pure_sequence pair          royal_flush            72
player_a pure_sequence pair          straight_flush        648
player_a pure_sequence pair          full_house           2592
player_a pure_sequence pair          flush               12240
player_a pure_sequence pair          straight             5040
player_a pure_sequence pair          three_of_a_kind     17280
player_a pure_sequence pair          none               111600
player_a pure_sequence high_card     royal_flush           360
player_a pure_sequence high_card     straight_flush       3144
player_a pure_sequence high_card     flush               64344
player_a pure_sequence high_card     straight            53376
player_a pure_sequence high_card     none               535512
player_a sequence      sequence      straight            59400
player_a sequence      sequence      none               151008
player_a sequence      color         royal_flush            84
player_a sequence      color         straight_flush        756
player_a sequence      color         flush               67008
player_a sequence      color         straight            53376
player_a sequence      color         none               535512
player_a sequence      pair          full_house          38880
player_a sequence      pair          straight            86400
player_a sequence      pair          three_of_a_kind    259200
player_a sequence      pair          none              1857600
player_a sequence      high_card     straight           923400
player_a sequence      high_card     none              8943864
player_a color         color         royal_flush           224
player_a color         color         straight_flush       1764
player_a color         color         flush               61068
player_a color         color         straight             6804
player_a color         color         none               442008
player_a color         pair          royal_flush           168
player_a color         pair          straight_flush       1512
player_a color         pair          full_house          59184
player_a color         pair          flush              294240
player_a color         pair          straight            11760
player_a color         pair          three_of_a_kind    394560
player_a color         pair          none              2651520
player_a color         high_card     royal_flush           840
player_a color         high_card     straight_flush       7560
player_a color         high_card     flush             1551312
player_a color         high_card     straight           226296
player_a color         high_card     none             13218000
player_a pair          pair          four_of_a_kind      82368
player_a pair          pair          full_house         505440
player_a pair          pair          none              5312736
player_a pair          high_card     full_house         887760
player_a pair          high_card     straight           201600
player_a pair          high_card     three_of_a_kind   5918400
player_a pair          high_card     none             44186400
player_a high_card     high_card     straight          1978200
player_a high_card     high_card     none            110543748
player_b trio          trio_aces     full_house            192
player_b trio          trio          full_house           1056
player_b pure_sequence trio_aces     four_of_a_kind          8
player_b pure_sequence trio_aces     three_of_a_kind       160
player_b pure_sequence trio          four_of_a_kind        136
player_b pure_sequence trio          three_of_a_kind      1760
player_b pure_sequence pure_sequence royal_flush             4
player_b pure_sequence pure_sequence straight_flush         32
player_b pure_sequence pure_sequence flush                 140
player_b pure_sequence pure_sequence straight              228
player_b pure_sequence pure_sequence none                  564
player_b sequence      trio_aces     four_of_a_kind        120
player_b sequence      trio_aces     three_of_a_kind      2400
player_b sequence      trio          four_of_a_kind       2040
player_b sequence      trio          three_of_a_kind     26400
player_b sequence      pure_sequence royal_flush            36
player_b sequence      pure_sequence straight_flush        420
player_b sequence      pure_sequence flush                2976
player_b sequence      pure_sequence straight             7032
player_b sequence      pure_sequence none                18672
player_b sequence      sequence      straight            59400
player_b sequence      sequence      none               151008
player_b color         trio_aces     four_of_a_kind        256
player_b color         trio_aces     three_of_a_kind      3360
player_b color         trio          four_of_a_kind       3032
player_b color         trio          three_of_a_kind     40480
player_b color         pure_sequence royal_flush            92
player_b color         pure_sequence straight_flush        724
player_b color         pure_sequence flush                4592
player_b color         pure_sequence straight             3288
player_b color         pure_sequence none                36168
player_b color         sequence      royal_flush            84
player_b color         sequence      straight_flush        756
player_b color         sequence      flush               67008
player_b color         sequence      straight            53376
player_b color         sequence      none               535512
player_b color         color         royal_flush           224
player_b color         color         straight_flush       1764
player_b color         color         flush               61068
player_b color         color         straight             6804
player_b color         color         none               442008
player_b pair          trio_aces     four_of_a_kind        288
player_b pair          trio_aces     full_house          12672
player_b pair          trio          four_of_a_kind       3456
player_b pair          trio          full_house         152064
player_b pair          pure_sequence royal_flush            72
player_b pair          pure_sequence straight_flush        648
player_b pair          pure_sequence full_house           2592
player_b pair          pure_sequence flush               12240
player_b pair          pure_sequence straight             5040
player_b pair          pure_sequence three_of_a_kind     17280
player_b pair          pure_sequence none               111600
player_b pair          sequence      full_house          38880
player_b pair          sequence      straight            86400
player_b pair          sequence      three_of_a_kind    259200
player_b pair          sequence      none              1857600
player_b pair          color         royal_flush           168
player_b pair          color         straight_flush       1512
player_b pair          color         full_house          59184
player_b pair          color         flush              294240
player_b pair          color         straight            11760
player_b pair          color         three_of_a_kind    394560
player_b pair          color         none              2651520
player_b pair          pair          four_of_a_kind      82368
player_b pair          pair          full_house         505440
player_b pair          pair          none              5312736
player_b high_card     trio_aces     four_of_a_kind       3840
player_b high_card     trio_aces     three_of_a_kind     50400
player_b high_card     trio          four_of_a_kind      45480
player_b high_card     trio          three_of_a_kind    607200
player_b high_card     pure_sequence royal_flush           360
player_b high_card     pure_sequence straight_flush       3144
player_b high_card     pure_sequence flush               64344
player_b high_card     pure_sequence straight            53376
player_b high_card     pure_sequence none               535512
player_b high_card     sequence      straight           923400
player_b high_card     sequence      none              8943864
player_b high_card     color         royal_flush           840
player_b high_card     color         straight_flush       7560
player_b high_card     color         flush             1551312
player_b high_card     color         straight           226296
player_b high_card     color         none             13218000
player_b high_card     pair          full_house         887760
player_b high_card     pair          straight           201600
player_b high_card     pair          three_of_a_kind   5918400
player_b high_card     pair          none             44186400
player_b high_card     high_card     straight          1978200
player_b high_card     high_card     none            110543748
tie      pure_sequence pure_sequence none                  144
tie      sequence      sequence      none                18288
tie      color         color         none                 3288
tie      pair          pair          four_of_a_kind      11232
tie      high_card     high_card     none               417576
"""

JOINT = tuple(_read(line) for line in _COUNTED.strip().splitlines())
