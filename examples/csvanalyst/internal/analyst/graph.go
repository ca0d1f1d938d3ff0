package analyst

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/examples/csvanalyst/internal/csvtools"
	"github.com/weft-go/weft/examples/csvanalyst/internal/files"
	"github.com/weft-go/weft/examples/csvanalyst/internal/records"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/state"
	"github.com/weft-go/weft/tools"
)

const (
	// maxTurns is how often the model is asked for one answer.
	maxTurns = 5
	// toolTime is how long a tool may take: a file may have a gigabyte.
	toolTime = 2 * time.Minute
)

// analyst is what the nodes work with.
type analyst struct {
	model   llm.Model
	tools   *tools.Set
	records *records.DB
	files   *files.Store
}

// initializeGraph compiles the graph, once for all sessions.
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

// loadCsvMetadata says which CSV files the session has, and what is in them.
func (a *analyst) loadCsvMetadata(ctx context.Context, s state.View) (state.Update, error) {
	all, err := a.records.Resources(ctx, sessionID.Get(s))
	if err != nil {
		return nil, err
	}
	list := []csvResource{}
	for _, r := range all {
		if !files.IsCSV(r) {
			continue
		}
		m := csvResource{ID: r.ID, OriginalName: r.OriginalName, StoredPath: r.StoredPath, SizeBytes: r.SizeBytes}
		if schema, err := a.files.Schema(ctx, r); err == nil { // the others can be asked about all the same
			m.Columns, m.RowCount, m.Details, m.Notes = schema.Names(), new(schema.RowCount), schema.Columns, schema.Notes
		}
		list = append(list, m)
	}
	return state.Update{csvMetadata.Put(&list)}, nil
}

// docs:begin agent
// agent asks the model, calls the tools that it asks for, and asks again. What the
// model said and what the tools returned is remembered within the node: if the
// process is killed, the next one goes on behind it.
func (a *analyst) agent(ctx context.Context, s state.View) (state.Update, error) {
	options := tools.Options{Timeout: toolTime, Emit: graph.Emit, Once: graph.Once[llm.Message], Bind: tools.Bindings{
		tools.Bind(func(_ context.Context, s state.View) (csvtools.SessionID, error) {
			return csvtools.SessionID(sessionID.Get(s)), nil
		}),
	}}
	ctx, err := options.Bind.Apply(ctx, s)
	if err != nil {
		return nil, err
	}
	query := message{llm.RoleUser, currentQuery.Get(s), currentQueryImages.Get(s)}
	history := append(messages.Get(s), query)
	r := llm.Request{Messages: conversation(csvMetadata.Get(s), history), Tools: a.tools.Specs(), Temperature: new(0.0)}
	var texts []string
	var shown []llm.Message
	for turn := 1; turn <= maxTurns; turn++ {
		graph.Emit(ctx, agent.Turn{Agent: "agent", Number: turn, Most: maxTurns})
		if turn == maxTurns {
			r.ToolChoice = llm.ToolChoice{Mode: llm.ToolsNone}
		}
		reply, err := graph.Once(ctx, fmt.Sprint("reply ", turn), func(ctx context.Context) (llm.Message, error) {
			return agent.Ask(ctx, a.model, r)
		})
		if err != nil {
			return nil, err
		}
		if text := reply.Text(); text != "" {
			texts = append(texts, text)
		}
		if len(reply.ToolCalls) == 0 || turn == maxTurns {
			reply.ToolCalls = nil
			shown = append(shown, reply)
			break
		}
		answers, err := a.tools.CallAll(ctx, reply.ToolCalls, options)
		if err != nil {
			return nil, err
		}
		for i := range answers {
			answers[i].ID = reply.ID + " " + answers[i].ToolCallID // the same if the node runs again
			graph.Emit(ctx, answers[i])
		}
		r.Messages = append(append(r.Messages, reply), answers...)
		shown = append(append(shown, reply), answers...)
	}
	if len(texts) == 0 {
		texts = []string{fmt.Sprintf("I did not come to an answer in %d steps.", maxTurns)}
		shown = append(shown, llm.Assistant(texts[0]))
	}
	history = append(history, message{Role: llm.RoleAssistant, Content: strings.Join(texts, paragraph)})
	return state.Update{messages.Put(&history), said.Put(&shown)}, nil
}

// docs:end

// paragraph stands between what the model says before a tool call, and after it.
const paragraph = "\n\n"

// conversation is what the model is sent: the prompt, and what was said, images
// included.
func conversation(files []csvResource, history []message) []llm.Message {
	out := []llm.Message{llm.System(buildSystemPrompt(files))}
	for _, m := range history {
		said := llm.Message{Role: m.Role}
		if m.Content != "" {
			said.Parts = append(said.Parts, llm.Text(m.Content))
		}
		for _, image := range m.Images {
			said.Parts = append(said.Parts, llm.Image(image.MIMEType, image.Data))
		}
		out = append(out, said)
	}
	return out
}

// saveMessage stores the question and the answer, as far as they are not stored.
func (a *analyst) saveMessage(ctx context.Context, s state.View) (state.Update, error) {
	session, all := sessionID.Get(s), messages.Get(s)
	for _, m := range all[max(0, len(all)-2):] {
		row := records.Message{SessionID: session, Role: string(m.Role), Content: m.Content, Images: m.Images}
		if _, err := a.records.SaveMessage(ctx, row); err != nil {
			return nil, err
		}
	}
	return nil, a.records.Touch(ctx, session)
}
