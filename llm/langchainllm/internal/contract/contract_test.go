package contract_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/langchainllm"
)

func TestPlainAnswer(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b backend) {
		f := newFake(t, b.say(say("Hello, ", "world", "! ☀️")))
		h := must(t, b.model(t, f), hello)
		assert.Equal(t, "Hello, world! ☀️", h.text())
		assert.Equal(t, llm.StopEnd, h.message.StopReason)
		assert.GreaterOrEqual(t, len(h.chunks), 4)
		s := b.read(f.last(t))
		assert.Equal(t, []turn{{"user", []string{"hi"}}}, s.Turns)
		assert.Empty(t, s.System)
		assert.Nil(t, s.Tools)
	})
}

func TestUsage(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b backend) {
		f := newFake(t, b.say(say("Hello")))
		got := must(t, b.model(t, f), hello).message.Usage
		want := &llm.Usage{Input: 10, Output: 4, Total: 14, Cached: 3}
		switch {
		case b.name == "bedrock":
			want.Input, want.Total, want.Cached = 7, 11, 0 // the library does not read the cached tokens
		}
		assert.Equal(t, want, got)
	})
}

func TestToolCalls(t *testing.T) {
	t.Parallel()
	one, two := saidCall{"call_1", "add", `{"a":1,"b":2}`}, saidCall{"call_2", "now", `{}`}
	three := saidCall{"call_3", "add", `{"a":"` + strings.Repeat("x", 100) + `"}`}
	tests := []struct {
		name  string
		said  said
		calls []saidCall
	}{
		{"one", say().calling(one), []saidCall{one}},
		{"behind a text", say("I ", "add.").calling(one), []saidCall{one}},
		{"parallel", say("Both.").calling(one, two, three), []saidCall{one, two, three}},
		{"parallel and interleaved", said{texts: []string{"Both."}, interleaved: true}.calling(one, three), []saidCall{one, three}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, b backend) {
				f := newFake(t, b.say(test.said))
				h := must(t, b.model(t, f), withTools(hello))
				assert.Equal(t, test.said.text(), h.text())
				assert.Equal(t, llm.StopToolCalls, h.message.StopReason)
				checkCalls(t, b, h.message.ToolCalls, test.calls)
				if s := b.read(f.last(t)); b.name != "googleai" {
					assert.Equal(t, []string{"add", "now"}, s.Tools)
				}
			})
		})
	}
}

func checkCalls(t *testing.T, b backend, got []llm.ToolCall, want []saidCall) {
	t.Helper()
	require.Len(t, got, len(want))
	ids := map[string]bool{}
	for i, c := range got {
		assert.Equal(t, want[i].name, c.Name, "call %d", i)
		assert.Equal(t, want[i].arguments, string(c.Arguments), "call %d", i)
		assert.Empty(t, c.Invalid, "call %d", i)
		if b.name != "googleai" {
			assert.Equal(t, want[i].id, c.ID, "call %d", i)
		}
		require.NotEmpty(t, c.ID, "call %d: id %q is empty or used twice", i, c.ID)
		assert.False(t, ids[c.ID], "call %d: id %q is empty or used twice", i, c.ID)
		ids[c.ID] = true
	}
}

// TestHistory proves that a conversation is sent as a whole, also the parts that langchaingo loses.
func TestHistory(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b backend) {
		f := newFake(t, b.say(say("3")))
		must(t, b.model(t, f), history())
		s := b.read(f.last(t))
		assert.Equal(t, "Be brief.\n\nBe kind.", s.System)
		assert.Equal(t, historyTurns(b), s.Turns)
	})
}

