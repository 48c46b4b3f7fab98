"""The domain's one exception."""

from enum import StrEnum

Fact = int | str | bool | tuple[int | str, ...]


class Rejected(Exception):
    """A command refused by a rule; nothing happened.

    `rule` is the rule's one name: the heading in `rules.md`, the `code` of the HTTP problem, the `! Rule` line of a
    written round. `facts` say what the sender needs to do better, and name only what the sender sent or may see.
    """

    def __init__(self, rule: StrEnum, /, **facts: Fact) -> None:
        super().__init__(f"{rule} {facts}" if facts else str(rule))
        self.rule = rule
        self.facts = facts
