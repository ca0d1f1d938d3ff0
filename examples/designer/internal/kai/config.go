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
	// Models name the model of this agent by provider; a provider that is not named has its default.
	Models map[string]string `json:"models,omitempty"`
	// MaxIterations and Critical are as in [Options].
	MaxIterations int      `json:"maxIterations,omitempty"`
	Critical      []string `json:"critical,omitempty"`
}

// Configs are agents by id.
type Configs map[string]Config

// ReadConfigs reads agents from JSON; nil stands for those that come with this package.
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
		// Without a dash an id tells where a thread's conversation begins.
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

// check reports tools that agents name and that are not there.
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
