package kai

import (
	"iter"

	"github.com/weft-go/weft/examples/designer/internal/catalogue"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
)

// A Chunk is an event of a turn: a chunk of package agent, with fields for the kinds of this
// package.
type Chunk struct {
	agent.Chunk
	Products []catalogue.Product `json:"products,omitempty"`
	Job      *Job                `json:"job,omitempty"`
	// Result is the result of the turn. [Platform] sets it in the last chunk of a run.
	Result *Result `json:"result,omitempty"`
}

// The kinds of chunks that package agent does not have.
const (
	ProductsFound agent.ChunkKind = "products"       // Products: a tool found them
	JobStarted    agent.ChunkKind = "generation_job" // Job: a tool made a 3D scene
	FinalAnswer   agent.ChunkKind = "final_response" // Text: the whole final answer
)

// Chunks converts the events of a run to chunks. A final answer comes just before the last chunk.
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
