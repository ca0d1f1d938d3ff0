package agentmemory_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/conversation"
	"github.com/weft-go/weft/memory/knowledge"
	"github.com/weft-go/weft/memory/kv"
)

// everything is all that can be kept of somebody.
type everything struct {
	facts   *memory.Memory
	history *conversation.History
	values  *kv.Values
	base    *knowledge.Base
}

func newEverything() (e everything, err error) {
	errs := make([]error, 4)
	e.facts, errs[0] = memory.New(memory.NewInMemory(memory.InMemoryOptions{}), memory.Options{})
	e.history, errs[1] = conversation.New(conversation.NewInMemory(conversation.InMemoryOptions{}))
	e.values, errs[2] = kv.New(kv.NewInMemory(kv.InMemoryOptions{}), kv.Options{})
	e.base, errs[3] = knowledge.New(knowledge.NewInMemory(), knowledge.Options{})
	return e, errors.Join(errs...)
}

func (e everything) fill(ctx context.Context, s memory.Scope) error {
	_, err1 := e.facts.Store(ctx, s, memory.Fact{Content: "a fact", Trust: memory.Stated})
	_, err2 := e.history.Append(ctx, s, conversation.Turn{Session: "s", Messages: []llm.Message{llm.User("hello")}})
	_, err3 := e.values.In(s, "settings").Put(ctx, "theme", json.RawMessage(`"dark"`), kv.PutOptions{})
	_, _, err4 := knowledge.Collect(e.base.Ingest(ctx, s, knowledge.Documents(knowledge.Document{URI: "letter.txt", Text: "a letter"}), knowledge.IngestOptions{}))
	return errors.Join(err1, err2, err3, err4)
}

func (e everything) all() []memory.Forgetter {
	return []memory.Forgetter{e.facts, e.history, e.values, e.base}
}

func TestForgetAll(t *testing.T) {
	t.Parallel()
	e, err := newEverything()
	wantNoErr(t, err)
	for _, s := range []memory.Scope{{Tenant: "acme", User: "ann"}, {Tenant: "acme", User: "ann", Workspace: "w", Agent: "a"}, {Tenant: "acme", User: "bob"}, {User: "ann"}} {
		wantNoErr(t, e.fill(t.Context(), s))
	}
	ann := memory.Scope{Tenant: "acme", User: "ann"}
	if n, err := memory.ForgetAll(t.Context(), ann, append([]memory.Forgetter{failing{}}, e.all()...)...); n != 8 || !errors.Is(err, errDown) {
		t.Errorf("forgot %d, %v; want 8 in spite of what fails", n, err)
	}
	if n, err := memory.ForgetAll(t.Context(), ann, e.all()...); n != 0 || err != nil {
		t.Errorf("forgot %d more, %v", n, err)
	}
	if n, err := memory.ForgetAll(t.Context(), memory.Scope{Tenant: "acme"}, e.all()...); n != 4 || err != nil {
		t.Errorf("forgot %d of the others, %v", n, err)
	}
	if n, err := memory.ForgetAll(t.Context(), memory.Scope{}, e.all()...); n != 0 || !errors.Is(err, memory.ErrInvalid) {
		t.Errorf("forgot %d of nobody, %v", n, err)
	}
	if n, err := memory.ForgetAll(t.Context(), memory.Scope{User: "ann"}, e.facts, nil); n != 0 || !errors.Is(err, memory.ErrInvalid) {
		t.Errorf("forgot %d with nil, %v", n, err)
	}
	if n, err := memory.ForgetAll(t.Context(), memory.Scope{User: "ann"}, e.all()...); n != 4 || err != nil {
		t.Errorf("forgot %d without a tenant, %v", n, err)
	}
}

type failing struct{}

func (failing) Forget(context.Context, memory.Scope) (int, error) { return 0, errDown }

// Somebody wants to be forgotten: wherever something may be kept, it is removed.
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
