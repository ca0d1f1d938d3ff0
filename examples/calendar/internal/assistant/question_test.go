package assistant_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/examples/calendar/internal/assistant"
)

// The title of an imported event cannot hide its end in the question.
func TestQuestionShowsInvisibleCharacters(t *testing.T) {
	t.Parallel()
	o := newOffice(t, strings.Replace(johns, "Meeting with John", "Meeting with John \u202egnp.exe\u202c", 1))
	snap := invoke(t, o.thread(deleteJohn(), memory()), "Delete my meeting with John")
	c := assistant.PendingConfirmation.Get(snap)
	require.NotNil(t, c)
	assert.Contains(t, c.Message, `'Meeting with John \u202egnp.exe\u202c'`)
	assert.NotContains(t, c.Message, "\u202e")
}
