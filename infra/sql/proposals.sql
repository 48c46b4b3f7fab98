-- page: proposals, of one stage or of all, those that changed last first; open ones are few, and those that are due by the clock
select stream, position, state from streams
where operator = $1 and stream > 'proposal:' and stream < 'proposal;' and ($2::text is null or state ->> 'stage' = $2)
  and ($2 is distinct from 'open' or due is not null) and ($3::bigint is null or position < $3)
order by position desc limit $4

-- one: a proposal
select position, state from streams where operator = $1 and stream = $2
