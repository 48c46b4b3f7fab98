-- page: the checks of a house before a position, the newest first
select position, stream, version, type, schema, round, command, actor, role, at, data, hash from events
where operator = $1 and stream = 'house' and type = 'house.SelfChecked' and position < $2
order by version desc limit $3

-- manifest: what is behind a digest
select data from events
where operator = $1 and stream = 'house' and type = 'house.ManifestRecorded'
    and data ->> 'scope' = $2 and data ->> 'found' = $3
order by version desc limit 1
