package kai

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/weft-go/weft/tools"
)

//go:embed agents.json
var agents []byte

// ErrUnknownAgent says that no agent has this id.
var ErrUnknownAgent = errors.New("there is no such agent")

// A Config is an agent of the platform.
type Config struct {
	Name   string   `json:"name"`
	Prompt string   `json:"prompt"`
	Tools  []string `json:"tools"`
	// Models maps a provider to the name of this agent's model. Without an entry, the provider's default is used.
	Models map[string]string `json:"models,omitempty"`
	// MaxIterations and Critical are as in [Options].
	MaxIterations int      `json:"maxIterations,omitempty"`
	Critical      []string `json:"critical,omitempty"`
}

// Configs are agents by id.
type Configs map[string]Config

// ReadConfigs reads agents from JSON. Nil means the agents of this package.
func ReadConfigs(data []byte) (Configs, error) {
	if data == nil {
		data = agents
	}
	var c Configs
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&c); err != nil {
		return nil, fmt.Errorf("agents: %w", err)
	}
	if len(c) == 0 {
		return nil, errors.New("agents: there are none")
	}
	for id, one := range c {
		// An agent's id has no dash, so the first dash in a thread's id ends the agent's id, and agents
		// cannot share a thread.
		if id == "" || strings.Trim(id, "abcdefghijklmnopqrstuvwxyz0123456789_") != "" {
			return nil, fmt.Errorf("agents: %q: an id is small letters, digits and _", id)
		}
		if one.Prompt == "" || one.Name == "" {
			return nil, fmt.Errorf("agents: %q: needs a name and a prompt", id)
		}
	}
	return c, nil
}

// IDs returns the ids of the agents, in order.
func (c Configs) IDs() []string { return slices.Sorted(maps.Keys(c)) }

// check returns an error for each tool of an agent that is not in the set.
func (c Configs) check(set *tools.Set) error {
	var wrong []error
	for _, id := range c.IDs() {
		for _, name := range append(slices.Clip(c[id].Tools), c[id].Critical...) {
			if _, ok := set.Lookup(name); !ok {
				wrong = append(wrong, fmt.Errorf("agents: %q: there is no tool %q", id, name))
			}
		}
	}
	return errors.Join(wrong...)
}
