package offline_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/examples/designer/internal/offline"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/memory/extract"
)

var object = json.RawMessage(`{"type":"object"}`)

var specs = []llm.ToolSpec{
	{Name: "search_products", Description: "Searches the catalogue. Categories: chair, office chair, shelf. Materials: oak, walnut. Colours: red. Styles: modern.", Schema: object},
	{Name: "get_product", Description: "x", Schema: object},
	{Name: "generate3D", Description: "x", Schema: object},
	{Name: "createQuote", Description: "x", Schema: object},
	{Name: "submitOrder", Description: "x", Schema: object},
}

const found = `{"products":[{"id":"P001","name":"One","price":10},{"id":"P002","name":"Two","price":20}],"all_that_fit":2}`

func ask(t *testing.T, messages ...llm.Message) llm.Message {
	t.Helper()
	reply, err := llm.Generate(t.Context(), offline.Model{}, llm.Request{Messages: messages, Tools: specs})
	if err != nil {
		t.Fatal(err)
	}
	if reply.Usage == nil || reply.Usage.Input == 0 || reply.Usage.Total != reply.Usage.Input+reply.Usage.Output {
		t.Errorf("the usage is %+v", reply.Usage)
	}
	return reply
}

// Each request leads to the wanted call or answer.
func TestNext(t *testing.T) {
	t.Parallel()
	searched := []llm.Message{
		llm.User("find chairs"),
		llm.Assistant("", llm.ToolCall{ID: "1", Name: "search_products", Arguments: []byte(`{"category":"chair"}`)}),
		llm.ToolResult(llm.ToolCall{ID: "1", Name: "search_products"}, found),
		llm.Assistant("There are two."),
	}
	quoted := append(searched[:4:4], llm.User("quote 3"),
		llm.Assistant("", llm.ToolCall{ID: "2", Name: "createQuote", Arguments: []byte(`{}`)}),
		llm.ToolResult(llm.ToolCall{ID: "2", Name: "createQuote"}, `{"id":"Q-1a","lines":[],"total_eur":30}`),
		llm.Assistant("Quoted."))
	declined := llm.ToolCall{ID: "3", Name: "createQuote", Arguments: []byte(`{}`)}
	refused := append(quoted[:8:8], llm.User("quote 5 of the second"), llm.Assistant("", declined), llm.ToolError(declined, "too dear"))
	searchedAgain := append(quoted[:8:8], searched...)
	ordered := append(searched[:4:4], llm.User("order 4 of the first"),
		llm.Assistant("", llm.ToolCall{ID: "2", Name: "createQuote", Arguments: []byte(`{}`)}),
		llm.ToolResult(llm.ToolCall{ID: "2", Name: "createQuote"}, `{"id":"Q-1b","lines":[],"total_eur":40}`))
	require.Equal(t, "submitOrder", ask(t, ordered...).ToolCalls[0].Name)
	tests := []struct {
		before []llm.Message
		said   string
		want   string // the call, or a part of the answer
	}{
		{nil, "Find oak office chairs below 1,200 €", `search_products {"category":"office chair","limit":10,"material":"oak","max_price":1199.99}`},
		{nil, "show me red chairs by Rams", `search_products {"category":"chair","colour":"red","limit":10,"query":"rams"}`},
		{nil, "find P017", `search_products {"limit":10,"query":"p017"}`},
		{nil, "order 4 of P017", `search_products {"limit":10,"query":"p017"}`},
		{nil, "order Q-1a2b", `submitOrder {"quote_id":"Q-1a2b"}`},
		{nil, "order it", "Tell me which products first"},
		{nil, "make a 3D scene of them", "Tell me which products first"},
		{nil, "what do you know about me?", "I know nothing"},
		{[]llm.Message{llm.System("You help.\n" + `{"kind":"fact","content":"lives in Oslo"}`)}, "What do you know about me?", "- lives in Oslo"},
		{[]llm.Message{llm.System(`{"kind":"preference","content":"I prefer walnut"}`)}, "find chairs", `search_products {"category":"chair","limit":10,"prefer":"walnut"}`},
		{[]llm.Message{llm.System(`{"kind":"preference","content":"I prefer walnut to oak"}`)}, "find chairs", `search_products {"category":"chair","limit":10}`},
		{nil, "I prefer walnut chairs.", "I will remember that"},
		{nil, "I prefer walnut, so find chairs", `search_products {"category":"chair","limit":10,"material":"walnut","query":"i prefer so find"}`},
		{nil, "sing 2 songs", `I did not understand "2"`},
		{searched, "quote 12 of the second", `createQuote {"items":[{"product_id":"P002","quantity":12}]}`},
		{searched, "quote all of them", `createQuote {"items":[{"product_id":"P001","quantity":1},{"product_id":"P002","quantity":1}]}`},
		{searched, "make a 3D scene of them", `generate3D {"product_ids":["P001","P002"],"prompt":"make a 3D scene of them"}`},
		{searched, "order two of the first", `createQuote {"items":[{"product_id":"P001","quantity":2}]}`},
		{searched, "how much are all of them?", "Which of them?"},
		{searched, "quote it", "Which of them?"},
		{quoted, "order 4 of the ninth", "has 2 products, so it has no number 9"},
		{quoted, "order it", `submitOrder {"quote_id":"Q-1a"}`},
		{refused, "order it", "Which of them?"}, // and does not order the earlier quote
		{searchedAgain, "order it", "Which of them?"},
		{quoted, "order 2 of it", "Which of them?"},
		{quoted, "find chairs and order it", `search_products {"category":"chair","limit":10}`},
	}
	for _, tt := range tests {
		reply := ask(t, append(tt.before[:len(tt.before):len(tt.before)], llm.User(tt.said))...)
		got := reply.Text()
		for _, c := range reply.ToolCalls {
			got += c.Name + " " + string(c.Arguments)
		}
		if got != tt.want && (len(reply.ToolCalls) > 0 || !strings.Contains(got, tt.want)) {
			t.Errorf("%q: got %s, want %s", tt.said, got, tt.want)
		}
	}
}

