-- apply: one row a movement
insert into statement (operator, generation, position, player, kind, round, amount, before, after, reference, at)
select $1, $2, n.position::bigint, n.player, n.kind, n.round, n.amount::bigint, n.before::bigint, n.after::bigint,
       n.reference, 'epoch'::timestamptz + n.at::bigint * interval '1 microsecond'
from unnest(
    (string_to_array($3, chr(31), chr(30)))[2:], (string_to_array($4, chr(31), chr(30)))[2:],
    (string_to_array($5, chr(31), chr(30)))[2:], (string_to_array($6, chr(31), chr(30)))[2:],
    (string_to_array($7, chr(31), chr(30)))[2:], (string_to_array($8, chr(31), chr(30)))[2:],
    (string_to_array($9, chr(31), chr(30)))[2:], (string_to_array($10, chr(31), chr(30)))[2:],
    (string_to_array($11, chr(31), chr(30)))[2:]
) as n (position, player, kind, round, amount, before, after, reference, at)

-- newest: a player's movements before a position, the newest first
select position, player, kind, round, amount, before, after, reference, at from statement
where operator = $1 and player = $2 and position < $3
    and generation = (select generation from checkpoints where operator = $1 and projection = 'statement' and live)
order by position desc limit $4

-- oldest: a player's movements after a position, the oldest first
select position, player, kind, round, amount, before, after, reference, at from statement
where operator = $1 and player = $2 and position > $3
    and generation = (select generation from checkpoints where operator = $1 and projection = 'statement' and live)
order by position limit $4

-- between: all movements in a range of positions, as this generation has them
select position, player, kind, round, amount, before, after, reference, at from statement
where operator = $1 and generation = $2 and position > $3 and position <= $4 order by position

-- clear: some rows of a generation that nobody reads
delete from statement where operator = $1 and generation = $2 and position = any(array(
    select position from statement where operator = $1 and generation = $2 limit $3
))
