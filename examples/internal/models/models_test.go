package models_test

import (
	"strings"
	"testing"

	"github.com/weft-go/weft/examples/internal/models"
	"github.com/weft-go/weft/examples/internal/rules"
	"github.com/weft-go/weft/llm"
)

func TestOpen(t *testing.T) {
	t.Parallel()
	offline := rules.Model{Reply: func(llm.Request) llm.Message { return llm.Assistant("by rules") }}
	for _, tt := range []struct {
		env  map[string]string
		name string // the description of the model, or a part of the error
		ok   bool
	}{
		{nil, models.Offline, true},
		{map[string]string{"LLM_PROVIDER": "openai", "OPENAI_API_KEY": "sk-1", "LLM_MODEL": "one"}, "one", true},
		{map[string]string{"LLM_PROVIDER": "none"}, "none", false},
		{map[string]string{"LLM_PROVIDER": "openai"}, "OPENAI_API_KEY", false},
	} {
		model, name, err := models.Open(t.Context(), func(name string) string { return tt.env[name] }, offline)
		if err != nil {
			name = err.Error()
		}
		if (err == nil) != tt.ok || (model != nil) != tt.ok || !strings.Contains(name, tt.name) {
			t.Errorf("%v: got %q, error %v, want %q", tt.env, name, err, tt.name)
		}
		if _, is := model.(rules.Model); is != (name == models.Offline) {
			t.Errorf("%v: got the model %T", tt.env, model)
		}
	}
}
