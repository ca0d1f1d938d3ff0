package llm_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
)

// byLength counts one token per byte of text.
var byLength = llm.TokenCounterFunc(func(m llm.Message) int { return len(m.Text()) })

// talk returns the messages of a script. A word is a message: "s" of the system, "u" of the user,
// "a" of the assistant, "c1" with the tool call 1, "c1+2" with two calls, and "r1" with the result
// of call 1. The text follows a colon.
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

// told returns the script of messages; see talk.
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
			assert.Equal(t, test.want, told(got))
			assert.Equal(t, talk(test.give), give, "the conversation was changed")
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
	assert.Len(t, llm.Prune(messages[:4], llm.Pruning{}), 4)
	assert.Len(t, llm.Prune(messages, llm.Pruning{}), 4)
	assert.Len(t, llm.Prune(messages, llm.Pruning{MaxTokens: 6100}), 6)
}

// plainly is a simple implementation of Prune for a conversation without tools.
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

// FuzzPrune proves for random conversations the rules that the documentation of Prune states, and
// that pruning a pruned conversation changes nothing.
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
			if fromUser {
				continue
			}
			require.Equal(t, told(got), told(llm.Prune(got, p)), "pruned again")
			if !tools {
				require.Equal(t, told(plainly(messages, limit, least)), told(got), "of %s", told(messages))
			}
		}
	})
}

// checkFromUser checks that the first kept message, apart from system messages, is a message of the
// user. If no earlier message is of the user, any message may be first.
func checkFromUser(t *testing.T, all, kept []llm.Message) {
	t.Helper()
	first := slices.IndexFunc(kept, func(m llm.Message) bool { return m.Role != llm.RoleSystem })
	if first < 0 || kept[first].Role == llm.RoleUser {
		return
	}
	// If several messages equal the first kept one, it is unknown which of them was kept, and
	// nothing is checked.
	at := len(all) - 1
	for !reflect.DeepEqual(all[at], kept[first]) {
		at--
	}
	earlier := slices.IndexFunc(all, func(m llm.Message) bool { return reflect.DeepEqual(m, kept[first]) })
	asked := slices.ContainsFunc(all[:at], func(m llm.Message) bool { return m.Role == llm.RoleUser })
	require.False(t, at == earlier && asked, "not from the user: %s of %s", told(kept), told(all))
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

// checkPruned checks that the kept messages are in order, include all system messages and the given
// number of others at least, and that each tool call is kept with its results.
func checkPruned(t *testing.T, all, kept []llm.Message, least int) {
	t.Helper()
	at := 0
	calls := map[string]bool{}
	results := map[string]bool{}
	for _, m := range kept {
		for at < len(all) && !reflect.DeepEqual(all[at], m) {
			require.NotEqual(t, llm.RoleSystem, all[at].Role, "dropped: %s of %s", told(kept), told(all))
			at++
		}
		require.Less(t, at, len(all), "not in order: %s of %s", told(kept), told(all))
		at++
		for _, c := range m.ToolCalls {
			calls[c.ID] = true
		}
		require.False(t, m.Role == llm.RoleTool && !calls[m.ToolCallID], "a result without its call: %s of %s", told(kept), told(all))
		results[m.ToolCallID] = true
	}
	for _, m := range all {
		lost := m.Role == llm.RoleTool && calls[m.ToolCallID] && !results[m.ToolCallID]
		require.False(t, lost, "a call without its result: %s of %s", told(kept), told(all))
	}
	require.GreaterOrEqual(t, len(kept), min(least, len(all)), "%s of %s", told(kept), told(all))
}

func TestSummarise(t *testing.T) {
	t.Parallel()
	p := llm.Pruning{MaxTokens: 20, MinMessages: 2, Counter: byLength}
	give := talk("s:s u:aaaaaaaaaa c1:bbbb r1:cccc u:d a:e")
	model := llmtest.NewScript(llmtest.Say(" They spoke. "))
	messages := append([]llm.Message{}, give...)
	messages[1].Parts = append(messages[1].Parts, llm.Image("image/png", []byte("x")))
	got, err := llm.Summarise(t.Context(), messages, llm.Pruning{MaxTokens: 15, MinMessages: 2, Counter: byLength}, llm.SummariseWith(model))
	require.NoError(t, err)
	assert.Equal(t, "s:s u:Summary of the conversation so far:\n\nThey spoke. u:d a:e", told(got))
	asked := model.Requests()[0]
	assert.Equal(t, 12, asked.MaxTokens, "the tokens that are left")
	for _, part := range []string{"[user] aaaaaaaaaa (image )", "calls f({})", "[tool f] cccc"} {
		assert.Contains(t, asked.Messages[1].Text(), part)
	}

	long := func(context.Context, []llm.Message, int) (string, error) { return strings.Repeat("ü", 1000), nil }
	got, err = llm.Summarise(t.Context(), give, llm.Pruning{MaxTokens: 15, MinMessages: 2, Counter: byLength}, long)
	require.NoError(t, err)
	require.Len(t, got, 4)
	text := strings.TrimPrefix(got[1].Text(), llm.SummaryHeading+"\n\n")
	assert.Regexp(t, "^üüü", text)
	assert.LessOrEqual(t, len(text), 2*12, "the length of a summary that is too long")

	fail := func(context.Context, []llm.Message, int) (string, error) { return "", errors.New("down") }
	empty := func(context.Context, []llm.Message, int) (string, error) { return " ", nil }
	letter := func(context.Context, []llm.Message, int) (string, error) { return "x", nil }
	got, err = llm.Summarise(t.Context(), give, llm.Pruning{MaxTokens: 99, Counter: byLength}, fail)
	require.NoError(t, err)
	assert.Len(t, got, len(give), "within the budget")
	got, err = llm.Summarise(t.Context(), give, llm.Pruning{MaxTokens: 3, MinMessages: 2, Counter: byLength}, fail)
	require.NoError(t, err)
	assert.Equal(t, "s:s u:d a:e", told(got), "without a budget")
	got, err = llm.Summarise(t.Context(), give, p, empty)
	require.NoError(t, err)
	assert.Equal(t, told(llm.Prune(give, p)), told(got), "with an empty summary")
	_, err = llm.Summarise(t.Context(), give, p, fail)
	require.ErrorContains(t, err, "summarise: down")
	p.MinMessages = -1
	got, err = llm.Summarise(t.Context(), give, p, letter)
	require.NoError(t, err)
	assert.Equal(t, "s:s u:Summary of the conversation so far:\n\nx a:e", told(got), "the newest message, which may be the question, is no part of a summary")
	model = llmtest.NewScript(llmtest.Fail(llm.ErrOverloaded))
	p.MinMessages = 2
	_, err = llm.Summarise(t.Context(), give, p, llm.SummariseWith(model))
	require.ErrorIs(t, err, llm.ErrOverloaded)
}
