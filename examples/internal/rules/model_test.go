package rules_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weft-go/weft/examples/internal/rules"
	"github.com/weft-go/weft/llm"
)

// The usage of a reply counts words.
func TestTokensAreWords(t *testing.T) {
	t.Parallel()
	reply, err := llm.Generate(t.Context(), rules.Model{Reply: echo}, llm.Request{Messages: []llm.Message{llm.User("one two"), llm.User("three")}})
	if err != nil {
		t.Fatal(err)
	}
	if want := (llm.Usage{Input: 3, Output: 3, Total: 6}); reply.Usage == nil || *reply.Usage != want {
		t.Errorf("got %+v, want %+v", reply.Usage, want)
	}
}

func echo(r llm.Request) llm.Message {
	return llm.Assistant("You said: " + r.Messages[len(r.Messages)-1].Text())
}

func TestWordByWord(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		m := rules.Model{Reply: echo, Pace: time.Second}
		text, words := "", 0
		for chunk, err := range m.Stream(t.Context(), llm.Request{Messages: []llm.Message{llm.User("good morning")}}) {
			if err != nil {
				t.Fatal(err)
			}
			if chunk.Kind == llm.ChunkText {
				text += chunk.Text
				words++
			}
		}
		if text != "You said: good morning" || words != 4 || time.Since(began) != 4*time.Second {
			t.Errorf("got %q in %d words after %v", text, words, time.Since(began))
		}
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second/2)
		defer cancel()
		_, err := llm.Generate(ctx, m, llm.Request{Messages: []llm.Message{llm.User("good morning")}})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	})
}
