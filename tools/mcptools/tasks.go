package mcptools

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// taskTools has the tools of a connection that the server runs only as tasks, which this
// client does not support. The library does not decode this property of a tool, so it is
// read from the messages.
type taskTools struct {
	mu    sync.Mutex
	names map[string]bool
}

// requires reports whether the server runs the tool only as a task.
func (t *taskTools) requires(name string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.names[name]
}

var taskSupport = []byte(`"taskSupport"`)

// note reads the result of tools/list. It ignores any other result.
func (t *taskTools) note(result []byte) {
	if !bytes.Contains(result, taskSupport) {
		return
	}
	var list struct {
		Tools []struct {
			Name      string `json:"name"`
			Execution struct {
				TaskSupport string `json:"taskSupport"`
			} `json:"execution"`
		} `json:"tools"`
	}
	if json.Unmarshal(result, &list) != nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.names == nil {
		t.names = map[string]bool{}
	}
	for _, tool := range list.Tools {
		t.names[tool.Name] = tool.Execution.TaskSupport == "required"
	}
}

// noteMessage reads the result in a JSON-RPC message.
func (t *taskTools) noteMessage(text []byte) {
	var message struct {
		Result json.RawMessage `json:"result"`
	}
	if bytes.Contains(text, taskSupport) && json.Unmarshal(text, &message) == nil {
		t.note(message.Result)
	}
}

// tapped is a connection that passes the results that it reads to taskTools.
type tapped struct {
	mcp.Connection
	tasks *taskTools
}

func (c *tapped) Read(ctx context.Context) (jsonrpc.Message, error) {
	message, err := c.Connection.Read(ctx)
	if response, ok := message.(*jsonrpc.Response); ok && err == nil {
		c.tasks.note(response.Result)
	}
	return message, err
}

// tap wraps a connection so that taskTools reads its results. It does not wrap a connection
// of streamable HTTP, because the library needs its type; tapBody reads those responses.
func (t *taskTools) tap(transport mcp.Transport, conn mcp.Connection) mcp.Connection {
	if _, ok := transport.(*mcp.StreamableClientTransport); ok || conn == nil {
		return conn
	}
	return &tapped{conn, t}
}

// tapBody wraps the body of a response to tools/list so that taskTools reads it.
func (t *taskTools) tapBody(request *http.Request, response *http.Response) {
	if request.GetBody == nil {
		return
	}
	body, err := request.GetBody()
	if err != nil {
		return
	}
	defer func() { _ = body.Close() }()
	if text, err := io.ReadAll(io.LimitReader(body, maxFrame)); err == nil && bytes.Contains(text, []byte(`"tools/list"`)) {
		events := strings.HasPrefix(response.Header.Get("Content-Type"), "text/event-stream")
		response.Body = &tappedBody{ReadCloser: response.Body, tasks: t, events: events}
	}
}

// tappedBody is the body of a response: one message, or a stream of events.
type tappedBody struct {
	io.ReadCloser
	tasks  *taskTools
	events bool
	text   []byte // the text of the message or of the current line so far
}

func (b *tappedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if len(b.text)+n <= maxFrame {
		b.text = append(b.text, p[:n]...)
	}
	if !b.events {
		if err != nil {
			b.tasks.noteMessage(b.text)
		}
		return n, err
	}
	for {
		line, rest, whole := bytes.Cut(b.text, []byte("\n"))
		if !whole {
			return n, err
		}
		b.tasks.noteMessage(bytes.TrimPrefix(line, []byte("data:")))
		b.text = rest
	}
}
