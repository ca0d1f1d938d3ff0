package server_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/server"
	"github.com/weft-go/weft/server/runs/memruns"
)

// An answer that does not fit its question is refused in each way to give it, and the question stays open.
func TestAnAnswerThatDoesNotFitItsQuestionIsRefused(t *testing.T) {
	t.Parallel()
	s, _ := asked(t, server.Options{Graphs: map[string]*graph.Graph{"helper": helper(t, memcheckpoint.New(memcheckpoint.Options{}))}, Runs: memruns.New()})
	thread := "/threads/" + studioThread
	question := func() (id, hash string) {
		t.Helper()
		state := get(t, s, thread+"/state")
		id, _ = field(state, "interrupts", 0, "id").(string)
		hash, _ = field(state, "interrupts", 0, "value", "hash").(string)
		return id, hash
	}
	id, hash := question()
	for answer, why := range map[string]string{
		`true`:                   "want an object, got true",
		`{"verdict":"approved"}`: `hash: is missing; want "` + hash + `"`,
		`{"verdict":"approve","hash":"` + hash[:100] + `"}`: `hash: want "` + hash + `", got `,
		`{"verdict":"approved","hash":"` + hash + `"}`:      `verdict: want one of "approve", "reject", "edit", got the string "approved"`,
	} {
		_, got := send(t, s, http.MethodPost, thread+"/commands", fmt.Sprintf(`{"id":1,"method":"input.respond","params":{"interrupt_id":%q,"response":%s}}`, id, answer))
		assert.Equal(t, "invalid_argument", field(got, "error"), answer)
		text, _ := field(got, "message").(string)
		assert.Contains(t, text, why, answer)
		for _, resume := range []string{answer, `{"` + id + `":` + answer + `}`} {
			_, got = send(t, s, http.MethodPost, thread+"/runs/wait", `{"assistant_id":"helper","command":{"resume":`+resume+`}}`)
			text, _ = field(got, "__error__", "message").(string)
			assert.Contains(t, text, why, resume)
			again, _ := question()
			require.Equal(t, id, again, resume)
		}
	}
	status, got := send(t, s, http.MethodPost, thread+"/runs/wait", `{"assistant_id":"helper","command":{"resume":{"verdict":"approve","hash":"`+hash+`"}}}`)
	require.Equal(t, http.StatusOK, status)
	assert.Nil(t, field(got, "__error__"))
	id, _ = question()
	assert.Empty(t, id)
}
