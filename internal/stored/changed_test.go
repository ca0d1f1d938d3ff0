package stored_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/internal/stored"
)

// TestChangedIsTheTimeOfTheNewestOpenQuestion proves that an open question counts if it is newer than the
// checkpoint, such as a question in a subgraph. An answered question does not count, and neither does a question
// that an older version stored without a time.
func TestChangedIsTheTimeOfTheNewestOpenQuestion(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	ask := func(data string) checkpoint.Write {
		return checkpoint.Write{Task: "a", Index: -1, Channel: "$ask", Data: []byte(data)}
	}
	answer := checkpoint.Write{Task: "a", Index: 0, Channel: "$answer", Data: []byte(`{"id":"q1","value":1}`)}
	questions := ask(`[{"id":"q1","asked":"2026-01-02T08:00:00Z"},{"id":"q2","asked":"2026-01-02T07:00:00Z"},{"id":"q3"}]`)
	for name, test := range map[string]struct {
		writes []checkpoint.Write
		want   time.Time
	}{
		"no question":          {nil, at},
		"of an older version":  {[]checkpoint.Write{ask(`[{"id":"q1"}]`)}, at},
		"the newest question":  {[]checkpoint.Write{questions}, time.Date(2026, 1, 2, 8, 0, 0, 0, time.UTC)},
		"an answered question": {[]checkpoint.Write{questions, answer}, time.Date(2026, 1, 2, 7, 0, 0, 0, time.UTC)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, test.want, stored.Changed(&checkpoint.Checkpoint{Time: at, Writes: test.writes}))
		})
	}
}
