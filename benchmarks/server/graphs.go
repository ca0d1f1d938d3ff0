package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/server"
	"github.com/weft-go/weft/server/runs/memruns"
	"github.com/weft-go/weft/state"
)

var (
	messages = state.Keyed("messages", llm.ByID)
	count    = state.LastWins[int]("count")
)

// graphs returns the graphs of reference/graphs.py.
func graphs() (map[string]*graph.Graph, error) {
	o := graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})}
	e := graph.New("echo", messages)
	e.Node("reply", func(_ context.Context, s state.View) (state.Update, error) {
		list := messages.Get(s)
		return state.Update{messages.Put(llm.Assistant("echo: " + list[len(list)-1].Text()))}, nil
	})
	e.Edge(graph.Start, "reply")
	e.Edge("reply", graph.End)
	echo, err := e.Compile(o)
	if err != nil {
		return nil, err
	}
	t := graph.New("tick", count)
	t.Node("work", func(ctx context.Context, s state.View) (state.Update, error) {
		tick := time.NewTicker(interval)
		defer tick.Stop()
		for i := range count.Get(s) {
			select {
			case now := <-tick.C:
				graph.Emit(ctx, map[string]int64{"i": int64(i), "at": now.UnixMicro()})
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		return nil, nil
	})
	t.Edge(graph.Start, "work")
	t.Edge("work", graph.End)
	tick, err := t.Compile(o)
	return map[string]*graph.Graph{"echo": echo, "tick": tick}, err
}

// interval is the time between two events of a stream.
const interval = 50 * time.Millisecond

// serve serves the graphs or the bare streams, and prints the address.
func serve(ctx context.Context, child string) error {
	handler := http.Handler(http.HandlerFunc(bare))
	if child == "weft" {
		all, err := graphs()
		if err != nil {
			return err
		}
		s, err := server.New(server.Options{Graphs: all, Runs: memruns.New()})
		if err != nil {
			return err
		}
		defer func() {
			stopped, cancel := context.WithCancel(context.Background())
			cancel()
			_ = s.Close(stopped) // the runs do not matter any more
		}()
		handler = s
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println("http://" + listener.Addr().String())
	web := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		<-ctx.Done()
		_ = web.Close()
	}()
	if err := web.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// bare writes events like the events of the graph tick, with net/http alone.
func bare(w http.ResponseWriter, r *http.Request) {
	n, err := strconv.Atoi(r.URL.Query().Get("n"))
	if err != nil {
		http.Error(w, "n is not a number", http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	out := http.NewResponseController(w)
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for i := range n {
		select {
		case now := <-tick.C:
			if _, err := fmt.Fprintf(w, "event: custom\ndata: {\"at\":%d,\"i\":%d}\nid: %d\n\n", now.UnixMicro(), i, i); err != nil {
				return
			}
			if err := out.Flush(); err != nil {
				return
			}
		case <-r.Context().Done():
			return
		}
	}
}
