package llm

// Usage counts the tokens of one reply, or of several. It has the same meaning for every
// provider: Cached and CacheWrite are parts of Input, and Reasoning is a part of Output.
// Adapters convert the numbers of the providers. For example, Anthropic's input excludes
// cached tokens, but the input of OpenAI and Gemini includes them.
type Usage struct {
	// Input is the number of tokens that the model read, cached or not.
	Input int64 `json:"input"`
	// Output is the number of tokens that the model wrote, with its reasoning.
	Output int64 `json:"output"`
	// Total is the sum of Input and Output, or more if the provider says so. In the chunks
	// of a model it can be less: [Stream] raises it to the sum.
	Total int64 `json:"total"`
	// Cached is the part of Input that was read from the provider's cache.
	Cached int64 `json:"cached,omitempty"`
	// CacheWrite is the part of Input that was written to the provider's cache. Providers
	// that cache automatically do not report it.
	CacheWrite int64 `json:"cache_write,omitempty"`
	// Reasoning is the part of Output that was reasoning.
	Reasoning int64 `json:"reasoning,omitempty"`
}

// Add returns the sum of u and v.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		Input:      u.Input + v.Input,
		Output:     u.Output + v.Output,
		Total:      u.Total + v.Total,
		Cached:     u.Cached + v.Cached,
		CacheWrite: u.CacheWrite + v.CacheWrite,
		Reasoning:  u.Reasoning + v.Reasoning,
	}
}

// SumUsage is the reducer of a graph's channel that adds usage up:
// state.NewChannel("usage", llm.SumUsage).
func SumUsage(total, u Usage) (Usage, error) { return total.Add(u), nil }
