package kai

import (
	"iter"

	"github.com/weft-go/weft/examples/designer/internal/catalogue"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
)

// A Chunk is something that happens in a turn: all that package agent tells, and what is this
// platform's own.
type Chunk struct {
	agent.Chunk
	Products []catalogue.Product `json:"products,omitempty"`
	Job      *Job                `json:"job,omitempty"`
	// Result is what a turn came to, on the last chunk.
	Result *Result `json:"result,omitempty"`
}

// The kinds of chunks that package agent does not have.
const (
	ProductsFound agent.ChunkKind = "products"       // Products: a tool found them
	JobStarted    agent.ChunkKind = "generation_job" // Job
	FinalAnswer   agent.ChunkKind = "final_response" // Text: all of it
)

// Chunks turns the events of a run into chunks. The last one, of kind end, has the result.
func Chunks(events iter.Seq2[graph.Event, error]) iter.Seq2[Chunk, error] {
	return func(yield func(Chunk, error) bool) {
		for c, err := range agent.Chunks(events) {
			chunk := Chunk{Chunk: c}
			switch v := c.Value.(type) {
			case []catalogue.Product:
				chunk.Kind, chunk.Products = ProductsFound, v
			case Job:
				chunk.Kind, chunk.Job = JobStarted, &v
			}
			if c.Snapshot != nil {
				if text := FinalResponse.Get(c.Snapshot); text != nil {
					final := Chunk{Chunk: agent.Chunk{Kind: FinalAnswer, Node: agentNode, Text: *text}}
					if !yield(final, nil) {
						return
					}
				}
			}
			if !yield(chunk, err) || err != nil {
				return
			}
		}
	}
}
