#!/bin/sh
# Run once by the postgres image, on an empty volume: the service's login, which may read and append and nothing else.
# The tables belong to the owner's login, under which `croupier migrate` runs.
set -eu
psql --set ON_ERROR_STOP=1 --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" --set password="$SERVICE_PASSWORD" <<'END'
create role croupier_service nologin;
create role croupier login password :'password' in role croupier_service;
END
