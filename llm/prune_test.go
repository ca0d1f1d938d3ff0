package llm_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
)

// byLength counts a token for each byte of text.
var byLength = llm.TokenCounterFunc(func(m llm.Message) int { return len(m.Text()) })

// talk makes messages of a script: "s" for the system, "u" for the user, "a"
// for the assistant, "c1" calls the tool call 1, "r1" is its result. What is
// after a colon is the text.
func talk(script string) []llm.Message {
	var messages []llm.Message
	for word := range strings.FieldsSeq(script) {
		head, text, _ := strings.Cut(word, ":")
		call := llm.ToolCall{ID: head[1:], Name: "f"}
		switch head[0] {
		case 's':
			messages = append(messages, llm.System(text))
		case 'u':
			messages = append(messages, llm.User(text))
		case 'a':
			messages = append(messages, llm.Assistant(text))
		case 'c':
			var calls []llm.ToolCall
			for _, id := range strings.Split(head[1:], "+") {
				calls = append(calls, llm.ToolCall{ID: id, Name: "f"})
			}
			messages = append(messages, llm.Assistant(text, calls...))
		case 'r':
			messages = append(messages, llm.ToolResult(call, text))
		}
	}
	return messages
}

// told is the script of messages.
func told(messages []llm.Message) string {
	var words []string
	for _, m := range messages {
		head := map[llm.Role]string{llm.RoleSystem: "s", llm.RoleUser: "u", llm.RoleAssistant: "a", llm.RoleTool: "r" + m.ToolCallID}[m.Role]
		if len(m.ToolCalls) > 0 {
			var ids []string
			for _, c := range m.ToolCalls {
				ids = append(ids, c.ID)
			}
			head = "c" + strings.Join(ids, "+")
		}
		words = append(words, head+":"+m.Text())
	}
	return strings.Join(words, " ")
}

