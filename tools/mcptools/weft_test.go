package mcptools_test

import (
	"context"
	"fmt"
	"os"

	"github.com/weft-go/weft/tools"
	"github.com/weft-go/weft/tools/mcptools"
)

type user string

type note struct {
	Text string `json:"text"`
	For  tools.Bound[user]
}

// weftServer returns a server for a set of Weft tools.
func weftServer(o mcptools.ServerOptions, more ...tools.Tool) (*mcptools.Server, error) {
	list := []tools.Tool{
		tools.New("keep", "Keeps a note for the user.", func(_ context.Context, in note) (string, error) {
			return fmt.Sprintf("kept %q for %s", in.Text, in.For.Value()), nil
		}),
		tools.New("slow", "Reports progress, and goes on until it is cancelled.", func(ctx context.Context, _ struct{}) (string, error) {
			for i := range 3 {
				tools.Report(ctx, tools.Progress{Done: float64(i + 1), Total: 3, Message: fmt.Sprint("page ", i+1)})
			}
			<-ctx.Done()
			return "", ctx.Err()
		}),
	}
	set, err := tools.NewSet(append(list, more...)...)
	if err != nil {
		return nil, err
	}
	return mcptools.NewServer(set, o)
}

func serveWeft(ctx context.Context) error {
	server, err := weftServer(mcptools.ServerOptions{Name: "notes"})
	if err != nil {
		return err
	}
	return server.Serve(tools.WithBound(ctx, user("ada")), os.Stdin, os.Stdout)
}
