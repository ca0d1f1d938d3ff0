package server_test

import (
	"context"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/internal/protocolgraphs"
	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/inmemory"
	"github.com/weft-go/weft/server"
	"github.com/weft-go/weft/server/internal/replaytest"
	"github.com/weft-go/weft/server/runs"
)

// The server answers the recorded requests like the reference server. WEFT_PROTOCOL is the path of a folder with other
// recordings.
func TestProtocol(t *testing.T) {
	t.Parallel()
	for name, open := range openStores {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkpoints, store := open(t)
			gate := replaytest.NewGate()
			base := serve(t, checkpoints, store, gate)
			scenarios := readScenarios(t)
			hooks := replaytest.NewHooks()
			t.Cleanup(hooks.Close)
			slots, results := make(chan struct{}, 8), make([][]string, len(scenarios))
			for i := range scenarios {
				slots <- struct{}{}
				go func() {
					defer func() { <-slots }()
					results[i] = scenarios[i].Run(t.Context(), base, hooks, gate)
				}()
			}
			for range cap(slots) {
				slots <- struct{}{}
			}
			passed := 0
			for i, diffs := range results {
				assert.Empty(t, diffs, scenarios[i].Name)
				if len(diffs) == 0 {
					passed++
				}
			}
			t.Logf("protocol: %d cases, %d passed", len(scenarios), passed)
		})
	}
}

// serve starts a server with the recorded graphs, which pass the gate, and returns its address.
func serve(t *testing.T, checkpoints checkpoint.Store, store runs.Store, gate *replaytest.Gate) string {
	t.Helper()
	graphs, err := protocolgraphs.NewHeld(checkpoints, gate.Pass)
	require.NoError(t, err)
	m, err := memory.New(inmemory.New(inmemory.Options{}), memory.Options{})
	require.NoError(t, err)
	hooks := server.Webhooks{Hosts: []string{"127.0.0.1"}, Networks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, HTTP: true}
	s, err := server.New(server.Options{Graphs: graphs, Runs: store, Values: m.Values(), Webhooks: hooks})
	require.NoError(t, err)
	web := httptest.NewServer(s)
	t.Cleanup(func() {
		web.CloseClientConnections()
		web.Close()
		assert.NoError(t, s.Close(context.Background()))
	})
	return web.URL
}

func readScenarios(t *testing.T) []replaytest.Scenario {
	t.Helper()
	dir := os.Getenv("WEFT_PROTOCOL")
	if dir == "" {
		dir = filepath.Join("testdata", "protocol")
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	require.NoError(t, err)
	require.NotEmpty(t, files, "no recordings in %s", dir)
	var out []replaytest.Scenario
	for _, f := range files {
		data, err := os.ReadFile(f)
		require.NoError(t, err)
		list, err := replaytest.Read(data)
		require.NoError(t, err, f)
		out = append(out, list...)
	}
	return out
}
