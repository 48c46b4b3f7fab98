"""Looking through all that was told and stored for cards, seeds and salts that its reader may not know."""

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import partial

from domain.game import Role, Viewer
from infra import codec
from infra.vault import Vault
from ops.fault_ground import Ground
from ops.fault_model import Row
from services.projections.rounds import is_match
from tests.domain import gin_knowledge, patti_knowledge
from tests.domain.patti_knowledge import CARD
from tests.services import leaks
from tests.services.table_players import Text

KNOWLEDGE = {"three_patti": patti_knowledge.Knowledge, "gin_rummy": gin_knowledge.Knowledge}
Knowledge = patti_knowledge.Knowledge | gin_knowledge.Knowledge
NOBODY = Viewer("nobody", Role.OPERATOR)
HEX = re.compile(r"[0-9a-f]{32,}")
_ONE = r"[2-9TJQKA][shdc]"
THREE = re.compile(rf"(?<![0-9A-Za-z])({_ONE})[^0-9A-Za-z]{{1,8}}({_ONE})[^0-9A-Za-z]{{1,8}}({_ONE})(?![0-9A-Za-z])")
"""A hand, however it is written."""


class Archive:
    """What could be known after every event of every table, and what each of its hands left behind."""

    def __init__(self, operator: str, rows: Iterable[Row], vault: Vault) -> None:
        self._at: dict[str, list[tuple[int, Knowledge]]] = defaultdict(list)
        self.rounds: dict[str, Knowledge] = {}
        self.secrets = set[str]()
        now: dict[str, Knowledge] = {}
        for row in rows:
            if made := KNOWLEDGE.get(row["type"].partition(".")[0]):
                table = row["stream"].partition(":")[2]
                if table not in now:
                    now[table] = made(operator, partial(vault.open, operator))
                now[table].learn(codec.decode_event(row["type"], row["schema"], row["data"]))
                kept = now[table].kept()
                self._at[table].append((row["position"], kept))
                if row["round"]:
                    self.rounds[row["round"]] = kept
        for known in [*self.rounds.values(), *now.values()]:
            self.secrets |= known.secrets | known.seeds

    def may_know(self, text: Text) -> set[str]:
        if is_match(text.round):
            return self._of_match(text)
        if text.round:
            return self.rounds[text.round].in_replay(text.viewer)
        if not text.table:
            return set()
        return set[str]().union(*(known.of(text.viewer) for known in self._between(text)))

    def _of_match(self, text: Text) -> set[str]:
        """The draw for roles is told at the table, and in a replay; and so are the hands of a match."""
        if "/replay " not in text.where:
            return set()
        hands = (known for known in self.rounds.values() if getattr(known, "match", "") == text.round)
        return set[str]().union(*(known.in_replay(text.viewer) for known in hands))

    def _between(self, text: Text) -> Iterator[Knowledge]:
        story = self._at[text.table]
        begin = bisect_right(story, text.first, key=lambda each: each[0]) - 1
        for position, known in story[max(0, begin) :]:
            if position > text.last:
                break
            yield known

    def found(self, texts: Iterable[Text]) -> list[str]:
        """What stands where it may not."""
        said: list[str] = []
        for text in texts:
            named = {*CARD.findall(text.content), *(card for hand in THREE.findall(text.content) for card in hand)}
            if wrong := named - self.may_know(text):
                said.append(f"{text.where} names {sorted(wrong)}")
            if self.secrets.intersection(HEX.findall(text.content)):
                said.append(f"{text.where} holds a seed or a salt")
        return said


async def stored(ground: Ground, rows: Iterable[Row]) -> list[Text]:
    """All rows of all tables, all of Redis and all log files. Nobody reads them, so everybody may."""
    texts: list[Text] = []
    tables: dict[int, str] = {}
    for row in rows:
        table = row["stream"].partition(":")[2] if row["type"].partition(".")[0] in KNOWLEDGE else ""
        tables[row["position"]] = table
        texts.append(Text(f"event {row['position']}", row["data"], NOBODY, table, row["position"], row["position"]))
    for text in await leaks.in_postgres(ground, ()):
        content = text.content.decode()
        where = re.search(r"(?:\b|\()table:(t\d)\b", content) if text.where == "table streams" else None
        of_round = re.search(r"\b(t\d\.\d+)\b", content) if text.where in ("table rounds", "table bettors") else None
        table = where[1] if where else ""
        texts.append(Text(text.where, content, NOBODY, table, 2**61, 2**62, of_round[1] if of_round else ""))
    for text in await leaks.in_redis(ground):
        table = tables.get(text.position, "")
        texts.append(
            Text(text.where, text.content.decode("utf-8", "replace"), NOBODY, table, text.position, text.position)
        )
    texts += [Text(text.where, text.content.decode(), NOBODY) for text in leaks.in_logs(ground)]
    return texts