func TestPrune(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, give string
		p          llm.Pruning
		want       string
	}{
		{"no more than the least", "u:aaaa a:bbbb", llm.Pruning{MaxTokens: 1, MinMessages: 2}, "u:aaaa a:bbbb"},
		{"within the budget", "u:aa a:bb u:cc", llm.Pruning{MaxTokens: 6, MinMessages: 1}, "u:aa a:bb u:cc"},
		{"system and last ones are all", "s:aa u:bb a:cc", llm.Pruning{MaxTokens: 1, MinMessages: 2}, "s:aa u:bb a:cc"},
		{"what fits, from the newest", "s:s u:aaaa a:bb u:cc a:dd u:ee", llm.Pruning{MaxTokens: 9, MinMessages: 2}, "s:s a:bb u:cc a:dd u:ee"},
		{"not beyond the first that does not fit", "u:a a:bbbb u:c a:d", llm.Pruning{MaxTokens: 4, MinMessages: 2}, "u:c a:d"},
		{"system and last ones over the budget", "s:ssss u:a a:bbbb", llm.Pruning{MaxTokens: 2, MinMessages: 1}, "s:ssss a:bbbb"},
		{"a system message among the last is there once", "u:aaaa u:bbbb s:s a:c", llm.Pruning{MaxTokens: 3, MinMessages: 2}, "s:s a:c"},
		{"a system message in the middle", "u:aaaa s:s u:bbbb a:c", llm.Pruning{MaxTokens: 3, MinMessages: 1}, "s:s a:c"},
		{"system messages dropped", "s:ssss u:a a:b", llm.Pruning{MaxTokens: 2, MinMessages: 1, DropSystem: true}, "u:a a:b"},
		{"a call with its results", "u:aaaa c1+2:b r1:c r2:d a:e", llm.Pruning{MaxTokens: 4, MinMessages: 1}, "c1+2:b r1:c r2:d a:e"},
		{"no part of a call and its results", "u:aaaa c1+2:b r1:c r2:d a:e", llm.Pruning{MaxTokens: 3, MinMessages: 1}, "a:e"},
		{"the last ones reach back to the call", "u:aaaa c1+2:b r1:c r2:d a:e", llm.Pruning{MaxTokens: 1, MinMessages: 2}, "c1+2:b r1:c r2:d a:e"},
		{"a result without its call", "u:aaaa a:b r9:c a:d", llm.Pruning{MaxTokens: 2, MinMessages: 1}, "a:b a:d"},
		{"a result without its call among the last", "u:aaaa r9:c a:d", llm.Pruning{MaxTokens: 2, MinMessages: 2}, "a:d"},
		{"an id that comes again", "u:aaaa c1:b r1:b a:x u:y c1:c r1:d", llm.Pruning{MaxTokens: 4, MinMessages: 2}, "a:x u:y c1:c r1:d"},
		{"an unanswered call", "u:aaaa c1:b u:c", llm.Pruning{MaxTokens: 2, MinMessages: 1}, "c1:b u:c"},
		{"none that must stay", "u:aaaa a:b", llm.Pruning{MaxTokens: 1, MinMessages: -1}, "a:b"},
		{"nothing fits", "u:aaaa a:bb", llm.Pruning{MaxTokens: 1, MinMessages: -1}, ""},
		{"from the user", "u:aaaa a:b u:c a:d a:e", llm.Pruning{MaxTokens: 5, MinMessages: 1, FromUser: true}, "u:c a:d a:e"},
		{"from the user, not from the answer before", "u:aaaa a:b u:c a:d", llm.Pruning{MaxTokens: 3, MinMessages: 1, FromUser: true}, "u:c a:d"},
		{"from the user, though the last ones already are", "u:aaaa a:b u:c a:d", llm.Pruning{MaxTokens: 5, MinMessages: 2, FromUser: true}, "u:c a:d"},
		{"from the user, further back", "u:aaaa u:a a:b u:c a:d", llm.Pruning{MaxTokens: 5, MinMessages: 2, FromUser: true}, "u:a a:b u:c a:d"},
		{"from the user, and none has to stay", "u:aaaa a:b", llm.Pruning{MaxTokens: 2, MinMessages: -1, FromUser: true}, ""},
		{"the question of a long run", "s:s u:q c1:bb r1:cc c2:d r2:e a:f", llm.Pruning{MaxTokens: 5, MinMessages: 1, FromUser: true}, "s:s u:q c2:d r2:e a:f"},
		{"no user at all", "a:aaaa a:b a:c", llm.Pruning{MaxTokens: 2, MinMessages: 1, FromUser: true}, "a:b a:c"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.p.Counter = byLength
			give := talk(test.give)
			got := llm.Prune(give, test.p)
			if told(got) != test.want {
				t.Errorf("got  %s\nwant %s", told(got), test.want)
			}
			if !reflect.DeepEqual(give, talk(test.give)) {
				t.Error("the conversation was changed")
			}
		})
	}
}

func TestPruneDefaults(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("word ", 1000) // about 1000 tokens
	var messages []llm.Message
	for range 8 {
		messages = append(messages, llm.User(long))
	}
	if got := len(llm.Prune(messages[:4], llm.Pruning{})); got != 4 {
		t.Errorf("of 4 messages %d were kept, want all", got)
	}
	if got := len(llm.Prune(messages, llm.Pruning{})); got != 4 {
		t.Errorf("of 8 messages of 1000 tokens %d were kept, want 4", got)
	}
	if got := len(llm.Prune(messages, llm.Pruning{MaxTokens: 6100})); got != 6 {
		t.Errorf("of 8 messages of 1000 tokens %d were kept, want 6", got)
	}
}

// plainly prunes a conversation without tools in the plainest way.
func plainly(messages []llm.Message, limit, least int) []llm.Message {
	total := 0
	for _, m := range messages {
		total += byLength(m)
	}
	if len(messages) <= least || total <= limit {
		return messages
	}
	recent := len(messages) - least
	keep := make([]bool, len(messages))
	left := limit
	for i, m := range messages {
		if m.Role == llm.RoleSystem || i >= recent {
			keep[i] = true
			left -= byLength(m)
		}
	}
	for i := recent - 1; i >= 0; i-- {
		if keep[i] {
			continue
		}
		if left -= byLength(messages[i]); left < 0 {
			break
		}
		keep[i] = true
	}
	var kept []llm.Message
	for i, m := range messages {
		if keep[i] {
			kept = append(kept, m)
		}
	}
	return kept
}

