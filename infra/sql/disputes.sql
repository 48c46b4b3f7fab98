-- page: disputes as they stand, of all players, those that changed last first; what was said in one is in its stream
select stream, position, state from streams
where operator = $1 and stream > 'dispute:' and stream < 'dispute;'
  and ($2::text is null or state ->> 'stage' = $2) and ($3::text is null or state ->> 'round' = $3)
  and ($4::boolean is null or (state ->> 'overdue')::boolean = $4) and ($5::bigint is null or position < $5)
order by position desc limit $6

-- of_player: one player's, by the player's docket
select s.stream, s.position, s.state from events e
cross join lateral (
    select stream, position, state from streams
    where operator = $1 and stream = 'dispute:' || (e.data ->> 'dispute') limit 1
) s
where e.operator = $1 and e.stream = 'docket:' || $7::text and e.type = 'docket.Entered'
  and ($2::text is null or state ->> 'stage' = $2) and ($3::text is null or state ->> 'round' = $3)
  and ($4::boolean is null or (state ->> 'overdue')::boolean = $4) and ($5::bigint is null or s.position < $5)
order by s.position desc limit $6

-- one: a dispute
select stream, position, state from streams where operator = $1 and stream = $2

-- proposed: what was proposed about a dispute since it was opened, by its round
select stream from events
where operator = $1 and round = $2 and position > $3 and type = 'proposal.Proposed' and data -> 'asked' ->> 'dispute' = $4
order by position
