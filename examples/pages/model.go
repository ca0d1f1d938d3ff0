package main

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"strings"
	"time"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
)

// suggestions are first messages for the page to suggest. Each shows another state of the page.
var suggestions = []string{
	"Which oak chairs fit a budget of 250 €?",
	"How did sales develop this year?",
	"Send the quote to Meyer & Sons",
	"What is on my calendar on Tuesday?",
}

// A scene is the assistant's part after a message that contains one of the words.
type scene struct {
	words  string // separated by |
	think  string
	say    string // before the calls
	calls  []llm.ToolCall
	then   string // after the results of the calls
	pace   time.Duration
	failed error // ends the run
}

func call(name, arguments string) llm.ToolCall {
	return llm.ToolCall{Name: name, Arguments: json.RawMessage(arguments)}
}

// shopModel returns a model that plays the scenes.
func shopModel(pace time.Duration) llm.Model {
	return llm.ModelFunc(func(ctx context.Context, r llm.Request) iter.Seq2[llm.Chunk, error] {
		reply := sceneReply(r.Messages)
		if reply.Pace == 0 {
			reply.Pace = pace
		}
		return llmtest.NewScript(reply).Stream(ctx, r)
	})
}

// sceneReply returns the reply to a conversation.
func sceneReply(messages []llm.Message) llmtest.Reply {
	last := messages[len(messages)-1]
	asked := ""
	for _, m := range messages {
		if m.Role == llm.RoleUser {
			asked = m.Text()
		}
	}
	s := find(asked)
	switch {
	case last.Role == llm.RoleTool && strings.Contains(last.Text(), " rejected this call"):
		return llmtest.Say("All right, I left that alone. Tell me what should be different, and I prepare it again.")
	case last.Role == llm.RoleTool && last.Status == llm.StatusError:
		return llmtest.Say("That did not work: the warehouse does not answer at the moment. I can try again in a few minutes.")
	case last.Role == llm.RoleTool:
		return llmtest.Reply{Message: llm.Assistant(s.then), Pace: s.pace}
	case s.failed != nil:
		return llmtest.Reply{Message: llm.Assistant("Let me look at the ledger"), Err: s.failed}
	}
	for i := range s.calls {
		s.calls[i].ID = "call-" + last.ID + "-" + string(rune('a'+i))
	}
	m := llm.Assistant(s.say, s.calls...)
	if s.think != "" {
		m.Parts = append([]llm.Part{{Type: llm.PartReasoning, Text: s.think}}, m.Parts...)
	}
	return llmtest.Reply{Message: m, Pace: s.pace}
}

func find(text string) scene {
	text = strings.ToLower(text)
	for _, s := range scenes() {
		for word := range strings.SplitSeq(s.words, "|") {
			if strings.Contains(text, word) {
				return s
			}
		}
	}
	return scene{say: "You wrote: " + text + "\n\nThis demonstration has no model behind it. Try one of these:\n\n- " + strings.Join(suggestions, "\n- ")}
}

var errLedger = errors.New("the model is overloaded (status 529); try again in a minute")

