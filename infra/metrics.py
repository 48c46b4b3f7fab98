"""What the house counts for Prometheus, beside what Litestar counts of HTTP by itself."""

from prometheus_client import Counter, Gauge

relay_position = Gauge("croupier_relay_position", "Last position copied into Redis.", ["operator"])
relay_torn = Counter("croupier_relay_torn_total", "Times the relay met a gap in the log.", ["operator"])
projection_position = Gauge(
    "croupier_projection_position", "Last position that took effect.", ["operator", "projection"]
)
projection_lag = Gauge("croupier_projection_lag", "Positions a projection is behind.", ["operator", "projection"])
projection_stopped = Gauge(
    "croupier_projection_stopped", "1 while a projection stands still at an event.", ["operator", "projection"]
)
projection_from_log = Counter(
    "croupier_projection_from_log_total", "Events read from the log because Redis did not have them.", ["operator"]
)
notary_position = Gauge("croupier_notary_position", "Last position that is signed.", ["operator"])
