-- slowest: the position that every projection has passed; null when there is none yet
select min(position) from checkpoints where operator = $1 and live

-- take_lease: hold or prolong a work for some seconds; no row when somebody else holds it
insert into leases as held (operator, work, holder, until)
values ($1, $2, $3, clock_timestamp() + $4 * interval '1 second')
on conflict (operator, work) do update set holder = excluded.holder, until = excluded.until
    where held.holder = excluded.holder or held.until < clock_timestamp()
returning until

-- end_lease: let the next one in at once
delete from leases where operator = $1 and work = $2 and holder = $3
