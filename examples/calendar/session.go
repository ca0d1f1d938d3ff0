package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/examples/calendar/internal/api"
	"github.com/weft-go/weft/examples/calendar/internal/terminal"
	"github.com/weft-go/weft/examples/internal/command"
	"github.com/weft-go/weft/examples/internal/web"
	"github.com/weft-go/weft/graph"
)

// session is one use of this program.
type session struct {
	options
	out   io.Writer
	graph *graph.Graph
	store threadStore
	path  string // of the calendar
	close []func() error
}

// threadStore is a store that lists its threads, which all of Weft's do.
type threadStore interface {
	checkpoint.Store
	checkpoint.ThreadLister
}

// do is what the user asked for.
func (o options) do(ctx context.Context, in io.Reader, out io.Writer) (err error) {
	s := &session{options: o, out: out}
	defer func() {
		for i := range s.close {
			err = errors.Join(err, s.close[len(s.close)-1-i]())
		}
	}()
	if err := s.open(ctx); err != nil || o.draw {
		return err
	}
	if o.serve != "" {
		return s.listen(ctx)
	}
	t := terminal.Terminal{Request: o.Request, Graph: s.graph, Calendar: s.path, In: in, Out: out}
	return t.Do(ctx)
}

// listen serves the page and the API until ctx ends.
func (s *session) listen(ctx context.Context) error {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.serve)
	if err != nil {
		return command.Wrong("%v", err)
	}
	fmt.Fprintf(s.out, "page       http://%s\n", l.Addr())
	logger := slog.New(slog.NewTextHandler(s.out, nil))
	return web.Server{Handler: api.New(s.graph, s.store, logger), Logger: logger}.Run(ctx, l)
}