func scenes() []scene {
	return []scene{
		{
			words: "oak chair", think: "The person wants oak chairs and has 250 € at most. I search the catalogue by material and price, and compare what is left.",
			calls: []llm.ToolCall{call("search_products", `{"material":"oak","kind":"chair","max_price":250}`)},
			then: "Three oak chairs are within your budget. **Lund** is the best value: solid oak, and the only one in stock in both stores.\n\n" +
				"| Chair | Price | Seat | Delivery |\n| :-- | --: | :-- | :-- |\n| Lund | 189 € | woven paper cord | 3 days |\n| Aske | 229 € | solid oak | 1 week |\n| Fjord | 245 € | wool, grey | 4 weeks |\n\n" +
				"If you need six or more, Aske drops to 199 € each. Shall I reserve any of them?",
		},
		{
			words: "sales", say: "I'll look at the ledger.", calls: []llm.ToolCall{call("sales_by_month", `{"year":2026}`)},
			then: "Sales grew from 41,200 € in January to **78,900 €** in October. Two things stand out:\n\n1. The jump in May came from the trade fair: 60 % of new customers were offices.\n2. Tables now earn more than chairs, for the first time.\n\nNovember is not complete yet, so I left it out.",
		},
		{
			words: "send the quote", say: "The quote is ready. Please check it before it goes out.",
			calls: []llm.ToolCall{call("send_quote", `{"customer":"Meyer & Sons","email":"office@meyer.example","items":[{"name":"Lund chair, oak","quantity":12,"price":189},{"name":"Halm table, 240 cm","quantity":2,"price":1290}],"discount_percent":5,"order_number":9007199254740993,"valid_until":"2026-12-24"}`)},
			then:  "Sent. Meyer & Sons have the quote over 4,605.60 € in their mailbox, and I will remind you on 21 December if they have not answered.",
		},
		{
			words: "calendar|tuesday", calls: []llm.ToolCall{call("show_day", `{"date":"2026-12-01"}`)},
			then: "Tuesday has room between 11:00 and 14:00. The delivery at 14:00 needs somebody at the gate.",
		},
		{words: "two things|both", say: "I need your word on two things.", calls: []llm.ToolCall{
			call("send_quote", `{"customer":"Café Nord","email":"hei@nord.example","items":[{"name":"Aske chair","quantity":8,"price":199}],"discount_percent":0,"order_number":1001,"valid_until":"2026-12-10"}`),
			call("delete_order", `{"order":"2026-0412","reason":"cancelled by the customer"}`),
		}, then: "Both are done."},
		{words: "delete", calls: []llm.ToolCall{call("delete_order", `{"order":"2026-0412","reason":"cancelled by the customer"}`)}, then: "The order 2026-0412 is deleted."},
		{words: "delivery", say: "One question before I book it.", calls: []llm.ToolCall{call("ask_delivery", `{"order":"2026-0398"}`)}, then: "Booked. The carrier calls half an hour before."},
		{words: "warehouse", calls: []llm.ToolCall{call("check_stock", `{"article":"LUND-OAK"}`)}, then: "Done."},
		{words: "many rows|stock list", calls: []llm.ToolCall{call("stock_list", `{"rows":1000}`)}, then: "That is the whole list. Sort it by a click on a column."},
		{words: "document|sources", calls: []llm.ToolCall{call("find_documents", `{"query":"care of oiled oak"}`)}, then: "Oiled oak wants a thin coat of oil twice a year [1]. Wipe spills at once; standing water leaves rings [2]."},
		{words: "invoice", calls: []llm.ToolCall{call("make_invoice", `{"order":"2026-0398"}`)}, then: "The invoice is ready. It is due on 15 December."},
		{words: "picture", calls: []llm.ToolCall{call("show_picture", `{"article":"LUND-OAK"}`)}, then: "This is the Lund chair in oiled oak."},
		{words: "changed", calls: []llm.ToolCall{call("compare_terms", `{"from":"2025","to":"2026"}`)}, then: "Two of the terms have changed."},
		{words: "details", calls: []llm.ToolCall{call("order_details", `{"order":"2026-0398"}`)}, then: "That is all we keep about the order."},
		{words: "wait|slow", say: slowText, pace: 120 * time.Millisecond},
		{words: "crash|ledger", failed: errLedger},
		{words: "code|program", say: codeText},
		{words: "packing list", say: packingText},
		{words: "שלום|مرحبا", say: "**مرحبا!** لدينا ثلاثة كراسٍ من خشب البلوط:\n\n1. كرسي Lund بسعر 189 €\n2. كرسي Aske بسعر 229 €\n3. كرسي Fjord بسعر 245 €\n\nهل أحجز واحدا منها؟"},
	}
}

const slowText = "Oak is a ring-porous wood: its large vessels stand in the early wood of each year, which gives the grain its lines. " +
	"Boards from the middle of the trunk show rays as bright flakes. Oiled, the surface stays open and can be repaired in place; lacquered, it is closed and shrugs off water, " +
	"but a scratch means sanding the whole board. For a table that children use, I would take hard-wax oil: it forgives, and a new coat takes an hour. " +
	"For a bar, I would take lacquer. In both cases keep the room between 40 and 60 % of humidity, since boards of oak move by about one per cent between summer and winter."

const packingText = "Two parcels go out today:\n\n- [x] Lund chair, 12 pieces\n- [ ] Halm table, 2 pieces\n\n| Parcel | Weight |\n| :-- | --: |\n| 1 | 54 kg |\n\n" +
	"| Carrier | Pick-up |\n| :-- | :-- |\n| Nord | 14:00 |\n\nA label is written as <label for=\"x\">.\n"

const codeText = "Here is a small program that adds up an order:\n\n```go\npackage main\n\nimport \"fmt\"\n\ntype line struct {\n\tname     string\n\tquantity int\n\tcents    int64\n}\n\n// total returns the sum of an order in cents.\nfunc total(order []line) (sum int64) {\n\tfor _, l := range order {\n\t\tsum += int64(l.quantity) * l.cents\n\t}\n\treturn sum\n}\n\nfunc main() {\n\torder := []line{{\"Lund chair\", 12, 18900}, {\"Halm table\", 2, 129000}}\n\tfmt.Printf(\"%.2f €\\n\", float64(total(order))/100) // 4848.00 €\n}\n```\n\nMoney is kept in cents, because `float64` cannot hold 0.1 exactly. The same in SQL:\n\n```sql\nSELECT sum(quantity * cents) AS total FROM lines WHERE order_id = 42;\n```\n\n> Rounding belongs to the display, never to the sum.\n"
