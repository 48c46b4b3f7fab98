-- events_by_stream: the log, one stream after the other
select position, stream, version, type, schema, round, command, actor, role, at, data, hash
from events where operator = $1 and (stream, version) > ($2, $3) order by stream, version limit $4

-- events_by_round: what belongs to rounds, one round after the other
select position, stream, version, type, schema, round, command, actor, role, at, data, hash
from events where operator = $1 and round is not null and (round, position) > ($2, $3) order by round, position limit $4

-- streams: these streams as folded by the executor
select s.* from unnest($2::text[]) as n (stream)
cross join lateral (
    select stream, decider, version, position, state, state_schema, balance, due from streams
    where operator = $1 and stream = n.stream limit 1
) s

-- streams_without_events: among the streams after a name, the last name looked at and those that no event made
select s.stream, exists (select from events e where e.operator = s.operator and e.stream = s.stream) as known
from (select operator, stream from streams where operator = $1 and stream > $2 order by stream limit $3) s
order by s.stream

-- balances: these players as projected
select b.* from unnest($3::text[]) as n (player)
cross join lateral (
    select player, currency, balance, open_stakes, blocked, owed, position from balances
    where operator = $1 and generation = $2 and player = n.player limit 1
) b

-- balances_without_wallet: among the players after a name, whether each has a wallet
select b.player as name, exists (
    select from streams s where s.operator = b.operator and s.stream = 'wallet:' || b.player
) as known
from (select operator, player from balances where operator = $1 and generation = $2 and player > $3
      order by player limit $4) b
order by b.player

-- bettors: all bettors of these rounds as projected
select b.* from unnest($3::text[]) as n (round)
cross join lateral (
    select round, player, status, staked, returned, wagers, placed_at, ended_at, first, last
    from bettors where operator = $1 and generation = $2 and round = n.round
) b

-- rounds_without_events: among the rounds after an id, whether each is in the log; a match by the event that opened it
select r.round as name, exists (
    select from events e where e.operator = r.operator and e.round = r.round
) or exists (
    select from events e where e.operator = r.operator and e.position = r.first
        and e.type like '%.MatchOpened' and e.data ->> 'match' = r.round
) as known
from (select operator, round, first from rounds where operator = $1 and generation = $2 and round > $3
      order by round limit $4) r
order by r.round

-- beyond: does a projection that is keyed by position hold rows that its checkpoint has not come to?
select exists (select from statement s where s.operator = c.operator and s.generation = c.generation
               and s.position > c.position) as statement,
       exists (select from audit a where a.operator = c.operator and a.generation = c.generation
               and a.position > c.position) as audit,
       exists (select from resettled r where r.operator = c.operator and r.generation = c.generation
               and r.position > c.position) as resettled
from checkpoints c where c.operator = $1 and c.projection = $2 and c.live
