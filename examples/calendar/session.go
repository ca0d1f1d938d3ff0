package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"

	"github.com/weft-go/weft/examples/calendar/internal/assistant"
	"github.com/weft-go/weft/examples/calendar/internal/terminal"
	"github.com/weft-go/weft/examples/internal/command"
	"github.com/weft-go/weft/examples/internal/models"
	"github.com/weft-go/weft/examples/internal/tracing"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/server"
	"github.com/weft-go/weft/server/ui"
	"github.com/weft-go/weft/tools"
)

// session is one execution of the program, with the resources that it has opened.
type session struct {
	options
	out     io.Writer
	graph   *graph.Graph
	tracing *tracing.Tracing
	tools   *tools.Set
	path    string // of the calendar
	close   []func() error

	modelName string
}

// do executes the command line.
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
	t := terminal.Terminal{Request: o.Request, Graph: s.graph, Calendar: s.path, Tools: s.tools, Rules: s.modelName == models.Offline, In: in, Out: out}
	return t.Do(ctx)
}

// listen serves the pages and the API until ctx ends.
func (s *session) listen(ctx context.Context) error {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.serve)
	if err != nil {
		return command.Wrong("%v", err)
	}
	srv, err := s.server(ctx)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	fmt.Fprintf(s.out, "page       http://%s/chat/\nstudio     http://%[1]s/studio/\n", l.Addr())
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program at once
	return srv.Serve(ctx, l, nil)
}

// server returns the server of the graph.
func (s *session) server(ctx context.Context) (*server.Server, error) {
	kept, err := s.openRuns(ctx)
	if err != nil {
		return nil, err
	}
	greeting := "It works on your calendar, mail and tasks. It asks before it changes or deletes an event or a task, and before it " +
		"sends or deletes a mail. It adds events and tasks, completes tasks and archives mail without a question."
	if s.modelName == models.Offline {
		greeting += " Rules answer here, and no language model: the README says how to choose one."
	}
	srv, err := server.New(s.tracing.Server(server.Options{
		Graphs: map[string]*graph.Graph{"calendar": s.graph},
		Runs:   kept,
		Chat: &ui.Chat{
			Title:       "Calendar",
			Greeting:    greeting,
			Placeholder: "delete my meeting with John",
			Suggestions: []string{"what's on my calendar next week?", "am I free on Friday afternoon?", "delete my meeting with John", "any unread mail?"},
			Messages:    assistant.History.Name(),
			Tools:       append(s.tools.Tools(), s.tools.Meta().Tools()...),
		},
		Studio: &ui.Studio{Write: true},
		Logger: slog.New(slog.NewTextHandler(s.out, &slog.HandlerOptions{Level: slog.LevelWarn})),
	}))
	if err != nil {
		return nil, err
	}
	srv.Handle("GET /{$}", func(w http.ResponseWriter, r *http.Request) error {
		http.Redirect(w, r, "/chat/", http.StatusSeeOther)
		return nil
	})
	return srv, nil
}
