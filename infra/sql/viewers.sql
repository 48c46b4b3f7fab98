-- opened: where an auditor has opened what is sealed of some rounds
select (data ->> 'position')::bigint as position from events
where operator = $1 and stream = $2 and type = 'audit.SealOpened' and data ->> 'round' = any($3::text[])

-- bodies: some commands as they were sent
select c.actor, c.key, c.body from unnest($2::text[], $3::text[]) n (actor, key) cross join lateral (
    select actor, key, body from commands where operator = $1 and actor = n.actor and key = n.key limit 1
) c
