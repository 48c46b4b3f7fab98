-- What is folded from the log for reading. A projection can be thrown away and made anew at any time (croupier rebuild).
-- Rows carry a generation: a rebuild fills the next one beside, and the live checkpoint says which one is read.

create table checkpoints (
    operator text not null,
    projection text not null,
    generation smallint not null,
    live boolean not null,
    -- all events up to this position have taken effect, and none after it; the hash is the chain's link there
    position bigint not null,
    hash bytea not null,
    at timestamptz not null,
    -- why the projection stands still, if an event could not be applied
    problem text,
    primary key (operator, projection, generation)
) with (fillfactor = 10);
create unique index checkpoints_live on checkpoints (operator, projection) where live;

-- Who does a work that one process at a time should do; the database's clock says until when.
create table leases (
    operator text not null,
    work text not null,
    holder text not null,
    until timestamptz not null,
    primary key (operator, work)
) with (fillfactor = 10);

create table balances (
    operator text not null,
    generation smallint not null,
    player text not null,
    currency text not null,
    balance bigint not null,
    open_stakes bigint not null,
    blocked boolean not null,
    position bigint not null,
    primary key (operator, generation, player)
) with (fillfactor = 70);

create table statement (
    operator text not null,
    generation smallint not null,
    position bigint not null,
    player text not null,
    kind text not null,
    round text,
    amount bigint not null,
    before bigint not null,
    after bigint not null,
    reference text not null,
    at timestamptz not null,
    primary key (operator, generation, position)
);
create index statement_of_player on statement (operator, generation, player, position);

create table rounds (
    operator text not null,
    generation smallint not null,
    round text not null,
    "table" text not null,
    game text not null,
    number bigint not null,
    status text not null,
    opened_at timestamptz not null,
    closed_at timestamptz,
    ended_at timestamptz,
    bettors bigint not null,
    staked bigint not null,
    returned bigint not null,
    -- what the game shows of the result, or why the round was cancelled
    result json,
    -- of its first and its last event
    first bigint not null,
    last bigint not null,
    primary key (operator, generation, round)
) with (fillfactor = 70);
create index rounds_in_order on rounds (operator, generation, first);
create index rounds_of_table on rounds (operator, generation, "table", first);

create table bettors (
    operator text not null,
    generation smallint not null,
    round text not null,
    player text not null,
    status text not null,
    staked bigint not null,
    returned bigint not null,
    -- every wager with its odds and what it returned
    wagers json not null,
    placed_at timestamptz not null,
    ended_at timestamptz,
    first bigint not null,
    last bigint not null,
    primary key (operator, generation, round, player)
) with (fillfactor = 70);
create index bettors_by_player on bettors (operator, generation, player, first);

create table audit (
    operator text not null,
    generation smallint not null,
    position bigint not null,
    at timestamptz not null,
    actor text not null,
    role text not null,
    action text not null,
    subject text not null,
    round text,
    command text,
    -- the rule that refused it, if it was refused
    rule text,
    primary key (operator, generation, position)
);
create index audit_of_actor on audit (operator, generation, actor, position);
create index audit_of_subject on audit (operator, generation, subject, position);

grant select, insert, update, delete on checkpoints, leases, balances, statement, rounds, bettors, audit
    to croupier_service;
