package agentmemory_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/inmemory"
	"github.com/weft-go/weft/memory/knowledge"
)

// fillAll stores an item in every part of the memory.
func fillAll(ctx context.Context, m *memory.Memory, s memory.Scope) error {
	base, err := knowledge.New(m, knowledge.Options{})
	if err != nil {
		return err
	}
	_, err1 := m.Remember(ctx, s, "a fact")
	_, err2 := m.Conversations().Append(ctx, s, memory.Turn{Session: "s", Messages: []llm.Message{llm.User("hello")}})
	_, err3 := m.Values().In(s, "settings").Put(ctx, "theme", json.RawMessage(`"dark"`), memory.PutOptions{})
	_, _, err4 := knowledge.Collect(base.Ingest(ctx, s, knowledge.Documents(knowledge.Document{URI: "letter.txt", Text: "a letter"}), knowledge.IngestOptions{}))
	err5 := m.Backend().Turns().Enqueue(ctx, driver.Turn{Key: "t", Scope: s, Payload: json.RawMessage(`{}`), Said: time.Now()})
	return errors.Join(err1, err2, err3, err4, err5)
}

func TestForgetRemovesEveryPart(t *testing.T) {
	t.Parallel()
	m, err := memory.New(inmemory.New(inmemory.Options{}), memory.Options{})
	require.NoError(t, err)
	for _, s := range []memory.Scope{{Tenant: "acme", User: "ann"}, {Tenant: "acme", User: "ann", Workspace: "w", Agent: "a"}, {Tenant: "acme", User: "bob"}, {User: "ann"}} {
		require.NoError(t, fillAll(t.Context(), m, s))
	}
	one := memory.Counts{Facts: 1, Documents: 1, Values: 1, Conversations: 1, Turns: 1}
	two := memory.Counts{Facts: 2, Documents: 2, Values: 2, Conversations: 2, Turns: 2}
	for _, test := range []struct { // in this order
		name  string
		scope memory.Scope
		want  memory.Counts
		err   error
	}{
		{"a user of two workspaces", memory.Scope{Tenant: "acme", User: "ann"}, two, nil},
		{"forgotten already", memory.Scope{Tenant: "acme", User: "ann"}, memory.Counts{}, nil},
		{"the rest of the tenant", memory.Scope{Tenant: "acme"}, one, nil},
		{"no scope", memory.Scope{}, memory.Counts{}, memory.ErrInvalid},
		{"no tenant", memory.Scope{User: "ann"}, one, nil},
	} {
		got, err := m.Forget(t.Context(), test.scope)
		assert.Equal(t, test.want, got, test.name)
		require.ErrorIs(t, err, test.err, test.name)
	}
}

// unforgetting is a store of facts that cannot forget.
type unforgetting struct{ driver.FactStore }

func (unforgetting) Forget(context.Context, memory.Scope) (int, error) { return 0, errDown }

func TestForgetGoesOnAfterAFailure(t *testing.T) {
	t.Parallel()
	b := inmemory.New(inmemory.Options{})
	b.FactStore = unforgetting{b.FactStore}
	m, err := memory.New(b, memory.Options{})
	require.NoError(t, err)
	require.NoError(t, fillAll(t.Context(), m, ann))
	got, err := m.Forget(t.Context(), ann)
	require.ErrorIs(t, err, errDown)
	require.ErrorContains(t, err, "facts")
	assert.Equal(t, memory.Counts{Documents: 1, Values: 1, Conversations: 1, Turns: 1}, got)
}

// One call removes all data of a user: facts, documents, values, conversations, and turns that are not
// learned yet.
func Example_forget() {
	ctx := context.Background()
	m, err := memory.New(inmemory.New(inmemory.Options{}), memory.Options{})
	if err != nil {
		panic(err)
	}
	ann := memory.Scope{Tenant: "acme", User: "ann"}
	if err := fillAll(ctx, m, ann); err != nil {
		panic(err)
	}
	gone, err := m.Forget(ctx, ann)
	fmt.Println(gone.Total(), err)
	// Output:
	// 5 <nil>
}
