#!/bin/sh
# Run once by the PostgreSQL image, on an empty volume: a database and a user for each service that keeps tables.
# Services never share a database.
set -eu
for service in admission fault_tolerance notifier gateway; do
    variable="MUSTER_$(printf %s "$service" | tr a-z A-Z)_DATABASE_PASSWORD"
    eval "password=\$$variable"
    psql --set ON_ERROR_STOP=1 --username "$POSTGRES_USER" --dbname postgres <<SQL
CREATE ROLE muster_$service LOGIN PASSWORD '$password';
CREATE DATABASE muster_$service OWNER muster_$service;
REVOKE CONNECT ON DATABASE muster_$service FROM PUBLIC;
SQL
done
