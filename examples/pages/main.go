// Pages serves the chat page and the studio with an assistant for a furniture shop. It needs no key:
// instead of a model, the scenes of model.go answer. They show each state of the pages.
//
//	go run ./examples/pages               http://127.0.0.1:8123/chat/
//	go run ./examples/pages -addr :8123
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"log/slog"
	"net"
	"strings"
	"time"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/server"
	"github.com/weft-go/weft/server/runs/memruns"
	"github.com/weft-go/weft/server/ui"
	"github.com/weft-go/weft/tools"
)

func main() {
	log.SetFlags(0)
	addr := flag.String("addr", "127.0.0.1:8123", "address to listen on")
	pace := flag.Duration("pace", 18*time.Millisecond, "time between two pieces of a reply")
	origins := flag.String("origins", "", "the origins of other pages that may call the server, separated by commas")
	flag.Parse()
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", *addr)
	if err == nil {
		fmt.Printf("chat:   http://%s/chat/\nstudio: http://%s/studio/\n", l.Addr(), l.Addr())
		err = run(context.Background(), l, *pace, strings.FieldsFunc(*origins, func(r rune) bool { return r == ',' }))
	}
	if err != nil {
		log.Fatal("pages: ", err)
	}
}

// run serves until ctx ends or the process gets a signal.
func run(ctx context.Context, l net.Listener, pace time.Duration, origins []string) error {
	// docs:begin chat
	list := shopTools()
	set, err := tools.NewSet(list...)
	if err != nil {
		return err
	}
	g, err := agent.New("shop", shopModel(pace), set, agent.Options{
		Tools: tools.Options{Approval: tools.Approval{Rule: tools.Destructive()}},
		Graph: graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})},
	})
	if err != nil {
		return err
	}
	orders := lists{files: map[string]map[string][][]string{}}
	s, err := server.New(server.Options{
		Graphs: map[string]*graph.Graph{"shop": g},
		Runs:   memruns.New(),
		Chat: &ui.Chat{
			Title:       "Kontor",
			Greeting:    "Ask about our furniture, your orders or this month's figures.",
			Suggestions: suggestions,
			Tools:       list,
			Attach:      true,
			Upload:      "/api/lists",
			Accept:      ".csv,text/csv",
		},
		Studio:   &ui.Studio{Write: true},
		Origins:  origins,
		OnDelete: orders.forget,
		Logger:   slog.Default(),
	})
	// docs:end
	if err != nil {
		return err
	}
	servePictures(s)
	orders.serve(s)
	return s.Serve(ctx, l, nil)
}
