package main

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
	"github.com/weft-go/weft/tools"
)

// desk returns a graph with an agent that refunds an order after the approval of a person.
func desk(t *testing.T, store checkpoint.Store) *graph.Graph {
	t.Helper()
	type order struct {
		ID string `json:"id"`
	}
	refund := tools.New("refund", "Refunds an order.", func(_ context.Context, in order) (string, error) { return "refunded " + in.ID, nil })
	set, err := tools.NewSet(refund)
	require.NoError(t, err)
	model := llmtest.NewScript(llmtest.Call("refund", `{"id":"A-1"}`), llmtest.Say("It is refunded."))
	a, err := agent.New("agent", model, set, agent.Options{Tools: tools.Options{Approval: tools.Approval{Rule: tools.Named("refund")}}})
	require.NoError(t, err)
	b := graph.New("desk", agent.Messages)
	b.Subgraph("agent", a)
	b.Edge(graph.Start, "agent")
	g, err := b.Compile(graph.Options{Checkpoints: store})
	require.NoError(t, err)
	return g
}

// weft threads show prints the full hash of a question, and weft threads answer stores only a valid decision with this hash.
func TestAnApprovalIsAnsweredWithTheHashThatIsShown(t *testing.T) {
	t.Parallel()
	for name, p := range places(t) {
		t.Run(name, func(t *testing.T) {
			th := desk(t, p.store).Thread("customer-7")
			snap, err := th.Invoke(t.Context(), agent.Messages.Put(llm.User("Refund A-1.")))
			require.NoError(t, err)
			open, err := agent.Approval.Open(snap)
			require.NoError(t, err)
			require.Len(t, open, 1)
			m := newTerminal(t, nil)
			m.place = &p
			m.words = map[string]string{"HASH": open[0].Prompt.Hash}
			m.run("threads", "show", "customer-7", "-db", "threads.db")
			for _, answer := range []string{`true`, `{"verdict":"approved"}`, `{"verdict":"approve","hash":"HAS"}`, `{"verdict":"edit","hash":"HASH"}`} {
				m.run("threads", "answer", "customer-7", answer, "-db", "threads.db")
			}
			m.run("threads", "answer", "customer-7", `{"verdict":"approve","hash":"HASH"}`, "-db", "threads.db")
			m.golden("approval")
			snap, err = th.Invoke(t.Context())
			require.NoError(t, err)
			assert.True(t, snap.Done())
			last, _ := agent.Messages.Last(snap)
			assert.Equal(t, "It is refunded.", last.Text())
		})
	}
}

// An older version stored questions without a schema, so nothing checks an answer. If the agent cannot use the answer,
// the question is open again.
func TestAnApprovalWithoutASchemaIsOpenAgainAfterAWrongAnswer(t *testing.T) {
	t.Parallel()
	for name, p := range places(t) {
		t.Run(name, func(t *testing.T) {
			th := desk(t, p.store).Thread("customer-7")
			_, err := th.Invoke(t.Context(), agent.Messages.Put(llm.User("Refund A-1.")))
			require.NoError(t, err)
			withoutSchemas(t, p.store, "customer-7")
			m := newTerminal(t, nil)
			m.place = &p
			for range 2 {
				code, _, errs := m.call("threads", "answer", "customer-7", "true", "-db", "threads.db")
				require.Equal(t, exitDone, code, errs)
				snap, err := th.Invoke(t.Context())
				require.ErrorContains(t, err, "the question is open again")
				require.Len(t, snap.Pauses, 1)
			}
		})
	}
}

// withoutSchemas removes the schemas of answers from the stored questions of a thread.
func withoutSchemas(t *testing.T, s checkpoint.Store, thread string) {
	t.Helper()
	c, err := s.Get(t.Context(), checkpoint.Key{Thread: thread})
	require.NoError(t, err)
	for i, w := range c.Writes {
		if w.Channel != "$ask" {
			continue
		}
		var list []map[string]json.RawMessage
		require.NoError(t, json.Unmarshal(w.Data, &list))
		for _, q := range list {
			var prompt map[string]json.RawMessage
			require.NoError(t, json.Unmarshal(q["prompt"], &prompt))
			require.Contains(t, prompt, "schema")
			delete(prompt, "schema")
			q["prompt"], err = json.Marshal(prompt)
			require.NoError(t, err)
		}
		c.Writes[i].Data, err = json.Marshal(list)
		require.NoError(t, err)
	}
	require.NoError(t, s.PutWrites(t.Context(), c.Key, c.Writes))
}
