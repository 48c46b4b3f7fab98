-- opening: the version of a table at which its last round by then was opened
select version from events where operator = $1 and stream = $2 and type = $3 and version <= $4
order by version desc limit 1
