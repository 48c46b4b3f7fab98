-- begin: a projection's first checkpoint, before the first event
insert into checkpoints (operator, projection, generation, live, position, hash, at)
values ($1, $2, 1, true, 0, $3, clock_timestamp())
on conflict do nothing

-- live: where a projection stands, and which generation of its rows is read
select generation, position, hash, problem from checkpoints where operator = $1 and projection = $2 and live

-- position: how far a projection's readers can see
select position from checkpoints where operator = $1 and projection = $2 and live

-- lag: how far each projection is behind its log
select c.operator, c.projection, l.position - c.position as lag, c.problem
from checkpoints c join logs l using (operator) where c.live order by c.operator, c.projection

-- advance: the batch that begins at $4 + 1 takes effect once, however many projectors try: the others find no row here;
-- a lost commit is only applied again, so this transaction need not wait for the disk, and one whose process froze must
-- not hold up the others; only events of the log count: Redis may still have some that a restored log has lost; and no
-- batch scans a table: a plan made while there were few rows, and kept, would go on to scan many
update checkpoints set position = $5, hash = $6, at = clock_timestamp(), problem = null
where operator = $1 and projection = $2 and generation = $3 and position = $4 and hash = $7
    and exists (select from events e where e.operator = $1 and e.position = $5 and e.hash = $6)
returning set_config('synchronous_commit', 'off', true),
          set_config('idle_in_transaction_session_timeout', '2s', true), set_config('enable_seqscan', 'off', true)

-- stop: an event that cannot be applied
update checkpoints set problem = $5
where operator = $1 and projection = $2 and generation = $3 and position = $4

-- hold_briefly: a process that freezes while it holds a checkpoint loses it
set local idle_in_transaction_session_timeout = '10s'

-- lock: the live checkpoint, so that it stays where it is until the next generation takes its place
select generation, position, hash, problem from checkpoints where operator = $1 and projection = $2 and live for update

-- build: a checkpoint at the log's beginning for a generation that nobody reads yet
insert into checkpoints (operator, projection, generation, live, position, hash, at)
values ($1, $2, $3, false, 0, $4, clock_timestamp())

-- leftovers: generations that nobody reads: replaced ones, and those of a rebuild that was cut off
select generation from checkpoints where operator = $1 and projection = $2 and not live

-- retire: the generation that was read until now
update checkpoints set live = false where operator = $1 and projection = $2 and live

-- promote: the generation that is read from now on
update checkpoints set live = true where operator = $1 and projection = $2 and generation = $3

-- drop: the checkpoint of a generation whose rows are gone
delete from checkpoints where operator = $1 and projection = $2 and generation = $3 and not live
