-- facts: what a fold needs of a page of the log, and no more
select position, stream, type, schema, data from events
where operator = $1 and position > $2 order by position limit $3