func FuzzPrune(f *testing.F) {
	for seed := range uint64(20) {
		f.Add(seed, 10, 3, false)
	}
	f.Fuzz(func(t *testing.T, seed uint64, limit, least int, tools bool) {
		limit, least = max(1, limit%100), 1+max(0, least%10)
		messages := randomTalk(rand.New(rand.NewPCG(seed, 1)), tools)
		for _, fromUser := range []bool{false, true} {
			p := llm.Pruning{MaxTokens: limit, MinMessages: least, Counter: byLength, FromUser: fromUser}
			got := llm.Prune(messages, p)
			checkPruned(t, messages, got, least)
			if fromUser && len(got) < len(messages) {
				checkFromUser(t, messages, got)
			}
			if again := llm.Prune(got, p); !fromUser && told(again) != told(got) {
				t.Fatalf("pruned again:\ngot  %s\nwant %s", told(again), told(got))
			}
			if want := plainly(messages, limit, least); !tools && !fromUser && told(got) != told(want) {
				t.Fatalf("of %s\ngot  %s\nwant %s", told(messages), told(got), told(want))
			}
		}
	})
}

// checkFromUser wants the first of the messages that are kept, those of the
// system aside, to be the user's, unless the user said nothing until then.
func checkFromUser(t *testing.T, all, kept []llm.Message) {
	t.Helper()
	first := slices.IndexFunc(kept, func(m llm.Message) bool { return m.Role != llm.RoleSystem })
	if first < 0 || kept[first].Role == llm.RoleUser {
		return
	}
	// Of messages that are equal nobody knows which it is.
	at := len(all) - 1
	for !reflect.DeepEqual(all[at], kept[first]) {
		at--
	}
	earlier := slices.IndexFunc(all, func(m llm.Message) bool { return reflect.DeepEqual(m, kept[first]) })
	if at == earlier && slices.ContainsFunc(all[:at], func(m llm.Message) bool { return m.Role == llm.RoleUser }) {
		t.Fatalf("not from the user: %s of %s", told(kept), told(all))
	}
}

func randomTalk(r *rand.Rand, tools bool) []llm.Message {
	var script []string
	open := []string{}
	for i := range r.IntN(30) {
		text := ":" + strings.Repeat("x", r.IntN(12))
		switch n := r.IntN(8); {
		case n == 0:
			script = append(script, "s"+text)
		case n < 3:
			script = append(script, "u"+text)
		case !tools || n == 3:
			script = append(script, "a"+text)
		case n < 6 || len(open) == 0:
			id := string(rune('A' + i))
			open = append(open, id)
			script = append(script, "c"+id+text)
		default:
			at := r.IntN(len(open))
			script = append(script, "r"+open[at]+text)
			open = slices.Delete(open, at, at+1)
		}
	}
	return talk(strings.Join(script, " "))
}

// checkPruned wants what every pruning promises.
func checkPruned(t *testing.T, all, kept []llm.Message, least int) {
	t.Helper()
	at := 0
	calls := map[string]bool{}
	results := map[string]bool{}
	for _, m := range kept {
		for at < len(all) && !reflect.DeepEqual(all[at], m) {
			if all[at].Role == llm.RoleSystem {
				t.Fatalf("a system message was dropped: %s of %s", told(kept), told(all))
			}
			at++
		}
		if at == len(all) {
			t.Fatalf("not in order: %s of %s", told(kept), told(all))
		}
		at++
		for _, c := range m.ToolCalls {
			calls[c.ID] = true
		}
		if m.Role == llm.RoleTool && !calls[m.ToolCallID] {
			t.Fatalf("a result without its call: %s of %s", told(kept), told(all))
		}
		results[m.ToolCallID] = true
	}
	for _, m := range all {
		if m.Role == llm.RoleTool && calls[m.ToolCallID] && !results[m.ToolCallID] {
			t.Fatalf("a call without its result: %s of %s", told(kept), told(all))
		}
	}
	if len(kept) < min(least, len(all)) {
		t.Fatalf("fewer than %d: %s of %s", least, told(kept), told(all))
	}
}

