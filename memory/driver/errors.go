package driver

import (
	"errors"

	"github.com/weft-go/weft/memory/internal/input"
)

var (
	// ErrNotFound says that there is no such fact in the scope. A fact of another
	// scope is not found either.
	ErrNotFound = errors.New("not found")
	// ErrInvalid says that something can not be asked or stored; the text says what.
	ErrInvalid = input.ErrInvalid
	// ErrConflict says that a fact is not, any more, what the caller saw.
	ErrConflict = errors.New("conflict")
	// ErrDimension says that a vector has not the length that it has to have. It is
	// found before anything is asked or stored.
	ErrDimension = errors.New("wrong dimension")
	// ErrQuota says that a scope has as much as it may have.
	ErrQuota = errors.New("quota exceeded")
	// ErrBusy says that so many calls of a tenant wait already that another one may not;
	// see package fair. It can be tried again later.
	ErrBusy = errors.New("busy")
	// ErrDenied says that the rights of the one who asks do not allow it, such as a user's
	// who would write for another.
	ErrDenied = errors.New("not allowed")
	// ErrForgotten says that a scope was forgotten after what is to be stored was
	// said, so it must not come back.
	ErrForgotten = errors.New("forgotten")
)
