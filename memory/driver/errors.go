package driver

import (
	"errors"

	"github.com/weft-go/weft/memory/internal/input"
)

var (
	// ErrNotFound says that the scope has no such fact, value or session. One of another scope is
	// not found either.
	ErrNotFound = errors.New("not found")
	// ErrInvalid says that a query, an option or a value is out of its bounds. The text names it.
	ErrInvalid = input.ErrInvalid
	// ErrConflict says that something has changed since the caller read it.
	ErrConflict = errors.New("conflict")
	// ErrDimension says that a vector does not have the length that the embedder promises. Nothing
	// was stored.
	ErrDimension = errors.New("wrong dimension")
	// ErrQuota says that a change would exceed the quota of a scope.
	ErrQuota = errors.New("quota exceeded")
	// ErrBusy says that too many calls of a tenant wait, see package limit. The call can be
	// repeated later.
	ErrBusy = errors.New("busy")
	// ErrDenied says that the rights of the database's user do not allow the call.
	ErrDenied = errors.New("not allowed")
	// ErrForgotten says that the scope was forgotten after the data had been said, so it must not be
	// stored.
	ErrForgotten = errors.New("forgotten")
)
