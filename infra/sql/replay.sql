-- facts: what a fold needs of a page of the log, and no more
select position, stream, type, schema, data from events
where operator = $1 and position > $2 order by position limit $3

-- ended: rounds that are over, as they began, from a moment on
select round, first, game from rounds
where operator = $1 and first > $2 and opened_at >= $3 and status in ('settled', 'refunded', 'skipped')
    and round not like '%.m%'
    and generation = (select generation from checkpoints where operator = $1 and projection = 'rounds' and live)
order by first limit $4

-- bodies: of commands as they were sent, each an index lookup
select n.actor, n.key, c.body from unnest($2::text[], $3::text[]) as n (actor, key)
cross join lateral (
    select body from commands where operator = $1 and actor = n.actor and key = n.key limit 1
) c

-- match_opened: where in its table's stream a match begins; the last ones are found first
select version from events
where operator = $1 and stream = $2 and type like '%.MatchOpened' and data ->> 'match' = $3
order by version desc limit 1

-- resettled: what was settled once more from a moment on and is not among the rounds above: rounds older than that, and matches
select distinct round from resettled r
where operator = $1 and at >= $2
    and generation = (select generation from checkpoints where operator = $1 and projection = 'rounds' and live)
    and (round like '%.m%' or exists (
        select from rounds where operator = $1 and generation = r.generation and round = r.round and opened_at < $2
    ))
order by round
