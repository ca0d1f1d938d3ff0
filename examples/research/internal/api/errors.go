package api

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/supacheckpoint"
	"github.com/weft-go/weft/examples/research/internal/account"
	"github.com/weft-go/weft/examples/research/internal/document"
	"github.com/weft-go/weft/examples/research/internal/input"
	"github.com/weft-go/weft/server"
)

// explained turns an error of a route into a refusal with the status and the form that clients know. It logs
// internal errors.
func (s *Server) explained(r *http.Request, err error) error {
	refusal, known := errors.AsType[*server.Refusal](err)
	large, tooLarge := errors.AsType[*http.MaxBytesError](err)
	switch {
	case err == nil, known && refusal.Body != nil:
		return err
	case known:
		return input.Refuse(refusal.Status, refusal.Detail, nil)
	case errors.Is(err, supacheckpoint.ErrToken):
		return input.Refuse(http.StatusUnauthorized, "Unauthorized", nil)
	case errors.Is(err, account.ErrNotFound):
		return input.Refuse(http.StatusNotFound, "Session not found or access denied", nil)
	case errors.Is(err, checkpoint.ErrConflict):
		return input.Refuse(http.StatusConflict, "This session is busy with another request.", nil)
	case errors.Is(err, document.ErrUnreadable):
		return input.Refuse(http.StatusUnprocessableEntity, "This file can not be used.", strings.TrimPrefix(err.Error(), document.ErrUnreadable.Error()+": "))
	case errors.Is(err, document.ErrLarge):
		return input.Refuse(http.StatusRequestEntityTooLarge, fmt.Sprintf("The text may have at most %d bytes.", document.MaxText), nil)
	case tooLarge:
		return input.Refuse(http.StatusRequestEntityTooLarge, fmt.Sprintf("The body may have at most %d bytes.", large.Limit), nil)
	case r.Context().Err() != nil:
		return err // the client has left
	}
	s.Logger.ErrorContext(r.Context(), "a request failed", "path", r.URL.Path, "error", err)
	return input.Refuse(http.StatusInternalServerError, "Internal server error", nil)
}