func historyTurns(b backend) []turn {
	id1, id2 := "call_1", "call_2"
	switch b.name {
	case "mistral":
		id1, id2 = "oqmw7zzoj", "dnupqp5di" // in the form that Mistral requires
		fallthrough
	case "openai", "ollama":
		return []turn{
			{"user", []string{"Add."}},
			{"assistant", []string{"Let me see.", "call:" + id1 + `:add{"a":1}`, "call:" + id2 + `:add{"a":2}`}},
			{"tool", []string{"result:" + id1 + ":1"}},
			{"tool", []string{"result:" + id2 + ":no such number"}},
			{"user", []string{"And?"}},
		}
	case "googleai":
		failed := `result:add:{"error":"no such number"}`
		return []turn{
			{"user", []string{"Add."}},
			{"model", []string{"Let me see.", `call::add{"a":1}`, `call::add{"a":2}`}},
			{"user", []string{`result:add:{"response":"1"}`, failed}},
			{"user", []string{"And?"}},
		}
	}
	failed := "result:call_2:no such number"
	if b.wires {
		failed += "!"
	}
	return []turn{
		{"user", []string{"Add."}},
		{"assistant", []string{"Let me see.", `call:call_1:add{"a":1}`, `call:call_2:add{"a":2}`}},
		{"user", []string{"result:call_1:1", failed, "And?"}},
	}
}

func TestToolChoice(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		choice llm.ToolChoice
		want   map[string]string
	}{
		{"required", llm.ToolChoice{Mode: llm.ToolsRequired}, map[string]string{
			"openai": `"required"`, "anthropic": `{"type":"any"}`, "bedrock": `{"type":"any"}`,
			"googleai": `{"functionCallingConfig":{"mode":"ANY"}}`,
		}},
		{"named", llm.ToolChoice{Name: "add"}, map[string]string{
			"openai":    `{"function":{"name":"add"},"type":"function"}`,
			"anthropic": `{"name":"add","type":"tool"}`, "bedrock": `{"name":"add","type":"tool"}`,
			"googleai": `{"functionCallingConfig":{"allowedFunctionNames":["add"],"mode":"ANY"}}`,
		}},
		{"auto", llm.ToolChoice{}, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, b backend) {
				key := b.name
				if b.provider != langchainllm.Anthropic && b.wires && b.name != "googleai" {
					key = "openai"
				}
				f := newFake(t, b.say(say().calling(saidCall{"call_1", "add", `{"a":1}`})))
				r := withTools(hello)
				r.ToolChoice = test.choice
				must(t, b.model(t, f), r)
				s := b.read(f.last(t))
				want, told := test.want[key]
				assert.Equal(t, want, s.Choice)
				if test.want != nil && !told {
					assert.Contains(t, s.System, "calling")
				}
				if test.choice.Name != "" && !told {
					assert.Equal(t, []string{"add"}, s.Tools)
				}
			})
		})
	}
}

func TestNoToolsWanted(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b backend) {
		f := newFake(t, b.say(say("3")))
		r := history()
		r.ToolChoice.Mode = llm.ToolsNone
		h := ask(t, b.model(t, f), r)
		if b.name == "bedrock" {
			// A request with earlier calls must declare tools, and the API has no option that forbids calls.
			assert.ErrorIs(t, h.err, llm.ErrBadRequest)
			assert.Empty(t, f.requests())
			return
		}
		require.NoError(t, h.err)
		if s := b.read(f.last(t)); len(s.Tools) > 0 {
			assert.Contains(t, strings.ToLower(s.Choice), "none")
		}
	})
}

func TestImages(t *testing.T) {
	t.Parallel()
	png := []byte("\x89PNG")
	each(t, func(t *testing.T, b backend) {
		f := newFake(t, b.say(say("A cat.")))
		for _, image := range []llm.Part{llm.Image("image/png", png), llm.ImageURL("data:image/png;base64,iVBORw=="), llm.ImageURL("data:image/png,%89PNG")} {
			r := llm.Request{Messages: []llm.Message{llm.User("What is", llm.Text("this?"), image)}}
			must(t, b.model(t, f), r)
			s := b.read(f.last(t))
			got := s.Turns[0].Parts
			assert.Equal(t, "image:data:image/png;base64,iVBORw==", got[len(got)-1])
			assert.Contains(t, strings.Join(got, " "), "this?")
		}
	})
}

