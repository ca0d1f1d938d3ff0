//go:build unix

package fault_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
	"github.com/weft-go/weft/checkpoint/sqlitecheckpoint"
	"github.com/weft-go/weft/internal/pgtest"
	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/sqlitememory"
	"github.com/weft-go/weft/server/runs"
	"github.com/weft-go/weft/server/runs/sqliteruns"
)

// secret is a word that no schema and no program contains.
const secret = "Qwyxolotlzz"

// files returns the names of the files that contain the secret, in lower or upper case: the database file and the
// files beside it.
func files(t *testing.T, path string) (found []string) {
	t.Helper()
	all, err := filepath.Glob(path + "*")
	require.NoError(t, err)
	for _, file := range all {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		if bytes.Contains(bytes.ToLower(data), bytes.ToLower([]byte(secret))) {
			found = append(found, filepath.Base(file))
		}
	}
	return found
}

// TestDeletedDataOfSQLite proves the table of SECURITY.md: after a deletion and the close of the
// last store, no file has the data.
func TestDeletedDataOfSQLite(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		run  func(ctx context.Context, t *testing.T, path string, look func(when string, want bool))
	}{
		{"checkpoints", checkpointResidue},
		{"runs", runsResidue},
		{"memory", memoryResidue},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "q.db")
			tt.run(t.Context(), t, path, func(when string, want bool) {
				t.Helper()
				found := files(t, path)
				assert.Equal(t, want, len(found) > 0, "%s: the data is in %v", when, found)
			})
			all, err := filepath.Glob(path + "*")
			require.NoError(t, err)
			for _, file := range all {
				info, err := os.Stat(file)
				require.NoError(t, err)
				assert.Equal(t, os.FileMode(0o600), info.Mode().Perm(), file)
			}
		})
	}
}

func checkpointResidue(ctx context.Context, t *testing.T, path string, look func(string, bool)) {
	t.Helper()
	store, err := sqlitecheckpoint.Open(ctx, path, sqlitecheckpoint.Options{})
	require.NoError(t, err)
	require.NoError(t, store.Put(ctx, step("t", stepID(1), "", secret), ""))
	require.NoError(t, store.PutWrites(ctx, checkpoint.Key{Thread: "t", ID: stepID(1)}, []checkpoint.Write{{Task: "a", Channel: "c", Data: json.RawMessage(`"` + secret + `"`)}}))
	look("stored", true)
	require.NoError(t, store.DeleteThread(ctx, "t"))
	require.NoError(t, store.Close())
	look("deleted and closed", false)
}

func runsResidue(ctx context.Context, t *testing.T, path string, look func(string, bool)) {
	t.Helper()
	store, err := sqliteruns.Open(ctx, path, sqliteruns.Options{})
	require.NoError(t, err)
	now := time.Now()
	require.NoError(t, store.Insert(ctx, runs.Record{Kind: runs.Thread, ID: "t", Created: now, Updated: now, Data: json.RawMessage(`{"a":"` + secret + `"}`)}))
	require.NoError(t, store.Append(ctx, "t", []runs.Event{{Seq: 1, Run: "r", Time: now, Kind: "k", Data: json.RawMessage(`"` + secret + `"`)}}))
	look("stored", true)
	require.NoError(t, store.Delete(ctx, runs.Thread, "t"))
	require.NoError(t, store.Close())
	look("deleted and closed", false)
}

func memoryResidue(ctx context.Context, t *testing.T, path string, look func(string, bool)) {
	t.Helper()
	db, err := sqlitememory.Open(ctx, path, sqlitememory.Options{})
	require.NoError(t, err)
	m, err := memory.New(db, memory.Options{})
	require.NoError(t, err)
	ann, bob := memory.Scope{Tenant: "acme", User: "ann"}, memory.Scope{Tenant: "acme", User: "bob"}
	for i := range 40 { // an index has both users' words in one segment
		_, err = m.Store(ctx, bob, memory.Fact{Content: fmt.Sprintf("Bob has dog %d", i), Trust: memory.Stated})
		require.NoError(t, err)
		if i == 20 {
			_, err = m.Store(ctx, ann, memory.Fact{Content: "Ann has a " + secret, Trust: memory.Stated})
			require.NoError(t, err)
		}
	}
	look("stored", true)
	_, err = m.Forget(ctx, ann)
	require.NoError(t, err)
	require.NoError(t, db.Close())
	look("forgotten and closed", false)

	db, err = sqlitememory.Open(ctx, path, sqlitememory.Options{})
	require.NoError(t, err)
	m, err = memory.New(db, memory.Options{})
	require.NoError(t, err)
	told, err := m.Store(ctx, bob, memory.Fact{Content: "Bob has a " + secret, Trust: memory.Stated})
	require.NoError(t, err)
	n, err := m.Erase(ctx, memory.FactQuery{Reach: bob.Only(), IDs: []string{told[0].ID}})
	require.NoError(t, err)
	assert.Equal(t, 1, n)
	require.NoError(t, db.Close())
	look("erased and closed", false)
}

// TestDeletedDataOfPostgreSQL proves the row of PostgreSQL in the table of SECURITY.md: a
// deletion leaves dead rows in the files of the tables, and VACUUM FULL removes them. The test
// has a database of its own, since VACUUM keeps rows that a transaction of the same database
// could see.
func TestDeletedDataOfPostgreSQL(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	url := pgtest.Database(t, nil)
	store, err := pgcheckpoint.Open(ctx, url, pgcheckpoint.Options{})
	require.NoError(t, err)
	t.Cleanup(store.Close)
	db, err := pgx.Connect(ctx, url)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, db.Close(context.WithoutCancel(ctx))) })
	exec := func(sql string) {
		t.Helper()
		_, err := db.Exec(ctx, sql)
		require.NoError(t, err)
	}
	onDisk := func() (tables int) {
		t.Helper()
		exec("CHECKPOINT")
		require.NoError(t, db.QueryRow(ctx, `SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
			WHERE n.nspname NOT IN ('pg_catalog', 'information_schema') AND c.relkind IN ('r', 't') AND pg_relation_size(c.oid) > 0
			AND position($1::bytea IN pg_read_binary_file(pg_relation_filepath(c.oid))) > 0`, []byte(secret)).Scan(&tables))
		return tables
	}
	require.NoError(t, store.Put(ctx, step("t", stepID(1), "", secret), ""))
	require.NoError(t, store.PutWrites(ctx, checkpoint.Key{Thread: "t", ID: stepID(1)}, []checkpoint.Write{{Task: "a", Channel: "c", Data: []byte(`"` + secret + `"`)}}))
	require.Positive(t, onDisk(), "stored")
	require.NoError(t, store.DeleteThread(ctx, "t"))
	assert.Positive(t, onDisk(), "deleted: the dead rows are in the files")
	exec("VACUUM FULL")
	assert.Zero(t, onDisk(), "after VACUUM FULL")
}
