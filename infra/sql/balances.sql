-- apply: a batch's effect on each wallet: what it is now where that changed (else null), and how open stakes moved
insert into balances (operator, generation, player, currency, balance, open_stakes, blocked, owed, position)
select $1, $2, n.player, coalesce(n.currency, b.currency, ''), coalesce(n.balance::bigint, b.balance, 0),
       coalesce(b.open_stakes, 0) + n.staked::bigint, coalesce(n.blocked::boolean, b.blocked, false),
       coalesce(n.owed::bigint, b.owed, 0), n.position::bigint
from unnest(
    (string_to_array($3, chr(31), chr(30)))[2:], (string_to_array($4, chr(31), chr(30)))[2:],
    (string_to_array($5, chr(31), chr(30)))[2:], (string_to_array($6, chr(31), chr(30)))[2:],
    (string_to_array($7, chr(31), chr(30)))[2:], (string_to_array($8, chr(31), chr(30)))[2:],
    (string_to_array($9, chr(31), chr(30)))[2:]
) as n (player, currency, balance, staked, blocked, owed, position)
left join lateral (
    select currency, balance, open_stakes, blocked, owed from balances
    where operator = $1 and generation = $2 and player = n.player limit 1
) b on true
on conflict (operator, generation, player) do update set
    currency = excluded.currency, balance = excluded.balance, open_stakes = excluded.open_stakes,
    blocked = excluded.blocked, owed = excluded.owed, position = excluded.position

-- one: a player's money
select player, currency, balance, open_stakes, blocked, owed, position from balances
where operator = $1 and player = $2
    and generation = (select generation from checkpoints where operator = $1 and projection = 'balances' and live)

-- page: players by name
select player, currency, balance, open_stakes, blocked, owed, position from balances
where operator = $1 and player > $2
    and generation = (select generation from checkpoints where operator = $1 and projection = 'balances' and live)
order by player limit $3

-- clear: some rows of a generation that nobody reads
delete from balances where operator = $1 and generation = $2 and player = any(array(
    select player from balances where operator = $1 and generation = $2 limit $3
))
