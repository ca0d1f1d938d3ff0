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
	assert.False(t, unavailable.Is(nil))
	assert.False(t, unavailable.Is(errors.New("away")))
	assert.NotErrorIs(t, away, full, "errors with the same text differ")
	assert.Equal(t, "away", away.Error())
}
