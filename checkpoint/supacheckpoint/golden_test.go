package supacheckpoint_test

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
	"github.com/weft-go/weft/checkpoint/supacheckpoint"
)

var update = flag.Bool("update", false, "write the migrations of package pgcheckpoint again")

// The migrations of pgcheckpoint, under the names of this package.
var stamps = map[string]string{
	"001_checkpoint": "20261121090001_weft_checkpoint",
	"002_functions":  "20261121090002_weft_functions",
	"003_load":       "20261122090001_weft_load",
}

const folder = "supabase/migrations"

// The first files are the migrations of pgcheckpoint.
func TestMigrationsAreThoseOfPgcheckpoint(t *testing.T) {
	t.Parallel()
	scripts, err := pgcheckpoint.Scripts("")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range scripts {
		name, ok := stamps[s.Name]
		if !ok {
			t.Fatalf("the migration %s has no file in %s: give it a name", s.Name, folder)
		}
		file, want := filepath.Join(folder, name+".sql"), "-- The migration "+s.Name+" of checkpoint/pgcheckpoint.\n\n"+s.SQL
		if *update {
			if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.ReplaceAll(string(got), "\r\n", "\n") != want {
			t.Errorf("%s is not the migration %s: go test ./checkpoint/supacheckpoint -run %s -update", file, s.Name, t.Name())
		}
	}
}

func TestScripts(t *testing.T) {
	t.Parallel()
	scripts, err := supacheckpoint.Scripts("")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(folder + "/*.sql")
	if err != nil || len(files) != len(scripts) {
		t.Fatalf("got %d scripts and %d files, error %v", len(scripts), len(files), err)
	}
	names := make([]string, 0, len(scripts))
	for _, s := range scripts {
		names = append(names, s.Name)
	}
	if !slices.IsSorted(names) {
		t.Errorf("got %v, which is not sorted", names)
	}
	other, err := supacheckpoint.Scripts("agents")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range other {
		if strings.Contains(s.SQL, "weft.") || strings.Contains(s.SQL, "SCHEMA weft") || strings.Contains(s.SQL, "'weft'") {
			t.Errorf("%s names the schema weft, for the schema agents", s.Name)
		}
	}
	if _, err := supacheckpoint.Scripts("a; drop"); err == nil {
		t.Error("got no error for a schema of a name that is none")
	}
}
