package research

import (
	"context"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/examples/internal/tracing"
	"github.com/weft-go/weft/examples/research/internal/document"
	"github.com/weft-go/weft/llm"
)

// Config is what the graph works with.
type Config struct {
	Model llm.Model
	// Load returns a document, or [document.ErrNotFound].
	Load func(ctx context.Context, id string) (document.File, error)
	// Store keeps threads. Nil means that nothing is kept.
	Store checkpoint.Store
	// Tracing records the runs. Nil records nothing.
	Tracing *tracing.Tracing
	// Current returns the document of the thread, for runs whose input names none. Empty means
	// that there is none yet. Nil means that the input names it.
	Current func(ctx context.Context) (id string, err error)
	// Ended is called before a run ends that has a document. Nil means that nobody is told.
	Ended func(ctx context.Context, s *State) error
}
