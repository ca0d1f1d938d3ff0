package mcptools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weft-go/weft/internal/uuid"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/tools"
)

// ServerOptions configures a [Server]. The zero value is valid.
type ServerOptions struct {
	// Name and Version identify the server to clients. Empty means "weft" and "0".
	Name, Version string
	// Instructions tell the model of a client how to use the tools. Optional.
	Instructions string
	// Tools configures calls of the tools. Progress is sent to the client. If Emit is set,
	// it gets all values as usual. Bind is ignored, because there is no state. A call that
	// Approval selects is answered with an error if Ask is nil or pauses, because a client
	// cannot be paused; Ask itself may wait for a person.
	Tools tools.Options
	// Logger logs errors whose details clients do not get. Nil means no log.
	Logger *slog.Logger
}

// A Server serves a set of tools to MCP clients: over HTTP as an [http.Handler], or over a
// stream with [Server.Serve]. It has no sessions. Tools get the values in the context of
// the request.
//
// So the middleware before the server sets the user of a request, and the client cannot
// change it:
//
//	http.Handle("/mcp", verify(func(w http.ResponseWriter, r *http.Request, user UserID) {
//		server.ServeHTTP(w, r.WithContext(tools.WithBound(r.Context(), user)))
//	}))
type Server struct {
	set     *tools.Set
	options ServerOptions
	outputs map[string]*jsonschema.Resolved // schemas of results by tool name
	peer    *mcp.Server
	http    http.Handler
}

// NewServer returns a server for a set. Clients see the names, descriptions, schemas and
// annotations of the tools. If a rule in o.Tools has a [tools.Named] pattern that matches
// no tool of the set, the error wraps [tools.ErrPattern].
func NewServer(set *tools.Set, o ServerOptions) (*Server, error) {
	if err := o.Tools.Check(set); err != nil {
		return nil, fmt.Errorf("mcptools: ServerOptions.Tools: %w", err)
	}
	o.Name, o.Version = or(o.Name, "weft"), or(o.Version, "0")
	o.Logger = or(o.Logger, slog.New(slog.DiscardHandler))
	s := &Server{set: set, options: o, outputs: map[string]*jsonschema.Resolved{}}
	s.peer = mcp.NewServer(&mcp.Implementation{Name: o.Name, Version: o.Version}, &mcp.ServerOptions{
		Instructions: o.Instructions,
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}},
	})
	for _, t := range set.Tools() {
		if err := s.addOutput(t); err != nil {
			return nil, err
		}
		s.peer.AddTool(s.listed(t), s.call)
	}
	s.http = http.NewCrossOriginProtection().Handler(mcp.NewStreamableHTTPHandler(
		func(*http.Request) *mcp.Server { return s.peer },
		&mcp.StreamableHTTPOptions{Stateless: true},
	))
	return s, nil
}

// addOutput stores the schema of the tool's results. Structured content must fit it.
func (s *Server) addOutput(t tools.Tool) error {
	text := t.OutputSchema()
	if text == nil {
		return nil
	}
	var schema jsonschema.Schema
	err := json.Unmarshal(text, &schema)
	if err == nil {
		s.outputs[t.Name()], err = schema.Resolve(&jsonschema.ResolveOptions{})
	}
	if err != nil {
		return fmt.Errorf("mcptools: output schema of tool %q: %w", t.Name(), err)
	}
	return nil
}

// structured returns the structured content of an answer, or nil. It is the structured
// content of another MCP server whose tool was called, or the typed result of a function.
func (s *Server) structured(ctx context.Context, answer llm.Message) any {
	if content, ok := answer.Metadata[StructuredContent]; ok {
		return content
	}
	schema := s.outputs[answer.Name]
	if schema == nil || answer.Status == llm.StatusError {
		return nil
	}
	text := answer.Text()
	var value any
	err := json.Unmarshal([]byte(text), &value)
	if err == nil {
		err = schema.Validate(value)
	}
	if err != nil { // the text was cut off or changed by Options.Clean, or the type encodes itself
		s.options.Logger.WarnContext(ctx, "mcp result without structured content", "tool", answer.Name, "error", err)
		return nil
	}
	return json.RawMessage(text)
}

