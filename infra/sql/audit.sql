-- apply: one row an event: who did what when
insert into audit (operator, generation, position, at, actor, role, action, subject, round, command, rule)
select $1, $2, n.position::bigint, 'epoch'::timestamptz + n.at::bigint * interval '1 microsecond', n.actor, n.role,
       n.action, n.subject, n.round, n.command, n.rule
from unnest(
    (string_to_array($3, chr(31), chr(30)))[2:], (string_to_array($4, chr(31), chr(30)))[2:],
    (string_to_array($5, chr(31), chr(30)))[2:], (string_to_array($6, chr(31), chr(30)))[2:],
    (string_to_array($7, chr(31), chr(30)))[2:], (string_to_array($8, chr(31), chr(30)))[2:],
    (string_to_array($9, chr(31), chr(30)))[2:], (string_to_array($10, chr(31), chr(30)))[2:],
    (string_to_array($11, chr(31), chr(30)))[2:]
) as n (position, at, actor, role, action, subject, round, command, rule)

-- page: who did what before a position, the newest first; $2 and $3 narrow it to an actor or a subject
select a.position, a.at, a.actor, a.role, a.action, a.subject, a.round, a.command, a.rule, e.schema, e.data
from audit a join events e on e.operator = a.operator and e.position = a.position
where a.operator = $1 and a.position < $4 and ($2::text is null or a.actor = $2)
    and ($3::text is null or a.subject = $3)
    and a.generation = (select generation from checkpoints where operator = $1 and projection = 'audit' and live)
order by a.position desc limit $5

-- page_of_round: the same of one round, $6; refusals at its table stand in none in the log
with live as materialized (
    select generation, position from checkpoints where operator = $1 and projection = 'audit' and live
),
found as (
    (select e.position from events e
    where e.operator = $1 and e.round = $6 and e.position < $4 and e.position <= (select position from live)
        and ($2::text is null or e.actor = $2) and ($3::text is null or e.stream = $3)
    order by e.position desc limit $5)
    union all
    (select a.position from audit a
    where a.operator = $1 and a.generation = (select generation from live) and a.round = $6 and a.position < $4
        and a.rule is not null and ($2::text is null or a.actor = $2) and ($3::text is null or a.subject = $3)
    order by a.position desc limit $5)
)
select a.position, a.at, a.actor, a.role, a.action, a.subject, a.round, a.command, a.rule, e.schema, e.data
from (select position from found order by position desc limit $5) f
cross join lateral (
    -- each is there: "from its position on" leaves the planner no other index than that of positions
    select * from audit where operator = $1 and generation = (select generation from live) and position >= f.position
    order by position limit 1
) a
cross join lateral (
    select schema, data from events where operator = $1 and position >= f.position order by position limit 1
) e
order by a.position desc

-- between: all rows in a range of positions, as this generation has them
select position, at, actor, role, action, subject, round, command, rule from audit
where operator = $1 and generation = $2 and position > $3 and position <= $4 order by position

-- clear: some rows of a generation that nobody reads
delete from audit where operator = $1 and generation = $2 and position = any(array(
    select position from audit where operator = $1 and generation = $2 limit $3
))
