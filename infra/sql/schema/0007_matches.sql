-- The few events that open and end matches, by match: one is looked up under the log's lock when it is settled once more,
-- and a table's stream grows for years.
create index events_of_match on events (operator, (data ->> 'match'), position) where type like '%.Match%';
