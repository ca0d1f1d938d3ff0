package stored

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/weft-go/weft/checkpoint"
)

func TestTheStatusOfAThreadIsReadFromItsNewestCheckpoint(t *testing.T) {
	t.Parallel()
	ask := checkpoint.Write{Task: "a", Channel: "$ask", Data: []byte(`[{"id":"q"}]`)}
	answer := checkpoint.Write{Task: "a", Channel: "$answer", Data: []byte(`{"id":"q","value":1}`)}
	refused := checkpoint.Write{Task: "a", Index: 1, Channel: "$answer", Data: []byte(`{"id":"q","refused":true}`)}
	failed := checkpoint.Write{Task: "a", Channel: "$error", Data: []byte("boom")}
	for _, test := range []struct {
		name, control string
		writes        []checkpoint.Write
		want          string
	}{
		{"at its end", `{"by":["a"]}`, nil, "idle"},
		{"no control", ``, nil, "idle"},
		{"a task is due", `{"next":["a"]}`, nil, "busy"},
		{"a sent task is due", `{"sends":[{"node":"a"}]}`, nil, "busy"},
		{"a question is open", `{"next":["a"]}`, []checkpoint.Write{ask}, "interrupted"},
		{"the question has an answer", `{"next":["a"]}`, []checkpoint.Write{ask, answer}, "busy"},
		{"the answer was refused", `{"next":["a"]}`, []checkpoint.Write{ask, answer, refused}, "interrupted"},
		{"the task failed that refused the answer in an older version", `{"next":["a"]}`, []checkpoint.Write{ask, failed, answer, refused}, "error"},
		{"the task waits for another answer", `{"next":["a"]}`, []checkpoint.Write{ask, {Task: "a", Channel: "$error", Kind: 1, Data: []byte("unreadable")}, answer, refused}, "interrupted"},
		{"a task has failed beside a question", `{"next":["a","b"]}`, []checkpoint.Write{ask, {Task: "b", Channel: "$error"}}, "interrupted"},
		{"the task that asked has finished", `{"next":["a"]}`, []checkpoint.Write{ask, {Task: "a", Channel: "n", Kind: 0x87, Index: 1}}, "busy"},
		{"a task has failed", `{"next":["a"]}`, []checkpoint.Write{failed}, "error"},
		{"a failed task has finished", `{"next":["a"]}`, []checkpoint.Write{{Task: "a", Channel: "$error"}, {Task: "a", Channel: "$done"}}, "busy"},
		{"a static pause", `{"next":["a"]}`, []checkpoint.Write{{Channel: "$stop", Data: []byte(`[{"kind":"before","node":"a"}]`)}}, "interrupted"},
		{"a run that was drained", `{"next":["a"]}`, []checkpoint.Write{{Channel: "$stop", Data: []byte("null")}}, "busy"},
		{"damaged", `{`, nil, "error"},
	} {
		assert.Equal(t, test.want, StatusOf(&checkpoint.Checkpoint{Control: []byte(test.control), Writes: test.writes}), test.name)
	}
}
