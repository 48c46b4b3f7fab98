-- load: rounds as they stand, for a batch to go on from; the order leaves only the primary key's index to choose, whatever the statistics say
select r.* from unnest($3::text[]) as n (round)
cross join lateral (
    select round, "table", game, number, status, opened_at, closed_at, ended_at, bettors, staked, returned, result,
           first, last
    from rounds where operator = $1 and generation = $2 and round >= n.round and round <= n.round
    order by round limit 1
) r

-- load_bettors: bettors as they stand, for a batch to go on from; in order, as above, and bounded at both ends, since of
-- an index that is scanned in order a whole page is looked at that has no upper bound
select b.* from unnest(
    (string_to_array($3, chr(31), chr(30)))[2:], (string_to_array($4, chr(31), chr(30)))[2:]
) as n (round, player)
cross join lateral (
    select round, player, status, staked, returned, wagers, placed_at, ended_at, first, last
    from bettors where operator = $1 and generation = $2
        and (round, player) >= (n.round, n.player) and (round, player) <= (n.round, n.player)
    order by round, player limit 1
) b

-- load_seated: all who play in rounds with chips, far fewer than the limit; in order, as above
select b.* from unnest($3::text[]) as n (round)
cross join lateral (
    select round, player, status, staked, returned, wagers, placed_at, ended_at, first, last
    from bettors where operator = $1 and generation = $2 and (round, player) >= (n.round, '')
    order by round, player limit 100
) b
where b.round = n.round

-- save: rounds as they are after a batch
insert into rounds (operator, generation, round, "table", game, number, status, opened_at, closed_at, ended_at, bettors,
                    staked, returned, result, first, last)
select $1, $2, n.round, n."table", n.game, n.number::bigint, n.status,
       'epoch'::timestamptz + n.opened_at::bigint * interval '1 microsecond',
       'epoch'::timestamptz + n.closed_at::bigint * interval '1 microsecond',
       'epoch'::timestamptz + n.ended_at::bigint * interval '1 microsecond',
       n.bettors::bigint, n.staked::bigint, n.returned::bigint, n.result::json, n.first::bigint, n.last::bigint
from unnest(
    (string_to_array($3, chr(31), chr(30)))[2:], (string_to_array($4, chr(31), chr(30)))[2:],
    (string_to_array($5, chr(31), chr(30)))[2:], (string_to_array($6, chr(31), chr(30)))[2:],
    (string_to_array($7, chr(31), chr(30)))[2:], (string_to_array($8, chr(31), chr(30)))[2:],
    (string_to_array($9, chr(31), chr(30)))[2:], (string_to_array($10, chr(31), chr(30)))[2:],
    (string_to_array($11, chr(31), chr(30)))[2:], (string_to_array($12, chr(31), chr(30)))[2:],
    (string_to_array($13, chr(31), chr(30)))[2:], (string_to_array($14, chr(31), chr(30)))[2:],
    (string_to_array($15, chr(31), chr(30)))[2:], (string_to_array($16, chr(31), chr(30)))[2:]
) as n (round, "table", game, number, status, opened_at, closed_at, ended_at, bettors, staked, returned, result, first,
        last)
on conflict (operator, generation, round) do update set
    game = excluded.game, status = excluded.status, closed_at = excluded.closed_at, ended_at = excluded.ended_at,
    bettors = excluded.bettors, staked = excluded.staked, returned = excluded.returned, result = excluded.result,
    last = excluded.last

-- save_bettors: bettors as they are after a batch
insert into bettors (operator, generation, round, player, status, staked, returned, wagers, placed_at, ended_at, first,
                     last)
select $1, $2, n.round, n.player, n.status, n.staked::bigint, n.returned::bigint, n.wagers::json,
       'epoch'::timestamptz + n.placed_at::bigint * interval '1 microsecond',
       'epoch'::timestamptz + n.ended_at::bigint * interval '1 microsecond', n.first::bigint, n.last::bigint
from unnest(
    (string_to_array($3, chr(31), chr(30)))[2:], (string_to_array($4, chr(31), chr(30)))[2:],
    (string_to_array($5, chr(31), chr(30)))[2:], (string_to_array($6, chr(31), chr(30)))[2:],
    (string_to_array($7, chr(31), chr(30)))[2:], (string_to_array($8, chr(31), chr(30)))[2:],
    (string_to_array($9, chr(31), chr(30)))[2:], (string_to_array($10, chr(31), chr(30)))[2:],
    (string_to_array($11, chr(31), chr(30)))[2:], (string_to_array($12, chr(31), chr(30)))[2:]
) as n (round, player, status, staked, returned, wagers, placed_at, ended_at, first, last)
on conflict (operator, generation, round, player) do update set
    status = excluded.status, staked = excluded.staked, returned = excluded.returned, wagers = excluded.wagers,
    ended_at = excluded.ended_at, last = excluded.last

-- one: a round
select round, "table", game, number, status, opened_at, closed_at, ended_at, bettors, staked, returned, result, first,
       last
from rounds
where operator = $1 and round = $2
    and generation = (select generation from checkpoints where operator = $1 and projection = 'rounds' and live)

-- page: rounds before a position, the newest first
select round, "table", game, number, status, opened_at, closed_at, ended_at, bettors, staked, returned, result, first,
       last
from rounds
where operator = $1 and first < $2
    and generation = (select generation from checkpoints where operator = $1 and projection = 'rounds' and live)
order by first desc limit $3

-- page_of_table: rounds of a table before a position, the newest first
select round, "table", game, number, status, opened_at, closed_at, ended_at, bettors, staked, returned, result, first,
       last
from rounds
where operator = $1 and "table" = $2 and first < $3
    and generation = (select generation from checkpoints where operator = $1 and projection = 'rounds' and live)
order by first desc limit $4

-- bettors_of_round: who bet in a round, by name
select round, player, status, staked, returned, wagers, placed_at, ended_at, first, last from bettors
where operator = $1 and round = $2 and player > $3
    and generation = (select generation from checkpoints where operator = $1 and projection = 'rounds' and live)
order by player limit $4

-- history: the rounds a player bet in before a position, the newest first
select round, player, status, staked, returned, wagers, placed_at, ended_at, first, last from bettors
where operator = $1 and player = $2 and first < $3
    and generation = (select generation from checkpoints where operator = $1 and projection = 'rounds' and live)
order by first desc limit $4

-- clear: some rows of a generation that nobody reads
delete from rounds where operator = $1 and generation = $2 and round = any(array(
    select round from rounds where operator = $1 and generation = $2 limit $3
))

-- clear_bettors: some rows of a generation that nobody reads
delete from bettors where operator = $1 and generation = $2 and round = any(array(
    select round from bettors where operator = $1 and generation = $2 order by round limit $3
))
