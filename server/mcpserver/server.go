package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Options configures a [Server]. The zero value is valid.
type Options struct {
	// Name and Version identify the server to clients. Empty means "weft" and "0".
	Name, Version string
	// Instructions tell the model of a client how to use the tools. Optional.
	Instructions string
	// Describe maps the names of graphs to the descriptions of their tools. For other graphs, the description is that of
	// the assistant of the graph, or the name of the graph.
	Describe map[string]string
	// Answer says which questions the tool "answer" answers. The zero value is AnswerQuestions.
	Answer Answers
	// Logger logs errors whose details clients do not get. Nil means no log.
	Logger *slog.Logger
}

// Answers says which questions of graphs the tool "answer" may answer. The model of the client may call this tool before
// a person has read the question.
type Answers int

const (
	// AnswerQuestions answers all questions except approvals of tool calls ([tools.Question]). For an approval, the tool
	// asks the person at the client, and fails if the client cannot ask.
	AnswerQuestions Answers = iota
	// AnswerNothing removes the tool: only the person at the client, or another client of the server, can answer.
	AnswerNothing
	// AnswerApprovals answers approvals too: the model of the client may approve each tool call. The result of the call
	// then says that the client decided. Use it only for a client that is a program which you trust as you trust a
	// person.
	AnswerApprovals
)

// A Server serves graphs to MCP clients. It is an [http.Handler], and is safe for concurrent use.
type Server struct {
	server http.Handler
	o      Options
	http   http.Handler
}

const idleSession = 30 * time.Minute

// New returns an MCP server for the graphs of s, which is a *server.Server or a handler that contains one.
func New(s http.Handler, o Options) *Server {
	if o.Name == "" {
		o.Name = "weft"
	}
	if o.Version == "" {
		o.Version = "0"
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	out := &Server{server: s, o: o}
	// The server checks the Host header.
	out.http = mcp.NewStreamableHTTPHandler(out.session, &mcp.StreamableHTTPOptions{
		SessionTimeout: idleSession, DisableLocalhostProtection: true, PropagateRequestCancellation: true,
	})
	return out
}

// ServeHTTP answers a request of a client. It refuses requests that the server behind it would refuse.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	method := http.MethodGet
	if r.Method == http.MethodOptions {
		method = http.MethodOptions
	}
	check, err := newOrigin(s.server, r).request(r.Context(), method, "/info", nil)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	resp := respond(s.server, check)
	defer resp.close()
	for name, values := range resp.header {
		if strings.HasPrefix(name, "Access-Control-") || name == "Vary" || name == "X-Content-Type-Options" || name == "Www-Authenticate" {
			w.Header()[name] = values
		}
	}
	if w.Header().Get("Access-Control-Expose-Headers") != "" {
		w.Header().Add("Access-Control-Expose-Headers", "Mcp-Session-Id")
	}
	if resp.status != http.StatusOK {
		w.Header().Set("Content-Type", resp.header.Get("Content-Type"))
		w.WriteHeader(resp.status)
		copyBody(w, resp)
		return
	}
	s.http.ServeHTTP(w, r)
}

// session returns an MCP server with the tools that the user of a request sees, or nil if the graphs cannot be listed.
func (s *Server) session(r *http.Request) *mcp.Server {
	from := newOrigin(s.server, r)
	peer := mcp.NewServer(&mcp.Implementation{Name: s.o.Name, Version: s.o.Version}, &mcp.ServerOptions{
		Instructions: s.o.Instructions, Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}},
	})
	agents, err := s.agents(r.Context(), from)
	if err != nil {
		s.o.Logger.ErrorContext(r.Context(), "mcpserver: the graphs cannot be listed", "error", err)
		return nil
	}
	for _, a := range agents {
		peer.AddTool(&mcp.Tool{Name: a.tool, Description: a.description, InputSchema: a.schema}, a.call)
	}
	if s.o.Answer != AnswerNothing {
		answer := &answerTool{from: from, answers: s.o.Answer}
		peer.AddTool(&mcp.Tool{Name: answerName, Description: answer.description(), InputSchema: json.RawMessage(answerSchema)}, answer.call)
	}
	return peer
}

// An agent is a graph that is served as a tool.
type agent struct {
	tool, description string
	schema            json.RawMessage
	graph             string
	conversation      string // the channel of the messages, or empty
	answers           Answers
	from              *origin
}

var notInName = regexp.MustCompile(`[^A-Za-z0-9_-]+`)

// agents returns the graphs that the user may see.
func (s *Server) agents(ctx context.Context, from *origin) ([]*agent, error) {
	var list []struct {
		ID          string  `json:"assistant_id"`
		Graph       string  `json:"graph_id"`
		Description *string `json:"description"`
	}
	query := map[string]any{"metadata": map[string]string{"created_by": "system"}, "limit": 1000, "sort_by": "name", "sort_order": "asc"}
	if err := from.do(ctx, http.MethodPost, "/assistants/search", query, &list); err != nil {
		return nil, err
	}
	var out []*agent
	for _, l := range list {
		var schemas struct {
			Input json.RawMessage `json:"input_schema"`
		}
		if err := from.do(ctx, http.MethodGet, "/assistants/"+l.ID+"/schemas", nil, &schemas); err != nil {
			if _, ok := errors.AsType[*refusal](err); ok {
				continue // the user may not see this graph
			}
			return nil, err
		}
		a := &agent{graph: l.Graph, from: from, answers: s.o.Answer, tool: notInName.ReplaceAllString(l.Graph, "_"), description: s.o.Describe[l.Graph]}
		switch {
		case a.description != "":
		case l.Description != nil && *l.Description != "":
			a.description = *l.Description
		default:
			a.description = "Runs " + l.Graph + "."
		}
		if err := a.describe(schemas.Input); err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(out, func(b *agent) bool { return b.tool == a.tool }) && a.tool != answerName {
			out = append(out, a)
		}
	}
	return out, nil
}

const threadSchema = `{"type":"string","format":"uuid","description":"A UUID of your choice: calls with the same one continue one conversation. Optional."}`

// describe sets the schema of the tool: a message if the graph has a conversation, or else the graph's input.
func (a *agent) describe(input json.RawMessage) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(input, &fields); err != nil {
		return err
	}
	properties := map[string]json.RawMessage{}
	if data, ok := fields["properties"]; ok {
		if err := json.Unmarshal(data, &properties); err != nil {
			return err
		}
	}
	a.conversation = conversationOf(properties)
	if a.conversation != "" {
		a.schema = json.RawMessage(`{"type":"object","required":["message"],"properties":{"message":{"type":"string","description":"The message for the agent."},"thread_id":` + threadSchema + `}}`)
		return nil
	}
	if _, ok := properties[threadKey]; !ok {
		properties[threadKey] = json.RawMessage(threadSchema)
	}
	fields["type"] = json.RawMessage(`"object"`)
	var err error
	if fields["properties"], err = json.Marshal(properties); err != nil {
		return err
	}
	a.schema, err = json.Marshal(fields)
	return err
}

// conversationOf returns the name of the property with the messages of a conversation.
func conversationOf(properties map[string]json.RawMessage) string {
	found := ""
	for name, data := range properties {
		var p struct {
			Items struct {
				Ref string `json:"$ref"`
			} `json:"items"`
		}
		if json.Unmarshal(data, &p) == nil && strings.HasSuffix(p.Items.Ref, "/chat.Message") && (found == "" || name == "messages" || found != "messages" && name < found) {
			found = name
		}
	}
	return found
}
