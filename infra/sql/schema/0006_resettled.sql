-- What players owe the house, and the rounds that were settled once more: what each player gained by it, beside the rows
-- of the rounds, which stay as they were settled.
alter table balances add column owed bigint not null default 0;

create table resettled (
    operator text not null,
    generation smallint not null,
    position bigint not null,
    round text not null,
    number integer not null,
    player text not null,
    gain bigint not null,
    -- every wager with what it returns now
    payouts json not null,
    at timestamptz not null,
    primary key (operator, generation, position)
);
create index resettled_of_round on resettled (operator, generation, round, player, position);

grant select, insert, update, delete on resettled to croupier_service;
