package unavailable_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/weft-go/weft/internal/unavailable"
)

func TestWrappedErrorsAreRecognised(t *testing.T) {
	t.Parallel()
	away, full := unavailable.New("away"), unavailable.New("away")
	assert.True(t, unavailable.Is(away))
	assert.True(t, unavailable.Is(errors.Join(errors.New("x"), fmt.Errorf("get: %w", away))))
	assert.True(t, unavailable.Is(errors.Join(available{}, away)), "another error of the tree says that its store can be used")
	assert.True(t, unavailable.Is(fmt.Errorf("get: %w, and then: %w", available{away}, errors.New("x"))))
	assert.False(t, unavailable.Is(available{}))
	assert.False(t, unavailable.Is(nil))
	assert.False(t, unavailable.Is(errors.New("away")))
	assert.NotErrorIs(t, away, full, "errors with the same text differ")
	assert.Equal(t, "away", away.Error())
}

// available is an error of a store that can be used.
type available struct{ cause error }

func (available) Error() string     { return "a mistake" }
func (available) Unavailable() bool { return false }
func (a available) Unwrap() error   { return a.cause }
