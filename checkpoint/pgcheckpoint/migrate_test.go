package pgcheckpoint_test

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
	"github.com/weft-go/weft/internal/pgtest"
)

const childSchema = "WEFT_TEST_MIGRATE"

// TestMigrateChild runs in the processes of TestConcurrentProcessesMigrateOnce.
func TestMigrateChild(t *testing.T) {
	t.Parallel()
	schema := os.Getenv(childSchema)
	if schema == "" {
		return // this is the parent process
	}
	p := place{url: pgtest.URL(t), options: pgcheckpoint.Options{Schema: schema, Pooling: pooling()}}
	p.open(t)
}

func TestConcurrentProcessesMigrateOnce(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	self, err := os.Executable()
	require.NoError(t, err)
	children := make([]*exec.Cmd, 20)
	for i := range children {
		cmd := exec.CommandContext(t.Context(), self, "-test.run=^TestMigrateChild$", "-test.count=1")
		cmd.Env = append(os.Environ(), childSchema+"="+p.options.Schema)
		cmd.Stdout, cmd.Stderr = &strings.Builder{}, os.Stderr
		require.NoError(t, cmd.Start())
		children[i] = cmd
	}
	for i, cmd := range children {
		assert.NoError(t, cmd.Wait(), "process %d: %v", i, cmd.Stdout)
	}
	assert.Equal(t, len(scripts(t, p)), ask[int](t, p, `SELECT count(*)::int FROM weft.cp_migration`))
	putAll(t, p.open(t), "t", 3)
}

func scripts(t *testing.T, p place) []pgcheckpoint.Script {
	t.Helper()
	list, err := pgcheckpoint.Scripts(p.options.Schema)
	require.NoError(t, err)
	return list
}

func TestScriptsEqualMigrate(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	p := newPlace(t)
	pool := p.pool(t)
	_, err := pgcheckpoint.New(ctx, pool, p.options)
	wantErr(t, "before", err, pgcheckpoint.ErrNotMigrated)
	for i, s := range scripts(t, p) {
		for range 2 { // the second time changes nothing
			_, err := p.conn(t).Exec(ctx, s.SQL, pgx.QueryExecModeSimpleProtocol)
			require.NoError(t, err, s.Name)
		}
		if i == 0 {
			_, err := pgcheckpoint.New(ctx, pool, p.options)
			wantErr(t, "halfway", err, pgcheckpoint.ErrNotMigrated)
		}
	}
	store, err := pgcheckpoint.New(ctx, pool, p.options)
	require.NoError(t, err)
	putAll(t, store, "t", 2)
	wantNoErr(t, "migrate", pgcheckpoint.Migrate(ctx, pool, p.options))
	_, err = pgcheckpoint.Scripts("no; schema")
	wantErr(t, "schema", err, checkpoint.ErrInvalid)
}

func TestChangedMigrationsAreAnError(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for name, change := range map[string]string{
		"newer":   `INSERT INTO weft.cp_migration (version, name, checksum) VALUES (1000, '1000_later', 'x')`,
		"changed": `UPDATE weft.cp_migration SET checksum = 'x' WHERE version = 1`,
		"missing": `DELETE FROM weft.cp_migration WHERE version = 1`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			pool := p.pool(t)
			wantNoErr(t, "migrate", pgcheckpoint.Migrate(ctx, pool, p.options))
			do(t, p, change)
			_, err := pgcheckpoint.New(ctx, pool, p.options)
			wantErr(t, "new", err, checkpoint.ErrFormat)
			wantErr(t, "migrate", pgcheckpoint.Migrate(ctx, pool, p.options), checkpoint.ErrFormat)
		})
	}
}
