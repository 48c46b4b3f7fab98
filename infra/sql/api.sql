-- scene: where the log stands and, in the same snapshot, some streams as folded
select l.position, l.epoch, n.stream, s.decider, s.version, s.state, s.state_schema
from logs l cross join unnest($2::text[]) as n (stream)
left join lateral (
    select decider, version, state, state_schema from streams where operator = $1 and stream = n.stream limit 1
) s on true
where l.operator = $1

-- since: what came to a stream after a position, and not before a version
select position, stream, version, type, schema, round, command, actor, role, at, data, hash
from events where operator = $1 and stream = $2 and version > $3 and position > $4 order by version

-- bettor: one player's bets in a round
select round, player, status, staked, returned, wagers, placed_at, ended_at, first, last from bettors
where operator = $1 and round = $2 and player = $3
    and generation = (select generation from checkpoints where operator = $1 and projection = 'rounds' and live)

-- beginnings: the first event of each of some rounds, which has its pay table; bounded at both ends and in order, so that
-- only the index of rounds is left to choose
select e.round, e.type, e.schema, e.data from unnest($2::text[]) as n (round)
cross join lateral (
    select round, type, schema, data from events where operator = $1 and round >= n.round and round <= n.round
    order by round, position limit 1
) e

-- migrations: what was applied to the database
select name from migrations
