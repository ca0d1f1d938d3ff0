package llm

// Usage counts the tokens of one reply, or of many. It means the same for every
// provider: Cached and CacheWrite are parts of Input, Reasoning is a part of
// Output, and Total is Input and Output together. A provider that counts its
// cache apart from its input has the two added by its adapter.
type Usage struct {
	// Input is everything that the model read, cached or not.
	Input int64 `json:"input"`
	// Output is everything that the model wrote, reasoning included.
	Output int64 `json:"output"`
	// Total is Input and Output.
	Total int64 `json:"total"`
	// Cached is what of Input came from the provider's cache.
	Cached int64 `json:"cached,omitempty"`
	// CacheWrite is what of Input was put into the provider's cache.
	CacheWrite int64 `json:"cache_write,omitempty"`
	// Reasoning is what of Output was reasoning.
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

// SumUsage adds usage up in a channel of a graph, over all the calls of a run or
// of a thread: state.NewChannel("usage", llm.SumUsage).
func SumUsage(total, u Usage) (Usage, error) { return total.Add(u), nil }
