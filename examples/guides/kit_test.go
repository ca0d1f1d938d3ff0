// Package guides_test has short pieces of code that the pages in docs quote. The compiler checks
// them against the API. Other folders have complete programs, and Examples with their output.
package guides_test

import (
	"context"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
	"github.com/weft-go/weft/state"
	"github.com/weft-go/weft/tools"
)

// The values that the pieces of code use.
var (
	ctx = context.Background()

	model, small, stronger, other llm.Model = llmtest.Echo{}, llmtest.Echo{}, llmtest.Echo{}, llmtest.Echo{}

	set    *tools.Set
	store  = memcheckpoint.New(memcheckpoint.Options{})
	thread *graph.Thread
	snap   *graph.Snapshot

	Messages       = agent.Messages
	WriterMessages = state.Keyed("writer_messages", llm.ByID)
	ClerkMessages  = state.Keyed("clerk_messages", llm.ByID)
	Notes          = state.Append[string]("notes")
	User           = state.Last[UserID]("user").Internal()
	Tenant         = state.Last[string]("tenant").Internal()
	Topic          = state.Last[string]("topic")
	Text           = state.Last[string]("text")
	Actions        = state.Append[tools.Action]("actions")
)

type (
	TenantID string
	ThreadID string
)

// use marks the results of a piece of code as used.
func use(...any) {}
