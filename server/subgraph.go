package server

import (
	"strings"

	"github.com/weft-go/weft/graph/draw"
	"github.com/weft-go/weft/state"
)

// subgraphs sends the schemas of the subgraphs of an assistant, by the names of the nodes that run the subgraphs. With
// "recurse", it includes the subgraphs of subgraphs. A namespace in the path selects one subgraph.
func (c *call) subgraphs() error {
	r, err := c.pathAssistant()
	if err != nil {
		return err
	}
	out := map[string]any{}
	addSubgraphs(out, c.s.graphs[r.Graph].draw, "", c.flag("recurse"), c.r.PathValue("namespace"))
	return c.send(out)
}

func addSubgraphs(out map[string]any, g draw.Graph, prefix string, deep bool, only string) {
	for _, n := range g.Nodes {
		if n.Subgraph == nil {
			continue
		}
		name := prefix + n.Name
		if only == "" || only == name {
			schema := describedState(n.Subgraph)
			out[name] = map[string]any{
				"input_schema": schema, "output_schema": schema, "state_schema": schema, "config_schema": nil, "context_schema": nil,
			}
		}
		if only == "" && deep || strings.HasPrefix(only, name+"|") {
			addSubgraphs(out, *n.Subgraph, name+"|", deep, only)
		}
	}
}

// describedState returns a schema of the state of a subgraph, with the kinds of the channels and the types of simple
// values.
func describedState(g *draw.Graph) map[string]any {
	properties := map[string]any{}
	for _, ch := range g.Channels {
		if !ch.Stored {
			continue
		}
		p := map[string]any{"title": ch.Name}
		if t := jsonType(ch); t != "" {
			p["type"] = t
		}
		properties[ch.Name] = p
	}
	return map[string]any{"title": g.Name, "type": "object", "properties": properties}
}

// jsonType returns the JSON type of the values of a channel, or "" if the description does not have it.
func jsonType(ch state.Description) string {
	switch {
	case ch.Type == "[]uint8": // JSON encodes a slice of bytes as a string
		return ""
	case strings.HasPrefix(ch.Type, "[]"):
		return "array"
	case strings.HasPrefix(ch.Type, "map["):
		return "object"
	}
	switch ch.Type {
	case "string":
		return "string"
	case "bool":
		return "boolean"
	case "float32", "float64":
		return "number"
	case "int", "int8", "int16", "int32", "int64", "uint", "uint8", "uint16", "uint32", "uint64":
		return "integer"
	}
	return ""
}
