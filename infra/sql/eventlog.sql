-- events_after: a page of the log, by position; the order is the order of commits and there are no gaps
select position, stream, version, type, schema, round, command, actor, role, at, data, hash
from events where operator = $1 and position > $2 order by position limit $3

-- events_of_round: all that is about a round: the table's events, its bettors' money, and what was said of it, in order
select position, stream, version, type, schema, round, command, actor, role, at, data, hash
from events where operator = $1 and round = $2 and position > $3 order by position limit $4

-- events_of_stream: one stream from a version on
select position, stream, version, type, schema, round, command, actor, role, at, data, hash
from events where operator = $1 and stream = $2 and version > $3 order by version limit $4

-- events_between: what one command appended, for the answer to its repetition
select position, stream, version, type, schema, round, command, actor, role, at, data, hash
from events where operator = $1 and position between $2 and $3 order by position

-- tip: where the log stands
select epoch, position, hash, at, system from logs where operator = $1

-- tips: where all logs stand
select operator, epoch, position, hash, at, system from logs order by operator

-- operators: whose logs there are
select operator from logs order by operator

-- hash_at: the chain's link at a position
select hash from events where operator = $1 and position = $2

-- system: which database this is: another identifier or timeline than stored means a restored log
select (select system_identifier from pg_control_system())::text || '/' || (select timeline_id from pg_control_checkpoint())::text

-- stream: one stream as folded
select decider, version, position, state, state_schema, balance, due from streams where operator = $1 and stream = $2

-- decider: who folds a stream
select decider from streams where operator = $1 and stream = $2

-- streams_like: all streams of a kind by prefix, paged by name
select stream, decider, version, position, state, state_schema, balance, due from streams
where operator = $1 and stream > $2 and stream < $3 order by stream limit $4

-- command: what became of a command
select fingerprint, body, received, decided, outcome, first, last from commands
where operator = $1 and actor = $2 and key = $3

-- bettors_of_round: the bets of a round, in pages by position; a wallet may come more than once
select position, stream from events
where operator = $1 and round = $2 and type = 'wallet.BetStaked' and position > $3 order by position limit $4

-- due: streams whose deadline has passed by the database's clock: tables, where players wait, then the longest overdue first
select stream, decider, state from streams
where operator = $1 and due <= (select clock_timestamp()) order by stream like 'table:%' desc, due limit $2

-- next_due: microseconds until the next deadline of any operator, to sleep no longer than that
select (extract(epoch from min(due) - clock_timestamp()) * 1000000)::bigint from streams where due is not null

-- last_of_type: where a stream's last event of a type stands, to fold from there
select version from events where operator = $1 and stream = $2 and type = $3 order by version desc limit 1

-- older_states: streams whose state was folded by an older program
select stream, decider from streams where operator = $1 and state_schema < $2 order by stream limit $3

-- replace_state: the same state in its new shape, unless the stream has moved on
update streams set state = $4::json, state_schema = $5 where operator = $1 and stream = $2 and version = $3

-- published: the version of a table at which the hash of a seed was told to all, before a version
select version from events where operator = $1 and stream = $2 and version < $3 and strpos(data::text, $4) > 0
order by version desc limit 1

-- events_of_stream_between: one stream between two versions
select position, stream, version, type, schema, round, command, actor, role, at, data, hash
from events where operator = $1 and stream = $2 and version between $3 and $4 order by version

-- beside_round: what was refused at a table between two positions, and what else some commands did there
select position, stream, version, type, schema, round, command, actor, role, at, data, hash
from events where operator = $1 and position between $2 and $3 and round is null and (
    type = 'refused.CommandRefused' and data ->> 'stream' = $4
    or command is not null and (actor, command) in (select * from unnest($5::text[], $6::text[]))
) order by position

-- commands_of: what became of some commands, each an index lookup
select c.actor, c.key, c.body, c.received, c.decided, c.outcome, c.first, c.last
from unnest($2::text[], $3::text[]) as n (actor, key)
cross join lateral (
    select actor, key, body, received, decided, outcome, first, last from commands
    where operator = $1 and actor = n.actor and key = n.key limit 1
) c

-- ended: how a round began, came out and ended, by events of its table; the order leaves only the index by round to choose, whatever the statistics say
select position, stream, version, type, schema, round, command, actor, role, at, data, hash
from events where operator = $1 and round = $2 and stream = $3 and (
    type like '%.RoundOpened' or type like '%.RoundResulted' or type like '%.RoundSettled'
    or type like '%.RoundRefunded' or type like '%.RoundSkipped'
) order by position

-- ended_match: how a match began and ended; the order is that of the index by match
select position, stream, version, type, schema, round, command, actor, role, at, data, hash
from events where operator = $1 and stream = $3 and type like '%.Match%' and data ->> 'match' = $2 order by position
