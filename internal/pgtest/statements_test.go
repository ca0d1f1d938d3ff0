package pgtest_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/weft-go/weft/internal/pgtest"
)

func TestStatementsSplitsAScript(t *testing.T) {
	t.Parallel()
	for script, want := range map[string][]string{
		"":                               nil,
		" \n;; ":                         nil,
		"-- a; b\n":                      nil,
		"SELECT 1":                       {"SELECT 1"},
		"SELECT 1;\n-- x;\nSELECT 2; ":   {"SELECT 1", "-- x;\nSELECT 2"},
		"SELECT 'a;''b;', \";\"; x":      {"SELECT 'a;''b;', \";\"", "x"},
		"DO $$ a; $$; b":                 {"DO $$ a; $$", "b"},
		"DO $do$ $$;$$ ; $do$; SELECT 2": {"DO $do$ $$;$$ ; $do$", "SELECT 2"},
		"SELECT $1; SELECT $2":           {"SELECT $1", "SELECT $2"},
		"SELECT 'no end; ":               {"SELECT 'no end;"},
		"SELECT 1 -- no end;":            {"SELECT 1 -- no end;"},
	} {
		assert.Equal(t, want, pgtest.Statements(script), script)
	}
}
