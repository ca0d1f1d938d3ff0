package research

import (
	"context"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/examples/internal/tracing"
	"github.com/weft-go/weft/examples/research/internal/document"
	"github.com/weft-go/weft/llm"
)

// Config has the dependencies of the graph.
type Config struct {
	Model llm.Model
	// Load returns a document, or [document.ErrNotFound].
	Load func(ctx context.Context, id string) (document.File, error)
	// Store keeps threads. With a nil Store nothing is stored.
	Store checkpoint.Store
	// Tracing records the runs. Nil records nothing.
	Tracing *tracing.Tracing
	// Current returns the document of the thread, for runs whose input names none. An empty id means that the
	// thread has no document yet. If Current is nil, the input names the document.
	Current func(ctx context.Context) (id string, err error)
	// Ended is called by solutionSought, before a run that has a document ends. It may be nil.
	Ended func(ctx context.Context, s *State) error
}
