package llm

import "strings"

// A ModelName names a model in traces and metrics.
type ModelName struct {
	// Provider is the provider, such as "openai". Model is the provider's name of the model.
	// Either may be empty.
	Provider, Model string
}

// Named returns m with a name, for a model that has none.
func Named(m Model, name ModelName) Model { return named{m, name} }

type named struct {
	Model
	name ModelName
}

// ModelName returns the name.
func (n named) ModelName() ModelName { return n.name }

// String returns the provider and the model, for errors.
func (n named) String() string { return strings.TrimSpace(n.name.Provider + " " + n.name.Model) }

// NameOf returns the name of a model: the result of its method ModelName, if it has one. A model
// in a [Retry], [Limit], [IdleTimeout], [Trace] or [Log] keeps its name. A [Fallback] has none.
func NameOf(m Model) ModelName {
	for {
		switch x := m.(type) {
		case interface{ ModelName() ModelName }:
			return x.ModelName()
		case interface{ unwrap() Model }:
			m = x.unwrap()
		default:
			return ModelName{}
		}
	}
}
