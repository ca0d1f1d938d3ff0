package web

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/memory"
)

// A Problem is an error that a client is told. Its JSON form is
// {"error": Message, "details": Details}.
type Problem struct {
	// Status is that of HTTP.
	Status int `json:"-"`
	// Message is for people, and Details say more where there is more.
	Message string `json:"error"`
	Details any    `json:"details,omitempty"`
	// Err is the cause, which the client is not told. It may be nil.
	Err error `json:"-"`
}

// Refuse returns a problem with a status and a message.
func Refuse(status int, format string, args ...any) *Problem {
	return &Problem{Status: status, Message: fmt.Sprintf(format, args...)}
}

func (p *Problem) Error() string {
	text := fmt.Sprintf("web: %d: %s", p.Status, p.Message)
	if p.Err != nil {
		text += ": " + p.Err.Error()
	}
	return text
}

// Unwrap returns the cause.
func (p *Problem) Unwrap() error { return p.Err }

// known are the errors of the SDK that a client can do something about.
var known = []struct {
	err     error
	status  int
	message string
}{
	{graph.ErrDrained, http.StatusServiceUnavailable, "The server is shutting down. The run can be resumed."},
	{graph.ErrNoQuestion, http.StatusConflict, "This question is not open any more."},
	{graph.ErrNoInput, http.StatusConflict, "There is nothing to go on with."},
	{checkpoint.ErrConflict, http.StatusConflict, "This session is busy with another request."},
	{memory.ErrConflict, http.StatusConflict, "This session has changed meanwhile."},
	{memory.ErrForgotten, http.StatusGone, "This was forgotten, and is not kept again."},
	{memory.ErrInvalid, http.StatusBadRequest, "This can not be asked or kept."},
	{memory.ErrQuota, http.StatusConflict, "As much is kept as may be. Something has to be forgotten first."},
	{memory.ErrBusy, http.StatusTooManyRequests, "This is asked too often at the moment. Try again later."},
	{checkpoint.ErrNotFound, http.StatusNotFound, "There is no such session."},
	{memory.ErrNotFound, http.StatusNotFound, "There is no such session."},
	{checkpoint.ErrTooLarge, http.StatusRequestEntityTooLarge, "This is too large to be kept."},
	{llm.ErrAuth, http.StatusBadGateway, "The model's provider does not accept the key."},
	{llm.ErrRateLimit, http.StatusServiceUnavailable, "The model's provider is asked too often. Try again later."},
	{llm.ErrContentFilter, http.StatusUnprocessableEntity, "The model's provider refuses to answer this."},
	{llm.ErrOverloaded, http.StatusBadGateway, "The model's provider can not answer at the moment."},
	{llm.ErrTransport, http.StatusBadGateway, "The model can not be reached."},
	{context.DeadlineExceeded, http.StatusGatewayTimeout, "This took too long."},
}

// ProblemOf returns what a client is told of an error. What it does not know is
// a 500 without insides.
func ProblemOf(err error) *Problem {
	if p, ok := errors.AsType[*Problem](err); ok {
		return p
	}
	if large, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return Refuse(http.StatusRequestEntityTooLarge, "The body may have at most %d bytes.", large.Limit)
	}
	for _, k := range known {
		if errors.Is(err, k.err) {
			return &Problem{Status: k.status, Message: k.message, Err: err}
		}
	}
	return &Problem{Status: http.StatusInternalServerError, Message: "Internal server error", Err: err}
}

// Handler makes a handler of a function that returns its error, which the client
// is told by [ProblemOf]. The logger is told of 500 and above, and may be nil.
func Handler(logger *slog.Logger, fn func(http.ResponseWriter, *http.Request) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		err := fn(w, r)
		if err == nil || gone(r) {
			return
		}
		p := ProblemOf(err)
		report(logger, r, p)
		if _, ok := errors.AsType[sent](err); ok {
			return
		}
		if p.Status == http.StatusServiceUnavailable || p.Status == http.StatusTooManyRequests {
			w.Header().Set("Retry-After", "2")
		}
		_ = Write(w, p.Status, p) // details that are no JSON would be a mistake of the handler
	})
}

// gone reports whether the client has hung up, and not the server.
func gone(r *http.Request) bool {
	return r.Context().Err() != nil && !errors.Is(context.Cause(r.Context()), graph.ErrDrained)
}

func report(logger *slog.Logger, r *http.Request, p *Problem) {
	if logger != nil && p.Status >= http.StatusInternalServerError {
		logger.ErrorContext(r.Context(), p.Message, "method", r.Method, "path", r.URL.Path, "status", p.Status, "err", p.Err)
	}
}
