package agentmemory

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/extract"
	"github.com/weft-go/weft/tools"
)

type forgetIn struct {
	Content  string `json:"content" jsonschema:"the content of the fact, copied exactly"`
	Evidence string `json:"evidence" jsonschema:"one continuous part of the user's last message that asks to forget it, copied exactly"`
	Scope    tools.Bound[memory.Scope]
	Heard    tools.Bound[heard]
}

// notForgotten is the text of the error if the wish to forget the fact may come from a tool result, a file or another
// agent, and not from the user.
const notForgotten = "nothing was forgotten, since a tool or a file was read in this turn: ask the user to repeat the wish in their next message, and forget it then"

// forget removes a fact if the model quotes the user. Nothing checks that the quote asks for it.
func (k *Kit) forget(ctx context.Context, in forgetIn) (string, error) {
	scope, heard := in.Scope.Value(), in.Heard.Value()
	turn := extract.Turn{Scope: scope, User: heard.said, At: time.Now().UTC()}
	if _, err := turn.Fact(extract.Proposal{Content: in.Content, Evidence: in.Evidence}); err != nil {
		return "", fmt.Errorf("nothing was forgotten: %w", err)
	}
	if heard.mixed {
		return "", errors.New(notForgotten)
	}
	n, err := patient(ctx, k, scope, func(ctx context.Context) (int, error) { return k.erase(ctx, scope, in.Content) })
	switch {
	case err != nil:
		return "", err
	case n == 0:
		return "", errors.New("there is no such fact, or not any more; if another one was meant, " + copyContent) // a call may be made again after a crash
	}
	return "Forgotten. The words stay in the conversations in which they were said.", nil
}

// erase removes the facts of a scope with this text, and the facts that they replaced, with their histories. It removes
// the oldest facts first, so that after a failure, another call still finds the others.
func (k *Kit) erase(ctx context.Context, scope memory.Scope, text string) (int, error) {
	q := memory.FactQuery{Reach: scope.Only(), Untrusted: true, Closed: true}
	var ids []string
	older := map[string][]string{} // the facts that a fact replaced
	for f, err := range k.options.Facts.List(ctx, q) {
		if err != nil {
			return 0, err
		}
		if memory.SameText(f.Content, text) {
			ids = append(ids, f.ID)
		}
		if f.SupersededBy != "" {
			older[f.SupersededBy] = append(older[f.SupersededBy], f.ID)
		}
	}
	for i := 0; i < len(ids); i++ {
		for _, id := range older[ids[i]] {
			if !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
	}
	slices.Reverse(ids)
	n := 0
	for q.IDs = range slices.Chunk(ids, memory.MaxBatch) {
		removed, err := k.options.Facts.Erase(ctx, q)
		if n += removed; err != nil {
			return n, err
		}
	}
	return n, nil
}
