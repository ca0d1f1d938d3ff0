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

// ServerOptions configures a [Server]. Its zero value works.
type ServerOptions struct {
	// Name and Version say what the server is. Empty means "weft" and "0".
	Name, Version string
	// Instructions say to the model of a client how to use the tools. Optional.
	Instructions string
	// Tools says how tools are called. Its Emit is given what it is given
	// anyway, beside the client. Its Bind is not asked, as there is no state. A
	// call that its Approval picks is refused unless Ask itself waits for the
	// answer: a client can not be paused.
	Tools tools.Options
	// Logger is told of failures that the client is not told of. Nil means
	// nobody is.
	Logger *slog.Logger
}

// A Server is a set of tools as any MCP client has them: over HTTP, as which it
// is an [http.Handler], or by [Server.Serve]. It keeps no sessions: each request
// stands for itself, and what its context holds is what the tools get.
//
// So a request acts for whom the middleware before it says, and nothing that the
// client sends can change it:
//
//	http.Handle("/mcp", verify(func(w http.ResponseWriter, r *http.Request, user UserID) {
//		server.ServeHTTP(w, r.WithContext(tools.WithBound(r.Context(), user)))
//	}))
type Server struct {
	set     *tools.Set
	options ServerOptions
	outputs map[string]*jsonschema.Resolved // by tool
	peer    *mcp.Server
	http    http.Handler
}

// NewServer returns a server of a set. Clients see the names, descriptions, schemas and
// annotations of the tools. A pattern of [tools.Named] in o.Tools that matches no tool of
// the set is a [tools.ErrPattern].
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

// addOutput reads the schema of the tool's results, which structured content must fit.
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

// structured returns the structured content of an answer, or nil: the content that a
// server of the tool sent, or the typed result of the function.
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
	if err != nil { // cut off, changed by Options.Clean, or a type that encodes itself
		s.options.Logger.WarnContext(ctx, "mcp result without structured content", "tool", answer.Name, "error", err)
		return nil
	}
	return json.RawMessage(text)
}

// listed returns the description of a tool for clients.
func (s *Server) listed(t tools.Tool) *mcp.Tool {
	spec, a := t.Spec(), t.Annotations()
	destructive, open := a.Destructive, a.OpenWorld
	var output any // not a nil json.RawMessage, which the library would encode
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

// Serve serves one client, such as one at the other end of the standard input and
// output, until it goes, which is no error, or ctx is done. What ctx holds is
// what the tools get. Serve closes in, if that can be closed, so that nothing
// waits for it any more. Nothing else may write to out.
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

// open is an output that is not closed.
type open struct{ io.Writer }

func (open) Close() error { return nil }

// requestKey is where a call finds the context that it is served for.
type requestKey struct{}

// ServeHTTP answers a request of a client that speaks streamable HTTP. A request
// of a web page of another origin is refused.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx := r.Context()
	s.http.ServeHTTP(w, r.WithContext(context.WithValue(ctx, requestKey{}, ctx)))
}

// call calls a tool for a client.
func (s *Server) call(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if request, ok := ctx.Value(requestKey{}).(context.Context); ok {
		// The library does not pass its end on. But who hangs up can not be told
		// the result, and has no other way to cancel a request that stands for
		// itself.
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

// refuse answers a call that could not be made, without saying more than the
// client may know.
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
		why = "the call needs a person's approval, which can not be given here"
	case errors.Is(err, tools.ErrUnbound):
		why = "the request does not say what the tool has to know of whom it is for"
	default:
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the tool failed"}
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: why}}, IsError: true}, nil
}

// progress tells a client of the progress of a call.
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
	// A client that has gone is not told; the call learns of that itself.
	_ = p.session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
		ProgressToken: p.token, Progress: p.more(report.Done), Total: report.Total, Message: report.Message,
	})
}

// more returns how much is done, which the protocol wants to be more each time.
func (p *progress) more(done float64) float64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	if done <= p.last {
		done = math.Nextafter(p.last, math.Inf(1))
	}
	p.last = done
	return done
}
