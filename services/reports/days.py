"""Gaming days: a day as the operator counts it, by a time zone and the hour and minute at which it begins there."""

from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from domain.game import Micros

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DAY = timedelta(days=1)


class GamingDays:
    """Which day a moment belongs to. A day may have 23 or 25 hours, where clocks are changed; none overlap."""

    def __init__(self, time_zone: str = "UTC", begins: str = "00:00") -> None:
        self.time_zone = time_zone
        self.begins = begins
        self._zone = UTC if time_zone == "UTC" else ZoneInfo(time_zone)
        self._at = time.fromisoformat(begins)
        self._day = date.min
        self._from = self._until = 0

    def begin(self, day: date) -> Micros:
        """Where clocks skip that minute or show it twice, it is counted as if they had not been changed yet."""
        return (datetime.combine(day, self._at, self._zone).astimezone(UTC) - _EPOCH) // timedelta(microseconds=1)

    def of(self, at: Micros) -> date:
        """The log is read in the order of time, so the day before is nearly always the day again."""
        if not self._from <= at < self._until:
            day = (_EPOCH + timedelta(microseconds=at)).astimezone(self._zone).date()
            if at < self.begin(day):
                day -= _DAY
            self._day, self._from, self._until = day, self.begin(day), self.begin(day + _DAY)
        return self._day
