package research

import (
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/state"
)

// The channels of the graph.
var (
	// RFPDocument is the document. A run begins with its ID; documentLoader adds the
	// rest.
	RFPDocument = state.Last[Document]("rfpDocument")
	// Progress says which steps are done.
	Progress = state.Last[Status]("status")
	// Messages is the conversation with the model. Beyond 4,000 tokens, Prune removes its oldest messages, also
	// from storage. It keeps system messages and the last four.
	Messages = state.Keyed("messages", llm.ByID).Prune(func(m []llm.Message) []llm.Message {
		return llm.Prune(m, llm.Pruning{})
	})
	// Findings has the model's answers on the topics. The node deepResearch writes them.
	Findings = state.Append[Finding]("findings")
	// Solution is the summary of the solution. The node solutionSought writes it.
	Solution = state.Last[string]("solution")
	// Errors are problems that did not make the run fail.
	Errors = state.Append[string]("errors")
)

// NewGraph returns the graph.
func NewGraph(c Config) (*graph.Graph, error) {
	b := graph.New("research", RFPDocument, Progress, Messages, Findings, Solution, Errors)
	b.Node("documentLoader", c.documentLoader)
	b.Node("deepResearch", c.deepResearch)
	b.Node("solutionSought", c.solutionSought)
	b.Edge(graph.Start, "documentLoader")
	b.Branch("documentLoader", func(s state.View) (string, error) {
		if Progress.Get(s).DocumentLoaded {
			return "deepResearch", nil
		}
		return graph.End, nil
	}, "deepResearch", graph.End)
	b.Branch("deepResearch", func(s state.View) (string, error) {
		if Progress.Get(s).ResearchComplete {
			return "solutionSought", nil
		}
		return graph.End, nil
	}, "solutionSought", graph.End)
	b.Edge("solutionSought", graph.End)
	return b.Compile(c.Tracing.Graph(graph.Options{Checkpoints: c.Store}))
}
