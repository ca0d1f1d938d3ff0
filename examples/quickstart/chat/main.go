// Command chat opens the agent of the quickstart in the browser: the chat page, and the
// studio, which shows each step. Rules answer unless the environment names a model.
//
//	go run ./examples/quickstart/chat -file docs/execution.md
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"path/filepath"
	"time"

	"github.com/weft-go/weft/checkpoint/sqlitecheckpoint"
	"github.com/weft-go/weft/examples/quickstart/internal/model"
	"github.com/weft-go/weft/examples/quickstart/internal/offline"
	"github.com/weft-go/weft/examples/quickstart/internal/reader"
	"github.com/weft-go/weft/examples/quickstart/internal/textfile"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/llm/langchainllm/providers"
	"github.com/weft-go/weft/server"
	"github.com/weft-go/weft/server/runs/sqliteruns"
	"github.com/weft-go/weft/server/ui"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("chat: ")
	var o options
	flag.StringVar(&o.file, "file", "README.md", "the text that the agent reads")
	flag.StringVar(&o.db, "db", "quickstart.db", "the file that stores conversations")
	addr := flag.String("addr", "127.0.0.1:8123", "the address to listen at")
	flag.Parse()
	if flag.NArg() > 0 {
		log.Fatalf("%q is no flag; ask your question on the page", flag.Arg(0))
	}
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", *addr)
	if err == nil {
		err = o.serve(context.Background(), l)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// options is the command line.
type options struct{ file, db string }

// serve serves the pages until ctx ends or the process gets a signal.
func (o options) serve(ctx context.Context, l net.Listener) (err error) {
	text, err := textfile.Open(o.file)
	if err != nil {
		return err
	}
	notes, err := filepath.Abs(filepath.Join(filepath.Dir(o.db), "quickstart-notes.md"))
	if err != nil {
		return err
	}
	llm, name, err := model.FromEnv(ctx)
	if errors.Is(err, providers.ErrUnset) {
		llm, name, err = offline.Model{Pace: 12 * time.Millisecond}, "rules that quote a passage, not from a language model", nil
	}
	if err != nil {
		return err
	}
	store, err := sqlitecheckpoint.Open(ctx, o.db, sqlitecheckpoint.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	runs, err := sqliteruns.Open(ctx, o.db, sqliteruns.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, runs.Close()) }()
	g, err := reader.New(llm, &reader.Desk{Text: text, Notes: notes}, store)
	if err != nil {
		return err
	}
	s, err := server.New(server.Options{
		Graphs: map[string]*graph.Graph{"quickstart": g},
		Runs:   runs,
		Chat: &ui.Chat{
			Title:       text.Name(),
			Greeting:    fmt.Sprintf("Ask about %s. Answers come from %s.", text.Name(), name),
			Suggestions: []string{"What is in the file?", "What can you do?", "Save a note that I was here"},
		},
		Studio: &ui.Studio{Write: true},
	})
	if err != nil {
		return err
	}
	fmt.Printf("chat:   http://%s/chat/\nstudio: http://%s/studio/\nCtrl-C stops. Answers come from %s.\n", l.Addr(), l.Addr(), name)
	return s.Serve(ctx, l, nil)
}
