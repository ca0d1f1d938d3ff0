// Command studiotest serves graphs whose models are scripted, with threads in every state that the
// studio shows. The tests of the pages use it.
//
//	go run ./server/ui/internal/studiotest -listen 127.0.0.1:8124
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/server"
	"github.com/weft-go/weft/server/runs/memruns"
	"github.com/weft-go/weft/server/ui"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:8124", "`ADDRESS` on this machine")
	large := flag.Bool("large", false, "add a thread of 1,000 messages and one of 5,000 checkpoints")
	readOnly := flag.Bool("read-only", false, "refuse changes after the threads were made")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := serve(ctx, *listen, *large, *readOnly)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "studiotest:", err)
		os.Exit(1)
	}
}

func serve(ctx context.Context, listen string, large, readOnly bool) error {
	store := memcheckpoint.New(memcheckpoint.Options{})
	graphs, err := newGraphs(store)
	if err != nil {
		return err
	}
	mem, err := newMemory(ctx)
	if err != nil {
		return err
	}
	o := server.Options{
		Graphs: graphs, Runs: memruns.New(), Values: mem.Values(), Memory: mem, Studio: &ui.Studio{Write: !readOnly, Currency: "EUR"},
		Cost: func(_, _ string, used llm.Usage) float64 {
			return (0.4*float64(used.Input) + 1.6*float64(used.Output)) / 1e6
		},
	}
	s, err := server.New(o)
	if err != nil {
		return err
	}
	if err := fill(ctx, s, large); err != nil {
		return errors.Join(err, s.Close(ctx))
	}
	if readOnly {
		if err := s.Close(ctx); err != nil {
			return err
		}
		o.ReadOnly = true
		if s, err = server.New(o); err != nil {
			return err
		}
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", listen)
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintf(os.Stdout, "http://%s/studio/\n", listener.Addr())
	mux, releaseOnce := http.NewServeMux(), sync.OnceFunc(func() { close(release) })
	mux.Handle("/", s)
	mux.HandleFunc("POST /release", func(http.ResponseWriter, *http.Request) { releaseOnce() })
	web := &http.Server{Handler: mux} //nolint:gosec // it serves a test on this machine
	go func() {
		<-ctx.Done()
		_ = web.Close()
	}()
	if err := web.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return s.Close(context.WithoutCancel(ctx))
}
