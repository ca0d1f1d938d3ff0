package contract_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/llm"
)

var (
	report    = llm.File("report.pdf", "application/pdf", []byte("%PDF"))
	reportURL = llm.Part{Type: llm.PartFile, URL: "https://example.com/report.pdf"}
	cat       = llm.Image("image/png", []byte("\x89PNG"))
	archive   = llm.File("a.zip", "application/zip", []byte("PK"))
)

// resultOf returns a conversation in which a tool returned parts.
func resultOf(parts ...llm.Part) llm.Request {
	c := call("call_1", "add", `{"a":1}`)
	result := llm.ToolResult(c, "See:")
	result.Parts = append(result.Parts, parts...)
	return withTools(llm.Request{Messages: []llm.Message{llm.User("hi"), llm.Assistant("", c), result}})
}

// TestDocumentsAreSent proves that PDFs and images in messages of the user, and in the results of
// tools where the provider takes them, are sent in the provider's form.
func TestDocumentsAreSent(t *testing.T) {
	t.Parallel()
	user := func(parts ...llm.Part) llm.Request {
		return llm.Request{Messages: []llm.Message{llm.User("What is this?", parts...)}}
	}
	for _, test := range []struct {
		name, backend string
		request       llm.Request
		message       int
		want          string
	}{
		{"a PDF", "openai", user(report), 0, `{"role":"user","content":[{"type":"text","text":"What is this?"},
			{"type":"file","file":{"filename":"report.pdf","file_data":"data:application/pdf;base64,JVBERg=="}}]}`},
		{"a PDF without a name", "ollama", user(llm.File("", "application/pdf", []byte("%PDF"))), 0, `{"role":"user","content":[{"type":"text","text":"What is this?"},
			{"type":"file","file":{"filename":"document.pdf","file_data":"data:application/pdf;base64,JVBERg=="}}]}`},
		{"a PDF", "anthropic", user(report), 0, `{"role":"user","content":[{"type":"text","text":"What is this?"},
			{"type":"document","title":"report.pdf","source":{"type":"base64","media_type":"application/pdf","data":"JVBERg=="}}]}`},
		{"the URL of a PDF", "anthropic", user(reportURL), 0, `{"role":"user","content":[{"type":"text","text":"What is this?"},
			{"type":"document","source":{"type":"url","url":"https://example.com/report.pdf"}}]}`},
		{"a text file", "anthropic", user(llm.File("a.csv", "text/csv", []byte("a,b"))), 0, `{"role":"user","content":[{"type":"text","text":"What is this?"},
			{"type":"document","title":"a.csv","source":{"type":"text","media_type":"text/plain","data":"a,b"}}]}`},
		{"a PDF", "googleai", user(report), 0, `{"role":"user","parts":[{"text":"What is this?"},{"inlineData":{"mimeType":"application/pdf","data":"JVBERg=="}}]}`},
		{"an image in a file part", "openai", user(llm.File("a.png", "image/png", []byte("\x89PNG"))), 0, `{"role":"user","content":[{"type":"text","text":"What is this?"},
			{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw=="}}]}`},
		{"an image and a PDF in a result", "anthropic", resultOf(cat, report), 2, `{"role":"user","content":[{"type":"tool_result","tool_use_id":"call_1","content":[{"type":"text","text":"See:"},
			{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw=="}},
			{"type":"document","title":"report.pdf","source":{"type":"base64","media_type":"application/pdf","data":"JVBERg=="}}]}]}`},
		{"an image in a result", "googleai", resultOf(cat), 2, `{"role":"user","parts":[{"functionResponse":{"name":"add","response":{"response":"See:"},
			"parts":[{"inlineData":{"mimeType":"image/png","data":"iVBORw=="}}]}}]}`},
	} {
		t.Run(test.backend+", "+test.name, func(t *testing.T) {
			t.Parallel()
			b := backendOf(test.backend)
			f := newFake(t, b.say(say("A report.")))
			must(t, b.model(t, f), test.request)
			key := "messages"
			if b.name == "googleai" {
				key = "contents"
			}
			assert.JSONEq(t, test.want, toJSON(list(f.last(t).body[key])[test.message]))
		})
	}
}

// TestNoPartIsDropped proves that a part that a provider does not take is an error that names the
// provider and the part, and that nothing is sent.
func TestNoPartIsDropped(t *testing.T) {
	t.Parallel()
	user := llm.Request{Messages: []llm.Message{llm.System("Be brief."), llm.User("What is this?", archive)}}
	file := llm.Request{Messages: []llm.Message{llm.User("What is this?", report)}}
	link := llm.Request{Messages: []llm.Message{llm.User("What is this?", reportURL)}}
	drawn := llm.Request{Messages: []llm.Message{llm.User("Draw."), {Role: llm.RoleAssistant, Parts: []llm.Part{cat}}, llm.User("Another.")}}
	system := llm.Request{Messages: []llm.Message{{Role: llm.RoleSystem, Parts: []llm.Part{cat}}, llm.User("hi")}}
	for _, test := range []struct {
		name     string
		request  llm.Request
		where    string
		backends []string
	}{
		{"an archive", user, "message 1: part 1: part of type file (application/zip)", []string{"openai", "ollama", "mistral", "anthropic", "bedrock"}},
		{"a PDF", file, "message 0: part 1: part of type file (application/pdf)", []string{"mistral", "bedrock"}},
		{"the URL of a PDF", link, "message 0: part 1:", []string{"openai", "ollama", "mistral", "googleai", "bedrock"}},
		{"an image in a result", resultOf(cat), "message 2: part 1: the provider takes no part of type image in the result of a tool", []string{"openai", "ollama", "mistral", "bedrock"}},
		{"an image in a reply", drawn, "message 1: part 0: the provider takes no part of type image in an assistant's message", []string{"openai", "ollama", "mistral", "anthropic", "bedrock"}},
		{"an image in a system message", system, "message 0: part 0: the provider takes no part of type image in a system message", []string{"openai", "ollama", "mistral", "anthropic", "googleai", "bedrock"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			for _, name := range test.backends {
				b := backendOf(name)
				f := newFake(t, b.say(say("ok")))
				e := failure(t, b.model(t, f), test.request, llm.ErrBadRequest)
				assert.Equal(t, name, e.Provider)
				require.ErrorContains(t, e, test.where, name)
				assert.Empty(t, f.requests(), name)
			}
			for _, b := range backends {
				if !slices.Contains(test.backends, b.name) {
					must(t, b.model(t, newFake(t, b.say(say("ok")))), test.request)
				}
			}
		})
	}
}
