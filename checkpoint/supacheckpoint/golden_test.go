package supacheckpoint_test

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
	"github.com/weft-go/weft/checkpoint/supacheckpoint"
)

var update = flag.Bool("update", false, "write the migrations of package pgcheckpoint again")

// stamps maps the names of pgcheckpoint's migrations to the file names in this package.
var stamps = map[string]string{
	"001_checkpoint": "20261121090001_weft_checkpoint",
	"002_functions":  "20261121090002_weft_functions",
	"003_load":       "20261122090001_weft_load",
	"004_writes":     "20261123090001_weft_writes",
	"005_status":     "20261126090001_weft_status",

	"006_status_of_old_threads": "20261126090002_weft_status_of_old_threads",
}

// folder contains the migrations as the Supabase CLI expects them.
const folder = "supabase/migrations"

func TestFilesAreCopiesOfThePgcheckpointMigrations(t *testing.T) {
	t.Parallel()
	scripts, err := pgcheckpoint.Scripts("")
	require.NoError(t, err)
	for _, s := range scripts {
		name, ok := stamps[s.Name]
		require.True(t, ok, "the migration %s has no file in %s: give it a name", s.Name, folder)
		file, want := filepath.Join(folder, name+".sql"), "-- The migration "+s.Name+" of checkpoint/pgcheckpoint.\n\n"+s.SQL
		if *update {
			require.NoError(t, os.WriteFile(file, []byte(want), 0o644))
		}
		got, err := os.ReadFile(file)
		require.NoError(t, err)
		assert.Equal(t, want, strings.ReplaceAll(string(got), "\r\n", "\n"),
			"%s differs from migration %s: run go test ./checkpoint/supacheckpoint -run %s -update", file, s.Name, t.Name())
	}
}

func TestScriptsAreSortedAndUseTheSchema(t *testing.T) {
	t.Parallel()
	scripts, err := supacheckpoint.Scripts("")
	require.NoError(t, err)
	files, err := filepath.Glob(folder + "/*.sql")
	require.NoError(t, err)
	require.Len(t, files, len(scripts))
	names := make([]string, 0, len(scripts))
	for _, s := range scripts {
		names = append(names, s.Name)
	}
	assert.True(t, slices.IsSorted(names), "%v", names)
	other, err := supacheckpoint.Scripts("agents")
	require.NoError(t, err)
	for _, s := range other {
		for _, text := range []string{"weft.", "SCHEMA weft", "'weft'"} {
			assert.NotContains(t, s.SQL, text, s.Name)
		}
	}
	_, err = supacheckpoint.Scripts("a; drop")
	assert.Error(t, err, "an invalid schema name")
}
