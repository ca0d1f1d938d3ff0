package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"time"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/examples/calendar/internal/api"
	"github.com/weft-go/weft/examples/calendar/internal/assistant"
	"github.com/weft-go/weft/examples/internal/web"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/state"
)

// session is one use of this program.
type session struct {
	options
	out    io.Writer
	graph  *graph.Graph
	store  threadStore
	thread *graph.Thread
	path   string          // of the calendar
	here   *graph.Snapshot // nil for a new conversation
	close  []func() error
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
	if err := s.find(ctx); err != nil {
		return err
	}
	switch {
	case o.history:
		return s.list(ctx)
	case o.at != "":
		return s.goBack(ctx)
	case o.message != "":
		return s.say(ctx, o.message)
	case s.here != nil && !s.here.Done():
		return s.goOn(ctx)
	case terminal(in):
		return s.talk(ctx, in)
	}
	return wrong("what is your request? -h shows how to ask")
}

// find finds where the conversation is.
func (s *session) find(ctx context.Context) (err error) {
	s.thread = s.graph.Thread(s.options.thread)
	if s.here, err = s.thread.Snapshot(ctx); errors.Is(err, checkpoint.ErrNotFound) {
		s.here, err = nil, nil
	}
	if err == nil && !s.history && s.here != nil && !s.here.Done() && !s.drop {
		if about := assistant.SessionContext.Get(s.here)["calendar"]; about != s.path {
			return wrong("what is not finished in this conversation is about %s; name it with -calendar", about)
		}
	}
	return err
}

// listen serves the page and the API until ctx ends.
func (s *session) listen(ctx context.Context) error {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.serve)
	if err != nil {
		return wrong("%v", err)
	}
	fmt.Fprintf(s.out, "page       http://%s\n", l.Addr())
	logger := slog.New(slog.NewTextHandler(s.out, nil))
	return web.Server{Handler: api.New(s.graph, s.store, logger), Logger: logger}.Run(ctx, l)
}

// say begins a turn, or answers the question that is open.
func (s *session) say(ctx context.Context, text string) error {
	waits := s.here != nil && len(s.here.Pauses) > 0 && assistant.PendingConfirmation.Get(s.here) != nil
	switch {
	case s.here == nil || s.here.Done() || s.drop:
		return s.run(ctx, s.thread, s.ask(text)...)
	case waits:
		return s.run(ctx, s.thread, assistant.PendingConfirmation.Get(s.here).Answer(text)...)
	}
	return wrong("the request before this one is not finished: run it without a message to go on, or ask with -drop")
}

func (s *session) ask(text string) []state.Write {
	return append(assistant.Ask(s.options.thread, text, time.Now()), assistant.SessionContext.Put(map[string]string{"calendar": s.path}))
}

// goOn goes on where a run was killed, or asks again what it waits for.
func (s *session) goOn(ctx context.Context) error {
	if len(s.here.Pauses) > 0 {
		s.waits()
		return nil
	}
	return s.run(ctx, s.thread)
}

// talk takes what the user types.
func (s *session) talk(ctx context.Context, in io.Reader) error {
	lines := bufio.NewScanner(in)
	for fmt.Fprint(s.out, "> "); lines.Scan(); fmt.Fprint(s.out, "> ") {
		text := strings.TrimSpace(lines.Text())
		if text == "" || ctx.Err() != nil {
			continue
		}
		if err := s.say(ctx, text); err != nil {
			return err
		}
	}
	return lines.Err()
}

// run runs the graph, and shows what happens.
func (s *session) run(ctx context.Context, from *graph.Thread, writes ...state.Write) error {
	for chunk, err := range agent.Chunks(from.Stream(ctx, writes...)) {
		if err != nil {
			return err
		}
		switch chunk.Kind {
		case agent.ChunkNodeStarted:
			if chunk.Path == "" {
				fmt.Fprintf(s.out, "node       %s\n", chunk.Node)
			}
		case agent.ChunkToolStarted:
			fmt.Fprintf(s.out, "call       %s %s\n", chunk.Call.Name, chunk.Call.Text())
		case agent.ChunkToolFinished:
			fmt.Fprintf(s.out, "answer     %s\n", clip(chunk.Answer.Text()))
		case agent.ChunkText:
			if chunk.Node == assistant.SynthesizeResponse {
				fmt.Fprint(s.out, chunk.Text)
			}
		case agent.ChunkEnd:
			s.here = chunk.Snapshot
		}
	}
	fmt.Fprintln(s.out)
	s.waits()
	return nil
}

// waits shows the question that is open, if any.
func (s *session) waits() {
	if c := assistant.PendingConfirmation.Get(s.here); c != nil && len(s.here.Pauses) > 0 {
		fmt.Fprintln(s.out, c.Message)
	}
}

// list shows the checkpoints, newest first.
func (s *session) list(ctx context.Context) error {
	for info, err := range s.thread.History(ctx, graph.HistoryQuery{}) {
		if err != nil {
			return err
		}
		at, err := s.thread.At(info.ID).Snapshot(ctx)
		if err != nil {
			return err
		}
		next := strings.Join(info.Next, ",")
		if next == "" {
			next = "-"
		}
		fmt.Fprintf(s.out, "%s  %s  %-20s %s\n", info.ID[max(0, len(info.ID)-10):], info.Time.Local().Format(time.DateTime), next, clip(assistant.UserMessage.Get(at)))
	}
	return nil
}

// goBack goes on from an earlier checkpoint, on a branch of its own. What tools
// have done since then stays done.
func (s *session) goBack(ctx context.Context) error {
	var found []string
	for info, err := range s.thread.History(ctx, graph.HistoryQuery{}) {
		if err != nil {
			return err
		}
		if strings.HasSuffix(info.ID, s.at) {
			found = append(found, info.ID)
		}
	}
	if len(found) != 1 {
		return wrong("%d checkpoints of the conversation end in %s; -history lists them", len(found), s.at)
	}
	if s.message != "" {
		return s.run(ctx, s.thread.At(found[0]), s.ask(s.message)...)
	}
	return s.run(ctx, s.thread.At(found[0]), graph.Continue())
}

func clip(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if r := []rune(text); len(r) > 100 {
		return string(r[:99]) + "…"
	}
	return text
}

// terminal reports whether a person is at the other end.
func terminal(in io.Reader) bool {
	f, ok := in.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	null, nullErr := os.Stat(os.DevNull)
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && (nullErr != nil || !os.SameFile(info, null))
}
