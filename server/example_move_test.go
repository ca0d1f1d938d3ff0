package server_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/server"
	"github.com/weft-go/weft/server/runs"
	"github.com/weft-go/weft/server/runs/memruns"
	"github.com/weft-go/weft/server/runs/sqliteruns"
	"github.com/weft-go/weft/state"
)

// copyRecords copies the assistants, threads and crons of a server to another store, while no server uses either store.
// It skips records that the other store has, so it can be called again. It does not copy runs and their events.
func copyRecords(ctx context.Context, from, to runs.Store) error {
	for _, kind := range []runs.Kind{runs.Assistant, runs.Version, runs.Thread, runs.Cron} {
		for offset := 0; ; {
			page, _, err := from.Search(ctx, runs.Query{Kind: kind, Order: runs.ByID, Limit: 1000, Offset: offset, Uncounted: true})
			if err != nil {
				return err
			}
			if len(page) == 0 {
				break
			}
			for _, r := range page {
				if err := to.Insert(ctx, r); err != nil && !errors.Is(err, runs.ErrExists) {
					return fmt.Errorf("%s %s: %w", r.Kind, r.ID, err)
				}
			}
			offset += len(page)
		}
	}
	return nil
}

// A thread waits for an answer. A server with another store of records, here a file, answers it.
func Example_moveRecords() {
	ctx, checkpoints, records := context.Background(), memcheckpoint.New(memcheckpoint.Options{}), memruns.New()
	sent, ask := state.Last[bool]("sent"), graph.NewInterrupt[string, bool]("send")
	b := graph.New("mail", sent)
	b.Node("ask", func(ctx context.Context, _ state.View) (state.Update, error) {
		yes, err := ask.Wait(ctx, "Send it?")
		return state.Update{sent.Put(yes)}, err
	})
	b.Edge(graph.Start, "ask")
	g, err := b.Compile(graph.Options{Checkpoints: checkpoints})
	if err != nil {
		fmt.Println(err)
		return
	}
	const thread = "/threads/4b0b7a2e-8b0c-4f0e-9a59-3c2d1c8d2f10"
	serve := func(records runs.Store, path, body string) string {
		s, err := server.New(server.Options{Graphs: map[string]*graph.Graph{"mail": g}, Runs: records})
		if err != nil {
			return err.Error()
		}
		defer func() { _ = s.Close(ctx) }()
		web := httptest.NewServer(s)
		defer web.Close()
		resp, err := http.Post(web.URL+path, "application/json", strings.NewReader(body))
		if err != nil {
			return err.Error()
		}
		defer func() { _ = resp.Body.Close() }()
		answer, err := io.ReadAll(resp.Body)
		if err != nil {
			return err.Error()
		}
		return strings.TrimSpace(string(answer))
	}
	serve(records, thread+"/runs/wait", `{"assistant_id": "mail", "if_not_exists": "create", "input": {}}`)

	dir, err := os.MkdirTemp("", "records")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	file, err := sqliteruns.Open(ctx, filepath.Join(dir, "weft.db"), sqliteruns.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = file.Close() }()
	if err := copyRecords(ctx, records, file); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(serve(file, "/threads/count", `{"status": "interrupted"}`))
	fmt.Println(serve(file, thread+"/runs/wait", `{"assistant_id": "mail", "command": {"resume": true}}`))
	// Output:
	// 1
	// {"sent":true}
}
