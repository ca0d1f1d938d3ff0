package agentmemory_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/inmemory"
	"github.com/weft-go/weft/memory/knowledge"
)

// everything has all kinds of memory.
type everything struct {
	facts   *memory.Memory
	history *memory.Conversations
	values  *memory.Values
	base    *knowledge.Base
}

func newEverything() (e everything, err error) {
	errs := make([]error, 4)
	e.facts, errs[0] = memory.New(inmemory.NewFacts(inmemory.Options{}), memory.Options{})
	e.history, errs[1] = memory.NewConversations(inmemory.NewConversations(inmemory.Options{}))
	e.values, errs[2] = memory.NewValues(inmemory.NewValues(inmemory.Options{}), memory.ValuesOptions{})
	e.base, errs[3] = knowledge.New(inmemory.NewDocuments(), knowledge.Options{})
	return e, errors.Join(errs...)
}

func (e everything) fill(ctx context.Context, s memory.Scope) error {
	_, err1 := e.facts.Store(ctx, s, memory.Fact{Content: "a fact", Trust: memory.Stated})
	_, err2 := e.history.Append(ctx, s, memory.Turn{Session: "s", Messages: []llm.Message{llm.User("hello")}})
	_, err3 := e.values.In(s, "settings").Put(ctx, "theme", json.RawMessage(`"dark"`), memory.PutOptions{})
	_, _, err4 := knowledge.Collect(e.base.Ingest(ctx, s, knowledge.Documents(knowledge.Document{URI: "letter.txt", Text: "a letter"}), knowledge.IngestOptions{}))
	return errors.Join(err1, err2, err3, err4)
}

func (e everything) all() []memory.Forgetter {
	return []memory.Forgetter{e.facts, e.history, e.values, e.base}
}

func TestForgetAll(t *testing.T) {
	t.Parallel()
	e, err := newEverything()
	require.NoError(t, err)
	for _, s := range []memory.Scope{{Tenant: "acme", User: "ann"}, {Tenant: "acme", User: "ann", Workspace: "w", Agent: "a"}, {Tenant: "acme", User: "bob"}, {User: "ann"}} {
		require.NoError(t, e.fill(t.Context(), s))
	}
	ann := memory.Scope{Tenant: "acme", User: "ann"}
	tests := []struct {
		name   string
		scope  memory.Scope
		places []memory.Forgetter
		want   int
		err    error
	}{
		{"one place fails", ann, append([]memory.Forgetter{failing{}}, e.all()...), 8, errDown},
		{"forgotten already", ann, e.all(), 0, nil},
		{"the rest of the tenant", memory.Scope{Tenant: "acme"}, e.all(), 4, nil},
		{"no scope", memory.Scope{}, e.all(), 0, memory.ErrInvalid},
		{"nil", memory.Scope{User: "ann"}, []memory.Forgetter{e.facts, nil}, 0, memory.ErrInvalid},
		{"no tenant", memory.Scope{User: "ann"}, e.all(), 4, nil},
	}
	for _, test := range tests { // in this order
		n, err := memory.ForgetAll(t.Context(), test.scope, test.places...)
		assert.Equal(t, test.want, n, test.name)
		assert.ErrorIs(t, err, test.err, test.name)
	}
}

type failing struct{}

func (failing) Forget(context.Context, memory.Scope) (int, error) { return 0, errDown }

// To forget a user, remove the data from every place that may have some.
func Example_forget() {
	ctx := context.Background()
	e, err := newEverything()
	if err != nil {
		panic(err)
	}
	ann := memory.Scope{Tenant: "acme", User: "ann"}
	if err := e.fill(ctx, ann); err != nil {
		panic(err)
	}
	n, err := memory.ForgetAll(ctx, ann, e.facts, e.history, e.values, e.base)
	fmt.Println(n, err)
	// Output:
	// 4 <nil>
}
