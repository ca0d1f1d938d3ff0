package knowledge_test

import (
	"context"
	"fmt"
	"regexp"
	"strconv"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/knowledge"
)

var citation = regexp.MustCompile(`\[(\d+)\]`)

// cited returns the passages that an answer cites. A model may invent a number, so unknown numbers are left out.
func cited(answer string, hits []memory.Hit[knowledge.Passage]) map[int]knowledge.Passage {
	passages := map[int]knowledge.Passage{}
	for _, match := range citation.FindAllStringSubmatch(answer, -1) {
		if n, err := strconv.Atoi(match[1]); err == nil && n >= 1 && n <= len(hits) {
			passages[n] = hits[n-1].Item
		}
	}
	return passages
}

// Prompt numbers the passages in the order of the hits, from 1. So [1] in the answer cites the first hit.
func Example_citations() {
	ctx, scope := context.Background(), memory.Scope{Tenant: "acme"}
	base, err := handbookBase(ctx, scope)
	if err != nil {
		fmt.Println(err)
		return
	}
	const question = "How long is the notice period?"
	hits, err := base.Search(ctx, memory.Question{Reach: scope.Only(), Text: question, Limit: 5})
	if err != nil {
		fmt.Println(err)
		return
	}
	model := llmtest.NewScript(llmtest.Say("Three months to the end of a quarter [1].")) // or any llm.Model
	reply, err := llm.Generate(ctx, model, llm.Request{Messages: []llm.Message{
		llm.System("Answer from the passages, and cite each by its number, as in [1].\n\n" + knowledge.Prompt(hits)),
		llm.User(question),
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(reply.Text())
	for n, p := range cited(reply.Text(), hits) {
		fmt.Printf("[%d] %s, %q, bytes %d to %d\n", n, p.Source.URI, p.Chunk.Headings, p.Chunk.Start, p.Chunk.End)
	}
	// Output:
	// Three months to the end of a quarter [1].
	// [1] handbook.md, ["Handbook" "Notice"], bytes 88 to 157
}
