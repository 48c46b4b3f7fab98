"""What the watch remembers: a key's first use of each day, and no more keys than a house has."""

from domain import watch
from domain.game import SECOND, Context, Role
from domain.house import KEYS_MAX
from domain.watch import DAY, Came, KeyUsed, TurnedAway, Watched

NOON = 20_833 * DAY + 12 * 3_600 * SECOND


def told(watched, command, now):
    return watch.decide(watched, command, Context("acme", "", now, "platform", Role.CLOCK)).events


def test_a_key_is_used_for_the_first_time_once_a_day():
    [used] = told(watch.INITIAL, Came(("k1",)), NOON)
    assert used == KeyUsed("k1", 20_833)
    watched = watch.evolve(watch.INITIAL, used)
    assert told(watched, Came(("k1",)), NOON + DAY // 2 - 1) == ()
    assert told(watched, Came(("k1", "k2")), NOON + DAY // 2) == (KeyUsed("k1", 20_834), KeyUsed("k2", 20_834))
    assert told(watched, Came(("k1",)), NOON - DAY) == (), "a clock that was set back uses no key again"


def test_of_many_names_the_first_are_told():
    named = tuple(f"k{number}" for number in range(99))
    assert told(watch.INITIAL, Came((), 99, named, NOON), NOON) == (TurnedAway(99, named[:10], NOON),)


def test_those_used_last_are_remembered():
    watched = Watched()
    for number in range(KEYS_MAX + 2):
        watched = watch.evolve(watched, KeyUsed(f"k{number}", 1))
    watched = watch.evolve(watched, KeyUsed("k5", 2))
    assert (len(watched.used), list(watched.used)[-1], "k1" in watched.used) == (KEYS_MAX, "k5", False)
