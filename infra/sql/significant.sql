-- between: events of some types in a stretch of positions, self-checks that failed, and amounts above a threshold
select position, stream, version, type, schema, round, command, actor, role, at, data, hash from events
where operator = $1 and position > $2 and position <= $3 and (
    type = any($4::text[]) and (type <> 'house.SelfChecked' or data ->> 'expected' <> data ->> 'found')
    or type = any($5::text[])
    or type = 'wallet.BetsSettled' and (data ->> 'returned')::bigint >= $6::bigint
    or type = 'wallet.BetStaked' and (data ->> 'amount')::bigint >= $7::bigint
) order by position limit $8

-- config_before: a table's config before a version, from the last event that carries one
select data -> 'config' from events
where operator = $1 and stream = $2 and version < $3 and data -> 'config' is not null
order by version desc limit 1

-- at: when the event at a position came, in microseconds
select at from events where operator = $1 and position = $2
