package main

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/weft-go/weft/internal/pgtest"
	"github.com/weft-go/weft/internal/supatest"
)

func TestAStoreIsMigrated(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "threads.db")
	m := newTerminal(t, map[string]string{"threads.db": file})
	m.run("threads", "migrate", "-db", "threads.db")
	m.golden("migrate_missing")
	m.run("threads", "migrate", "-db", "threads.db", "-create", "-runs")
	m.run("threads", "migrate", "-db", "threads.db")
	m.golden("migrate_sqlite")

	url, schema := pgtest.DirectURL(t), pgtest.Schema(t)
	m = newTerminal(t, map[string]string{"$DATABASE_URL": url, "weft_schema": schema})
	_, _, errs := m.call("threads", "list", "-db", url, "-schema", schema)
	assert.Contains(t, errs, "\nweft threads migrate makes the tables: give it -db and -schema as here, and -runs and -queue for a server.\n")
	out, _ := m.run("threads", "migrate", "-db", "$DATABASE_URL", "-schema", "weft_schema", "-runs")
	assert.Contains(t, out, "applied 004_writes\n")
	assert.Contains(t, out, "applied 001_runs\n")
	m.run("threads", "migrate", "-db", "$DATABASE_URL", "-schema", "weft_schema", "-json")
	m.run("threads", "list", "-db", "$DATABASE_URL", "-schema", "weft_schema")
	m.golden("migrate_postgres")

	migrate := func(more ...string) (out, errs string) {
		_, out, errs = newTerminal(t, nil).call(append([]string{"threads", "migrate", "-db", url, "-schema", schema}, more...)...)
		return out, errs
	}
	_, errs = migrate()
	assert.NotContains(t, errs, "mem_*")
	pgtest.Do(t, url, `CREATE TABLE `+schema+`.mem_fact ()`)
	out, errs = migrate()
	assert.Contains(t, out, "The store is up to date.")
	assert.Contains(t, errs, "Not migrated: the memory, in the tables mem_*")

	const queue = "applied the tables of the queue (river_*)\n"
	out, errs = migrate("-queue")
	assert.Contains(t, out, queue, errs)
	assert.Zero(t, pgtest.Ask[int](t, url, `SELECT count(*) FROM `+schema+`.river_job`))
	out, _ = migrate("-queue")
	assert.Contains(t, out, "The store is up to date.")
	pgtest.Do(t, url, `DROP INDEX `+schema+`.weft_river_owner`)
	_, out, _ = newTerminal(t, nil).call("doctor", "-db", url, "-schema", schema)
	assert.Contains(t, out, "the tables of the queue (river_*) are older than this version")
	out, _ = migrate()
	assert.Contains(t, out, queue, "a queue that is there is migrated, as the runs are")

	execute(t, file, `CREATE TABLE mem_fact (id INTEGER)`)
	_, _, errs = newTerminal(t, nil).call("threads", "migrate", "-db", file)
	assert.Contains(t, errs, "sqlitememory.Open")
	code, _, errs := newTerminal(t, nil).call("threads", "migrate", "-db", file, "-queue")
	assert.Equal(t, exitUsage, code)
	assert.Contains(t, errs, "-queue is for a PostgreSQL database")
}

func TestASupabaseProjectIsMigrated(t *testing.T) {
	t.Parallel()
	m := newTerminal(t, map[string]string{"$SUPABASE_DB_URL": supatest.Database(t, nil)})
	m.run("threads", "migrate", "-db", "$SUPABASE_DB_URL", "-schema", "weft_ops", "-supabase")
	m.run("threads", "migrate", "-db", "$SUPABASE_DB_URL", "-schema", "weft_ops")
	m.golden("migrate_supabase")
}
