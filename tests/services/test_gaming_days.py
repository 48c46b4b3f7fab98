"""Gaming days: where they begin, in zones that change their clocks too; and percents, rounded by whole numbers."""

from datetime import date, datetime, timedelta

import pytest

from services.reports.days import GamingDays
from services.reports.report import percent


def micros(text: str) -> int:
    return int(datetime.fromisoformat(text).timestamp()) * 1_000_000


@pytest.mark.parametrize(
    ("zone", "begins", "moment", "day"),
    [
        ("UTC", "00:00", "2026-03-01T00:00:00Z", "2026-03-01"),
        ("UTC", "06:00", "2026-03-01T05:59:59Z", "2026-02-28"),
        ("Asia/Kolkata", "00:00", "2026-02-28T18:29:59Z", "2026-02-28"),
        ("Asia/Kolkata", "00:00", "2026-02-28T18:30:00Z", "2026-03-01"),
        ("America/New_York", "06:00", "2026-07-01T09:59:59Z", "2026-06-30"),
        ("America/New_York", "06:00", "2026-01-01T10:59:59Z", "2025-12-31"),
        ("Europe/Berlin", "02:30", "2026-03-29T01:29:59Z", "2026-03-28"),  # clocks go from 2 to 3
        ("Europe/Berlin", "02:30", "2026-03-29T01:30:00Z", "2026-03-29"),
        ("Europe/Berlin", "02:30", "2026-10-25T00:29:59Z", "2026-10-24"),  # and from 3 to 2: half past two comes twice
        ("Europe/Berlin", "02:30", "2026-10-25T01:30:00Z", "2026-10-25"),
        ("Europe/Berlin", "00:00", "2026-10-25T22:59:59Z", "2026-10-25"),  # of 25 hours
    ],
)
def test_a_gaming_day_begins_at_its_hour_of_its_zone(zone: str, begins: str, moment: str, day: str) -> None:
    assert GamingDays(zone, begins).of(micros(moment)).isoformat() == day


def test_gaming_days_follow_each_other_without_a_gap() -> None:
    days = GamingDays("Europe/Berlin", "02:30")
    day = date(2026, 1, 1)
    lengths: set[int] = set()
    while day.year == 2026:
        following = day + timedelta(days=1)
        assert days.of(days.begin(following) - 1) == day == days.of(days.begin(day))
        lengths.add((days.begin(following) - days.begin(day)) // 3_600_000_000)
        day = following
    assert lengths == {23, 24, 25}


@pytest.mark.parametrize(
    ("part", "whole", "told"),
    [
        (0, 7, "0.000000"),
        (1, 3, "33.333333"),
        (2, 3, "66.666667"),
        (1_000, 1, "100000.000000"),
        (5, 10**9, "0.000000"),  # half of the last digit: to the even one
        (15, 10**9, "0.000002"),
        (2**53 - 1, 2**53, "100.000000"),
    ],
)
def test_percents_are_rounded_half_to_even_by_whole_numbers(part: int, whole: int, told: str) -> None:
    assert percent(part, whole) == told
