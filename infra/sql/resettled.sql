-- apply: one row a player and resettlement
insert into resettled (operator, generation, position, round, number, player, gain, payouts, at)
select $1, $2, n.position::bigint, n.round, n.number::integer, n.player, n.gain::bigint, n.payouts::json,
       'epoch'::timestamptz + n.at::bigint * interval '1 microsecond'
from unnest(
    (string_to_array($3, chr(31), chr(30)))[2:], (string_to_array($4, chr(31), chr(30)))[2:],
    (string_to_array($5, chr(31), chr(30)))[2:], (string_to_array($6, chr(31), chr(30)))[2:],
    (string_to_array($7, chr(31), chr(30)))[2:], (string_to_array($8, chr(31), chr(30)))[2:],
    (string_to_array($9, chr(31), chr(30)))[2:]
) as n (position, round, number, player, gain, payouts, at)

-- of_round: how a round came to some of its players when it was settled once more
select r.* from unnest($3::text[]) as n (player)
cross join lateral (
    select position, round, number, player, gain, payouts, at from resettled
    where operator = $1 and round = $2 and player = n.player
        and generation = (select generation from checkpoints where operator = $1 and projection = 'rounds' and live)
    order by position
) r
order by r.player, r.position

-- of_player: how some rounds came to a player when they were settled once more
select r.* from unnest($2::text[]) as n (round)
cross join lateral (
    select position, round, number, player, gain, payouts, at from resettled
    where operator = $1 and round = n.round and player = $3
        and generation = (select generation from checkpoints where operator = $1 and projection = 'rounds' and live)
    order by position
) r
order by r.position

-- among: which of some rounds were settled once more
select n.round from unnest($2::text[]) as n (round) where exists (
    select from resettled r where r.operator = $1 and r.round = n.round
        and r.generation = (select generation from checkpoints where operator = $1 and projection = 'rounds' and live)
)

-- between: all rows in a range of positions, as this generation has them
select position, round, number, player, gain, payouts, at from resettled
where operator = $1 and generation = $2 and position > $3 and position <= $4 order by position

-- clear: some rows of a generation that nobody reads
delete from resettled where operator = $1 and generation = $2 and position = any(array(
    select position from resettled where operator = $1 and generation = $2 limit $3
))

-- settled: how the bettors of a round were settled with, in pages by position; each wallet comes once
select position, stream, version, type, schema, round, command, actor, role, at, data, hash
from events where operator = $1 and round = $2 and position > $3 and type = 'wallet.BetsSettled'
order by position limit $4

-- resettled: how the players of a round were settled with by one of its resettlements; each wallet comes once
select position, stream, version, type, schema, round, command, actor, role, at, data, hash
from events where operator = $1 and round = $2 and position > $3 and type = 'wallet.Resettled'
    and (data ->> 'number')::bigint = $5
order by position limit $4

-- sums: what one resettlement of a round gave its players, and what of their losses their cash did not cover
select count(*) as players, coalesce(sum((data ->> 'gain')::bigint), 0)::bigint as gained,
       coalesce(sum((data ->> 'after')::bigint - (data ->> 'before')::bigint - (data ->> 'gain')::bigint), 0)::bigint as owed
from events where operator = $1 and round = $2 and type = 'wallet.Resettled' and (data ->> 'number')::bigint = $3

-- told: the resettlements of a round, begun and completed
select position, stream, version, type, schema, round, command, actor, role, at, data, hash
from events where operator = $1 and stream = $2 and type in ('resettlement.Opened', 'resettlement.Completed')
order by version
