-- page: proposals, of one stage or of all, those that changed last first
select s.stream, s.position, s.state from events e
cross join lateral (
    select stream, position, state from streams
    where operator = $1 and stream = e.stream and position = e.position limit 1
) s
where e.operator = $1 and split_part(e.type, '.', 1) = 'proposal' and e.type like 'proposal.%'
  and e.position < coalesce($3::bigint, 9223372036854775807) and ($2::text is null or s.state ->> 'stage' = $2)
order by e.position desc limit $4

-- open: those that are open
select stream, position, state from streams
where operator = $1 and decider = 'proposal' and due is not null and ($2::bigint is null or position < $2)
order by position desc limit $3

-- one: a proposal
select position, state from streams where operator = $1 and stream = $2
