-- The audit log by round. What happened in a round is found by the log's own index; what was refused at its table stands
-- in no round of the log (no reader of a round shall meet it), and the audit log alone says of which it was asked.
create index audit_of_round on audit (operator, generation, round, position) where rule is not null;

-- As the projection tells it of new events: the round that was asked of, else the one that the rule speaks of. What is
-- sealed names none. (After this, `croupier rebuild audit` gives the same rows.)
update audit a
set round = coalesce(
    substring(e.data ->> 'asked' from '"round"\s*:\s*("(?:[^"\\]|\\.)+")')::json #>> '{}',
    case when json_typeof(e.data -> 'facts' -> 'round') = 'string' then e.data -> 'facts' ->> 'round' end
)
from events e
where a.rule is not null and e.operator = a.operator and e.position = a.position and e.type = 'refused.CommandRefused'
    and e.data ->> 'stream' like 'table:%' and strpos(e.data::text, '\u0000') = 0;
