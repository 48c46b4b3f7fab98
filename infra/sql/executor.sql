-- lock: from here this process is the log's only writer; alone in its statement, since what is read beside it would be stale
select epoch, position, hash, at from logs where operator = $1 for update

-- load: the database's time and the streams named; lateral and limit make it an index lookup whatever the statistics say
select clock_timestamp() as now, n.stream, s.decider, s.version, s.state, s.state_schema
from unnest($2::text[]) as n (stream)
left join lateral (
    select decider, version, state, state_schema from streams where operator = $1 and stream = n.stream limit 1
) s on true

-- answers: what was decided before under these keys
select n.actor, n.key, c.fingerprint, c.outcome, c.first, c.last
from unnest($2::text[], $3::text[]) as n (actor, key)
cross join lateral (
    select fingerprint, outcome, first, last from commands
    where operator = $1 and actor = n.actor and key = n.key limit 1
) c

-- totals: the money of a round; open counts bettors whose stake is neither settled nor refunded
with bettor as (
    select
        sum(case type when 'wallet.BetStaked' then (data ->> 'amount')::bigint
                      when 'wallet.BetCancelled' then -(data ->> 'amount')::bigint else 0 end) as staked,
        sum(case type when 'wallet.BetsSettled' then (data ->> 'returned')::bigint
                      when 'wallet.Refunded' then (data ->> 'amount')::bigint else 0 end) as returned,
        bool_or(type in ('wallet.BetsSettled', 'wallet.Refunded')) as closed
    from events where operator = $1 and round = $2 and type like 'wallet.%'
    group by stream
)
select count(*) as bettors, coalesce(sum(staked), 0)::bigint as staked, coalesce(sum(returned), 0)::bigint as returned,
       count(*) filter (where not closed) as open
from bettor where staked > 0

-- append: one statement writes it all: the log's head, events, streams (one row a stream), answers
with head as (
    update logs set position = $2, hash = $3, at = $4 where operator = $1
), appended as (
    insert into events (operator, position, stream, version, type, schema, round, command, actor, role, at, data, hash)
    select $1, e.position, e.stream, e.version, e.type, e.schema, e.round, e.command, e.actor, e.role, $4,
           e.data::json, e.hash
    from unnest($5::bigint[], $6::text[], $7::bigint[], $8::text[], $9::smallint[], $10::text[], $11::text[],
                $12::text[], $13::text[], $14::text[], $15::bytea[])
        as e (position, stream, version, type, schema, round, command, actor, role, data, hash)
), folded as (
    insert into streams (operator, stream, decider, version, position, state, state_schema, balance, due)
    select $1, s.stream, s.decider, s.version, s.position, s.state::json, $16, s.balance, s.due
    from unnest($17::text[], $18::text[], $19::bigint[], $20::bigint[], $21::text[], $22::bigint[], $23::timestamptz[])
        as s (stream, decider, version, position, state, balance, due)
    on conflict (operator, stream) do update set
        version = excluded.version, position = excluded.position, state = excluded.state,
        state_schema = excluded.state_schema, balance = excluded.balance, due = excluded.due
)
insert into commands (operator, actor, key, fingerprint, body, received, decided, outcome, first, last)
select $1, c.actor, c.key, c.fingerprint, c.body, c.received, $4, c.outcome::json, c.first, c.last
from unnest($24::text[], $25::text[], $26::bytea[], $27::text[], $28::timestamptz[], $29::text[], $30::bigint[],
            $31::bigint[])
    as c (actor, key, fingerprint, body, received, outcome, first, last)

-- open_log: a new operator's log, at position 0
insert into logs (operator, epoch, position, hash, at, system) values ($1, $2, 0, $3, clock_timestamp(), $4)
on conflict (operator) do nothing

-- holders: end the sessions that keep this one from the log; they belong to the same login
select pg_terminate_backend(pid) from unnest(pg_blocking_pids($1)) as holder (pid)

-- renew: a new epoch of the log begins in this database
update logs set epoch = epoch + 1, system = $2 where operator = $1
