-- now: when a report is made, by the one clock that stamps everything
select clock_timestamp()

-- currencies: of these wallets, as their first event says
select w.stream, e.data ->> 'currency' as currency
from unnest($2::text[]) as w (stream)
cross join lateral (
    select data from events where operator = $1 and stream = w.stream and version = 1 limit 1
) e
