package driver

import (
	"errors"

	"github.com/weft-go/weft/memory/internal/input"
)

var (
	// ErrNotFound means that the scope has no such fact, value or session. It is also returned for an
	// item of another scope.
	// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#drivererrnotfound.
	ErrNotFound = errors.New("not found")
	// ErrInvalid means that a query, an option or a value is not valid. The error text names it.
	// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#drivererrinvalid.
	ErrInvalid = input.ErrInvalid
	// ErrConflict means that an item has changed since the caller read it.
	// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#drivererrconflict.
	ErrConflict = errors.New("conflict")
	// ErrDimension means that a vector has another length than the embedder reports. Nothing was stored.
	// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#drivererrdimension.
	ErrDimension = errors.New("wrong dimension")
	// ErrQuota means that a change would exceed the quota of a scope.
	// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#drivererrquota.
	ErrQuota = errors.New("quota exceeded")
	// ErrBusy means that too many calls of a tenant are waiting; see package limit. Try the call again
	// later.
	// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#drivererrbusy.
	ErrBusy = errors.New("busy")
	// ErrDenied means that the rights of the database user do not allow the call.
	// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#drivererrdenied.
	ErrDenied = errors.New("not allowed")
	// ErrForgotten means that the data is older than the last Forget of its scope, and was not stored.
	// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#drivererrforgotten.
	ErrForgotten = errors.New("forgotten")
)
