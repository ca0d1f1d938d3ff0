package extract

import "github.com/weft-go/weft/memory"

// Lowest is the trust of a fact that was extracted but not verified. Recall leaves such facts
// out unless a query includes them.
const Lowest = memory.Untrusted

// Provenance says how a fact with evidence was obtained.
type Provenance struct {
	// Verified means that a [Verifier] supported the fact, or that a person confirmed it.
	Verified bool
	// Tool means that the model of the conversation stored the fact itself, by a tool call.
	Tool bool
	// Mixed means that the model also read words of tools, files or other agents in the turn.
	// It matters only for facts with Tool.
	Mixed bool
}

// TrustOf returns the trust that a fact has by its provenance. Every fact of this package and
// of agentmemory gets its trust here:
//
//	no evidence                                  Lowest
//	extracted, not verified                      Lowest
//	extracted, verified, the text of the quote   memory.Stated
//	extracted, verified, in other words          memory.Inferred
//	stored by a tool, Mixed and not verified     Lowest
//	stored by a tool otherwise                   memory.Inferred
func TrustOf(f memory.Fact, p Provenance) memory.Trust {
	q, ok := Evidence(f)
	switch {
	case !ok:
		return Lowest
	case p.Tool && (p.Verified || !p.Mixed):
		return memory.Inferred
	case p.Tool || !p.Verified:
		return Lowest
	case memory.SameText(f.Content, q.Text):
		return memory.Stated
	}
	return memory.Inferred
}
