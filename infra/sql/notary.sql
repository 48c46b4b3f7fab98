-- begin: the tree of a log that has none yet
insert into trees (operator, size, hash) values ($1, 0, $2) on conflict do nothing

-- tree: how far a log's tree has come
select size, hash from trees where operator = $1

-- stood: how far a log's tree had come and how far it was signed, at one moment: both grow in one transaction
select coalesce((select size from trees where operator = $1), 0) as taken,
       coalesce((select max(size) from notes where operator = $1), 0) as signed

-- grow: the next leaves come in once, however many notaries try: the others find no row here; one whose process froze
-- must not hold up the others
update trees set size = $3, hash = $4 where operator = $1 and size = $2
returning set_config('idle_in_transaction_session_timeout', '2s', true)

-- tiles: some of a tree's tiles, each an index lookup
select t.level, t.index, t.hashes from unnest($2::smallint[], $3::bigint[]) as n (level, index)
cross join lateral (
    select level, index, hashes from tiles where operator = $1 and level = n.level and index = n.index limit 1
) t

-- save_tiles: those that grew
insert into tiles (operator, level, index, hashes)
select $1, t.level, t.index, t.hashes from unnest($2::smallint[], $3::bigint[], $4::bytea[]) as t (level, index, hashes)
on conflict (operator, level, index) do update set hashes = excluded.hashes

-- sign: a note of how a log's tree stands
insert into notes (operator, size, at, note) values ($1, $2, clock_timestamp(), $3)

-- know_key: a key that signs
insert into note_keys (operator, key, since) values ($1, $2, clock_timestamp()) on conflict do nothing

-- latest: the newest note that is over at least so many events; null if there is none
select size, at, note from notes where operator = $1 and size >= $2 order by size desc limit 1

-- first_over: the earliest note that is over an event
select size, at, note from notes where operator = $1 and size >= $2 order by size limit 1

-- notes_after: notes in the order of the log
select size, at, note from notes where operator = $1 and size > $2 order by size limit $3

-- keys: that ever signed, the newest first
select key, since from note_keys where operator = $1 order by since desc, key

-- log_end: the last event there is
select max(position) from events where operator = $1
