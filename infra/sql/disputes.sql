-- page: disputes as they stand, of all players, those that changed last first; what was said in one is in its stream
select s.stream, s.position, s.state from events e
cross join lateral (
    select stream, position, state from streams
    where operator = $1 and stream = e.stream and position = e.position limit 1
) s
where e.operator = $1 and split_part(e.type, '.', 1) = 'dispute' and e.type like 'dispute.%'
  and ($2::text is null or s.state ->> 'stage' = $2) and ($3::boolean is null or (s.state ->> 'overdue')::boolean = $3)
  and e.position < coalesce($4::bigint, 9223372036854775807)
order by e.position desc limit $5

-- open: those that are open
select stream, position, state from streams
where operator = $1 and decider = 'dispute' and due is not null
  and ($2::boolean is null or (state ->> 'overdue')::boolean = $2) and ($3::bigint is null or position < $3)
order by position desc limit $4

-- of_round: those about one round
select s.stream, s.position, s.state from events e
cross join lateral (
    select stream, position, state from streams where operator = $1 and stream = e.stream limit 1
) s
where e.operator = $1 and e.type = 'dispute.Opened' and coalesce(e.data ->> 'table', e.data ->> 'round') = $6::text
  and ($2::text is null or s.state ->> 'stage' = $2) and ($3::boolean is null or (s.state ->> 'overdue')::boolean = $3)
  and ($4::bigint is null or s.position < $4)
order by s.position desc limit $5

-- of_player: one player's, by the player's docket
select s.stream, s.position, s.state from events e
cross join lateral (
    select stream, position, state from streams
    where operator = $1 and stream = 'dispute:' || (e.data ->> 'dispute') limit 1
) s
where e.operator = $1 and e.stream = 'docket:' || $6::text and e.type = 'docket.Entered'
  and ($7::text is null or e.data ->> 'round' = $7)
  and ($2::text is null or s.state ->> 'stage' = $2) and ($3::boolean is null or (s.state ->> 'overdue')::boolean = $3)
  and ($4::bigint is null or s.position < $4)
order by s.position desc limit $5

-- one: a dispute
select stream, position, state from streams where operator = $1 and stream = $2

-- times: how often a player has opened a dispute about a round, whatever became of it
select count(*) from events
where operator = $1 and stream = 'docket:' || $2::text and type = 'docket.Entered' and role = 'player'
  and data ->> 'round' = $3

-- proposed: what was proposed about a dispute since it was opened, by its round
select stream from events
where operator = $1 and round = $2 and position > $3 and type = 'proposal.Proposed' and data -> 'asked' ->> 'dispute' = $4
order by position