// The answer reports a refused call, and the turn makes no further call.
func TestRefused(t *testing.T) {
	t.Parallel()
	call := llm.ToolCall{ID: "1", Name: "createQuote", Arguments: []byte(`{}`)}
	reply := ask(t, llm.User("order 2 of P001"), llm.Assistant("", call), llm.ToolError(call, "too dear"))
	if len(reply.ToolCalls) > 0 || !strings.Contains(reply.Text(), "The quote was not made: too dear") {
		t.Errorf("got %+v", reply)
	}
	r := llm.Request{Messages: []llm.Message{llm.User("find chairs")}, Tools: specs, ToolChoice: llm.ToolChoice{Mode: llm.ToolsNone}}
	if reply, err := llm.Generate(t.Context(), offline.Model{}, r); err != nil || len(reply.ToolCalls) > 0 {
		t.Errorf("called tools where it may not: %+v, %v", reply, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := llm.Generate(ctx, offline.Model{Pace: 1}, r); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func FuzzModel(f *testing.F) {
	f.Add("find oak chairs under 700", `{"products":[]}`)
	f.Add("quote 99999999999 of the third under 1.2.3", `{"id":1}`)
	f.Add("P001 Q-a 3d", "")
	f.Fuzz(func(t *testing.T, said, answer string) {
		if (llm.Request{Messages: []llm.Message{llm.User(said), llm.User(answer)}}).Validate() != nil {
			return // a model gets no invalid request
		}
		call := llm.ToolCall{ID: "1", Name: "search_products", Arguments: []byte(`{}`)}
		for _, messages := range [][]llm.Message{{llm.User(said)}, {llm.User(said), llm.Assistant("", call), llm.ToolResult(call, answer)}} {
			reply, err := llm.Generate(t.Context(), offline.Model{}, llm.Request{Messages: messages, Tools: specs})
			if err != nil || reply.Validate() != nil {
				t.Fatalf("%q: %v, %+v", said, err, reply)
			}
		}
	})
}

func ExampleFacts() {
	for _, f := range offline.Facts("Hello! I prefer oak. Our client is ABC Corp. We discussed marble floors. I'm working on a lobby. Do you like oak?") {
		fmt.Println(f.Kind, "-", f.Content)
	}
	proposals, err := offline.Extractor(context.Background(), extract.Turn{User: "Nice weather."})
	fmt.Println(len(proposals), err)
	// Output:
	// preference - I prefer oak
	// relationship - Our client is ABC Corp
	// context - We discussed marble floors
	// fact - I'm working on a lobby
	// 0 <nil>
}
