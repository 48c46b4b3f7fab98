"""What runs: wiring (the composition root), executor (the only writer), relay, projections, timers, settlement,
replay, and the HTTP API. Everything here is generic over the games."""