// TestImagesAreNotFetched proves that the URL of an image reaches the provider or is an error, and
// that the adapter never fetches it.
func TestImagesAreNotFetched(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b backend) {
		secret := newFake(t, func(http.ResponseWriter, *http.Request) { t.Error("the image was fetched") })
		f := newFake(t, b.say(say("A cat.")))
		for _, url := range []string{secret.URL + "/a.png", "file:///etc/passwd", "gopher://a/b", "image.png"} {
			r := llm.Request{Messages: []llm.Message{llm.User("", llm.ImageURL(url))}}
			h := ask(t, b.model(t, f), r)
			if b.name == "googleai" || b.name == "bedrock" || !strings.HasPrefix(url, "http") {
				require.ErrorIs(t, h.err, llm.ErrBadRequest, url)
				require.ErrorContains(t, h.err, b.name, url)
				continue
			}
			require.NoError(t, h.err, url)
			assert.Contains(t, f.last(t).text, url)
		}
	})
}

func TestJSONOutput(t *testing.T) {
	t.Parallel()
	schema := json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`)
	each(t, func(t *testing.T, b backend) {
		f := newFake(t, b.say(say(`{"city":`, `"Athens"}`)))
		for _, format := range []llm.Format{{Type: llm.FormatJSON}, {Type: llm.FormatSchema, Schema: schema}} {
			r := hello
			r.Format = format
			h := must(t, b.model(t, f), r)
			assert.Equal(t, `{"city":"Athens"}`, h.text())
			a := f.last(t)
			s := b.read(a)
			native := strings.Contains(a.text, "json_object") || strings.Contains(a.text, "json_schema") || strings.Contains(a.text, "application/json")
			assert.NotEqual(t, b.name == "anthropic" || b.name == "bedrock", native, "JSON mode %v: %s", native, a.text)
			said := strings.Contains(s.System, "JSON")
			if format.Type == llm.FormatJSON {
				assert.True(t, said, "instructions %q", s.System)
			}
			if format.Type == llm.FormatSchema {
				assert.NotEqual(t, b.wires && native, said, "instructions %q", s.System)
			}
			if format.Type == llm.FormatSchema {
				assert.Contains(t, a.text, "city", "the schema was not sent: %s", a.text)
			}
		}
	})
}

// TestSettings proves that a setting is sent only if it is set.
func TestSettings(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b backend) {
		f := newFake(t, b.say(say("ok")))
		m := b.model(t, f)
		must(t, m, hello)
		unset := settings(f.last(t))
		r := hello
		seed := int64(7)
		r.Temperature, r.TopP, r.Seed, r.MaxTokens, r.Stop = number(0), number(0.25), &seed, 99, []string{"END"}
		must(t, m, r)
		set := settings(f.last(t))
		t0, ok := unset["temperature"]
		if b.wires {
			assert.False(t, ok, "unset")
		}
		if !b.wires {
			assert.NotEqual(t, 0.0, t0, "unset")
		}
		if b.wires {
			assert.Nil(t, unset["top_p"], "unset")
			assert.Nil(t, unset["top_k"], "unset")
		}
		temperature, _ := set["temperature"].(float64)
		_, ok = set["temperature"]
		require.True(t, ok, "set")
		assert.LessOrEqual(t, temperature, 1e-5, "set")
		assert.Equal(t, 99.0, set["max"], "set")
		assert.Equal(t, `["END"]`, toJSON(set["stop"]), "set")
		if b.wires || b.name == "bedrock" {
			assert.Equal(t, 0.25, set["top_p"], "set")
		}
	})
}

// settings returns the settings of a request, under the same names for every provider.
func settings(a asked) object {
	from := a.body
	if c, ok := from["generationConfig"].(object); ok {
		from = c
	}
	names := map[string]string{
		"temperature": "temperature", "top_p": "top_p", "topP": "top_p", "topK": "top_k", "max_tokens": "max",
		"max_completion_tokens": "max", "maxOutputTokens": "max", "stop": "stop", "stop_sequences": "stop", "stopSequences": "stop",
	}
	out := object{}
	for key, value := range from {
		if name, ok := names[key]; ok {
			out[name] = value
		}
	}
	return out
}
