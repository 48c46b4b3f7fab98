-- The notary's own tables: the Merkle tree over each log's events, and what was signed of it. Nothing of a command's way
-- reads or writes them.

create table trees (
    operator text not null,
    -- so many events are leaves; the hash is the chain's link at the last of them
    size bigint not null,
    hash bytea not null,
    primary key (operator)
) with (fillfactor = 10);

-- Hashes of complete subtrees, 256 side by side, as in C2SP's tlog-tiles: a tile of level n holds those of 256^n leaves.
-- The levels between are hashed anew from a tile when they are asked for.
create table tiles (
    operator text not null,
    level smallint not null,
    index bigint not null,
    hashes bytea not null,
    primary key (operator, level, index)
);

-- Every signed checkpoint, as its text stands.
create table notes (
    operator text not null,
    size bigint not null,
    at timestamptz not null,
    note text not null,
    primary key (operator, size)
);

-- Every key that ever signed, as it is written.
create table note_keys (
    operator text not null,
    key text not null,
    since timestamptz not null,
    primary key (operator, key)
);

grant select, insert, update on trees, tiles to croupier_service;
grant select, insert on notes, note_keys to croupier_service;
