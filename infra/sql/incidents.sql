-- page: incidents, of one table or of all, open ones or all, those that changed last first
select stream, position, state from streams
where operator = $1 and stream > 'incident:' and stream < 'incident;'
  and ($2::text is null or state ->> 'table' = $2)
  and ($3::boolean is null or (state ->> 'resolution' is null) = $3) and ($4::bigint is null or position < $4)
order by position desc limit $5

-- one: an incident
select position, state from streams where operator = $1 and stream = $2
