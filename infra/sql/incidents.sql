-- page: incidents, resolved ones or all, those that changed last first
select s.stream, s.position, s.state from events e
cross join lateral (
    select stream, position, state from streams
    where operator = $1 and stream = e.stream and position = e.position limit 1
) s
where e.operator = $1 and split_part(e.type, '.', 1) = 'incident' and e.type like 'incident.%'
  and e.position < coalesce($3::bigint, 9223372036854775807)
  and ($2::boolean is null or (s.state ->> 'resolution' is null) = $2)
order by e.position desc limit $4

-- open: those that are open
select stream, position, state from streams
where operator = $1 and decider = 'incident' and due is not null and ($2::bigint is null or position < $2)
order by position desc limit $3

-- of_table: those of one table
select s.stream, s.position, s.state from events e
cross join lateral (
    select stream, position, state from streams where operator = $1 and stream = e.stream limit 1
) s
where e.operator = $1 and e.type = 'incident.Reported' and coalesce(e.data ->> 'table', e.data ->> 'round') = $5::text
  and ($2::boolean is null or (s.state ->> 'resolution' is null) = $2) and ($3::bigint is null or s.position < $3)
order by s.position desc limit $4

-- one: an incident
select position, state from streams where operator = $1 and stream = $2
