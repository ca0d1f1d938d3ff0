package main

import (
	"encoding/json"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
	"github.com/weft-go/weft/internal/pgtest"
	"github.com/weft-go/weft/server/runs/pgruns"
)

func TestTheVersionIsThatOfTheBuild(t *testing.T) {
	t.Parallel()
	where := runtime.GOOS + "/" + runtime.GOARCH
	for name, c := range map[string]struct {
		info *debug.BuildInfo
		want versionView
	}{
		"no information": {nil, versionView{Version: "unknown"}},
		"installed":      {&debug.BuildInfo{Main: debug.Module{Version: "v0.4.0"}}, versionView{Version: "v0.4.0"}},
		"built in a repository": {
			&debug.BuildInfo{Main: debug.Module{Version: "(devel)"}, Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "1a2b"}, {Key: "vcs.modified", Value: "true"}}},
			versionView{Version: "(devel)", Revision: "1a2b", Modified: true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.want.Go, c.want.Platform = runtime.Version(), where
			assert.Equal(t, &c.want, versionOf(c.info))
		})
	}
}

// weft version names the newest migrations that new stores have.
func TestVersionNamesTheNewestMigrations(t *testing.T) {
	t.Parallel()
	m := newTerminal(t, map[string]string{"threads.db": filepath.Join(t.TempDir(), "threads.db")})
	m.env = map[string]string{"WEFT_SERVER": "", "DATABASE_URL": ""}
	code, out, errs := m.call("version", "-json")
	require.Equal(t, exitDone, code, errs)
	var v versionView
	require.NoError(t, json.Unmarshal([]byte(out), &v))
	assert.Equal(t, runtime.Version(), v.Go)
	m.hidden = map[string]string{v.Version: "v0.4.0", v.Go + " " + v.Platform: "go1.26.8 linux/amd64"}
	m.run("version")
	m.golden("version")

	code, out, errs = m.call("threads", "migrate", "-create", "-runs", "-db", "threads.db")
	require.Equal(t, exitDone, code, errs)
	assert.Contains(t, out, "applied "+v.Stores["sqlitecheckpoint"]+"\n")
	assert.Contains(t, out, "applied "+v.Stores["sqliteruns"]+"\n")

	url, schema := pgtest.DirectURL(t), pgtest.Schema(t)
	s, err := pgcheckpoint.Open(t.Context(), url, pgcheckpoint.Options{Schema: schema})
	require.NoError(t, err)
	s.Close()
	r, err := pgruns.Open(t.Context(), url, pgruns.Options{Schema: schema})
	require.NoError(t, err)
	r.Close()
	for store, table := range map[string]string{"pgcheckpoint": "cp_migration", "pgruns": "run_migration"} {
		assert.Equal(t, pgtest.Ask[string](t, url, `SELECT name FROM `+schema+`.`+table+` ORDER BY version DESC LIMIT 1`), v.Stores[store])
	}
}
