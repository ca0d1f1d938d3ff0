package server_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestAnOlderVersionOfAnAssistantHasItsContextAgain(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"context", "configurable"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, web := testServer(t, nil)
			fields := func(prefix string) map[string]any {
				value := map[string]any{"prefix": prefix}
				if name == "context" {
					return map[string]any{"graph_id": "echo", "context": value}
				}
				return map[string]any{"graph_id": "echo", "config": map[string]any{"configurable": value}}
			}
			id := ask(t, web, "ann", http.MethodPost, "/assistants", fields("one")).field(t, "assistant_id")
			ask(t, web, "ann", http.MethodPatch, "/assistants/"+id, fields("two"))
			run := map[string]any{"assistant_id": id, "input": map[string]any{"messages": "hi"}}
			assert.Contains(t, ask(t, web, "ann", http.MethodPost, "/runs/wait", run).body, "two: hi")
			got := ask(t, web, "ann", http.MethodPost, "/assistants/"+id+"/latest", map[string]any{"version": 1})
			assert.Contains(t, got.body, `"context":{"prefix":"one"}`)
			assert.Contains(t, ask(t, web, "ann", http.MethodPost, "/runs/wait", run).body, "one: hi")
		})
	}
}
