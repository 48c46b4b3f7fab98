-- load: the log's head and the database's time, the streams named, what was decided before under keys, and for a writer that keeps streams what others have written since: the event that it saw last and those after it, and of the kept streams that it asks for those that changed. One round trip, one snapshot; lateral and limit make each an index lookup whatever the statistics say
with since as materialized (
    select stream, position, hash from events where operator = $1 and position >= $5 order by position limit $6
)
select 'head' as kind, null as name, null as key, null::json as text, position as first, epoch::bigint as last,
       hash as bytes, at, clock_timestamp() as now
from logs where operator = $1
union all
select 'since', stream, null, null, position, null, hash, null, null from since
union all
select 'stream', n.stream, s.decider, s.state, s.version, s.state_schema, null, null, null
from unnest((string_to_array($2, chr(31)))[2:]) as n (stream)
left join lateral (
    select decider, version, state, state_schema from streams where operator = $1 and stream = n.stream limit 1
) s on true
union all
select 'stream', n.stream, s.decider, s.state, s.version, s.state_schema, null, null, null
from (
    select stream from unnest((string_to_array($7, chr(31)))[2:]) as k (stream)
    intersect select stream from since where position > $5
) n
cross join lateral (
    select decider, version, state, state_schema from streams where operator = $1 and stream = n.stream limit 1
) s
union all
select 'answer', n.actor, n.key, c.outcome, c.first, c.last, c.fingerprint, c.decided, null
from unnest((string_to_array($3, chr(31)))[2:], (string_to_array($4, chr(31)))[2:]) as n (actor, key)
cross join lateral (
    select fingerprint, outcome, first, last, decided from commands
    where operator = $1 and actor = n.actor and key = n.key limit 1
) c

-- totals: the money of a round; open counts bettors whose stake is neither settled nor refunded; the order leaves only the index by round to choose, whatever the statistics say
with of_wallets as materialized (
    select stream, type, data from events where operator = $1 and round = $2 and type like 'wallet.%' order by position
), bettor as (
    select
        sum(case type when 'wallet.BetStaked' then (data ->> 'amount')::bigint
                      when 'wallet.BetCancelled' then -(data ->> 'amount')::bigint else 0 end) as staked,
        sum(case type when 'wallet.BetsSettled' then (data ->> 'returned')::bigint
                      when 'wallet.Refunded' then (data ->> 'amount')::bigint else 0 end) as returned,
        bool_or(type in ('wallet.BetsSettled', 'wallet.Refunded')) as closed
    from of_wallets group by stream
)
select count(*) as bettors, coalesce(sum(staked), 0)::bigint as staked, coalesce(sum(returned), 0)::bigint as returned,
       count(*) filter (where not closed) as open
from bettor where staked > 0

-- refused_before: is the refusal of this command on record?
select 1 from events where operator = $1 and stream = $2 and command = $3 limit 1

-- append: one statement writes it all: the log's head, events, streams (one row a stream), answers; columns come as text (infra/columns.py). Nothing is written, and no row returned, if the log does not stand any more where the batch began, or if it is too late
with head as (
    update logs set position = $2, hash = $3, at = $4
    where operator = $1 and epoch = $5 and position = $6 and hash = $7 and at = $8 and clock_timestamp() < $9
    returning operator
), appended as (
    insert into events (operator, position, stream, version, type, schema, round, command, actor, role, at, data, hash)
    select head.operator, e.position::bigint, e.stream, e.version::bigint, e.type, e.schema::smallint, e.round,
           e.command, e.actor, e.role, $4, e.data::json, decode(e.hash, 'hex')
    from head, unnest(
        (string_to_array($10, chr(31), chr(30)))[2:], (string_to_array($11, chr(31), chr(30)))[2:],
        (string_to_array($12, chr(31), chr(30)))[2:], (string_to_array($13, chr(31), chr(30)))[2:],
        (string_to_array($14, chr(31), chr(30)))[2:], (string_to_array($15, chr(31), chr(30)))[2:],
        (string_to_array($16, chr(31), chr(30)))[2:], (string_to_array($17, chr(31), chr(30)))[2:],
        (string_to_array($18, chr(31), chr(30)))[2:], (string_to_array($19, chr(31), chr(30)))[2:],
        (string_to_array($20, chr(31), chr(30)))[2:]
    ) as e (position, stream, version, type, schema, round, command, actor, role, data, hash)
), folded as (
    insert into streams (operator, stream, decider, version, position, state, state_schema, balance, due)
    select head.operator, s.stream, s.decider, s.version::bigint, s.position::bigint, s.state::json, $21,
           s.balance::bigint, 'epoch'::timestamptz + s.due::bigint * interval '1 microsecond'
    from head, unnest(
        (string_to_array($22, chr(31), chr(30)))[2:], (string_to_array($23, chr(31), chr(30)))[2:],
        (string_to_array($24, chr(31), chr(30)))[2:], (string_to_array($25, chr(31), chr(30)))[2:],
        (string_to_array($26, chr(31), chr(30)))[2:], (string_to_array($27, chr(31), chr(30)))[2:],
        (string_to_array($28, chr(31), chr(30)))[2:]
    ) as s (stream, decider, version, position, state, balance, due)
    on conflict (operator, stream) do update set
        version = excluded.version, position = excluded.position, state = excluded.state,
        state_schema = excluded.state_schema, balance = excluded.balance, due = excluded.due
), answered as (
    insert into commands (operator, actor, key, fingerprint, body, received, decided, outcome, first, last)
    select head.operator, c.actor, c.key, decode(c.fingerprint, 'hex'), c.body,
           'epoch'::timestamptz + c.received::bigint * interval '1 microsecond', $4, c.outcome::json, c.first::bigint,
           c.last::bigint
    from head, unnest(
        (string_to_array($29, chr(31), chr(30)))[2:], (string_to_array($30, chr(31), chr(30)))[2:],
        (string_to_array($31, chr(31), chr(30)))[2:], (string_to_array($32, chr(31), chr(30)))[2:],
        (string_to_array($33, chr(31), chr(30)))[2:], (string_to_array($34, chr(31), chr(30)))[2:],
        (string_to_array($35, chr(31), chr(30)))[2:], (string_to_array($36, chr(31), chr(30)))[2:]
    ) as c (actor, key, fingerprint, body, received, outcome, first, last)
)
select 1 from head

-- open_log: a new operator's log, at position 0
insert into logs (operator, epoch, position, hash, at, system) values ($1, $2, 0, $3, clock_timestamp(), $4)
on conflict (operator) do nothing

-- holders: end the sessions of our own login that keep this one from the log: not those that wait for it as well, whom it would find first, but who has let it wait for its next message for so many milliseconds
with recursive ahead (pid) as (
    select unnest(pg_blocking_pids($1)) union select unnest(pg_blocking_pids(ahead.pid)) from ahead
)
select pg_terminate_backend(a.pid) from ahead join pg_stat_activity a on a.pid = ahead.pid
where a.usename = current_user and a.wait_event_type = 'Client' and cardinality(pg_blocking_pids(a.pid)) = 0
  and greatest(a.query_start, a.state_change) < clock_timestamp() - $2::bigint * interval '1 millisecond'

-- renew: a new epoch of the log begins in this database, once for all who have seen that the one before is over
update logs set epoch = epoch + 1, system = $2 where operator = $1 and epoch = $3
