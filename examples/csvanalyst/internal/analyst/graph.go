package analyst

import (
	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/examples/csvanalyst/internal/files"
	"github.com/weft-go/weft/examples/csvanalyst/internal/records"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/state"
	"github.com/weft-go/weft/tools"
)

// The state of a run. A node that writes nothing, or nil, to a channel leaves it unchanged. Every other value
// replaces the old one, also an empty list.
var (
	sessionID    = state.Optional[string]("sessionId")
	messages     = state.Optional[[]message]("messages").Default(func() []message { return []message{} })
	csvMetadata  = state.Optional[[]csvResource]("csvResourcesMetadata").Default(func() []csvResource { return []csvResource{} })
	currentQuery = state.Optional[string]("currentQuery")
	// said has the replies of the model and the tool results of this run. The graph of the page shows them.
	said = state.Optional[[]llm.Message]("said")

	currentQueryImages = state.Optional[[]records.Image]("currentQueryImages").Default(func() []records.Image { return []records.Image{} })
)

// analyst has the dependencies of the nodes.
type analyst struct {
	model   llm.Model
	tools   *tools.Set
	records *records.DB
	files   *files.Store
}

// initializeGraph compiles the graph, once for all sessions:
//
//	start → loadCsvMetadata → agent → saveMessage → end
func initializeGraph(a *analyst, store checkpoint.Store) (*graph.Graph, error) {
	b := graph.New("csvanalyst", sessionID, messages, csvMetadata, currentQuery, currentQueryImages, said)
	b.Node("loadCsvMetadata", a.loadCsvMetadata)
	b.Node("agent", a.agent)
	b.Node("saveMessage", a.saveMessage)
	b.Edge(graph.Start, "loadCsvMetadata")
	b.Edge("loadCsvMetadata", "agent")
	b.Edge("agent", "saveMessage")
	b.Edge("saveMessage", graph.End)
	return b.Compile(graph.Options{Checkpoints: store})
}
