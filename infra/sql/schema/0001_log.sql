-- The log, what is folded from it at once, and the answers to commands.
-- Every table begins with `operator` and every key names it: it is the distribution key on Citus.

create table logs (
    operator text not null,
    epoch bigint not null,
    position bigint not null,
    hash bytea not null,
    at timestamptz not null,
    -- the database this epoch was written in; another one means that the log was restored (see services/epochs.py)
    system text not null,
    primary key (operator)
) with (fillfactor = 10);

create table events (
    operator text not null,
    position bigint not null,
    stream text not null,
    version bigint not null,
    type text not null,
    schema smallint not null,
    round text,
    command text,
    actor text not null,
    role text not null,
    at timestamptz not null,
    data json not null,
    hash bytea not null,
    primary key (operator, position),
    unique (operator, stream, version)
);
create index events_of_round on events (operator, round, position) where round is not null;

create table streams (
    operator text not null,
    stream text not null,
    decider text not null,
    version bigint not null,
    position bigint not null,
    state json not null,
    state_schema smallint not null,
    balance bigint not null default 0 check (balance >= 0),
    due timestamptz,
    primary key (operator, stream)
) with (fillfactor = 70);
create index streams_due on streams (operator, due) where due is not null;

create table commands (
    operator text not null,
    actor text not null,
    key text not null,
    fingerprint bytea not null,
    body text not null,
    received timestamptz not null,
    decided timestamptz not null,
    -- {"accepted": {...}}, {"refused": {...}} or {"fenced": {}}
    outcome json not null,
    first bigint,
    last bigint,
    primary key (operator, actor, key)
);

create function refuse_change() returns trigger language plpgsql as $$
begin
    raise exception 'the log is immutable: % on % is refused', tg_op, tg_table_name using errcode = 'insufficient_privilege';
end $$;

do $$ begin
    -- Citus asks for a word before it lets a distributed table have triggers
    perform set_config('citus.enable_unsafe_triggers', 'on', true);
end $$;

create trigger events_are_immutable before update or delete on events
    for each row execute function refuse_change();
create trigger events_stay before truncate on events
    for each statement execute function refuse_change();

do $$ begin
    if not exists (select from pg_roles where rolname = 'croupier_service') then
        create role croupier_service nologin;
    end if;
end $$;

grant select, insert on events, commands to croupier_service;
grant select, insert, update on logs, streams to croupier_service;