func TestSummarise(t *testing.T) {
	t.Parallel()
	p := llm.Pruning{MaxTokens: 20, MinMessages: 2, Counter: byLength}
	give := talk("s:s u:aaaaaaaaaa c1:bbbb r1:cccc u:d a:e")
	model := llmtest.NewScript(llmtest.Say(" They spoke. "))
	messages := append([]llm.Message{}, give...)
	messages[1].Parts = append(messages[1].Parts, llm.Image("image/png", []byte("x")))
	got, err := llm.Summarise(t.Context(), messages, llm.Pruning{MaxTokens: 15, MinMessages: 2, Counter: byLength}, llm.SummariseWith(model))
	if err != nil {
		t.Fatal(err)
	}
	want := "s:s u:Summary of the conversation so far:\n\nThey spoke. u:d a:e"
	if told(got) != want {
		t.Errorf("got %q, want %q", told(got), want)
	}
	asked := model.Requests()[0]
	if asked.MaxTokens != 12 {
		t.Errorf("asked for %d tokens, want the 12 that are left", asked.MaxTokens)
	}
	for _, part := range []string{"[user] aaaaaaaaaa (image )", "calls f({})", "[tool f] cccc"} {
		if text := asked.Messages[1].Text(); !strings.Contains(text, part) {
			t.Errorf("asked %q, want it to hold %q", text, part)
		}
	}

	long := func(context.Context, []llm.Message, int) (string, error) { return strings.Repeat("ü", 1000), nil }
	if got, err = llm.Summarise(t.Context(), give, llm.Pruning{MaxTokens: 15, MinMessages: 2, Counter: byLength}, long); err != nil {
		t.Fatal(err)
	}
	if text := strings.TrimPrefix(got[1].Text(), llm.SummaryHeading+"\n\n"); !strings.HasPrefix(text, "üüü") || len(text) > 2*12 || len(got) != 4 {
		t.Errorf("of a summary that is too long: got %q, want at most 24 bytes of it", text)
	}

	fail := func(context.Context, []llm.Message, int) (string, error) { return "", errors.New("down") }
	empty := func(context.Context, []llm.Message, int) (string, error) { return " ", nil }
	if got, err := llm.Summarise(t.Context(), give, llm.Pruning{MaxTokens: 99, Counter: byLength}, fail); err != nil || len(got) != len(give) {
		t.Errorf("within the budget: got %v and %v", got, err)
	}
	if got, err := llm.Summarise(t.Context(), give, llm.Pruning{MaxTokens: 3, MinMessages: 2, Counter: byLength}, fail); err != nil || told(got) != "s:s u:d a:e" {
		t.Errorf("without budget: got %s and %v", told(got), err)
	}
	if got, err := llm.Summarise(t.Context(), give, p, empty); err != nil || told(got) != told(llm.Prune(give, p)) {
		t.Errorf("with an empty summary: got %s and %v", told(got), err)
	}
	if _, err := llm.Summarise(t.Context(), give, p, fail); err == nil || !strings.Contains(err.Error(), "summarise: down") {
		t.Errorf("got %v, want the summariser's error", err)
	}
	p.MinMessages = -1
	if got, err := llm.Summarise(t.Context(), give, p, func(context.Context, []llm.Message, int) (string, error) { return "x", nil }); err != nil || !strings.HasSuffix(told(got), "so far:\n\nx") {
		t.Errorf("with none that must stay: got %s and %v", told(got), err)
	}
	model = llmtest.NewScript(llmtest.Fail(llm.ErrOverloaded))
	p.MinMessages = 2
	if _, err := llm.Summarise(t.Context(), give, p, llm.SummariseWith(model)); !errors.Is(err, llm.ErrOverloaded) {
		t.Errorf("got %v, want the model's error", err)
	}
}
