-- facts: what a fold needs of a page of the log, and no more
select position, stream, type, schema, data from events
where operator = $1 and position > $2 order by position limit $3

-- match_opened: where in its table's stream a match begins; the last ones are found first
select version from events
where operator = $1 and stream = $2 and type like '%.MatchOpened' and data ->> 'match' = $3
order by version desc limit 1
