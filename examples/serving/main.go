// Serving serves a small assistant over HTTP, with a chat page and a studio. It needs no key and no other service.
//
//	go run ./examples/serving             http://127.0.0.1:8123/
//
// The message "count these words" calls a tool, and "send hello" calls one that a person must approve.
//
// Without TOKENS it accepts requests from this machine only. With TOKENS=token=ann,token2=bob it
// knows the users by their tokens. DATABASE_URL names a PostgreSQL database; otherwise the data is
// in the file DB, or in memory. Any number of processes may use one database: start the program again
// with another -addr. LISTEN_URL is a direct address of the database if DATABASE_URL leads through a
// transaction pooler. See docs/serving.md and docs/deployment.md.
package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/server"
	"github.com/weft-go/weft/server/ui"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:8123", "the address to listen at")
	hosts := flag.String("hosts", "", "the names by which clients reach the server, separated by commas")
	origins := flag.String("origins", "", "the origins of other pages that may call the server, separated by commas")
	keep := flag.Duration("keep", 0, "the time after which an unused thread is deleted, such as 720h; 0 keeps threads for ever")
	flag.Parse()
	log := slog.New(slog.NewJSONHandler(os.Stderr, nil))
	if err := run(context.Background(), *addr, list(*hosts), list(*origins), *keep, log); err != nil {
		log.Error("the server ended", "error", err)
		os.Exit(1)
	}
}

// list returns the parts of a text that commas separate, or nil for an empty text.
func list(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, ",")
}

func run(ctx context.Context, addr string, hosts, origins []string, keep time.Duration, log *slog.Logger) error {
	k, err := openStores(ctx, os.Getenv("DATABASE_URL"), os.Getenv("DB"), log)
	if err != nil {
		return err
	}
	defer k.close()
	g, err := assistant(k.checkpoints)
	if err != nil {
		return err
	}
	o := server.Options{
		Graphs: map[string]*graph.Graph{"assistant": g},
		Runs:   k.runs,
		Queue:  k.queue,
		Chat: &ui.Chat{
			Title: "Assistant", Tools: toolset(),
			Suggestions: []string{"Turn these words round", "Count these words", "Send hello to all"},
		},
		Studio:    &ui.Studio{Write: true},
		Hosts:     hosts,
		Origins:   origins,
		ThreadTTL: server.TTL{After: keep},
		Logger:    log,
	}
	if text := os.Getenv("TOKENS"); text != "" {
		if o.Auth, err = tokens(text); err != nil {
			return err
		}
		o.Authorize = authorize
	}
	s, err := server.New(o)
	if err != nil {
		return err
	}
	site := http.NewServeMux()
	site.HandleFunc("GET /{$}", home)
	site.Handle("/", s)
	if err := s.ListenAndServe(ctx, addr, site); err != nil {
		return fmt.Errorf("serving at %s: %w", addr, err)
	}
	return nil
}

// home links to the pages. Like the files of the pages, it needs no token.
func home(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = fmt.Fprint(w, `<!doctype html><html lang="en"><title>Assistant</title><p><a href="/chat/">Chat</a><p><a href="/studio/">Studio</a>`)
}
