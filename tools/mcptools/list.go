package mcptools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weft-go/weft/internal/toolname"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/tools"
)

// A catalogue is the last list of the server's tools.
type catalogue struct {
	tools     []tools.Tool
	refused   error
	known     bool      // the server was asked successfully at least once
	stale     bool      // the server announced a change, or the session is new
	expires   time.Time // the time after which the list is too old
	notBefore time.Time // after a failure, the earliest time to ask again
}

// relist is the delay before a server that did not return its tools is asked again. renewal
// is the time limit of the server's answer if there is an older list to use.
const relist, renewal = 30 * time.Second, 5 * time.Second

// outdate records that the server's tools have changed.
func (c *Client) outdate() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list.stale, c.list.notBefore = true, time.Time{}
}

// Refused returns an error for each tool of the last list that was not accepted: its schema
// is invalid or too large, its name occurs twice, it runs only as a task, or there are too
// many tools. It is nil if all were accepted.
func (c *Client) Refused() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.list.refused
}

func (c *Client) tools(ctx context.Context) ([]tools.Tool, error) {
	ctx, cancel := c.until(ctx)
	defer cancel()
	select {
	case c.listing <- struct{}{}:
		defer func() { <-c.listing }()
	case <-ctx.Done():
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	list, fresh := c.current()
	if fresh {
		return list.tools, nil
	}
	err := c.renew(ctx, list.known)
	if err == nil {
		list, _ = c.current()
		return list.tools, nil
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if !list.known {
		return nil, err
	}
	c.options.Logger.Warn("tools of mcp server not renewed", "server", c.options.Name, "error", withStderr(err))
	return list.tools, nil
}

// current returns the list and whether it can be used without asking the server. The slice
// of tools is the caller's own.
func (c *Client) current() (catalogue, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	list, now := c.list, time.Now()
	list.tools = slices.Clone(list.tools)
	old := c.options.MaxAge > 0 && now.After(list.expires)
	return list, list.known && (c.session != nil && !list.stale && !old || now.Before(list.notBefore))
}

// renew asks the server for its tools. If there is an older list, renew does not wait for a
// server that cannot be reached now.
func (c *Client) renew(ctx context.Context, known bool) error {
	wait, limit := maxWait, c.options.ConnectTimeout
	if known {
		wait, limit = 0, min(limit, renewal)
	}
	slow := c.failed(ErrUnavailable, fmt.Errorf("no answer within %s", limit))
	ctx, cancel := context.WithTimeoutCause(ctx, limit, slow)
	defer cancel()
	var listed []*mcp.Tool
	s, err := c.with(ctx, wait, func(s *session) error {
		c.mu.Lock()
		c.list.stale = false // before the request, so that a change during it is not lost
		c.mu.Unlock()
		return c.hurried(ctx, s, func() (err error) {
			listed, err = ask(ctx, s)
			return err
		})
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case err == nil:
	case ctx.Err() != nil:
		c.list.stale, c.list.notBefore = true, time.Now().Add(relist)
		return context.Cause(ctx)
	case s == nil:
		return err
	default:
		c.list.stale, c.list.notBefore = true, time.Now().Add(relist)
		return c.withExit(ErrUnavailable, fmt.Errorf("list tools: %w", short(err)), s.link, nil)
	}
	c.list.known, c.list.expires = true, time.Now().Add(c.options.MaxAge)
	c.list.tools, c.list.refused = c.take(listed, &s.link.tasks)
	if c.list.refused != nil {
		c.options.Logger.WarnContext(ctx, "tools of mcp server left out", "server", c.options.Name, "error", c.list.refused)
	}
	return nil
}

// ask returns the tools of all pages of the list.
func ask(ctx context.Context, s *session) ([]*mcp.Tool, error) {
	if caps := s.InitializeResult().Capabilities; caps == nil || caps.Tools == nil {
		return nil, nil
	}
	var listed []*mcp.Tool
	var params mcp.ListToolsParams
	for range maxPages {
		page, err := s.ListTools(ctx, &params)
		if err != nil {
			return nil, err
		}
		listed = append(listed, page.Tools...)
		if page.NextCursor == "" || page.NextCursor == params.Cursor || len(listed) > maxTools {
			break
		}
		params = mcp.ListToolsParams{Cursor: page.NextCursor}
	}
	return listed, nil
}

// take converts the tools that the server listed. The error has the tools that it did not
// accept.
func (c *Client) take(listed []*mcp.Tool, tasks *taskTools) (list []tools.Tool, refused error) {
	var mistakes []error
	taken := map[string]bool{}
	for i, t := range listed {
		if i == maxTools {
			mistakes = append(mistakes, fmt.Errorf("mcptools: server %q: more than %d tools", c.options.Name, maxTools))
			break
		}
		if c.options.Only != nil && !slices.Contains(c.options.Only, t.Name) {
			continue
		}
		tool, err := c.tool(t)
		switch {
		case err == nil && taken[tool.Name()]:
			err = errors.New("the server lists its name twice")
		case err == nil && tasks.requires(t.Name):
			err = errors.New("the server runs it only as a task (execution.taskSupport is required), which this client does not support")
		}
		if err != nil {
			mistakes = append(mistakes, fmt.Errorf("mcptools: server %q: tool %q: %w", c.options.Name, clip(t.Name, 128), err))
			continue
		}
		taken[tool.Name()] = true
		list = append(list, tool)
	}
	return list, errors.Join(mistakes...)
}

// tool converts one tool of the server.
func (c *Client) tool(t *mcp.Tool) (tools.Tool, error) {
	schema, err := json.Marshal(t.InputSchema)
	if err != nil {
		return tools.Tool{}, err
	}
	if len(schema) > maxSchema {
		return tools.Tool{}, fmt.Errorf("its schema has %d bytes, more than %d", len(schema), maxSchema)
	}
	name := t.Name
	if c.options.Prefix != "" {
		name = c.options.Prefix + "__" + name
	}
	spec := llm.ToolSpec{Name: toolname.Of(name), Description: describe(t), Schema: schema}
	tool := tools.Raw(spec, func(ctx context.Context, arguments json.RawMessage) (tools.Result, error) {
		return c.call(ctx, t.Name, arguments)
	})
	return tool.Annotate(c.annotations(t)), tool.Err()
}

// describe returns a description of limited length. If the server gives none, it uses the
// title or the name.
func describe(t *mcp.Tool) string {
	for _, text := range []string{t.Description, title(t), t.Name} {
		if text = plain(text, maxDescription); text != "" {
			return text
		}
	}
	return "A tool without a description."
}

func title(t *mcp.Tool) string {
	if t.Title == "" && t.Annotations != nil {
		return t.Annotations.Title
	}
	return t.Title
}

// annotations returns the annotations of a tool. It assumes the worst case unless the hints
// of the server are trusted.
func (c *Client) annotations(t *mcp.Tool) tools.Annotations {
	a := tools.Annotations{Title: plain(title(t), 128), Category: c.options.Name, Destructive: true, OpenWorld: true}
	if hints := t.Annotations; c.options.TrustHints && hints != nil {
		a.ReadOnly, a.Idempotent = hints.ReadOnlyHint, hints.IdempotentHint
		a.Destructive = !hints.ReadOnlyHint && (hints.DestructiveHint == nil || *hints.DestructiveHint)
		a.OpenWorld = hints.OpenWorldHint == nil || *hints.OpenWorldHint
	}
	return a
}
