package mcptools

import (
	"errors"
	"fmt"
	"strings"
)

// What the errors of a [Client] wrap. Use [errors.Is]. A tool's function returns
// them, so the model is told the text, unless tools.Options.OnError says
// otherwise.
var (
	// ErrUnavailable says that the server can not be reached. The tool has not
	// run. A later call tries again.
	ErrUnavailable = errors.New("not available")
	// ErrLost says that the server did not answer a call: it died, or the
	// connection broke. Nobody knows how far the tool came. It is not called
	// again.
	ErrLost = errors.New("no answer came; the tool may or may not have run")
	// ErrClosed says that the [Client] is closed.
	ErrClosed = errors.New("closed")
)

// A ServerError is what went wrong between a [Client] and its server.
type ServerError struct {
	// Server is the name of the server.
	Server string
	// Err is what went wrong. It wraps [ErrUnavailable], [ErrLost] or
	// [ErrClosed], or is what the server answered.
	Err error
	// Stderr is the end of what a server that is a [Command] wrote to its
	// standard error. It is not in the text of the error of a tool, as the
	// model reads that.
	Stderr string
}

func (e *ServerError) Error() string { return fmt.Sprintf("mcptools: server %q: %v", e.Server, e.Err) }

// Unwrap returns e.Err.
func (e *ServerError) Unwrap() error { return e.Err }

// told is the error as the program is told it, which may read what the server
// wrote.
func told(err error) error {
	e, ok := errors.AsType[*ServerError](err)
	if !ok || strings.TrimSpace(e.Stderr) == "" {
		return err
	}
	return fmt.Errorf("%w; its standard error ends with %q", err, strings.TrimSpace(e.Stderr))
}
