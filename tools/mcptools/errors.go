package mcptools

import (
	"errors"
	"fmt"
	"strings"
)

// Errors that a [Client] returns. A tool's function returns them too, so the model gets
// their text unless tools.Options.OnError decides otherwise.
var (
	// ErrUnavailable is returned when the server cannot be reached. The tool has not run. A
	// later call tries to connect again.
	// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#mcptoolserrunavailable.
	ErrUnavailable = errors.New("not available")
	// ErrLost is returned when the server died or the connection broke before the answer to
	// a call. The tool may or may not have run. The call is not repeated.
	// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#mcptoolserrlost.
	ErrLost = errors.New("no answer came; the tool may or may not have run")
	// ErrClosed is returned after Close of the [Client].
	// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#mcptoolserrclosed.
	ErrClosed = errors.New("the client is closed")
)

// A ServerError is an error of a [Client] or of its server.
// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#mcptoolsservererror.
type ServerError struct {
	// Server is the name of the server; see Options.Name.
	Server string
	// Err is the cause. It wraps [ErrUnavailable], [ErrLost] or [ErrClosed], or is the
	// error that the server returned.
	Err error
	// Stderr is the end of the standard error of a [Command]. Error does not return it,
	// because the model reads the error of a tool.
	Stderr string
}

func (e *ServerError) Error() string { return fmt.Sprintf("mcptools: server %q: %v", e.Server, e.Err) }

// Unwrap returns Err.
func (e *ServerError) Unwrap() error { return e.Err }

// withStderr adds the server's standard error to an error for the program, which the model
// does not read.
func withStderr(err error) error {
	e, ok := errors.AsType[*ServerError](err)
	if !ok || strings.TrimSpace(e.Stderr) == "" {
		return err
	}
	return fmt.Errorf("%w; its standard error ends with %q", err, strings.TrimSpace(e.Stderr))
}
