package contract_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/llms/googleai"
)

func openGoogle(t *testing.T, _ string, client *http.Client) llms.Model {
	t.Helper()
	client = &http.Client{Transport: withKey{client.Transport}}
	m, err := googleai.New(t.Context(), googleai.WithAPIKey("key-of-the-test"), googleai.WithRest(), googleai.WithDefaultModel("gemini-2.5-flash"), googleai.WithHTTPClient(client))
	require.NoError(t, err)
	return m
}

// withKey adds the key. Google's client does not add it if the program sets the HTTP client.
type withKey struct{ base http.RoundTripper }

func (k withKey) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("X-Goog-Api-Key", "key-of-the-test")
	return k.base.RoundTrip(r)
}

func googlePiece(parts []object, stop int, usage object) object {
	candidate := object{"index": 0, "content": object{"role": "model", "parts": parts}}
	if stop > 0 {
		candidate["finishReason"] = stop // a number, since the library asks for numbers
	}
	return object{"candidates": []object{candidate}, "usageMetadata": usage}
}

func sayGoogle(s said) http.HandlerFunc {
	stop := map[string]int{"end": 1, "calls": 1, "length": 2, "filter": 3}[s.stop]
	usage := object{"promptTokenCount": s.in, "candidatesTokenCount": s.out, "totalTokenCount": s.in + s.out, "cachedContentTokenCount": s.cached}
	var ends []object
	for _, c := range s.calls {
		ends = append(ends, object{"functionCall": object{"name": c.name, "args": json.RawMessage(c.arguments)}})
	}
	return func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, ":streamGenerateContent") {
			parts := ends
			if s.text() != "" {
				parts = append([]object{{"text": s.text()}}, ends...)
			}
			jsonBody(toJSON(googlePiece(parts, stop, usage)))(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		write(w, "[")
		for _, text := range s.texts {
			so := object{"promptTokenCount": s.in, "candidatesTokenCount": 1, "totalTokenCount": s.in + 1, "cachedContentTokenCount": s.cached}
			write(w, toJSON(googlePiece([]object{{"text": text}}, 0, so))+"\n,\r\n")
		}
		write(w, toJSON(googlePiece(append(ends, object{"text": ""}), stop, usage))+"]")
	}
}

func readGoogle(a asked) sent {
	var s sent
	if system, ok := a.body["systemInstruction"].(object); ok {
		for _, part := range list(system["parts"]) {
			s.System += str(part["text"])
		}
	}
	for _, c := range list(a.body["contents"]) {
		tn := turn{Role: str(c["role"])}
		for _, part := range list(c["parts"]) {
			switch {
			case part["inlineData"] != nil:
				data := part["inlineData"].(object)
				tn.Parts = append(tn.Parts, fmt.Sprintf("image:data:%s;base64,%s", data["mimeType"], data["data"]))
			case part["functionCall"] != nil:
				f := part["functionCall"].(object)
				text := fmt.Sprintf("call::%s%s", f["name"], toJSON(f["args"]))
				if signature := str(part["thoughtSignature"]); signature != "" {
					text += "#" + signature
				}
				tn.Parts = append(tn.Parts, text)
			case part["functionResponse"] != nil:
				f := part["functionResponse"].(object)
				tn.Parts = append(tn.Parts, fmt.Sprintf("result:%s:%s", f["name"], toJSON(f["response"])))
			default:
				tn.Parts = append(tn.Parts, str(part["text"]))
			}
		}
		s.Turns = append(s.Turns, tn)
	}
	for _, tool := range list(a.body["tools"]) {
		for _, f := range list(tool["functionDeclarations"]) {
			s.Tools = append(s.Tools, str(f["name"]))
		}
	}
	if c := a.body["toolConfig"]; c != nil {
		s.Choice = toJSON(c)
	}
	return s
}