// listed converts the specification of a tool for clients.
func (s *Server) listed(t tools.Tool) *mcp.Tool {
	spec, a := t.Spec(), t.Annotations()
	destructive, open := a.Destructive, a.OpenWorld
	var output any // a nil interface; the library would encode a nil json.RawMessage
	if text := t.OutputSchema(); text != nil {
		output = text
	}
	return &mcp.Tool{
		OutputSchema: output,
		Name:         spec.Name, Title: a.Title, Description: spec.Description, InputSchema: spec.Schema,
		Annotations: &mcp.ToolAnnotations{
			Title: a.Title, ReadOnlyHint: a.ReadOnly, IdempotentHint: a.Idempotent,
			DestructiveHint: &destructive, OpenWorldHint: &open,
		},
	}
}

// Serve serves one client over a stream, such as standard input and output. It returns nil
// when the client closes its end of the stream, and the cause of ctx when ctx is done. Tools
// get the values of ctx. Serve closes in if it is an [io.Closer], so that no read remains
// blocked. Nothing else may write to out.
func (s *Server) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	closer, ok := in.(io.ReadCloser)
	if !ok {
		closer = io.NopCloser(in)
	}
	ctx = context.WithValue(ctx, requestKey{}, ctx)
	err := s.peer.Run(ctx, &mcp.IOTransport{Reader: closer, Writer: open{out}, MaxLineLength: maxFrame})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// open is a writer with a Close that does nothing.
type open struct{ io.Writer }

func (open) Close() error { return nil }

// requestKey is the key of the context of the request or of Serve.
type requestKey struct{}

// ServeHTTP answers a request of a client with the transport streamable HTTP. It refuses
// requests that a browser sends from a page of another origin.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx := r.Context()
	s.http.ServeHTTP(w, r.WithContext(context.WithValue(ctx, requestKey{}, ctx)))
}

// call calls a tool for a client.
func (s *Server) call(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if request, ok := ctx.Value(requestKey{}).(context.Context); ok {
		// The library does not pass on the end of the request. Cancel the call when the
		// client disconnects, because it cannot get the result and has no other way to
		// cancel a request without a session.
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(request, cancel)()
	}
	call := llm.ToolCall{ID: uuid.New(), Name: r.Params.Name, Arguments: r.Params.Arguments}
	o := s.options.Tools
	if token := r.Params.GetProgressToken(); token != nil {
		p := &progress{session: r.Session, token: token, last: math.Inf(-1), next: o.Emit}
		o.Emit = p.emit
	}
	answer, err := s.set.Call(ctx, call, o)
	if err != nil {
		return s.refuse(ctx, call, err)
	}
	return &mcp.CallToolResult{
		Content: contents(answer), IsError: answer.Status == llm.StatusError, StructuredContent: s.structured(ctx, answer),
	}, nil
}

// refuse returns the answer to a call that returned an error. It does not give the client
// details of the error.
func (s *Server) refuse(ctx context.Context, call llm.ToolCall, err error) (*mcp.CallToolResult, error) {
	if ctx.Err() != nil {
		return nil, err
	}
	s.options.Logger.Warn("mcp call refused", "tool", call.Name, "error", err)
	pause, waits := errors.AsType[interface {
		error
		Pause() bool
	}](err)
	why := ""
	switch {
	case errors.Is(err, tools.ErrNoApprover), waits && pause.Pause():
		why = "the call needs a person's approval, which this server cannot ask for"
	case errors.Is(err, tools.ErrUnbound):
		why = "the request lacks a value that the tool needs, such as the user"
	default:
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the tool failed"}
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: why}}, IsError: true}, nil
}

// progress sends the progress of a call to its client.
type progress struct {
	session *mcp.ServerSession
	token   any
	next    func(context.Context, any)

	mu   sync.Mutex
	last float64
}

func (p *progress) emit(ctx context.Context, value any) {
	if report, ok := value.(tools.Progress); ok {
		p.notify(ctx, report)
	}
	if p.next != nil {
		p.next(ctx, value)
	}
}

func (p *progress) notify(ctx context.Context, report tools.Progress) {
	// Ignore the error: if the client has disconnected, the context of the call is done.
	_ = p.session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
		ProgressToken: p.token, Progress: p.more(report.Done), Total: report.Total, Message: report.Message,
	})
}

// more returns done, or the next larger number than the last progress, because the protocol
// requires the progress to grow with each notification.
func (p *progress) more(done float64) float64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	if done <= p.last {
		done = math.Nextafter(p.last, math.Inf(1))
	}
	p.last = done
	return done
}
